"""After wrong calls anywhere, an agent sees exactly what it should: a small form of `experiments.exactness`."""

import pytest

import graphmem
from experiments import exactness
from graphmem import World


@pytest.mark.parametrize("wrongs", [1, 2, 5])
@pytest.mark.parametrize("fate", list(World))
def test_path_world_and_prompts_are_exact_after_wrong_calls(
    space: graphmem.Space, graph: graphmem.Graph, fate: World, wrongs: int
) -> None:
    run, held = exactness.play(space, graph, fate, seed=7, wrongs=wrongs)
    assert run.revises > 0
    assert run.faults == []
    assert all(held.values()), held


def test_the_search_of_the_prompts_finds_what_a_revise_without_isolation_leaves_there(
    space: graphmem.Space, graph: graphmem.Graph
) -> None:
    run, held = exactness.play(space, graph, World.RESTORED, seed=7, wrongs=5, isolate_states=False)
    assert run.revises > 0
    assert held["path"]
    assert not held["prompt"]
