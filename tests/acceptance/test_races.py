"""Several writers on one task: threads, and processes that share nothing but the server.

Whatever is acknowledged is in the ledger once, numbers have no gap, and who lost is told so.
"""

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest

import graphmem
from graphmem import Operation, StateKind, StepOutput, ToolCall, ToolResult
from graphmem.inspect import audit

Answer = TypeVar("Answer")


def add(id_: str) -> StepOutput:
    return StepOutput(
        delta=(Operation(operation="add", id=id_, kind=StateKind.JUDGEMENT, summary=id_, value=id_, has_value=True),)
    )


def at_once(count: int, call: Callable[[int], Answer]) -> list[Answer | graphmem.TaskError]:
    """What `count` threads get, or are told, that start at the same moment."""
    gate = threading.Barrier(count)

    def one(i: int) -> Answer | graphmem.TaskError:
        gate.wait()
        try:
            return call(i)
        except graphmem.TaskError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def append(task: graphmem.Task, id_: str) -> tuple[int, int]:
    """The step number of an append that is tried until it is taken, and how often it was stale."""
    stale = 0
    while True:
        request = task.open_request()
        try:
            return request.step(request.status(), add(id_), attempt=id_).step, stale
        except graphmem.StaleStatusError:
            stale += 1


def numbers(graph: graphmem.Graph, space: graphmem.Space, task: str) -> list[int]:
    with graph.connection.transaction() as run:
        rows = run(
            "MATCH (s:Step {space: $p.space}) WHERE s.task = $p.task RETURN s.number AS number ORDER BY number",
            {"space": space.name, "task": f"{space.name}/{task}"},
        )
    return [row["number"] for row in rows]


def test_two_processes_on_one_task_take_turns(
    graph: graphmem.Graph, space: graphmem.Space, server_env: Mapping[str, str]
) -> None:
    task = space.task("shared")
    request = task.request("go")
    steps = 25
    command = [sys.executable, __file__, space.name, "shared", str(steps)]
    processes = [
        subprocess.Popen([*command, who], stdout=subprocess.PIPE, text=True, env={**os.environ, **server_env})
        for who in ("left", "right")
    ]
    taken: list[int] = []
    for process in processes:
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        taken += json.loads(said)
    assert sorted(taken) == list(range(2, 2 + 2 * steps))
    assert numbers(graph, space, "shared") == list(range(1, 2 + 2 * steps))
    status = request.status()
    assert status.version == 1 + 2 * steps
    assert {state.id for state in status.active} == {f"{who}-{i}" for who in ("left", "right") for i in range(steps)}
    assert list(audit(graph.connection, space.name)) == []


def test_of_two_steps_from_one_status_exactly_one_is_taken(graph: graphmem.Graph, space: graphmem.Space) -> None:
    task = space.task("pair")
    request = task.request("go")
    for round_ in range(10):
        status = request.status()
        answers = at_once(2, lambda i: request.step(status, add(f"{round_}-{i}")))  # noqa: B023  # joined in this round
        assert Counter(type(answer) for answer in answers) == {graphmem.StepResult: 1, graphmem.StaleStatusError: 1}
    assert numbers(graph, space, "pair") == list(range(1, 12))
    assert len(request.status().active) == 10


def test_of_sixteen_that_open_a_request_one_does(space: graphmem.Space) -> None:
    answers = at_once(16, lambda i: space.task("new").request(f"from {i}"))
    opened = [answer for answer in answers if isinstance(answer, graphmem.Request)]
    assert len(opened) == 1
    assert sum(isinstance(answer, graphmem.RequestOpenError) for answer in answers) == 15
    assert space.task("new").open_request().text == opened[0].text


def test_sixteen_that_open_under_one_attempt_get_one_request(graph: graphmem.Graph, space: graphmem.Space) -> None:
    answers = at_once(16, lambda _: space.task("new").request("go", attempt="one"))
    assert {answer.number for answer in answers if isinstance(answer, graphmem.Request)} == {1}
    assert all(isinstance(answer, graphmem.Request) for answer in answers)
    assert numbers(graph, space, "new") == [1]


