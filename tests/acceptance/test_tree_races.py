"""Several writers on one tree: threads, and processes that share nothing but the server.

Of two that cannot both be, one wins and the other is told so by a documented error; numbers have no gap, versions go
up by one, and whoever reads meanwhile sees the tree of one moment.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest

import graphmem
from graphmem import (
    Grown,
    NothingToCompressError,
    NothingToReviseError,
    NotPendingError,
    OffPathError,
    Path,
    PendingCallsError,
    Request,
    RequestClosedError,
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
from tests.acceptance.speech import add, say
from tests.acceptance.test_races import at_once, numbers
from tests.acceptance.tree_speech import fails, grow, own, passes, subgoals, walked

pytestmark = pytest.mark.usefixtures("sound")

PROCESSES, THREADS = 4, 50
ROUNDS = 4
MIXED_SECONDS = 6.0


def both(*calls: Callable[[], Any]) -> list[Any]:
    """What calls at the same moment come to: their answers, or the errors they are told."""
    return at_once(len(calls), lambda i: calls[i]())


def kinds(answers: list[Any]) -> Counter[type]:
    return Counter(type(answer) for answer in answers)


def count(connection: Connection, space: Space, label: str, task: str = "t") -> int:
    text = "MATCH (n {task: $p.task}) WHERE $p.label IN labels(n) RETURN count(n) AS count"
    return int(connection.run("test", text, {"task": f"{space.name}/{task}", "label": label})[0]["count"])


def check_ledger(connection: Connection, space: Space, task: str = "t") -> list[dict[str, Any]]:
    """Numbers from 1 without a gap, versions that go up by one with every step but a verdict."""
    rows = connection.run(
        "test",
        "MATCH (s:Step {task: $p.task}) RETURN s.number AS number, s.kind AS kind, s.version AS version "
        "ORDER BY number",
        {"task": f"{space.name}/{task}"},
    )
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    for before, after in pairwise(rows):
        assert after["version"] - before["version"] == (0 if after["kind"] == "maintain" else 1)
    return rows


# --- the same at once -------------------------------------------------------------------------------------------------


def test_two_hundred_that_observe_the_same_calls_grow_one_node_by_one_step(
    space: Space, connection: Connection, server_env: Mapping[str, str]
) -> None:
    request = space.task("t").request("go")
    calls = (ToolCall(name="search"), ToolCall(name="book"))
    request.step(request.status(), StepOutput(tool_calls=calls))
    answers = told_by_processes(server_env, "observe", space.name)
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


def told_by_processes(server_env: Mapping[str, str], what: str, space: str) -> list[Any]:
    command = [sys.executable, __file__, what, space]
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


def main(what: str, space: str) -> None:
    """One of several processes: `observe` the pending calls, or `retry` one operation, in many threads."""
    assert what == "observe"
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
        while len(wrote) < 25:
            forks.append(task.fork(f"f{len(forks)}", at=at))
    assert len(forks) > 3
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


# --- many, for a while ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def writing(task: Task, *, several: int = 6) -> Iterator[list[int]]:
    """One writer that walks, compresses, judges, goes back and finishes until the block ends; the steps it made."""
    wrote: list[int] = []
    over, failed = threading.Event(), list[BaseException]()

    def write() -> None:
        chance = random.Random(5)
        try:
            while not over.is_set():
                wrote.append(_write(task, chance, several))
        except BaseException as error:  # noqa: BLE001  # told below, in the thread of the test
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield wrote
    finally:
        over.set()
        thread.join()
    assert not failed, failed


def _write(task: Task, chance: random.Random, several: int) -> int:
    """One operation of a writer that is alone."""
    request = task.open_request()
    path = task.path()
    match chance.choice("gggcmrRf"):
        case "c" if path.recent:
            return task.compress("did something").from_step
        case "m" if path.summaries:
            return task.maintain(None, chance.choice([passes, fails("no")])).step
        case "r" if path.recent:
            return task.revise(feedback="no").step
        case "R" if path.summaries:
            return task.revise(chance.choice(path.summaries), feedback="back").step
        case "f":
            step = say(request, message="done").step
            task.request("next")
            return step
        case _:
            texts = [f"{chance.randint(0, 3)} {i}" for i in range(several)]
            id_ = f"s{chance.randint(0, 9)}"
            grow(request, *texts, delta=(add(id_),))
            return 0


DOCUMENTED = (
    StaleStatusError,
    PendingCallsError,
    NotPendingError,
    RequestClosedError,
    graphmem.RequestOpenError,
    graphmem.NoOpenRequestError,
    OffPathError,
    NothingToReviseError,
    NothingToCompressError,
    TaskExistsError,
    graphmem.NotFoundError,
)


def test_eight_threads_of_mixed_operations_for_a_while(space: Space, connection: Connection) -> None:
    task = space.task("t")
    task.request("go")
    until = time.monotonic() + MIXED_SECONDS
    done: Counter[str] = Counter()

    def work(i: int) -> None:
        chance = random.Random(i)
        while time.monotonic() < until:
            name = chance.choice(list(MIXED))
            try:
                MIXED[name](task, chance)
                done[name] += 1
            except DOCUMENTED as error:
                done[type(error).__name__] += 1

    answers = at_once(8, work)
    assert answers == [None] * 8
    check_ledger(connection, space)
    assert set(MIXED) <= set(done), done
    _settle(task)
    grow(task.open_request(), "still works")
    assert task.path().recent[-1].results[0].content == "still works"


def _answer(task: Task, _: random.Random) -> None:
    request = task.open_request()
    pending = request.status().pending
    if pending is None:
        raise NotPendingError("nothing waits")
    request.observe(pending, [ToolResult(call_id=call.id, content="same") for call in pending.calls])


def _ask(task: Task, chance: random.Random) -> None:
    request = task.open_request()
    calls = (ToolCall(name="look", arguments={"n": chance.randint(0, 2)}),)
    request.step(request.status(), StepOutput(delta=(add(f"s{chance.randint(0, 99)}"),), tool_calls=calls))


def _finish(task: Task, _: random.Random) -> None:
    say(task.open_request(), message="done")
    task.request("next")


def _reopen(task: Task, _: random.Random) -> None:
    task.request("after a finish")


def _back(task: Task, chance: random.Random) -> None:
    summaries = task.path().summaries
    task.revise(chance.choice([None, *summaries]), feedback="back", world=chance.choice(["unchanged", "restored"]))


def _own(task: Task, chance: random.Random) -> None:
    prompt = task.prompt()
    request = task.open_request()
    if chance.random() < 0.5:
        own(request, "compress", add("o"), shown=prompt, summary="by the model")
    else:
        own(request, "revise", add("o"), shown=prompt, feedback="by the model")


def _fork(task: Task, chance: random.Random) -> None:
    name = f"f{chance.randint(0, 10**9)}"
    fork = task.fork(name)
    fork.path()
    grow(fork.open_request(), "in the fork")


def _look(task: Task, chance: random.Random) -> None:
    check_path(task.path())
    task.at(chance.randint(1, 5)).path()
    task.prompt().text(), task.origin()


MIXED: dict[str, Callable[[Task, random.Random], None]] = {
    "ask": _ask,
    "answer": _answer,
    "compress": lambda task, _: (task.compress("did it"), None)[1],
    "maintain": lambda task, chance: (task.maintain(None, chance.choice([passes, fails("no")])), None)[1],
    "back": _back,
    "own": _own,
    "finish": _finish,
    "fork": _fork,
    "look": _look,
}


def _settle(task: Task) -> None:
    """Nothing pending, a request open."""
    with contextlib.suppress(graphmem.RequestOpenError):
        task.request("to settle")
    with contextlib.suppress(NotPendingError):
        _answer(task, random.Random(0))


# --- readers beside a writer ------------------------------------------------------------------------------------------


def check_path(path: Path, several: int | None = None) -> None:
    """The path of one moment: every node whole, numbers of R behind the boundary, C in order."""
    boundaries = [summary.boundary for summary in path.summaries]
    assert len({s.key for s in path.summaries}) == len(boundaries)
    assert len({node.key for node in path.recent}) == len(path.recent)
    assert path.recent == () or path.recent[-1].key == path.p_b
    for node in (n for n in path.recent if n.number > 3):
        assert [o.id for o in node.results] == [f"obs:{node.number}.{i}" for i in range(1, len(node.results) + 1)]
        assert several in (None, len(node.results))
    for tried in (t for t in path.hints.tried if t.number > 3):
        assert several in (None, len(tried.results))


def test_reads_beside_a_writer_are_of_one_moment(task: Task, space: Space, connection: Connection) -> None:
    task.compress("did the tail")
    several, old = 12, 9
    then = (task.at(old).path(), task.at(old).status(), task.at(old).states(), task.prompt(at=old).text())
    versions: list[int] = []
    with writing(task, several=several) as wrote:
        while len(wrote) < 120:
            path = task.path()
            check_path(path, several)
            versions.append(path.version)
            check_now(task)
        assert then == (task.at(old).path(), task.at(old).status(), task.at(old).states(), task.prompt(at=old).text())
    assert versions == sorted(versions)
    check_ledger(connection, space)


def check_now(task: Task) -> None:
    """The prompt is of one version, and the newest step reads back whole, at once."""
    past = task.now()
    check_path(past.path())
    assert past.path() == past.path()
    with contextlib.suppress(graphmem.NoOpenRequestError):
        past.status()
    with contextlib.suppress(graphmem.NoOpenRequestError):
        prompt = task.prompt()
        assert prompt.path is not None
        assert prompt.status.version == prompt.path.version


if __name__ == "__main__":
    main(*sys.argv[1:])
