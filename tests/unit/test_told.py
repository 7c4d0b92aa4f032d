"""What the steps about a summary say of it, folded in their order."""

from typing import Any

from graphmem.trace import told


def step(number: int, kind: str, **more: Any) -> dict[str, Any]:
    return {"number": number, "kind": kind, "text": None, "note": None, "verdict": None, "of_step": None} | more


def test_a_new_text_is_unchecked_and_a_verdict_counts_for_the_text_that_it_judged() -> None:
    steps = [
        step(1, "compress", text="first"),
        step(2, "maintain", of_step=1, verdict="failed", note="no"),
        step(3, "revise", note="no, really"),
        step(4, "compress", text="second"),
        step(5, "maintain", of_step=1, verdict="passed"),
        step(6, "maintain", of_step=4, verdict="passed"),
    ]
    assert [told(steps[:n]) for n in range(7)] == [
        None,
        ("first", "unchecked", None),
        ("first", "failed", "no"),
        ("first", "failed", "no, really"),
        ("second", "unchecked", None),
        ("second", "unchecked", None),
        ("second", "passed", None),
    ]


def test_a_tail_is_closed_with_a_text_and_failed_by_one_step() -> None:
    assert told([step(1, "revise", text="look(a) -> b", note="no")]) == ("look(a) -> b", "failed", "no")


def test_a_verdict_about_a_copy_whose_text_no_step_gave_tells_nothing() -> None:
    assert told([step(7, "maintain", verdict="failed", note="no")]) is None