def test_sixteen_of_one_attempt_are_one_step_and_fifteen_replays(graph: graphmem.Graph, space: graphmem.Space) -> None:
    request = space.task("one").request("go")
    status = request.status()
    answers = at_once(16, lambda _: request.step(status, add("a"), attempt="same"))
    results = [answer for answer in answers if isinstance(answer, graphmem.StepResult)]
    assert [len(results), sum(result.replayed for result in results)] == [16, 15]
    assert {(result.step, result.added) for result in results} == {(2, ("a",))}
    assert numbers(graph, space, "one") == [1, 2]


def test_eight_that_observe_the_same_calls_grow_one_node(graph: graphmem.Graph, space: graphmem.Space) -> None:
    request = space.task("tools").request("go")
    calls = (ToolCall(name="search"), ToolCall(name="book"))
    result = request.step(request.status(), StepOutput(tool_calls=calls))
    given = [ToolResult(call_id=call.id, content=f"{call.name} said é") for call in result.calls]
    answers = at_once(8, lambda _: request.observe(result, given))
    assert answers == [("obs:1.1", "obs:1.2")] * 8
    assert numbers(graph, space, "tools") == [1, 2, 3]
    assert [o.content for o in request.status().observation] == ["search said é", "book said é"]


def test_other_results_for_answered_calls_are_refused(space: graphmem.Space) -> None:
    request = space.task("tools").request("go")
    result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="search"),)))
    first = at_once(6, lambda i: request.observe(result, [ToolResult(call_id=result.calls[0].id, content=f"said {i}")]))
    assert Counter(type(answer) for answer in first) == {graphmem.Grown: 1, graphmem.NotPendingError: 5}
    with pytest.raises(graphmem.NotPendingError):
        request.observe(result, [ToolResult.unknown(result.calls[0].id)])
    winner = next(i for i, answer in enumerate(first) if isinstance(answer, tuple))
    assert [o.content for o in request.status().observation] == [f"said {winner}"]


def test_fifty_appends_get_fifty_numbers(graph: graphmem.Graph, space: graphmem.Space) -> None:
    space.task("queue").request("go")
    with ThreadPoolExecutor(10) as pool:
        taken = list(pool.map(lambda i: append(space.task("queue"), f"s{i}"), range(50)))
    assert sorted(step for step, _ in taken) == list(range(2, 52))
    assert numbers(graph, space, "queue") == list(range(1, 52))
    assert [s.id for s in space.task("queue").open_request().status().active] == [
        f"s{i}" for i, _ in sorted(enumerate(taken), key=lambda pair: pair[1][0])
    ]


def test_two_spaces_do_not_see_each_other_under_load(graph: graphmem.Graph, space: graphmem.Space) -> None:
    other = graph.space(f"{space.name}-x")
    try:
        for tenant in (space, other):
            tenant.task("same").request(f"of {tenant.name}")
        at_once(8, lambda i: [append((space, other)[i % 2].task("same"), f"s{j}-{i // 2}") for j in range(6)])
        for tenant in (space, other):
            status = tenant.task("same").open_request().status()
            assert status.query == f"of {tenant.name}"
            assert {state.id for state in status.active} == {f"s{j}-{i}" for j in range(6) for i in range(4)}
            assert numbers(graph, tenant, "same") == list(range(1, 26))
            assert list(audit(graph.connection, tenant.name)) == []
    finally:
        with graph.connection.transaction() as run:
            run("MATCH (n {space: $p.space}) DETACH DELETE n", {"space": other.name})


def test_a_space_that_holds_nothing_shows_nothing_of_another(space: graphmem.Space, graph: graphmem.Graph) -> None:
    space.task("same").request("go")
    with pytest.raises(graphmem.NotFoundError):
        graph.space(f"{space.name}-y").task("same").open_request()


def main(space: str, task: str, steps: int, who: str) -> None:
    with graphmem.connect() as graph:
        handle: Any = graph.space(space).task(task)
        print(json.dumps([append(handle, f"{who}-{i}")[0] for i in range(steps)]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
