"""Forget: nothing of the text is left anywhere, nobody writes meanwhile, an interrupted one goes on."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from uuid import uuid4

import pytest

import graphmem
from graphmem import Operation, Ref, Relation, Space, StateKind, StepOutput, TaskError, ToolCall, ToolResult
from graphmem.errors import HasForksError, NotFoundError, TaskHeldError
from graphmem.inspect import audit
from graphmem.store import Connection, query
from tests.acceptance.speech import add
from tests.acceptance.tree_speech import fails, grow, own
from tests.acceptance.whole_space import holding, nodes, whole


def marked(task: graphmem.Task, mark: str) -> None:
    """The mark in every kind of text that is stored: what a user, a model, a tool, a judge or a caller says."""
    request = task.request(f"request {mark}", attempt=mark, author=f"user {mark}")
    call = ToolCall(name=f"tool-{mark}", arguments={f"name {mark}": f"value {mark}"}, id=f"call-{mark}")
    state = Operation(
        operation="add", id=f"id-{mark}", kind=StateKind.KNOWLEDGE, summary=f"summary {mark}", value={mark: [mark]},
        has_value=True, refs=(Ref(relation=Relation.DERIVES, target=f"no {mark}"),),
    )  # fmt: skip
    kept = Operation(
        operation="add", id=f"kept-{mark}", kind=StateKind.ARTIFACT, summary=mark, value=mark, has_value=True
    )
    output = StepOutput(delta=(state, kept), tool_calls=(call,), text="")
    result = request.step(request.status(), output, attempt=f"step {mark}", author=mark, usage={mark: mark})
    request.observe(
        result, [ToolResult(call_id=result.calls[0].id, content=f"result {mark}")], irreversible=(call.name,)
    )
    request.step(request.status(), f"no block at all {mark}")
    summary = task.compress(f"compressed {mark}", author=mark)
    task.maintain(summary, fails(f"feedback {mark}"), author=mark)
    grow(request, f"again {mark}", delta=(add(f"more-{mark}"),))
    own(request, "revise", feedback=f"revised {mark}")
    grow(request, f"tail {mark}")
    task.revise(feedback=f"popped {mark}", author=mark)
    request.step(request.status(), StepOutput(message=f"message {mark}"))


@pytest.fixture
def mark() -> str:
    return f"m{uuid4().hex}"


def test_no_property_anywhere_holds_the_text_of_a_forgotten_task(
    space: Space, connection: Connection, mark: str
) -> None:
    space.task("other").request("stays")
    before = whole(connection, space.name)
    marked(space.task("t"), mark)
    assert holding(connection, mark) > 15
    count = len(nodes(connection, space.name))
    dry = space.forget("t", dry_run=True)
    assert (sum(dry.nodes.values()), dry.dry_run) == (count - len(nodes_of(before)), True)
    assert len(nodes(connection, space.name)) == count
    done = space.forget("t")
    assert (done.nodes, done.tasks) == (dry.nodes, ("t",))
    assert holding(connection, mark) == 0
    assert whole(connection, space.name) == before
    assert audit(connection, space.name) == ()


def nodes_of(lines: list[str]) -> list[str]:
    return [line for line in lines if '"labels"' in line]


def test_a_task_with_forks_is_forgotten_only_with_them(space: Space, connection: Connection, mark: str) -> None:
    task = space.task("t")
    marked(task, mark)
    task.fork("f").fork("g")
    space.task("other").request("stays")
    before = whole(connection, space.name)
    for dry_run in (True, False):
        with pytest.raises(HasForksError, match="went on from t") as caught:
            space.forget("t", dry_run=dry_run)
        assert set(caught.value.forks) == {"f", "g"}
    assert whole(connection, space.name) == before
    assert space.forget("t", with_forks=True).tasks == ("g", "f", "t")
    assert holding(connection, mark) == 0
    assert [row["own"]["task"] for row in nodes(connection, space.name) if "task" in row["own"]] == [
        f"{space.name}/other"
    ] * (len(nodes(connection, space.name)) - 1)
    assert audit(connection, space.name) == ()


def test_a_fork_is_forgotten_and_its_origin_stays(space: Space, connection: Connection) -> None:
    task = space.task("t")
    grow(task.request("go"), "a", delta=(add("s"),))
    before = whole(connection, space.name)
    fork = task.fork("f")
    grow(fork.open_request(), "b", delta=(add("mine", "derives>s"),))
    # The fork locked its origin and no more.
    assert space.forget("f").tasks == ("f",)
    assert whole(connection, space.name) == before
    assert audit(connection, space.name) == ()


def test_a_whole_space_is_forgotten_and_no_other_is(
    space: Space, graph: graphmem.Graph, connection: Connection, mark: str
) -> None:
    other = graph.space(f"{space.name}-2")
    other.task("t").request("stays")
    before = whole(connection, other.name)
    for name in ("a", "b"):
        marked(space.task(name), mark)
    space.task("b").fork("c")
    assert space.forget().tasks == ("c", "b", "a")
    assert (holding(connection, mark), whole(connection, space.name)) == (0, [])
    assert whole(connection, other.name) == before
    other.forget()
    for nothing in (None, "t"):
        with pytest.raises(graphmem.NotFoundError):
            other.forget(nothing)


def test_what_hangs_on_no_step_goes_too(space: Space, connection: Connection, mark: str) -> None:
    marked(space.task("t"), mark)
    lost = (
        "CREATE (:TraceNode {key: $p.key, space: $p.space, task: $p.space + '/t', name: $p.mark, number: 99, depth: 9})"
    )
    connection.run("tests/plant", lost, {"key": uuid4().hex, "space": space.name, "mark": mark})
    connection.run(
        "tests/plant", "MATCH (s:Step {task: $p.task, number: 3}) DETACH DELETE s", {"task": f"{space.name}/t"}
    )
    space.forget("t")
    assert holding(connection, mark) == 0


CHILD = """
import sys, graphmem
with graphmem.connect() as graph:
    graph.space(sys.argv[1]).forget("t", progress=lambda line: print(line, flush=True))
