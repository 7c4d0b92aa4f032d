"""Export and import: a task comes back value for value, whatever it holds, whoever is killed or writes meanwhile."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphmem
from graphmem import Space, ToolResult
from graphmem.errors import DumpError, TaskExistsError
from graphmem.exchange.dumps import writing
from graphmem.exchange.dumps.lines import FORMAT, Writer, read_lines
from graphmem.inspect import audit
from graphmem.store import Connection
from tests.acceptance.carried import erase, full_task, told, with_forks
from tests.acceptance.speech import add
from tests.acceptance.tree_speech import grow
from tests.acceptance.whole_space import nodes, whole


@pytest.fixture
def other(space: Space, connection: Connection) -> Iterator[str]:
    """The name of a second space, erased afterwards."""
    name = f"{space.name}-other"
    yield name
    erase(connection, name)


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


@pytest.mark.parametrize(("written", "advice"), [(1, "run graphmem init where it came from"), (99, "upgrade graphmem")])
def test_an_export_of_another_schema_is_refused_with_what_to_do(
    space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int, advice: str
) -> None:
    space.task("t").request("go")
    file = tmp_path / "t.jsonl"
    monkeypatch.setattr(writing, "schema_version", lambda _: written)
    space.export(file)
    with pytest.raises(DumpError, match=f"line 1: it is of schema {written}.*{advice}"):
        space.load(file)


def test_what_is_not_there_is_not_exported_and_leaves_no_file(space: Space, tmp_path: Path) -> None:
    with pytest.raises(graphmem.NotFoundError):
        space.export(tmp_path / "x.jsonl")
    space.task("t").request("go")
    with pytest.raises(graphmem.NotFoundError, match="'u'"):
        space.export(tmp_path / "x.jsonl", tasks=["t", "u"])
    with pytest.raises(graphmem.InvalidValueError, match="cannot be written"):
        space.export(tmp_path / "no" / "x.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_export_replaces_regular_files_alone_and_an_import_reads_no_pipe(space: Space, tmp_path: Path) -> None:
    space.task("t").request("go")
    pipe, link, file, part = (tmp_path / name for name in ("pipe", "link", "file", "file.part"))
    os.mkfifo(pipe)
    link.symlink_to(file)
    part.write_text("mine")
    for there in (pipe, tmp_path, Path("/dev/null")):
        with pytest.raises(graphmem.InvalidValueError, match="no regular file"):
            space.export(there)
    space.export(link)
    assert link.is_symlink()
    assert [task.was_there for task in space.load(file).tasks] == [True]
    assert part.read_text() == "mine"
    with pytest.raises(DumpError, match="save it to a file first"):
        space.load(pipe)


def test_a_file_that_somebody_else_made_writes_nothing_outside_its_tasks(
    space: Space, other: str, graph: graphmem.Graph, connection: Connection, tmp_path: Path
) -> None:
    """The checksums of these are right; what they hold is not what graphmem writes."""
    grow(space.task("t").request("go"), "a")
    space.task("other").request("stays")
    graph.space(other).task("t").request("stays")
    file, bad = tmp_path / "t.jsonl", tmp_path / "bad.jsonl"
    space.export(file, tasks=["t"])
    lines = [dict(line.content) for line in read_lines(file)]
    space.forget("t")
    before = whole(connection, space.name), whole(connection, other)
    node = next(i for i, line in enumerate(lines) if "node" in line)
    relation = next(i for i, line in enumerate(lines) if "relation" in line)
    own, cursor = lines[node]["properties"], next(i for i, line in enumerate(lines) if "cursor" in line)
    for at, content in (
        (node, {"node": ["Schema"], "properties": own}),
        (node, {"node": ["Step", "Task"], "properties": own}),
        (node, {"node": ["Step", "State"], "properties": own}),
        (node, {"node": ["Step"], "properties": own | {"space": other}}),
        (node, {"node": ["Step"], "properties": own | {"task": f"{space.name}/other"}}),
        (node, {"node": "Step", "properties": own}),
        (node, {"node": ["Step"]}),
        (node, {"node": ["Step"], "properties": []}),
        (node, {"node": ["Step"], "properties": own | {"key": f"{other}/t/request:1"}}),
        *((node, {"node": ["Step"], "properties": own | {"x": x}}) for x in ([1, "a"], [["a"]], 2**70, None)),
        *((node, {"node": ["Step"], "properties": own | {"x": x}}) for x in ({"float": "abc"}, {"a": 1}, [{"a": 1}])),
        (node, {"something": 1}),
        (relation, {"relation": "OWNS", "from": "a", "to": "b"}),
        (relation, {"relation": "COVERS", "from": 1, "to": []}),
        (cursor, lines[cursor] | {"cursor": lines[cursor]["cursor"] | {"key": f"{space.name}/other"}}),
        *((cursor, lines[cursor] | {"cursor": lines[cursor]["cursor"] | {"next_step": x}}) for x in ("x", None, 1.5)),
        (cursor, lines[cursor] | {"cursor": {n: v for n, v in lines[cursor]["cursor"].items() if n != "version"}}),
        (cursor, lines[cursor] | {"nodes": 99}),
        (1, {"task": "a/b", "origins": []}),
        (1, {"task": "t"}),
    ):
        with bad.open("wb") as out:
            writer = Writer(out)
            for i, line in enumerate(lines):
                writer.write(content if i == at else line)
        with pytest.raises(DumpError) as caught:
            space.load(bad)
        assert caught.value.line == at + 1, (content, caught.value)
    assert (whole(connection, space.name), whole(connection, other)) == before
    # An arrow between nodes that are not of the task is not made, whoever says so.
    lines[relation] = {"relation": "CHILD_OF", "from": f"{other}/t/request:1", "to": f"{other}/t"}
    with bad.open("wb") as out:
        writer = Writer(out)
        for line in lines:
            writer.write(line)
    with pytest.raises(graphmem.InvalidValueError, match="leads to a node that is not there"):
        space.load(bad)
    assert whole(connection, other) == before[1]
