"""Export and import: a task comes back value for value, whatever it holds, whoever is killed or writes meanwhile."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

import graphmem
from graphmem import ActiveState, Space, StepOutput, ToolCall, ToolResult
from graphmem.errors import DumpError, TaskExistsError, TaskHeldError
from graphmem.exchange.dump_lines import FORMAT
from graphmem.inspect import audit
from graphmem.store import Connection, query
from graphmem.vocabulary import Json
from tests.acceptance.speech import add
from tests.acceptance.test_mage_machine import MageMachine
from tests.acceptance.test_past import Recorder, mixed_run
from tests.acceptance.tree_speech import grow
from tests.acceptance.tree_writer import writing
from tests.acceptance.whole_space import nodes, whole

ODD = 'NUL-free \u2028 \u2029 \x85 \ufeff 🎉 \U0001f468\u200d\U0001f469 日本語 "\\/ \r\n\t\x01 </script>'
ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


def erase(connection: Connection, space: str) -> None:
    connection.run("tests/erase", ERASE, {"space": space})


@pytest.fixture
def other(space: Space, connection: Connection) -> Iterator[str]:
    """The name of a second space, erased afterwards."""
    name = f"{space.name}-other"
    yield name
    erase(connection, name)


def told(states: tuple[ActiveState, ...]) -> list[object]:
    """States without their keys, which name the space."""
    return [(s.id, s.kind, s.summary, s.value, s.related, s.request) for s in states]


class Quiet(Recorder):
    """Does what is recorded elsewhere."""

    def does(self, action: Callable[[], object]) -> None:
        action()


def full_task(space: Space, connection: Connection, name: str = "t") -> graphmem.Task:
    """A task with everything in it: a long mixed run, odd texts, numbers, an unknown outcome, a call that waits."""
    task = space.task(name, irreversible=("book",))
    mixed_run(Quiet(task, connection))
    request = task.open_request()
    request.step(request.status(), StepOutput(message=f"done {ODD}"))
    request = task.request(f"odd {ODD}")
    value: Json = {"i": 2**63 - 1, "j": -(2**63), "f": 0.1, "g": 1.0, "h": 1e300, "n": None, "t": ODD, "l": [[], {}]}
    calls = (ToolCall(name="book", arguments={"x": value}), ToolCall(name="look", arguments={"o": ODD}))
    result = request.step(request.status(), StepOutput(tool_calls=calls))
    request.observe(
        result, [ToolResult(call_id=result.calls[0].id, content=ODD), ToolResult.unknown(result.calls[1].id)]
    )
    request.step(request.status(), StepOutput(delta=(add(f"odd/{ODD[:40]}!#@", value=value),)), usage={"cost": 0.25})
    request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="look", arguments={}),)))
    return task


def with_forks(space: Space, connection: Connection) -> None:
    """A full task, a fork in its middle and one of its end, and a fork of a fork that went on."""
    task = full_task(space, connection)
    task.fork("early", at=9)
    late = task.fork("late", at=task.now().step - 1)
    grow(late.open_request(), "more", delta=(add("mine"),))
    late.compress("more")
    deep = late.fork("deep")
    grow(deep.open_request(), "deeper", delta=(add("deepest", "derives>mine"),))
    space.task("alone").request("another one")


def test_a_space_comes_back_as_it_was(space: Space, connection: Connection, tmp_path: Path) -> None:
    with_forks(space, connection)
    before = whole(connection, space.name)
    made = space.export(tmp_path / "all.jsonl")
    assert [task.task for task in made.tasks][-1] == "deep"
    assert sum(task.nodes for task in made.tasks) == len(nodes(connection, space.name))
    assert sum(task.relations for task in made.tasks) == len(before) - len(nodes(connection, space.name))
    erase(connection, space.name)
    done = space.load(tmp_path / "all.jsonl")
    assert whole(connection, space.name) == before
    assert [(t.nodes, t.relations, t.waiting) for t in done.tasks] == [(t.nodes, t.relations, {}) for t in made.tasks]
    assert audit(connection, space.name) == ()


def test_an_import_again_adds_nothing_and_says_so(space: Space, connection: Connection, tmp_path: Path) -> None:
    with_forks(space, connection)
    space.export(tmp_path / "all.jsonl")
    before = whole(connection, space.name)
    done = space.load(tmp_path / "all.jsonl")
    assert whole(connection, space.name) == before
    assert {(t.nodes, t.relations, t.was_there) for t in done.tasks} == {(0, 0, True)}


def test_every_line_is_json_and_values_keep_their_types(space: Space, connection: Connection, tmp_path: Path) -> None:
    full_task(space, connection)
    space.export(tmp_path / "t.jsonl", tasks=["t"])
    raw = (tmp_path / "t.jsonl").read_bytes().split(b"\n")
    assert raw.pop() == b""
    lines = [json.loads(line) for line in raw]
    there = {row["own"]["key"]: row for row in nodes(connection, space.name)}
    told = {line["properties"]["key"]: line for line in lines if "node" in line}
    assert set(there) == {*told, f"{space.name}/t"}
    for key, line in told.items():
        assert json.dumps(line["properties"], sort_keys=True) == json.dumps(there[key]["own"], sort_keys=True)
        assert line["node"] == there[key]["labels"]


def test_in_another_space_it_works_on_and_nothing_leads_back(
    space: Space, other: str, graph: graphmem.Graph, connection: Connection, tmp_path: Path
) -> None:
    with_forks(space, connection)
    space.export(tmp_path / "all.jsonl")
    graph.space(other).load(tmp_path / "all.jsonl")
    assert audit(connection, other) == ()
    hidden = [line for line in whole(connection, other) if f'"{space.name}/' in line or f'"{space.name}"' in line]
    assert hidden == []
    for name in ("t", "late", "deep"):
        mine, theirs = space.task(name), graph.space(other).task(name)
        steps = mine.now().step
        assert theirs.now().step == steps
        for step in (steps - 1, steps):
            assert theirs.at(step).path().text() == mine.at(step).path().text()
            assert told(theirs.at(step).states()) == told(mine.at(step).states())
        origin, copied = mine.origin(), theirs.origin()
        assert (origin and origin.task) == (copied and copied.task)
    deep = graph.space(other).task("deep")
    grow(deep.open_request(), "on and on", delta=(add("after", "derives>mine"),))
    assert audit(connection, other) == ()
    # And back: under the names of then it is what it was.
    graph.space(other).export(tmp_path / "back.jsonl", tasks=["t", "early", "late", "alone"])
    done = space.load(tmp_path / "back.jsonl")
    assert {(t.nodes, t.was_there) for t in done.tasks} == {(0, True)}


def test_keys_elsewhere_are_those_that_the_same_work_would_have_made_there(
    space: Space, other: str, graph: graphmem.Graph, connection: Connection, tmp_path: Path
) -> None:
    def work(on: Space) -> None:
        request = on.task("t").request("go", attempt="1")
        grow(request, "a", delta=(add("s"),))
        on.task("t").compress("did a", attempt="2")
        grow(request, "b", "c")
        on.task("t").fork("f")

    work(space)
    work(graph.space(other))
    made = {line for line in whole(connection, other) if '"op"' not in line}
    erase(connection, other)
    space.export(tmp_path / "all.jsonl")
    graph.space(other).load(tmp_path / "all.jsonl")
    assert {line for line in whole(connection, other) if '"op"' not in line} == made


def test_one_task_takes_another_name(space: Space, connection: Connection, tmp_path: Path) -> None:
    task = full_task(space, connection)
    space.export(tmp_path / "t.jsonl", tasks=["t"])
    space.load(tmp_path / "t.jsonl", as_task="twin")
    assert audit(connection, space.name) == ()
    assert space.task("twin").path().text() == task.path().text()
    again = space.load(tmp_path / "t.jsonl", as_task="twin")
    assert again.tasks[0].was_there
    space.export(tmp_path / "all.jsonl")
    with pytest.raises(graphmem.InvalidValueError, match="another name is for a file of one task"):
        space.load(tmp_path / "all.jsonl", as_task="both")


# --- forks whose origin is elsewhere ---------------------------------------------------------------------------------


def test_a_fork_without_its_origin_is_restored_once_both_are_there(
    space: Space, connection: Connection, tmp_path: Path
) -> None:
    with_forks(space, connection)
    before = whole(connection, space.name)
    told = space.export(tmp_path / "late.jsonl", tasks=["late"])
    assert (told.tasks[0].origins, told.tasks[0].outside > 0) == (("t",), True)
    space.export(tmp_path / "rest.jsonl", tasks=["t", "early", "alone"])
    space.export(tmp_path / "deep.jsonl", tasks=["deep"])
    erase(connection, space.name)
    first = space.load(tmp_path / "late.jsonl")
    assert first.tasks[0].waiting == {"t": told.tasks[0].outside}
    space.load(tmp_path / "rest.jsonl")
    again = space.load(tmp_path / "late.jsonl")
    assert (again.tasks[0].waiting, again.tasks[0].relations) == ({}, told.tasks[0].outside)
    space.load(tmp_path / "deep.jsonl")
    assert whole(connection, space.name) == before
    assert audit(connection, space.name) == ()


def test_a_fork_without_its_origin_is_not_renamed(
    space: Space, other: str, graph: graphmem.Graph, connection: Connection, tmp_path: Path
) -> None:
    with_forks(space, connection)
    space.export(tmp_path / "late.jsonl", tasks=["late"])
    with pytest.raises(DumpError, match="late is a fork of t, which is not in the file") as caught:
        graph.space(other).load(tmp_path / "late.jsonl")
    assert caught.value.line == 1
    assert whole(connection, other) == []


# --- what is refused -------------------------------------------------------------------------------------------------


def test_a_different_task_under_that_name_is_refused_and_stays(
    space: Space, connection: Connection, tmp_path: Path
) -> None:
    task = full_task(space, connection)
    space.export(tmp_path / "t.jsonl")
    request = task.open_request()
    pending = request.status().pending
    assert pending is not None
    request.observe(pending, [ToolResult(call_id=pending.calls[0].id, content="later")])
    before = whole(connection, space.name)
    with pytest.raises(TaskExistsError, match="differs from the one of"):
        space.load(tmp_path / "t.jsonl")
    erase(connection, space.name)
    space.task("t").request("something else")
    with pytest.raises(TaskExistsError, match="Nothing was changed"):
        space.load(tmp_path / "t.jsonl")
    assert before != whole(connection, space.name)


def test_a_file_that_was_cut_or_altered_anywhere_is_refused_with_the_line_and_nothing_is_written(
    space: Space, connection: Connection, tmp_path: Path
) -> None:
    full_task(space, connection)
    space.export(tmp_path / "t.jsonl")
    whole_file = (tmp_path / "t.jsonl").read_bytes()
    lines = whole_file.splitlines(keepends=True)
    erase(connection, space.name)
    chance, bad = random.Random(7), tmp_path / "bad.jsonl"
    spoilt: list[tuple[bytes, int | None]] = [(b"".join(lines[:n]), n) for n in range(0, len(lines), 9)]
    spoilt += [(whole_file[: chance.randrange(len(whole_file))], None) for _ in range(40)]
    for _ in range(120):
        at = chance.randrange(len(whole_file))
        other = bytes([whole_file[at] ^ chance.choice([1, 2, 4, 8, 16, 32])])
        spoilt.append((whole_file[:at] + other + whole_file[at + 1 :], whole_file.count(b"\n", 0, at) + 1))
    n = len(lines) // 2
    spoilt += [
        (b"".join(lines[:n] + lines[n + 1 :]), n + 1),
        (b"".join([*lines[:n], lines[n], *lines[n:]]), n + 2),
        (b"".join([*lines[:n], lines[n + 1], lines[n], *lines[n + 2 :]]), n + 1),
        (whole_file + lines[-1], len(lines) + 1),
        (whole_file.replace(b"\n", b"\r\n"), 1),
    ]
    for data, line in spoilt:
        bad.write_bytes(data)
        with pytest.raises(DumpError) as caught:
            space.load(bad)
        assert caught.value.file == str(bad)
        assert line is None or caught.value.line in (line, line + 1), (line, caught.value)
    assert whole(connection, space.name) == []


def test_a_newer_format_and_what_is_no_export_are_refused(space: Space, tmp_path: Path) -> None:
    space.task("t").request("go")
    file = tmp_path / "t.jsonl"
    space.export(file)
    file.write_bytes(file.read_bytes().replace(f'"format":{FORMAT}'.encode(), b'"format":99'))
    with pytest.raises(DumpError, match=r"line 1: it has format 99.*upgrade graphmem-neo4j"):
        space.load(file)
    for other in (b"", b"\n", b"[]\n", b"{}\n", b"\x00\xff" * 100, b'{"graphmem":"else"}\n', b"[" * 100_000 + b"\n"):
        file.write_bytes(other)
        with pytest.raises(DumpError):
            space.load(file)
    with pytest.raises(DumpError, match="No such file"):
        space.load(tmp_path / "none.jsonl")


def test_what_is_not_there_is_not_exported_and_leaves_no_file(space: Space, tmp_path: Path) -> None:
    with pytest.raises(graphmem.NotFoundError):
        space.export(tmp_path / "x.jsonl")
    space.task("t").request("go")
    with pytest.raises(graphmem.NotFoundError, match="'u'"):
        space.export(tmp_path / "x.jsonl", tasks=["t", "u"])
    with pytest.raises(graphmem.InvalidValueError, match="cannot be written"):
        space.export(tmp_path / "no" / "x.jsonl")
    assert list(tmp_path.iterdir()) == []


# --- killed, and written to meanwhile --------------------------------------------------------------------------------

CHILD = """
import sys, pathlib, graphmem
with graphmem.connect() as graph:
    graph.space(sys.argv[1]).load(pathlib.Path(sys.argv[2]), progress=lambda line: print(line, flush=True))
