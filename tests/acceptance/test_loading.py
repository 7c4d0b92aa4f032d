"""Grow in batches writes what the single one writes, property by property, and a load can be interrupted anywhere."""

from collections.abc import Sequence
from typing import Any

import pytest

import graphmem
from graphmem import StepOutput, ToolCall, ToolResult
from graphmem.store import Connection
from graphmem.task.loading import Pair
from tests.acceptance.speech import add, say

_NODES = """MATCH (n {space: $p.space}) WHERE n.task = $p.task OR n.key = $p.task
CALL (n) { MATCH (n)-[r]->(m) RETURN collect(type(r) + '>' + m.key) AS out }
RETURN labels(n) AS labels, properties(n) AS properties, out"""
_SECRET = "a secret of ours"


def pairs(count: int, *, first: int = 0, calls: int = 2) -> list[Pair]:
    """Distinct pairs; some with several calls, some without an outcome."""
    return [
        (
            [ToolCall(name=f"tool_{j}", arguments={"n": i, "z": 1.0, "a": [j]}) for j in range(1 + i % calls)],
            [None if (i + j) % 7 == 6 else f"result {i}.{j} \N{SNOWMAN}" for j in range(1 + i % calls)],
        )
        for i in range(first, first + count)
    ]


def one_by_one(task: graphmem.Task, given: Sequence[Pair], attempt: str) -> list[graphmem.Grown]:
    """The same pairs by `step` and `observe`."""
    request, grown = task.open_request(), []
    for i, (calls, contents) in enumerate(given):
        output = StepOutput(tool_calls=tuple(calls))
        result = request.step(request.status(), output, attempt=f"{attempt}/{i}", own_calls=False)
        results = [ToolResult(call_id=c.id, content=t) for c, t in zip(result.calls, contents, strict=True)]
        grown.append(request.observe(result, results))
    return grown


def graph_of(connection: Connection, task: graphmem.Task) -> list[Any]:
    """Every node of a task with its labels, properties and arrows; what names one operation only is left out."""
    rows = connection.run("tests/nodes", _NODES, {"space": task.space, "task": f"{task.space}/{task.name}"})
    found = []
    for row in rows:
        properties = {k: v for k, v in row["properties"].items() if k not in ("op", "lock")}
        found.append((sorted(row["labels"]), properties, sorted(row["out"])))
    return sorted(found, key=lambda node: str(node[1]["key"]))


def prepared(space: graphmem.Space) -> graphmem.Task:
    """A task with an earlier request, states, a summary and, behind a revise, nodes to merge into."""
    task = space.task("run", irreversible=("tool_1",))
    say(task.request("earlier", attempt="1"), add("k1"), message="done")
    request = task.request("the open one", attempt="2")
    one_by_one(task, pairs(2), "before")
    say(request, add("k2"))
    task.compress("before", attempt="3")
    one_by_one(task, pairs(3, first=10), "tried")
    task.compress("a wrong turn", attempt="4")
    task.revise(task.path().summaries[-1], feedback="not that way", attempt="5")
    return task


def test_a_batch_writes_what_single_grows_write(space: graphmem.Space, graph: graphmem.Graph) -> None:
    """Three rows merge, the rest is new; the same space and task by turns, so that every key is the same."""
    given = [*pairs(3, first=10), *pairs(20, first=40)]
    found = []
    for way in ("single", "many", "batches of 4"):
        task = prepared(space)
        if way == "single":
            grown = one_by_one(task, given, "load")
        else:
            grown = list(task.grow_many(given, attempt="load", batch=500 if way == "many" else 4))
        told = [(tuple(g), g.number, g.merged, g.notes) for g in grown]
        found.append((told, graph_of(graph.connection, task), task.path(), task.prompt().text()))
        graph.connection.run("tests/clear", "MATCH (n {space: $p.space}) DETACH DELETE n", {"space": space.name})
    assert [g[2] for g in found[0][0]] == [True] * 3 + [False] * 20
    assert found[0][0][0][3] == ("not that way",)
    single, many, batches = found
    for told, nodes, path, prompt in (many, batches):
        assert told == single[0]
        for node, expected in zip(nodes, single[1], strict=True):
            assert node == expected
        assert path == single[2]
        assert prompt == single[3]


def test_an_interrupted_load_goes_on_where_it_ended(space: graphmem.Space, graph: graphmem.Graph) -> None:
    task = space.task("run")
    task.request("load")
    given = pairs(30)

    def interrupted() -> Any:
        for i, pair in enumerate(given):
            if i == 17:
                raise KeyboardInterrupt
            yield pair

    with pytest.raises(KeyboardInterrupt):
        task.grow_many(interrupted(), attempt="load", batch=5)
    assert len(task.path().recent) == 15
    again = task.grow_many(given, attempt="load", batch=7)
    assert [g.number for g in again] == list(range(1, 31))
    before = graph_of(graph.connection, task)
    assert task.grow_many(given, attempt="load", batch=11) == again
    assert graph_of(graph.connection, task) == before


def test_a_load_refuses_what_single_grows_refuse(space: graphmem.Space) -> None:
    task = space.task("run")
    with pytest.raises(graphmem.NotFoundError):
        task.grow_many(pairs(1), attempt="load")
    request = task.request("load")
    wrong: list[Pair] = [([], []), (pairs(1)[0][0], [])]
    for pair in wrong:
        with pytest.raises(graphmem.InvalidValueError):
            task.grow_many([pair], attempt="load")
    task.grow_many(pairs(2), attempt="load")
    with pytest.raises(graphmem.NotPendingError):
        task.grow_many(pairs(2, first=5), attempt="load")
    result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="look"),)))
    with pytest.raises(graphmem.PendingCallsError):
        task.grow_many(pairs(3), attempt="load")
    request.observe(result, [ToolResult.unknown(result.calls[0].id)])
    task.compress("all of it")
    task.revise(task.path().summaries[-1], feedback="no")
    with pytest.raises(graphmem.AbandonedAttemptError):
        task.grow_many(pairs(2), attempt="load")
    assert [g.merged for g in task.grow_many(pairs(3), attempt="anew")] == [True, True, False]


def test_a_load_is_redacted(space: graphmem.Space, graph: graphmem.Graph, server_env: dict[str, str]) -> None:
    with graphmem.connect(
        graph.connection.uri,
        server_env["GRAPHMEM_USER"],
        server_env["GRAPHMEM_PASSWORD"],
        redact=lambda text: text.replace(_SECRET, "[redacted]"),
    ) as opened:
        task = opened.space(space.name).task("run")
        task.request("load")
        task.grow_many([([ToolCall(name="ask", arguments={_SECRET: _SECRET})], [_SECRET])], attempt="load")
        assert _SECRET not in str(graph_of(graph.connection, task))
        assert len(task.path().recent) == 1
