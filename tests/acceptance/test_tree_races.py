"""Several writers on one tree: threads, and processes that share nothing but the server.

What is the same is done once. Of two that cannot both be, one wins and the other is told so by a documented error;
numbers have no gap, versions go up by one. A fork of what is past is exact whatever its origin writes.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import graphmem
from graphmem import (
    Grown,
    NothingToCompressError,
    NothingToReviseError,
    OffPathError,
    PendingCallsError,
    Request,
    Revised,
    Space,
    StaleStatusError,
    StepOutput,
    StepResult,
    Summary,
    Task,
    TaskError,
    TaskExistsError,
    ToolCall,
    ToolResult,
    Verdict,
)
from graphmem.store import Connection
from tests.acceptance.speech import add
from tests.acceptance.test_races import at_once, numbers
from tests.acceptance.tree_speech import fails, grow, own, subgoals, walked
from tests.acceptance.tree_writer import check_ledger, writing

pytestmark = pytest.mark.usefixtures("sound")

PROCESSES, THREADS = 4, 50
ROUNDS = 4


def both(*calls: Callable[[], Any]) -> list[Any]:
    """What calls at the same moment come to: their answers, or the errors they are told."""
    return at_once(len(calls), lambda i: calls[i]())


def kinds(answers: list[Any]) -> Counter[type]:
    return Counter(type(answer) for answer in answers)


def count(connection: Connection, space: Space, label: str, task: str = "t") -> int:
    text = "MATCH (n {task: $p.task}) WHERE $p.label IN labels(n) RETURN count(n) AS count"
    return int(connection.run("test", text, {"task": f"{space.name}/{task}", "label": label})[0]["count"])


# --- the same at once -------------------------------------------------------------------------------------------------


def test_two_hundred_that_observe_the_same_calls_grow_one_node_by_one_step(
    space: Space, connection: Connection, server_env: Mapping[str, str]
) -> None:
    request = space.task("t").request("go")
    calls = (ToolCall(name="search"), ToolCall(name="book"))
    request.step(request.status(), StepOutput(tool_calls=calls))
    answers = told_by_processes(server_env, space.name)
    assert len(answers) == PROCESSES * THREADS == 200
    assert answers == [["obs:1.1", "obs:1.2"]] * 200
    assert [count(connection, space, label) for label in ("TraceNode", "RawObservation", "Step")] == [2, 2, 3]
    assert [o.content for o in request.status().observation] == ["said 0", "said 1"]


def test_two_hundred_walks_of_one_action_are_one_node(space: Space, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("go")
    grown = []
    for _ in range(200):
        grown.append(grow(request, "the same", "again"))
        task.revise(feedback="once more")
    assert set(map(tuple, grown)) == {("obs:1.1", "obs:1.2")}
    assert [g.merged for g in grown] == [False] + [True] * 199
    assert [count(connection, space, label) for label in ("TraceNode", "RawObservation", "SummaryNode")] == [2, 2, 2]
    path = task.path()
    assert [tried.number for tried in path.hints.tried] == [1]
    assert len(check_ledger(connection, space)) == 1 + 3 * 200


def told_by_processes(server_env: Mapping[str, str], space: str) -> list[Any]:
    command = [sys.executable, __file__, space]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **server_env})
        for _ in range(PROCESSES)
    ]
    told: list[Any] = []
    for process in processes:
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        told += json.loads(said)
    return told


def main(space: str) -> None:
    """One of several processes: the pending calls are observed in many threads."""
    with graphmem.connect() as graph:
        request = graph.space(space).task("t").open_request()
        pending = request.status().pending
        if pending is None:  # another process was first: what it answered is answered again
            pending = _pending_of(graph, space)
        results = [ToolResult(call_id=call.id, content=f"said {i}") for i, call in enumerate(pending.calls)]
        print(json.dumps(at_once(THREADS, lambda _: list(request.observe(pending, results)))))


def _pending_of(graph: graphmem.Graph, space: str) -> graphmem.PendingCalls:
    status = graph.space(space).task("t").at(2).status()
    assert status.pending is not None
    return status.pending


def test_of_many_compressions_at_once_one_summary_is_made(space: Space, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("go")
    grow(request, "one")
    answers = at_once(8, lambda i: task.compress(f"by {i}"))
    assert kinds(answers) == {Summary: 1, NothingToCompressError: 7}
    (made,) = [answer for answer in answers if isinstance(answer, Summary)]
    assert task.path().summaries == (made,)
    assert count(connection, space, "SummaryNode") == 2
    check_ledger(connection, space)


@pytest.mark.parametrize("what", ["compress", "maintain", "revise", "fork"])
def test_sixteen_of_one_attempt_are_one_operation(space: Space, connection: Connection, what: str) -> None:
    task = space.task("t")
    request = task.request("go")
    grow(request, "one")
    summary = task.compress("did one")
    grow(request, "two")
    calls: dict[str, Callable[[], Any]] = {
        "compress": lambda: task.compress("did two", attempt="a"),
        "maintain": lambda: task.maintain(summary, fails("no"), attempt="a"),
        "revise": lambda: task.revise(summary, feedback="no", attempt="a"),
        "fork": lambda: task.fork("f", at=4).path(),
    }
    steps = len(check_ledger(connection, space))
    answers = at_once(16, lambda _: calls[what]())
    assert all(answer == answers[0] for answer in answers), answers
    assert not isinstance(answers[0], TaskError)
    assert calls[what]() == answers[0]
    assert len(check_ledger(connection, space)) == steps + (what != "fork")


# --- two that cannot both be ------------------------------------------------------------------------------------------


@pytest.fixture
def task(space: Space) -> Task:
    """Two finished subgoals and a tail."""
    task = space.task("t")
    request = task.request("go")
    for i in range(2):
        grow(request, f"{i}", delta=(add(f"k{i}"),))
        task.compress(f"did {i}")
    grow(request, "tail")
    return task


def test_revise_against_step(task: Task, space: Space, connection: Connection) -> None:
    for i in range(ROUNDS):
        request = task.open_request()
        status = request.status()
        grow_or_say = StepOutput(delta=(add(f"s{i}"),))
        answers = both(
            lambda: request.step(status, grow_or_say),  # noqa: B023  # joined in this round
            lambda: task.revise(feedback="no"),
        )
        assert isinstance(answers[1], Revised)
        assert isinstance(answers[0], StepResult | StaleStatusError)
        grow(request, f"more {i}")
    check_ledger(connection, space)


def test_revise_against_observe_is_refused_while_calls_wait(task: Task, space: Space, connection: Connection) -> None:
    seen: set[type] = set()
    for i in range(ROUNDS):
        request = task.open_request()
        result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="look", arguments={"i": i}),)))
        answers = both(
            lambda: observe(request, result, "x"),  # noqa: B023  # joined in this round
            lambda: task.revise(feedback="no"),
            lambda: task.revise(1, feedback="no", dry_run=True),
        )
        assert isinstance(answers[0], Grown)
        assert isinstance(answers[1], Revised | PendingCallsError)
        path = task.path()
        assert walked(path)[-1:] == ([] if isinstance(answers[1], Revised) else [answers[0].number])
        seen |= set(map(type, answers))
        if not path.recent:
            grow(request, "again")
    assert seen <= {Grown, Revised, PendingCallsError}
    check_ledger(connection, space)


def observe(request: Request, result: StepResult, text: str) -> Grown:
    return request.observe(result, [ToolResult(call_id=call.id, content=text) for call in result.calls])


def test_compress_against_observe_covers_the_node_or_leaves_it(
    task: Task, space: Space, connection: Connection
) -> None:
    for i in range(ROUNDS):
        request = task.open_request()
        result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="look", arguments={"i": i}),)))
        before = walked(task.path())
        answers = both(
            lambda: observe(request, result, "x"),  # noqa: B023  # joined in this round
            lambda: task.compress("did it"),
        )
        grown, summary = answers
        assert isinstance(grown, Grown)
        if isinstance(summary, NothingToCompressError):
            assert not before
            continue
        assert isinstance(summary, Summary)
        assert walked(task.path()) in ([], [grown.number])
    check_ledger(connection, space)


def test_finish_against_revise(task: Task, space: Space, connection: Connection) -> None:
    for i in range(ROUNDS):
        request = task.open_request()
        status = request.status()
        answers = both(
            lambda: request.step(status, StepOutput(message="done")),  # noqa: B023  # joined in this round
            lambda: task.revise(feedback="no"),
        )
        said, revised = answers
        if isinstance(said, StepResult) and isinstance(revised, NothingToReviseError):
            task.revise(task.path().summaries[-1], feedback="rejected")
        else:
            assert isinstance(said, StepResult | StaleStatusError)
            assert isinstance(revised, Revised)
        assert task.open_request().number == 1
        grow(task.open_request(), f"more {i}")
    check_ledger(connection, space)


@pytest.mark.parametrize("targets", [(0, 0), (0, 1), (1, None), (None, None)])
def test_two_revises_at_once(
    task: Task, space: Space, connection: Connection, targets: tuple[int | None, int | None]
) -> None:
    answers = both(*(lambda t=t: task.revise(t, feedback=f"to {t}") for t in targets))
    done = [(t, a) for t, a in zip(targets, answers, strict=True) if isinstance(a, Revised)]
    assert kinds(answers) <= Counter({Revised: 2, OffPathError: 1, NothingToReviseError: 1})
    assert done
    path = task.path()
    last = max(done, key=lambda pair: pair[1].step)
    assert path.hints.feedback == f"to {last[0]}"
    lowest = min((t for t, _ in done if t is not None), default=2)
    assert subgoals(path) == [(0, "did 0"), (1, "did 1")][:lowest]
    check_ledger(connection, space)


def test_maintain_against_revise(task: Task, space: Space, connection: Connection) -> None:
    target = task.path().summaries[-1]
    answers = both(
        lambda: task.maintain(target, fails("by the judge")), lambda: task.revise(target, feedback="by the agent")
    )
    verdict, revised = answers
    assert isinstance(verdict, Verdict)
    assert isinstance(revised, Revised)
    (tried,) = [s for s in task.path().hints.subgoals if s.key == target.key]
    later = "by the judge" if verdict.step > revised.step else "by the agent"
    assert (tried.verdict, tried.note) == ("failed", later)
    assert verdict.on_path == (verdict.step < revised.step)
    check_ledger(connection, space)


def test_of_the_models_own_revise_and_the_callers_one_is_stale_or_both_are_in_order(
    task: Task, space: Space, connection: Connection
) -> None:
    request = task.open_request()
    shown = request.status()
    answers = both(
        lambda: own(request, "revise", add("mine"), shown=shown, step=1, feedback="by the model"),
        lambda: task.revise(0, feedback="by the caller"),
    )
    said, revised = answers
    assert isinstance(revised, Revised)
    if isinstance(said, StaleStatusError):
        assert count(connection, space, "Step") == revised.step
    else:
        assert said.revised is not None
        assert said.step < revised.step
    assert task.path().hints.feedback == "by the caller"
    check_ledger(connection, space)


# --- forks ------------------------------------------------------------------------------------------------------------


def test_of_two_forks_of_one_name_from_other_steps_one_is_made(task: Task, space: Space) -> None:
    answers = at_once(8, lambda i: task.fork("f", at=(4, 7)[i % 2]))
    assert kinds(answers) == {Task: 4, TaskExistsError: 4}
    origins = [made.origin() for made in answers if isinstance(made, Task)]
    (origin,) = {made.step for made in origins if made is not None}
    assert origin in (4, 7)
    assert space.task("f").path().version == task.at(origin).path().version + 1


def test_a_fork_at_a_past_step_is_exact_while_its_origin_writes(
    task: Task, space: Space, graph: graphmem.Graph
) -> None:
    at = 7
    status, path, states = task.at(at).status(), task.at(at).path(), task.at(at).states()
    with writing(task) as wrote:
        forks: list[Task] = []
        while len(wrote) < 15 or len(forks) < 4:
            forks.append(task.fork(f"f{len(forks)}", at=at))
    for fork in forks:
        seen = fork.path()
        assert (seen.summaries, walked(seen)) == (
            tuple(
                s.__class__(**{**s.to_dict(), "key": k.key, "from_step": at + 1, "copied": True})
                for s, k in zip(path.summaries, seen.summaries, strict=True)
            ),
            walked(path),
        )
        mine = fork.open_request().status()
        assert mine.text() == status.text()
        assert [state.to_dict() for state in fork.at(at + 1).states()] == [state.to_dict() for state in states]
        assert numbers(graph, space, fork.name) == [at + 1]


if __name__ == "__main__":
    main(sys.argv[1])
