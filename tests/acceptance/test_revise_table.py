"""What a revise does to states (DESIGN's table of kind, change and world), cell by cell, on a real server.

Each cell: a state of the kind, a finished subgoal, the change behind it, and a revise that pops what is behind. What is
expected stands here as a table of its own, and not as what the code computes.
"""

from typing import Any, Final

import pytest

from graphmem import Request, Revised, Space, StateKind, Task, World
from tests.acceptance.speech import active_ids, add, related, remove, say, update
from tests.acceptance.tree_speech import grow, in_view, subgoals

pytestmark = pytest.mark.usefixtures("sound")

STAYS, LEAVES, BOUNDARY, RETURNS, REMOVED = "stays", "leaves", "has the boundary's value", "returns", "stays removed"
CHANGES: Final = ("added", "changed", "removed")
TABLE: Final = {
    (StateKind.PREFERENCE, World.UNCHANGED): (STAYS, STAYS, RETURNS),
    (StateKind.PREFERENCE, World.RESTORED): (STAYS, STAYS, RETURNS),
    (StateKind.JUDGEMENT, World.UNCHANGED): (LEAVES, BOUNDARY, RETURNS),
    (StateKind.JUDGEMENT, World.RESTORED): (LEAVES, BOUNDARY, RETURNS),
    (StateKind.KNOWLEDGE, World.UNCHANGED): (STAYS, STAYS, RETURNS),
    (StateKind.KNOWLEDGE, World.RESTORED): (LEAVES, BOUNDARY, RETURNS),
    (StateKind.ATTRIBUTE, World.UNCHANGED): (STAYS, STAYS, RETURNS),
    (StateKind.ATTRIBUTE, World.RESTORED): (LEAVES, BOUNDARY, RETURNS),
    (StateKind.ARTIFACT, World.UNCHANGED): (STAYS, STAYS, REMOVED),
    (StateKind.ARTIFACT, World.RESTORED): (LEAVES, BOUNDARY, RETURNS),
}
CELLS: Final = [
    pytest.param(kind, change, world, becomes, id=f"{kind.value} {change} since, world {world}: {becomes}")
    for (kind, world), row in TABLE.items()
    for change, becomes in zip(CHANGES, row, strict=True)
]


def at_boundary(space: Space, *ids: str, kind: StateKind = StateKind.KNOWLEDGE, **options: Any) -> tuple[Task, Request]:
    """A task whose first subgoal (obs:1.1) is finished, with states of the kind in view."""
    task = space.task("t", **options)
    request = task.request("one")
    grow(request, "on the path")
    say(request, add("first"), *(add(id_, kind=kind, summary="old") for id_ in ids), add("last"))
    task.compress("the first subgoal")
    grow(request, "behind the boundary")
    return task, request


def summary_of(request: Request, id_: str) -> str | None:
    return next((state.summary for state in request.status().active if state.id == id_), None)


def change(request: Request, what: str) -> None:
    match what:
        case "changed":
            say(request, update("x", summary="new"))
        case "removed":
            say(request, remove("x"))


def test_the_table_has_thirty_cells() -> None:
    assert len({(p.values[0], p.values[1], p.values[2]) for p in CELLS}) == len(StateKind) * len(CHANGES) * len(World)
    assert len(CELLS) == 30


@pytest.mark.parametrize(("kind", "what", "world", "becomes"), CELLS)
def test_a_revise_follows_the_table(space: Space, kind: StateKind, what: str, world: World, becomes: str) -> None:
    task, request = at_boundary(space, *(() if what == "added" else ("x",)), kind=kind)
    if what == "added":
        say(request, add("x", kind=kind, summary="new"))
    change(request, what)
    revised = task.revise(feedback="wrong", world=world)
    shown = {
        STAYS: "new",
        LEAVES: None,
        BOUNDARY: "old",
        RETURNS: "old",
        REMOVED: None,
    }[becomes]
    assert summary_of(request, "x") == shown
    stands = becomes == STAYS and kind is StateKind.ARTIFACT
    assert revised.kept == (("x",) if stands else ())
    assert revised.stays_removed == (("x",) if becomes == REMOVED else ())
    assert revised.left == (("x",) if becomes == LEAVES else ())
    assert revised.returned == (("x",) if becomes in (BOUNDARY, RETURNS) else ())
    assert (revised.clashes, revised.world) == ((), world)
    if shown == "old":  # it is back where it was, as what it was
        assert active_ids(request.status()) == ["first", "x", "last"]


