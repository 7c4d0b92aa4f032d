"""Where trials part, from a recording alone."""

import pytest

from experiments.failures_trials import actions, branches
from graphmem import ToolCall
from graphmem.exchange import Round, Run, Turn


@pytest.mark.parametrize(
    ("trials", "forks", "beginnings"),
    [
        (["abc", "abd", "xyz", "ab"], [0, 2, 0, 2], 7),
        (["", "a", "a"], [0, 0, 1], 1),
        (["ab", "ba", "bab"], [0, 0, 2], 5),
    ],
)
def test_a_trial_parts_after_what_it_has_in_common_with_an_earlier_one(
    trials: list[str], forks: list[int], beginnings: int
) -> None:
    assert branches(trials) == (forks, beginnings)


def test_what_a_run_did_is_its_calls_with_their_results_in_whatever_order_of_arguments() -> None:
    def run(arguments: dict[str, int], result: str, text: str) -> Run:
        turn = Turn(text=text, calls=(ToolCall(name="look", arguments=arguments),), results=(result,))
        return Run(task="t", rounds=(Round(text="?", turns=(turn, Turn(text="done"))),))

    one = actions(run({"a": 1, "b": 2}, "x", "I look"))
    assert len(one) == 1
    assert one == actions(run({"b": 2, "a": 1}, "x", "I look again"))
    assert one != actions(run({"a": 1, "b": 2}, "y", "I look"))
    assert one != actions(run({"a": 1, "b": 3}, "x", "I look"))
