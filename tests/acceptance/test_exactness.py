"""After wrong calls anywhere, an agent sees exactly what it should: a small form of `experiments.exactness`."""

import pytest

import graphmem
from experiments import bfcl, exactness
from graphmem import World


@pytest.mark.parametrize("wrongs", [1, 2, 5])
@pytest.mark.parametrize("fate", list(World))
def test_path_world_and_prompts_are_exact_after_wrong_calls(
    space: graphmem.Space, graph: graphmem.Graph, fate: World, wrongs: int
) -> None:
    run, held = exactness.play(space, graph, exactness.booking(7), fate, wrongs)
    assert run.revises > 0
    assert run.faults == []
    assert all(held.values()), held


@pytest.mark.parametrize("category", bfcl.CATEGORIES)
@pytest.mark.parametrize("fate", list(World))
def test_path_world_and_prompts_are_exact_in_simulators_that_are_not_ours(
    space: graphmem.Space, graph: graphmem.Graph, fate: World, category: str
) -> None:
    one = next(play for play in exactness.bfcl_plays(20) if play.title == category and play.seed == 11)
    run, held = exactness.play(space, graph, one, fate, wrongs=5)
    assert run.revises > 0
    assert run.faults == []
    assert all(held.values()), held


def test_the_checks_find_a_call_too_few_and_a_world_that_is_another(
    space: graphmem.Space, graph: graphmem.Graph
) -> None:
    one = next(exactness.bfcl_plays(20))
    run, held = exactness.play(space, graph, one, World.RESTORED, wrongs=1)
    assert all(held.values()), held
    active = list(enumerate(seen for goal in run.gold for seen in goal))
    assert exactness.check(run, active) == held
    fewer = exactness.check(run, active[1:])
    assert not fewer["path"]
    assert not fewer["replay"]
    run.world = one.scene().world()
    assert not exactness.check(run, active)["world"]
    run.fate = World.UNCHANGED
    assert not exactness.check(run, active)["world"]


def test_the_search_of_the_prompts_finds_what_a_revise_without_isolation_leaves_there(
    space: graphmem.Space, graph: graphmem.Graph
) -> None:
    run, held = exactness.play(space, graph, exactness.booking(7), World.RESTORED, 5, isolate_states=False)
    assert run.revises > 0
    assert held["path"]
    assert not held["prompt"]