@pytest.mark.parametrize("world", World)
@pytest.mark.parametrize("kind", StateKind)
def test_what_nobody_touched_behind_the_boundary_is_as_it_was(space: Space, kind: StateKind, world: World) -> None:
    task, request = at_boundary(space, "x", kind=kind)
    before = request.status().active
    revised = task.revise(feedback="wrong", world=world)
    assert request.status().active == before
    assert (revised.left, revised.returned, revised.kept, revised.stays_removed) == ((), (), (), ())


@pytest.mark.parametrize("world", World)
@pytest.mark.parametrize("kind", StateKind)
def test_what_was_added_and_removed_behind_the_boundary_is_nowhere(space: Space, kind: StateKind, world: World) -> None:
    task, request = at_boundary(space)
    say(request, add("x", kind=kind))
    say(request, remove("x"))
    revised = task.revise(feedback="wrong", world=world)
    assert in_view(request) == {"first", "last"}
    assert (revised.left, revised.returned, revised.kept, revised.stays_removed) == ((), (), (), ())


@pytest.mark.parametrize("world", World)
@pytest.mark.parametrize("kind", StateKind)
def test_what_was_changed_twice_and_removed_is_a_removal(space: Space, kind: StateKind, world: World) -> None:
    task, request = at_boundary(space, "x", kind=kind)
    say(request, update("x", summary="newer"))
    say(request, update("x", summary="newest"))
    say(request, remove("x"))
    task.revise(feedback="wrong", world=world)
    stays_removed = TABLE[kind, world][2] == REMOVED
    assert summary_of(request, "x") == (None if stays_removed else "old")


def test_the_value_of_the_boundary_is_back_whole_with_its_refs(space: Space) -> None:
    task, request = at_boundary(space)
    say(request, add("j", "supports>first", "obs:2.1", kind=StateKind.JUDGEMENT, summary="old", value={"n": 1}))
    task.compress("the second subgoal")
    grow(request, "behind")
    say(request, update("j", "follows>last", summary="new"))
    task.revise(feedback="wrong")
    (state,) = [state for state in request.status().active if state.id == "j"]
    assert (state.summary, state.value) == ("old", {"n": 1})
    assert related(request.status(), "j") == {"supports>first", "derives>obs:2.1"}
    assert related(request.status(), "last") == set()


# --- environment-side states in a restored world ----------------------------------------------------------------------

ON_PATH, BEHIND = "obs:1.1", "obs:2.1"
ENVIRONMENT: Final = (StateKind.KNOWLEDGE, StateKind.ATTRIBUTE, StateKind.ARTIFACT)


@pytest.mark.parametrize(
    ("cites", "stays"),
    [
        pytest.param((ON_PATH,), True, id="all on the path"),
        pytest.param((ON_PATH, BEHIND), False, id="one is not on the path"),
        pytest.param((BEHIND,), False, id="none on the path"),
        pytest.param(("first",), False, id="no raw result"),
        pytest.param((ON_PATH, "first"), True, id="a state beside those on the path"),
    ],
)
@pytest.mark.parametrize("kind", ENVIRONMENT)
def test_in_a_restored_world_what_rests_on_raw_results_of_the_path_stays(
    space: Space, kind: StateKind, cites: tuple[str, ...], stays: bool
) -> None:
    task, request = at_boundary(space, "y", kind=kind)
    say(request, add("x", *cites, kind=kind, summary="new"))
    say(request, update("y", *cites, summary="new"))
    revised = task.revise(feedback="wrong", world="restored")
    assert (summary_of(request, "x"), summary_of(request, "y")) == (("new", "new") if stays else (None, "old"))
    assert (revised.left, revised.returned) == (((), ()) if stays else (("x",), ("y",)))


def test_in_a_restored_world_a_judgement_leaves_whatever_it_cites(space: Space) -> None:
    task, request = at_boundary(space)
    say(request, add("x", ON_PATH, kind=StateKind.JUDGEMENT))
    assert task.revise(feedback="wrong", world="restored").left == ("x",)


