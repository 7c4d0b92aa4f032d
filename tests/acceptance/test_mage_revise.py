"""MAGE's Revise and Maintain, and H, on a real server: what an easy implementation gets wrong."""

import pytest

from graphmem import (
    NotFoundError,
    NothingToReviseError,
    OffPathError,
    Ruling,
    Space,
)
from graphmem.errors import InvalidValueError, TaskError
from graphmem.store import Connection
from tests.acceptance.speech import add
from tests.acceptance.tree_speech import begins, fails, grow, in_view, last_step, passes, subgoals

pytestmark = pytest.mark.usefixtures("sound")


# --- Revise (lines 48-56) ---------------------------------------------------------------------------------------------


def test_revise_pops_the_target_everything_after_it_and_the_uncompressed_tail(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    for text in ("a", "b", "c"):
        grow(request, text)
        task.compress(f"did {text}")
    grow(request, "tail")
    middle = task.path().summaries[1]
    task.revise(middle, feedback="b was wrong")
    path = task.path()
    assert (subgoals(path), path.recent, path.boundary) == ([(0, "did a")], (), 1)
    assert [s.text for s in path.hints.subgoals] == ["did b"]
    assert [begins(tried) for tried in path.hints.tried] == ["b"]


def test_revise_without_a_target_pops_only_the_tail_and_closes_it_as_a_failed_summary(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    task.compress("did a")
    with pytest.raises(NothingToReviseError):
        task.revise(feedback="nothing there")
    grow(request, "b")
    revised = task.revise(feedback="b was wrong")
    path = task.path()
    assert subgoals(path) == [(0, "did a")]
    (closed,) = path.hints.subgoals
    assert (closed.key, closed.verdict, closed.note, closed.boundary) == (revised.about, "failed", "b was wrong", 1)
    assert closed.text == "look(of=b) -> b"


def test_a_target_off_the_path_is_refused_with_the_list_of_those_on_it(space: Space, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    task.compress("did a")
    grow(request, "b")
    gone = task.compress("did b")
    task.revise(gone, feedback="no")
    before = last_step(connection, task)
    for target in (gone, gone.key, 1, 77, "no such key"):
        with pytest.raises(OffPathError, match="0: did a") as refused:
            task.revise(target, feedback="again")
        assert refused.value.targets == ((0, "did a"),)
    assert last_step(connection, task) == before


def test_of_two_siblings_with_one_boundary_revise_means_the_one_on_the_path(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    first = task.compress("first try")
    task.revise(first, feedback="no")
    grow(request, "b")
    second = task.compress("second try")
    assert first.boundary == second.boundary == 0
    assert task.revise(0, feedback="no again").about == second.key
    grow(request, "c")
    third = task.compress("third try")
    with pytest.raises(OffPathError):
        task.revise(second, feedback="x")
    assert task.revise(third, feedback="nor this").about == third.key


def test_the_feedback_of_a_revise_is_in_h_three_grows_later_and_gone_with_the_next_compress(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    task.revise(feedback="take the other road")
    for text in ("b", "c", "d"):
        grow(request, text)
        assert task.path().hints.feedback == "take the other road"
        assert '{"feedback":"take the other road"}' in task.prompt().text()
    task.compress("took it")
    assert task.path().hints.feedback is None


def test_a_revise_takes_the_note_of_its_target_as_feedback_and_needs_one(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    summary = task.compress("a")
    with pytest.raises(InvalidValueError, match="feedback"):
        task.revise(summary)
    task.maintain(summary, fails("the dates do not fit"))
    task.revise(summary)
    assert task.path().hints.feedback == "the dates do not fit"


def test_a_dry_revise_says_what_would_leave_and_writes_nothing(space: Space, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a", delta=(add("k"),))
    before = (last_step(connection, task), task.path(), request.status().text())
    assert task.revise(feedback="x", world="restored", dry_run=True).left == ("k",)
    assert (last_step(connection, task), task.path(), request.status().text()) == before
    assert in_view(request) == {"k"}


def test_revise_restores_the_pointers_again_after_a_second_exploration(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    task.compress("did a")
    before = task.path()
    for text in ("b", "c"):
        grow(request, text)
        task.revise(feedback=f"{text} was wrong")
        path = task.path()
        assert (path.p_b, path.p_t, path.summaries) == (before.p_b, before.p_t, before.summaries)
    assert [begins(tried) for tried in task.path().hints.tried] == ["c", "b"]


# --- Maintain (lines 37-46), late verdicts ----------------------------------------------------------------------------


def test_a_verdict_is_the_note_and_the_trust_of_the_summary(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    summary = task.compress("a")
    verdict = task.maintain(summary, fails("no"))
    assert (verdict.passed, verdict.feedback, verdict.summary) == (False, "no", summary.key)
    assert (verdict.stands, verdict.on_path) == (True, True)
    (told,) = task.path().summaries
    assert (told.verdict, told.note, told.trusted) == ("failed", "no", False)
    assert task.maintain(0, passes).passed is True
    (told,) = task.path().summaries
    assert (told.verdict, told.note, told.trusted) == ("passed", None, True)


def test_a_late_failing_verdict_about_a_summary_off_the_path_lands_on_it_and_revises_nothing(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    gone = task.compress("a")
    task.revise(gone, feedback="no")
    grow(request, "b")
    before = task.path()
    verdict = task.maintain(gone, fails("late, but true"))
    assert (verdict.on_path, verdict.stands) == (False, True)
    path = task.path()
    assert (path.version, path.p_b, path.p_t, path.summaries, path.hints.feedback) == (
        before.version,
        before.p_b,
        before.p_t,
        before.summaries,
        "no",
    )
    assert [s.note for s in path.hints.subgoals] == ["late, but true"]


def test_a_verdict_about_a_text_that_was_replaced_changes_nothing(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    summary = task.compress("first text")

    def slow(_case: object) -> Ruling:
        task.revise(summary, feedback="no")
        grow(request, "a")
        task.compress("second text")
        return Ruling(passed=True)

    verdict = task.maintain(summary, slow)
    assert (verdict.stands, verdict.passed) == (False, True)
    (told,) = task.path().summaries
    assert (told.text, told.verdict) == ("second text", "unchecked")


def test_there_is_nothing_to_judge_before_the_first_compress(space: Space) -> None:
    task = space.task("t")
    with pytest.raises(NotFoundError):
        task.maintain(None, passes)
    grow(task.request("one"), "a")
    with pytest.raises(NotFoundError):
        task.maintain(None, passes)


# --- H ----------------------------------------------------------------------------------------------------------------


def test_h_shows_fifty_children_newest_first_and_counts_the_rest(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    for i in range(53):
        grow(request, f"try {i}")
        task.revise(feedback=f"try {i} failed")
    hints = task.path().hints
    assert [begins(tried) for tried in hints.tried] == [f"try {i}" for i in range(52, 2, -1)]
    assert (len(hints.subgoals), hints.more_tried, hints.more_subgoals) == (50, 3, 3)
    text = task.path().text()
    assert '{"more_actions_tried":3}' in text
    assert '{"more_subgoals_tried":3}' in text
    assert hints.feedback == "try 52 failed"


def test_errors_of_the_tree_are_errors_of_the_task(space: Space) -> None:
    with pytest.raises(TaskError):
        space.task("nothing").path()
    for refused in (lambda: space.task("nothing").compress("x"), lambda: space.task("nothing").revise(feedback="x")):
        with pytest.raises(NotFoundError, match="nothing"):
            refused()
