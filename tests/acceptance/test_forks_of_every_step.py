"""A fork of each step of a long mixed run: what it shows, how it goes on, and that the origin does not notice."""

from typing import Any

import pytest

from graphmem import (
    NoOpenRequestError,
    NothingToReviseError,
    Path,
    PendingCallsError,
    Prompt,
    Request,
    Space,
    StateKind,
    Status,
    Task,
)
from graphmem.inspect import audit
from graphmem.store import Connection
from tests.acceptance.speech import add, say
from tests.acceptance.test_past import Recorder, mixed_run, plain_path, plain_status
from tests.acceptance.tree_speech import grow, subgoals, walked


@pytest.fixture
def recorded(space: Space, connection: Connection) -> Recorder:
    recorder = Recorder(space.task("t"), connection)
    mixed_run(recorder)
    return recorder


def forks(recorded: Recorder, steps: slice = slice(None)) -> list[tuple[int, Task]]:
    """A fork of every step at which no calls waited."""
    made: list[tuple[int, Task]] = []
    for step in sorted(recorded.statuses)[steps]:
        try:
            made.append((step, recorded.task.fork(f"f{step}", at=step)))
        except PendingCallsError:
            status = recorded.statuses[step]
            assert status is not None
            assert status[0]["pending"] is not None
    return made


def taken(path: Path) -> dict[str, Any]:
    """What a fork takes of a path: all but what was tried from there, and where summaries came from."""
    return {
        "summaries": [(s.boundary, s.text, s.verdict, s.note) for s in path.summaries],
        "recent": [(node.number, node.results) for node in path.recent],
        "feedback": path.hints.feedback,
        "boundary": path.boundary,
        "unseen": path.unseen,
    }


def shown(task: Task) -> Status | None:
    try:
        return task.open_request().status()
    except NoOpenRequestError:
        return None


def opened(task: Task) -> Request:
    try:
        return task.open_request()
    except NoOpenRequestError:
        return task.request("what the fork is for")


def stands(path: Path) -> tuple[Any, ...]:
    return subgoals(path), walked(path), path.p_b, path.p_t, path.boundary


def test_a_fork_of_any_step_shows_to_the_letter_what_was_shown_then(
    recorded: Recorder, space: Space, connection: Connection
) -> None:
    for step, fork in forks(recorded):
        then, path = recorded.task.at(step), fork.path()
        assert taken(path) == taken(then.path()), step
        assert (path.hints.tried, path.hints.subgoals) == ((), ()), step
        status, past = shown(fork), recorded.statuses[step]
        assert (status is None) == (past is None), step
        if status is not None and past is not None:
            assert status.text() == past[1], step
            assert fork.at(step + 1).status().text() == past[1], step
            assert fork.prompt().text() == Prompt(status=status, path=path, budget_tokens=None).text()
        now, was = fork.at(step + 1).states(), then.states()
        assert [state.to_dict() for state in now] == [state.to_dict() for state in was], step
    assert audit(connection, space.name) == ()


def test_a_fork_of_any_step_goes_on_and_comes_back_to_where_it_began(
    recorded: Recorder, space: Space, connection: Connection
) -> None:
    task = recorded.task
    before = plain_path(task.path()), plain_status(task.open_request().status())
    for step, fork in forks(recorded, slice(None, None, 5)):
        began, first = stands(fork.path()), shown(fork)
        for target in (None, *fork.path().summaries):
            with pytest.raises(NothingToReviseError):
                fork.revise(target, feedback="it is of the origin")
        request = opened(fork)
        grow(request, "x", delta=(add("mine", kind=StateKind.JUDGEMENT),))
        grow(request, "y")
        fork.revise(feedback="neither x nor y")
        assert stands(fork.path()) == began, step
        assert "mine" not in {state.id for state in request.status().active}
        if first is not None:
            assert {s.id for s in request.status().active} == {s.id for s in first.active}, step
        grew = grow(request, "x")
        assert grew.merged
        summary = fork.compress("x after all")
        say(request, add("kept", *grew), message="done")
        fork.revise(summary, feedback="x is wrong")
        assert stands(fork.path()) == began, step
        again = fork.fork(f"g{step}")
        assert taken(again.path()) == taken(fork.path()), step
        say(opened(again), message="so be it")
    assert audit(connection, space.name) == ()
    assert (plain_path(task.path()), plain_status(task.open_request().status())) == before


def test_a_fork_keeps_the_order_in_which_states_were_shown(space: Space) -> None:
    task = space.task("t")
    with task.request("one") as request:
        say(request, add("a"), add("b"), message="done")
    request = task.request("two")
    say(request, see=("b",))
    say(request, add("c"))
    say(request, see=("a",))
    fork = task.fork("f").fork("g")
    assert [state.id for state in fork.open_request().status().active] == ["b", "c", "a"]


def test_the_lowest_summary_that_was_copied_is_refused_too(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "x")
    task.compress("first")
    grow(request, "y")
    task.compress("second")
    fork = task.fork("f")
    for boundary in (0, 1):
        with pytest.raises(NothingToReviseError, match="/t with the fork at step 7"):
            fork.revise(boundary, feedback="no")