def test_an_update_that_gives_no_refs_rests_on_those_given_before(space: Space) -> None:
    task, request = at_boundary(space)
    say(request, add("x", ON_PATH, summary="old"))
    task.compress("the second subgoal")
    grow(request, "behind")
    say(request, update("x", summary="new"))
    task.revise(feedback="wrong", world="restored")
    assert summary_of(request, "x") == "new"


# --- clashes ----------------------------------------------------------------------------------------------------------


def replaced(space: Space, was: StateKind, becomes: StateKind, world: str) -> tuple[Request, Revised]:
    """`x` is removed behind the boundary, its id is used again, and the run goes back."""
    task, request = at_boundary(space, "x", kind=was)
    say(request, remove("x"))
    say(request, add("x", kind=becomes, summary="new"))
    return request, task.revise(feedback="wrong", world=world)


@pytest.mark.parametrize("was", [StateKind.KNOWLEDGE, StateKind.JUDGEMENT, StateKind.PREFERENCE])
@pytest.mark.parametrize("becomes", [StateKind.KNOWLEDGE, StateKind.PREFERENCE, StateKind.ARTIFACT])
def test_where_a_survivor_and_a_returning_state_want_one_id_the_survivor_has_it_and_the_result_says_so(
    space: Space, was: StateKind, becomes: StateKind
) -> None:
    request, revised = replaced(space, was, becomes, "unchanged")
    assert (summary_of(request, "x"), revised.clashes, revised.returned, revised.left) == ("new", ("x",), (), ())


@pytest.mark.parametrize("was", [StateKind.KNOWLEDGE, StateKind.JUDGEMENT, StateKind.PREFERENCE, StateKind.ARTIFACT])
def test_there_is_no_clash_where_what_took_the_id_leaves(space: Space, was: StateKind) -> None:
    request, revised = replaced(space, was, StateKind.JUDGEMENT, "restored")
    assert (summary_of(request, "x"), revised.clashes, revised.returned, revised.left) == ("old", (), ("x",), ())
    assert active_ids(request.status()) == ["first", "x", "last"]


def test_a_removed_artifact_stays_removed_and_is_no_clash_of_what_took_its_id(space: Space) -> None:
    request, revised = replaced(space, StateKind.ARTIFACT, StateKind.KNOWLEDGE, "unchanged")
    assert (summary_of(request, "x"), revised.clashes, revised.stays_removed) == ("new", (), ("x",))


# --- MAGE alone, and one revise after another -------------------------------------------------------------------------


@pytest.mark.parametrize("world", World)
def test_without_isolated_states_the_tree_moves_alone(space: Space, world: World) -> None:
    task, request = at_boundary(space, "changed", "removed", kind=StateKind.JUDGEMENT, isolate_states=False)
    say(request, update("changed", summary="new"), remove("removed"), add("added", kind=StateKind.JUDGEMENT))
    before = request.status().active
    revised = task.revise(feedback="wrong", world=world)
    assert request.status().active == before
    assert (subgoals(task.path()), task.path().recent) == ([(0, "the first subgoal")], ())
    assert (revised.left, revised.returned, revised.kept, revised.stays_removed) == ((), (), (), ())


def test_a_second_revise_goes_back_from_what_the_first_one_restored(space: Space) -> None:
    task, request = at_boundary(space, "j", kind=StateKind.JUDGEMENT)
    say(request, update("j", summary="new"))
    assert task.revise(feedback="once").returned == ("j",)
    grow(request, "another way")
    say(request, remove("j"), add("j2", kind=StateKind.JUDGEMENT))
    revised = task.revise(feedback="twice")
    assert (revised.returned, revised.left) == (("j",), ("j2",))
    assert (summary_of(request, "j"), active_ids(request.status())) == ("old", ["first", "j", "last"])
    (top,) = task.path().summaries
    assert set(task.revise(top, feedback="all of it").left) == {"j"}
    assert in_view(request) == {"first", "last"}


def test_knowledge_that_one_restored_world_took_is_not_brought_back_by_the_next_revise(space: Space) -> None:
    task, request = at_boundary(space)
    say(request, add("k"))
    task.revise(feedback="once", world="restored")
    grow(request, "another way")
    revised = task.revise(feedback="twice", world="unchanged")
    assert (revised.returned, revised.left, in_view(request)) == ((), (), {"first", "last"})