"""


def test_an_import_that_was_killed_goes_on_and_nobody_writes_meanwhile(
    space: Space, connection: Connection, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    task = space.task("t")
    task.request("load")
    task.grow_many([((ToolCall(name="look", arguments={"i": i}),), [f"result {i}"]) for i in range(700)], attempt="a")
    before = whole(connection, space.name)
    space.export(tmp_path / "t.jsonl")
    erase(connection, space.name)
    for kill in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, space.name, str(tmp_path / "t.jsonl")],
            env={**os.environ, **server_env}, stdout=subprocess.PIPE, text=True,
        ) as child:  # fmt: skip
            assert child.stdout is not None
            for _ in range(kill + 1):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
        assert 0 < len(whole(connection, space.name)) < len(before)
        for call in (lambda: task.request("me too"), task.open_request, lambda: task.fork("f"), task.now):
            with pytest.raises(TaskHeldError, match="Run `graphmem import` again"):
                call()
        for hidden in (task.path, lambda: task.compress("x"), lambda: task.revise(feedback="x")):
            with pytest.raises(graphmem.NotFoundError):
                hidden()
        with pytest.raises(TaskHeldError):
            space.export(tmp_path / "half.jsonl")
    space.load(tmp_path / "t.jsonl")
    assert whole(connection, space.name) == before
    assert audit(connection, space.name) == ()


def test_what_is_exported_while_others_write_is_one_moment(
    space: Space, other: str, graph: graphmem.Graph, connection: Connection, tmp_path: Path
) -> None:
    task = space.task("t")
    request = task.request("go")
    grow(request, "a")
    task.compress("a")
    for i in range(3):
        with writing(task) as wrote:
            while len(wrote) < 3:
                time.sleep(0.01)
            space.export(tmp_path / f"{i}.jsonl")
        graph.space(other).load(tmp_path / f"{i}.jsonl")
        assert audit(connection, other) == ()
        copy = graph.space(other).task("t")
        step = copy.now().step
        assert copy.path().text() == task.at(step).path().text()
        assert told(copy.now().states()) == told(task.at(step).states())
        erase(connection, other)


def test_a_page_seeks_and_scans_nothing(space: Space, connection: Connection) -> None:
    full_task(space, connection)
    few = {"space": space.name, "task": "t", "after": 10, "until": 14}
    hits = connection.profile(query("exchange/export_page"), few)
    task = space.task("u")
    task.request("load")
    task.grow_many([((ToolCall(name="look", arguments={"i": i}),), [f"result {i}"]) for i in range(300)], attempt="a")
    assert connection.profile(query("exchange/export_page"), few) == hits


class Carried(MageMachine):
    """Random runs with forks, carried into another space at their end and back."""

    environment: Mapping[str, str]
    folder: Path

    def teardown(self) -> None:
        file, back, name = self.folder / uuid4().hex, self.folder / uuid4().hex, f"{self.space.name}-other"
        connection, elsewhere = self.graph.connection, self.graph.space(name)
        try:
            if not nodes(connection, self.space.name):
                return
            before = whole(connection, self.space.name)
            self.space.export(file)
            elsewhere.load(file)
            assert audit(connection, name) == ()
            elsewhere.export(back)
            erase(connection, self.space.name)
            self.space.load(back)
            assert whole(connection, self.space.name) == before
        finally:
            erase(connection, self.space.name)
            erase(connection, name)
            self.graph.close()


@pytest.mark.usefixtures("graph")  # so that the schema is in place
def test_random_runs_and_their_forks_come_back_from_another_space(
    server_env: Mapping[str, str], tmp_path: Path
) -> None:
    more = int(os.environ.get("GRAPHMEM_EXAMPLES", "0"))
    machine = type("Machine", (Carried,), {"environment": server_env, "folder": tmp_path})
    profile = settings(
        max_examples=more or 4, stateful_step_count=12, derandomize=not more, print_blob=bool(more),
        database=None, deadline=None, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(machine, settings=profile)
