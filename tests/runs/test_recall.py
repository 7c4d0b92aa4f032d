"""Floors of tokens against recall, on parts of the sets of `experiments.recall` (`make runs RUNS=DIR`).

Chosen low enough that another part of the same data, or another recording, keeps them too; the figures themselves are
the experiment's.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

import graphmem
from experiments.recall_sets import runs
from graphmem.exchange.measuring.figures import FULL, Measured
from graphmem.exchange.measuring.measure import WAYS, Way, at_budgets, measure
from graphmem.exchange.measuring.playing import by_rule
from graphmem.llm.tokens import o200k

_PART = 12
_PLAYED = tuple(way for way in WAYS if way.name in ("FlowState", "FlowState, oracle access", "FlowState, no access"))


_FOLDED = tuple(way for way in at_budgets((300,)) if way.asking is by_rule)


def _measured(
    name: str, space: graphmem.Space, config: pytest.Config, part: int, ways: Sequence[Way] = _PLAYED
) -> Measured:
    folder = Path(str(config.getoption("--runs")))
    limit = 0 if config.getoption("--runs-all") else part
    return measure(space, runs(name, folder, limit=limit), tokenizer=o200k(), ways=ways, workers=2)


def _ratio(found: Measured, way: str) -> float:
    return found.of(way).tokens / found.of(FULL).tokens


@pytest.mark.parametrize(
    ("name", "part", "most"),
    [("airline", _PART, 0.7), ("chained", 2, 0.6), ("retail", _PART, 1.0), ("retail chained", 2, 0.6)],
)
def test_more_is_shown_than_by_bm25_or_last_messages_at_the_same_budget(
    space: graphmem.Space, pytestconfig: pytest.Config, name: str, part: int, most: float
) -> None:
    found = _measured(name, space, pytestconfig, part)
    assert found.of(FULL).recall == 1.0
    assert found.of("FlowState").recall >= 0.95
    assert found.of("FlowState, oracle access").recall >= 0.99
    assert _ratio(found, "FlowState, oracle access") <= most
    for other in ("last messages", "BM25"):
        beside = found.of(f"{other} at the budget of FlowState")
        assert beside.tokens <= found.of("FlowState").tokens
        assert beside.recall <= found.of("FlowState").recall


@pytest.mark.parametrize(("name", "part"), [("airline", 25), ("chained", 4)])
def test_more_is_shown_with_a_folded_index_too(
    space: graphmem.Space, pytestconfig: pytest.Config, name: str, part: int
) -> None:
    found = _measured(name, space, pytestconfig, part, _FOLDED)
    (way,) = (way.name for way in _FOLDED)
    assert found.of(way).recall >= 0.9
    assert found.of(way).recall > found.of(f"BM25 at the budget of {way}").recall
    assert found.of(way).recall > found.of(f"last messages at the budget of {way}").recall


@pytest.mark.parametrize("name", ["base", "miss_param"])
def test_arguments_of_short_runs_are_shown_too_though_they_save_nothing(
    space: graphmem.Space, pytestconfig: pytest.Config, name: str
) -> None:
    found = _measured(name, space, pytestconfig, 8)
    assert found.of("FlowState").recall >= 0.95
    assert _ratio(found, "FlowState") > 1.0
