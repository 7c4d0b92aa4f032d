"""Database hits do not grow with the task (on a server of its own, with plans made on an empty database)."""

from collections.abc import Mapping
from typing import Any

import pytest

from experiments import cost

SIZES = (100, 1_000, 10_000)


@pytest.fixture(scope="module")
def figures() -> Mapping[str, Any]:
    return cost.run(SIZES, updates=1_000, repeats=0)


@pytest.mark.parametrize("operation", cost.OPERATIONS)
@pytest.mark.parametrize("plans", ["hits", "replanned"])
def test_hits_are_equal_at_every_size(figures: Mapping[str, Any], plans: str, operation: str) -> None:
    hits = {size: figures[plans][f"{size} states"][operation] for size in SIZES}
    assert len(set(hits.values())) == 1, hits


@pytest.mark.parametrize("operation", cost.OPERATIONS)
@pytest.mark.parametrize("plans", ["hits", "replanned"])
def test_hits_do_not_grow_with_the_updates_of_a_state(figures: Mapping[str, Any], plans: str, operation: str) -> None:
    once, often = (figures[plans][f"100 states, one updated {n} times"][operation] for n in (1, 1_000))
    assert once == often


@pytest.mark.parametrize("operation", cost.OPERATIONS)
def test_each_operation_is_one_statement(figures: Mapping[str, Any], operation: str) -> None:
    assert {case[operation] for case in figures["statements"].values()} == {1}
