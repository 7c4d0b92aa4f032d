"""The judge without a model, and what going back to a subgoal is held against."""

import pytest

from experiments.failure_judge import EMPTY, FAILED, GAVE_UP, MADE_UP, REPEATED, FailureJudge
from experiments.failures_labelled import Log, Subgoal, figures
from graphmem import Case, Observation, TraceNode


def _case(*texts: str) -> Case:
    results = tuple(
        Observation(id=f"obs:1.{i}", tool="agent", arguments={}, content=text) for i, text in enumerate(texts, 1)
    )
    return Case(instruction="find it", trace=(TraceNode(key="n", number=1, results=results),), summary=None)


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("exitcode: 1 (execution failed)", FAILED),
        ("urllib.error.HTTPError: HTTP Error 403: Forbidden", FAILED),
        ("exitcode: 0\nCode output: []", EMPTY),
        ("", EMPTY),
        ("Let us assume that the file holds ten rows", MADE_UP),
        ("I'm sorry, I cannot open the page", GAVE_UP),
    ],
)
def test_a_sign_of_failure_is_named(text: str, sign: str) -> None:
    ruling = FailureJudge()(_case("Here is the plan", text))
    assert not ruling.passed
    assert sign in ruling.feedback


def test_what_shows_no_sign_passes_once_and_fails_when_it_comes_again() -> None:
    judge = FailureJudge()
    case = _case("The page lists four bands", "exitcode: 0\nCode output: 4")
    assert judge(case).passed
    assert judge(case).feedback == REPEATED


def test_a_log_is_cut_where_an_agent_acts_and_what_ran_belongs_to_it() -> None:
    steps = ("human", "Orchestrator (thought)", "Orchestrator (-> A)", "A", "B", "Computer_terminal", "B")
    log = Log(question="?", steps=tuple((who, "words") for who in steps), mistake=4)
    assert log.subgoals() == (
        Subgoal(start=1, act=3, end=3),
        Subgoal(start=4, act=4, end=5),
        Subgoal(start=6, act=6, end=6),
    )


@pytest.mark.parametrize(
    ("target", "exact", "distance", "right", "wrong"),
    [(0, 0, 1, 0.25, 0), (1, 1, 0, 1, 0), (2, 0, 2, 1, 2 / 3)],
)
def test_going_back_too_far_loses_right_work_and_not_far_enough_keeps_wrong_work(
    target: int, exact: float, distance: float, right: float, wrong: float
) -> None:
    steps = ("human", "Orchestrator (thought)", "Orchestrator (-> A)", "A", "B", "Computer_terminal", "B")
    log = Log(question="?", steps=tuple((who, "words") for who in steps), mistake=4)
    found = figures(log, target, [1] * len(steps))
    assert (found["exact"], found["distance"]) == (exact, distance)
    assert found["right kept"] == pytest.approx(right)
    assert found["wrong kept"] == pytest.approx(wrong)
