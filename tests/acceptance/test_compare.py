"""Where two runs part, and what differs: forks, a fork and its origin, two moments of one task."""

import json

import pytest

from graphmem import Comparison, NotFoundError, Space, StateKind, Task, compare
from graphmem.errors import InvalidValueError
from tests.acceptance.speech import add, remove, say, update
from tests.acceptance.tree_speech import fails, grow, passes

JUDGEMENT = StateKind.JUDGEMENT


@pytest.fixture
def task(space: Space) -> Task:
    """Steps 2-3 action 1, 4 states, 5 compress, 6-7 action 2, 8 a state."""
    made = space.task("origin")
    request = made.request("find a hotel")
    grow(request, "A")
    say(request, add("fact"), add("guess", kind=JUDGEMENT))
    made.compress("looked at A")
    grow(request, "B")
    say(request, add("choice", kind=JUDGEMENT))
    return made


def numbers(found: Comparison) -> tuple[list[int], list[int]]:
    return [number for number, _ in found.a.actions], [number for number, _ in found.b.actions]


def texts(found: Comparison) -> tuple[list[str], list[str]]:
    return [s.text for s in found.a.summaries], [s.text for s in found.b.summaries]


def states(found: Comparison) -> tuple[list[str], list[str]]:
    return [id_ for id_, _ in found.a.states], [id_ for id_, _ in found.b.states]


def test_a_fork_and_its_origin_are_the_same_until_one_writes(task: Task) -> None:
    fork = task.fork("f")
    found = compare(task, fork)
    assert (found.same, found.parted_at, found.common) == (True, 2, 2)
    say(fork.open_request(), add("more"))
    assert not compare(task, fork).same


def test_two_forks_part_at_the_last_node_that_both_have(task: Task) -> None:
    left, right = task.fork("left", at=7), task.fork("right", at=8)
    grow(left.open_request(), "C", delta=(update("fact", summary="of the left"),))
    grow(right.open_request(), "D", delta=(remove("guess"), update("fact", summary="of the right"), add("new")))
    found = compare(left, right)
    assert (found.parted_at, found.common) == (2, 2)
    assert numbers(found) == ([3], [3])
    assert texts(found) == ([], [])
    assert states(found) == (["guess"], ["choice", "new"])
    assert [(d.id, d.a[0], d.b[0]) for d in found.differing] == [("fact", "of the left", "of the right")]
    mirrored = compare(right, left)
    assert (mirrored.a.states, mirrored.b.states) == (found.b.states, found.a.states)


def test_a_fork_of_a_past_step_parts_there_from_what_the_origin_did_afterwards(task: Task) -> None:
    fork = task.fork("f", at=5)
    found = compare(task, fork)
    assert (found.parted_at, found.common) == (1, 1)
    assert numbers(found) == ([2], [])
    assert states(found) == (["choice"], [])
    grow(fork.open_request(), "B")
    found = compare(task, fork)
    assert found.parted_at == 1, "what a fork grew of its own is its own, also where it reads the same"
    assert numbers(found) == ([2], [2])


def test_subgoals_of_one_text_over_other_actions_are_not_common(task: Task) -> None:
    left, right = task.fork("left"), task.fork("right")
    for side, content in ((left, "C"), (right, "D")):
        grow(side.open_request(), content)
        side.compress("went on")
    found = compare(left, right)
    assert texts(found) == (["went on"], ["went on"])
    assert found.parted_at == 2


def test_a_subgoal_of_which_maintain_said_something_else_differs_and_no_other_one(task: Task) -> None:
    task.compress("looked at B")
    fork, before = task.fork("f"), task.now()
    task.maintain(0, fails("A was not read"))
    found = compare(task, fork)
    assert not found.same
    assert [[(s.text, s.verdict, s.note) for s in side.summaries] for side in (found.a, found.b)] == [
        [("looked at A", "failed", "A was not read")],
        [("looked at A", "unchecked", None)],
    ]
    task.maintain(0, fails("B neither"))
    assert [s.note for s in compare(task.at(before.step + 1), task).b.summaries] == ["B neither"]
    task.maintain(0, passes)
    assert [s.verdict for s in compare(before, task).b.summaries] == ["passed"]
    assert compare(before, fork).same


def test_a_state_that_refers_to_something_else_differs(task: Task) -> None:
    fork = task.fork("f")
    say(task.open_request(), update("choice", "obs:2.1", "follows>guess"))
    found = compare(task, fork)
    assert [(d.id, d.a[2], d.b[2]) for d in found.differing] == [("choice", ("derives obs:2.1", "follows guess"), ())]
    assert not found.same


def test_a_fork_of_a_fork_is_compared_through_its_origins(task: Task) -> None:
    middle = task.fork("m")
    grow(middle.open_request(), "of the middle")
    last = middle.fork("l")
    grow(last.open_request(), "of the last")
    assert numbers(compare(task, last)) == ([], [3, 4])
    assert numbers(compare(middle, last)) == ([], [4])
    assert compare(task, last).parted_at == 2


def test_two_moments_of_a_task_say_what_a_revise_left(task: Task) -> None:
    before = task.at(8)
    task.revise(feedback="not B")
    grow(task.open_request(), "C")
    found = compare(before, task)
    assert (found.parted_at, numbers(found)) == (1, ([2], [3]))
    assert states(found) == (["choice"], [])
    assert compare(task.at(5), task.at(8)).a.actions == ()


def test_tasks_that_share_nothing_part_nowhere(task: Task, space: Space) -> None:
    other = space.task("other")
    grow(other.request("something else"), "A")
    found = compare(task, other)
    assert (found.parted_at, found.common) == (None, 0)
    assert not found.same


def test_a_comparison_is_plain_data(task: Task) -> None:
    found = compare(task.at(5), task)
    assert json.loads(json.dumps(found.to_dict(), default=str))["parted_at"] == 1


def test_what_is_not_there_cannot_be_compared(task: Task, space: Space) -> None:
    for missing in (space.task("nowhere"), task.at(99)):
        with pytest.raises(NotFoundError):
            compare(task, missing)
    with pytest.raises(InvalidValueError, match=r"task\.at"):
        compare(task, 7)  # type: ignore[arg-type]  # a step alone does not say whose
