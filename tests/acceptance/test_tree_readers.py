"""Many that write one tree for a while, and those that read it meanwhile.

No error but the documented ones, every read of one moment, and what is past stays as it was.
"""

import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable

import pytest

import graphmem
from graphmem import (
    NothingToCompressError,
    NothingToReviseError,
    NotPendingError,
    OffPathError,
    Path,
    PendingCallsError,
    RequestClosedError,
    Space,
    StaleStatusError,
    StepOutput,
    Task,
    TaskExistsError,
    ToolCall,
    ToolResult,
)
from graphmem.store import Connection
from tests.acceptance.speech import add, say
from tests.acceptance.test_races import at_once
from tests.acceptance.tree_speech import fails, grow, own, passes
from tests.acceptance.tree_writer import check_ledger, writing

pytestmark = pytest.mark.usefixtures("sound")

MIXED_TIMES, MIXED_SECONDS = 300, 120.0


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


# --- writers ----------------------------------------------------------------------------------------------------------

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
    graphmem.AbandonedAttemptError,  # the same output as one that another thread gave and a third one left behind
)


def test_eight_threads_of_mixed_operations(space: Space, connection: Connection) -> None:
    task = space.task("t")
    task.request("go")
    until = time.monotonic() + MIXED_SECONDS
    done: Counter[str] = Counter()

    def work(i: int) -> None:
        chance = random.Random(i)
        while time.monotonic() < until and (done.total() < MIXED_TIMES or not set(MIXED) <= set(done)):
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
    prompt, request = task.prompt(), task.open_request()
    if prompt.status.request != request.number:
        raise StaleStatusError("another request is open by now")
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
