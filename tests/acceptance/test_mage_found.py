"""What random runs against the model of MAGE found wrong, each as a case of its own."""

import pytest

from graphmem import Case, Ruling, Space, StateKind
from tests.acceptance.speech import add, index_ids, rejected, say
from tests.acceptance.tree_speech import grow, own

pytestmark = pytest.mark.usefixtures("sound")


@pytest.mark.parametrize("kind", [StateKind.JUDGEMENT, StateKind.KNOWLEDGE])
def test_a_request_whose_heading_the_revise_takes_away_cannot_be_asked_for_in_the_same_output(
    space: Space, kind: StateKind
) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    task.compress("did a")
    grow(request, "b")
    say(request, message="done")
    request = task.request("two")
    grow(request, "c")
    say(request, add("x", kind=kind), message="done")
    request = task.request("three")
    result = own(request, "revise", see=("request:1", "request:2"), step=1, feedback="no b")
    stays = kind is StateKind.KNOWLEDGE
    assert result.disclosed == (("request:1", "request:2") if stays else ("request:1",))
    assert set(rejected(result)) == (set() if stays else {"access request:2"})
    assert index_ids(request.status()) == ({1: [], 2: ["x"]} if stays else {1: []})


def test_in_a_fork_what_the_origin_had_left_behind_is_not_on_the_path(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "on the path")
    task.compress("the first subgoal")
    grow(request, "left behind")
    say(request, add("good", "obs:1.1"), add("seen", "obs:2.1"))
    task.revise(feedback="wrong")
    grow(request, "to be the boundary")
    task.compress("the second subgoal")
    for fork in (task.fork("f"), task.fork("g").fork("h")):
        request = fork.open_request()
        grow(request, "of the fork")
        say(request, add("x", "obs:1.1"), add("y", "obs:2.1"), add("z", "obs:3.1"), add("w", "obs:4.1"))
        assert fork.revise(feedback="no", world="restored").left == ("y", "w")


def test_a_judge_in_a_fork_is_shown_what_an_inherited_summary_covers_and_the_request_it_was_for(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    grow(request, "b")
    say(request, message="done")
    request = task.request("two")
    grow(request, "c")
    task.compress("did c")
    cases: list[tuple[str, list[int]]] = []

    def judge(case: Case) -> Ruling:
        cases.append((case.instruction, [node.number for node in case.trace]))
        return Ruling(passed=True)

    for fork in (task.fork("f"), task.fork("g").fork("h")):
        first, second = fork.path().summaries
        assert not fork.maintain(first, judge).stands
        assert not fork.maintain(second, judge).stands
        assert fork.path().summaries == (first, second)
    assert cases == [("one", [1, 2]), ("two", [3])] * 2