"""


def test_a_forget_that_was_killed_is_held_and_goes_on(
    space: Space, connection: Connection, server_env: Mapping[str, str]
) -> None:
    task = space.task("t")
    request = task.request("load")
    task.grow_many([((ToolCall(name="look", arguments={"i": i}),), [f"result {i}"]) for i in range(600)], attempt="a")
    status = request.status()
    count = len(nodes(connection, space.name))
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, space.name], env={**os.environ, **server_env}, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGKILL)
    assert 0 < len(nodes(connection, space.name)) < count
    for call in (
        lambda: task.request("again"),
        task.open_request,
        lambda: task.fork("f"),
        lambda: space.export("/dev/null"),
    ):
        with pytest.raises(TaskHeldError, match="Run `graphmem forget` again"):
            call()
    with pytest.raises(graphmem.RequestClosedError):
        request.step(status, StepOutput(message="too late"))
    for hidden in (task.path, lambda: task.compress("x"), lambda: task.revise(feedback="x")):
        with pytest.raises(graphmem.NotFoundError):
            hidden()
    space.forget("t")
    assert whole(connection, space.name) == []


def test_a_writer_is_told_and_nothing_of_what_it_writes_stays(space: Space, connection: Connection, mark: str) -> None:
    task = space.task("t")
    task.request(mark)
    told: list[BaseException] = []

    def write() -> None:
        i = 0
        try:
            while True:
                grow(task.open_request(), f"{mark} {i}")
                i += 1
        except TaskError as error:
            told.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    while task.now().step < 8:
        pass
    space.forget("t")
    writer.join(30)
    assert len(told) == 1
    assert isinstance(
        told[0], graphmem.NotFoundError | graphmem.RequestClosedError | graphmem.NotPendingError | TaskHeldError
    )
    assert holding(connection, mark) == 0
    assert whole(connection, space.name) == []


def test_a_page_is_found_by_seeks(space: Space, connection: Connection) -> None:
    """The same steps cost the same in a larger task of a larger database."""
    hits = []
    for name, size in (("t", 40), ("u", 400)):
        task = space.task(name)
        task.request("load")
        task.grow_many([((ToolCall(name="look", arguments={"i": i}),), ["r"]) for i in range(size)], attempt="a")
        p = {"space": space.name, "task": name, "op": "forget"}
        connection.write(query("exchange/forget_hold"), p)
        hits.append(connection.profile(query("exchange/forget_page"), {**p, "after": 20, "until": 40}))
    assert hits[0] == hits[1]


def test_who_writes_to_what_was_forgotten_is_told_that_it_is_gone(space: Space) -> None:
    answering, observing = space.task("a").request("go"), space.task("b").request("go")
    status = answering.status()
    asked = observing.step(observing.status(), StepOutput(tool_calls=(ToolCall(name="look", arguments={}),)))
    space.forget()
    with pytest.raises(NotFoundError, match="no longer"):
        answering.step(status, StepOutput(message="done"))
    with pytest.raises(NotFoundError, match="no longer"):
        observing.observe(asked.pending, [ToolResult(call_id=asked.pending.calls[0].id, content="there")])
