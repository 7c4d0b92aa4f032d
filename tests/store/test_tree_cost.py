"""Database hits do not grow with the tree (on a server of its own, with plans made on an empty database)."""

from collections.abc import Mapping
from typing import Any

import pytest

import graphmem
from experiments import naive_path, tree_cost
from experiments.cost import open_profiled

SIZES = (100, 1_000, 10_000)


@pytest.fixture(scope="module")
def figures() -> Mapping[str, Any]:
    return tree_cost.run(SIZES)


@pytest.mark.parametrize("operation", tree_cost.OPERATIONS)
@pytest.mark.parametrize("plans", ["hits", "replanned"])
def test_hits_are_equal_at_every_depth(figures: Mapping[str, Any], plans: str, operation: str) -> None:
    hits = {depth: figures[plans][f"depth-{depth}"][operation] for depth in SIZES}
    assert len(set(hits.values())) == 1, hits


def test_the_walk_from_the_leaf_gives_the_same_path_and_costs_more_the_deeper_it_is(
    server_env: Mapping[str, str], space: graphmem.Space
) -> None:
    """The experiment itself raises where both ways disagree."""
    opened, profiler = open_profiled(*(server_env[f"GRAPHMEM_{name}"] for name in ("URI", "USER", "PASSWORD")))
    with opened:
        figures = naive_path.run(opened.space(space.name), profiler, (100, 400), repeats=1)
    assert figures["100"]["path hits"] == figures["400"]["path hits"]
    assert figures["400"]["walk hits"] > 2 * figures["100"]["walk hits"]
