"""MAGE without one of its mechanisms (§4.4): what is off is refused, and what is left works on."""

from typing import Any

import pytest

from graphmem import Case, InvalidValueError, MechanismOffError, NothingToReviseError, Ruling, Space, StateKind
from graphmem.store import Connection
from tests.acceptance.speech import add, rejected, say
from tests.acceptance.tree_speech import fails, grow, in_view, last_step, own, passes, subgoals, walked

pytestmark = pytest.mark.usefixtures("sound")


# --- without Compress -------------------------------------------------------------------------------------------------


def test_without_compress_r_grows_over_every_request(space: Space) -> None:
    task = space.task("t", compress=False)
    for number in (1, 2):
        request = task.request(f"q{number}")
        grow(request, f"r{number} " + "long " * 3_000)
        result = say(request, message=f"done {number}")
        assert result.summary is None
    request = task.request("q3")
    assert (subgoals(task.path()), walked(task.path())) == ([], [1, 2])
    with pytest.raises(MechanismOffError, match="Compress"):
        task.compress("x")
    assert task.compress_long(above_tokens=1) is None
    assert "without compress" in rejected(own(request, "compress", add("k"), summary="x"))["call compress"]
    assert in_view(request) == {"k"}


def test_without_compress_maintain_judges_the_growing_raw_trace_at_each_boundary(
    space: Space, connection: Connection
) -> None:
    task = space.task("t", compress=False)
    cases: list[Case] = []

    def judge(case: Case) -> Ruling:
        cases.append(case)
        return Ruling(passed=len(cases) < 2, feedback="the second was wrong")

    for number in (1, 2):
        request = task.request(f"q{number}")
        grow(request, f"r{number}")
        say(request, message=f"done {number}")
        verdict = task.maintain(None, judge)
    assert [[node.number for node in case.trace] for case in cases] == [[1], [1, 2]]
    assert [(case.summary, case.instruction) for case in cases] == [(None, "q1"), (None, "q2")]
    assert (verdict.passed, verdict.feedback, verdict.summary, verdict.stands) == (
        False,
        "the second was wrong",
        None,
        True,
    )
    before = last_step(connection, task)
    revised = task.revise(feedback=verdict.feedback)
    assert (revised.step, revised.request, walked(task.path())) == (before + 1, 2, [])
    assert task.path().hints.feedback == "the second was wrong"
    assert grow(task.open_request(), "r1").merged


def test_without_compress_feedback_stays_as_nothing_compresses(space: Space) -> None:
    task = space.task("t", compress=False)
    request = task.request("one")
    grow(request, "a")
    task.revise(feedback="no a")
    grow(request, "b")
    say(request, message="done")
    task.request("two")
    assert task.path().hints.feedback == "no a"


# --- without Maintain -------------------------------------------------------------------------------------------------


def test_without_maintain_no_judge_is_asked_and_summaries_stay_unchecked(space: Space, connection: Connection) -> None:
    task = space.task("t", maintain=False)
    grow(task.request("one"), "a")
    summary = task.compress("a")
    before = last_step(connection, task)

    def judge(_case: Case) -> Ruling:
        pytest.fail("a judge was asked")

    with pytest.raises(MechanismOffError, match="Maintain"):
        task.maintain(summary, judge)
    assert last_step(connection, task) == before
    assert task.path().summaries[0].verdict == "unchecked"
    task.revise(summary, feedback="by the agent itself")
    assert task.path().hints.feedback == "by the agent itself"


# --- without Revise ---------------------------------------------------------------------------------------------------


def test_without_revise_a_failed_verdict_is_a_note_on_the_path_and_nothing_goes_back(space: Space) -> None:
    task = space.task("t", revise=False)
    request = task.request("one")
    grow(request, "a", delta=(add("j", kind=StateKind.JUDGEMENT),))
    summary = task.compress("a")
    task.maintain(summary, fails("a was wrong"))
    for target in (None, summary):
        with pytest.raises(MechanismOffError, match="Revise"):
            task.revise(target, feedback="x")
    assert '"verdict":"failed","note":"a was wrong"' in task.path().text()
    assert "without revise" in rejected(own(request, "revise", add("k"), step=0, feedback="x"))["call revise"]
    assert (in_view(request), subgoals(task.path())) == ({"j", "k"}, [(0, "a")])


# --- a task keeps its mechanisms --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["compress", "maintain", "revise", "isolate_states"])
def test_a_task_keeps_its_mechanisms_for_life_and_another_handle_takes_them(space: Space, name: str) -> None:
    off: dict[str, Any] = {name: False}
    on: dict[str, Any] = {name: True}
    say(space.task("t", **off).request("one"), message="done")
    assert name not in space.task("t").path().options
    with pytest.raises(InvalidValueError, match=f"{name}=False"):
        space.task("t", **on).request("two")
    assert space.task("t").request("two").number == 2
    whole = space.task("other")
    whole.request("one")
    assert name in whole.path().options


def test_every_mechanism_alone_runs_a_request_to_its_end(space: Space) -> None:
    for name in ("compress", "maintain", "revise"):
        off: dict[str, Any] = {name: False}
        task = space.task(f"without-{name}", **off)
        request = task.request("one")
        grow(request, "a")
        if name != "compress":
            task.compress("a")
        if name != "maintain":
            task.maintain(None, passes)
        grow(request, "b")
        if name != "revise":
            task.revise(feedback="no b")
            with pytest.raises(NothingToReviseError):
                task.revise(feedback="again")
        say(request, message="done")
        assert task.request("two").number == 2
