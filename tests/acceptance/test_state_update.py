"""Incremental State Update on a real server (FlowState, §2.2.1): what a delta may do, operation by operation."""

import json

import pytest

from graphmem import (
    Operation,
    Space,
    StateKind,
    StepOutput,
)
from graphmem.state.protocol import parse
from graphmem.store import Connection
from tests.acceptance.speech import access, add, call, index_ids, rejected, related, remove, say, update


def test_a_disclosed_historical_state_cannot_be_updated_or_removed(space: Space) -> None:
    task = space.task("t")
    say(task.request("one"), add("h"), message="done")
    request = task.request("two")
    say(request, see=("h",))
    result = say(request, update("h", summary="new"), remove("h"))
    assert set(rejected(result)) == {"update h", "remove h"}
    assert index_ids(request.status()) == {1: ["h"]}


def test_one_bad_operation_stops_only_those_that_rest_on_it(space: Space) -> None:
    request = space.task("t").request("one")
    say(request, add("old"))
    result = say(
        request,
        add("good"),
        add("bad", "nowhere"),
        add("rests", "bad"),
        add("deeper", "rests"),
        add("x", "y"),
        add("y", "supports>x"),
        add("itself", "itself"),
        add("late", "old"),
        remove("old"),
    )
    assert set(result.added) == {"good", "x", "y"}
    assert result.removed == ("old",)
    why = rejected(result)
    assert set(why) == {"add bad", "add rests", "add deeper", "add itself", "add late"}
    assert "bad, whose add was rejected" in why["add rests"]
    assert "the same delta removes" in why["add late"]


def test_a_remove_proposes_no_relations(space: Space) -> None:
    request = space.task("t").request("one")
    say(request, add("a"), add("b"))
    odd = Operation(operation="remove", id="a", refs=add("x", "ghost", "b").refs)
    assert say(request, odd, remove("b")).removed == ("a", "b")


def test_an_operation_that_cannot_be_read_takes_no_id_from_another(space: Space) -> None:
    request = space.task("t").request("one")
    good = {"operation": "add", "state_set": "knowledge", "state_id": "x", "summary": "s", "value": 1}
    text = f"<state_delta>{json.dumps([{**good, 'operation': 'upsert'}, good])}</state_delta>"
    result = request.step(request.status(), text)
    assert (result.added, set(rejected(result))) == (("x",), {"unknown x"})


def test_a_parsed_output_keeps_what_was_found_wrong_in_its_parts(space: Space) -> None:
    task = space.task("t")
    say(task.request("one"), add("h"), message="done")
    request = task.request("two")
    say(request, add("x"))
    parts = json.dumps([{"operation": "remove", "state_id": "x", "refs": "garbage"}])
    text = f'<state_focus>[{{"target_id":"h","reason":7}}]</state_focus><state_delta>{parts}</state_delta>'
    result = request.step(request.status(), parse(text))
    assert (result.removed, result.disclosed, set(rejected(result))) == ((), (), {"remove x", "access h"})


def test_refs_given_again_are_carried_and_not_written_again(space: Space, connection: Connection) -> None:
    request = space.task("t").request("one")
    raws = call(request, *[f"result {i}" for i in range(60)])
    say(request, add("b"), add("a", *raws, "supports>b"))
    say(request, update("a", "supports>b", *reversed(raws)))
    say(request, update("a", summary="new"))
    query = "MATCH (:State {space: $p.space, id: 'a'})-[r:DERIVES|SUPPORTS]->() RETURN count(r) AS n"
    assert connection.run("test", query, {"space": space.name}) == [{"n": 61}]
    say(request, update("a", "supports>b"))
    assert related(request.status(), "a") == {"supports>b"}


def test_every_operation_is_validated_against_the_state_before_the_delta(space: Space) -> None:
    request = space.task("t").request("one")
    say(request, add("old"), add("both"))
    result = say(
        request,
        add("new", summary="first"),
        update("new", summary="second"),
        remove("new"),
        remove("old"),
        add("old"),
        update("both", summary="x"),
        remove("both"),
    )
    assert (result.added, result.updated, set(result.removed)) == (("new",), (), {"old", "both"})
    assert set(rejected(result)) == {"update new", "remove new", "add old"}
    (state,) = request.status().active
    assert state.summary == "first"


def test_two_adds_of_one_id_count_once_and_two_updates_fold_in_order(space: Space, connection: Connection) -> None:
    request = space.task("t").request("one")
    first = say(request, add("a", "nowhere"), add("a"))
    assert (first.added, len(first.rejected)) == ((), 2)
    say(request, add("a"), add("b"))
    say(request, update("a", summary="first"), update("a", "supports>b"), update("a", summary="last"))
    say(request, Operation(operation="add", id="c", kind=StateKind.KNOWLEDGE, summary="1"), add("c", summary="2"))
    (state, _, twice) = request.status().active
    assert (state.summary, related(request.status(), "a")) == ("last", {"supports>b"})
    assert (twice.id, twice.summary) == ("c", "1")
    versions = connection.run(
        "test", "MATCH (s:State {id: 'a', space: $p.space}) RETURN s.from_step AS n", {"space": space.name}
    )
    assert len(versions) == 2


@pytest.mark.parametrize("value", [{"y": 3}, None])
def test_an_update_of_a_value_replaces_it_whole_and_null_is_a_value(space: Space, value: dict[str, int] | None) -> None:
    request = space.task("t").request("one")
    say(request, add("a", value={"x": 1, "y": 2}))
    say(request, Operation(operation="update", id="a", value=value, has_value=True))
    (state,) = request.status().active
    assert (state.value, state.summary) == (value, "summary of a")


def test_an_update_replaces_what_it_gives_keeps_the_rest_and_cannot_change_the_kind(space: Space) -> None:
    request = space.task("t").request("one")
    say(request, add("b"), add("c"), add("a", "supports>b", value={"kept": 1.0}))
    say(request, update("a", summary="new"))
    status = request.status()
    assert related(status, "a") == {"supports>b"}
    assert {state.id: state.value for state in status.active}["a"] == {"kept": 1.0}
    say(request, update("a", "follows>c"))
    assert related(request.status(), "a") == {"follows>c"}
    request.step(request.status(), StepOutput(delta=(Operation(operation="update", id="a", refs=()),)))
    assert related(request.status(), "a") == set()
    kind = Operation(operation="update", id="a", kind=StateKind.ARTIFACT, summary="x")
    assert (
        "the kind of a cannot change" in rejected(request.step(request.status(), StepOutput(delta=(kind,))))["update a"]
    )


def test_an_id_that_was_removed_can_be_added_again_in_a_later_step_and_begins_a_new_lineage(space: Space) -> None:
    request = space.task("t").request("one")
    say(request, add("a"), add("b", "supports>a"))
    say(request, remove("a"))
    assert related(request.status(), "b") == set()
    assert say(request, add("a")).added == ("a",)
    assert related(request.status(), "b") == set(), "the new state is not the one that b referred to"


def test_ids_of_raw_results_requests_and_memory_are_reserved(space: Space) -> None:
    request = space.task("t").request("one")
    call(request, "x")
    result = say(request, add("obs:1.1"), add("request:1"), add("memory:1"), add("obs:77.7"))
    assert (result.added, len(result.rejected)) == ((), 4)


def test_a_ref_to_a_raw_result_stands_though_the_same_delta_tries_to_add_its_id(space: Space) -> None:
    request = space.task("t").request("one")
    (raw,) = call(request, "x")
    say(request, add("other"))
    result = say(request, add("f", raw), add(raw))
    assert (result.added, set(rejected(result))) == (("f",), {f"add {raw}"})


def test_one_add_of_a_folded_id_spoils_nothing_else_of_its_output(space: Space) -> None:
    task = space.task("t")
    say(task.request("one"), add("z"), add("h"), add("w"), message="done")
    request = task.request("two")
    output = StepOutput(delta=(add("g", "supports>z"), add("h")), access=access("w"))
    result = request.step(request.status(index_lines=0), output)
    assert (result.added, result.disclosed, set(rejected(result))) == (("g",), ("w",), {"add h"})


def test_without_isu_a_rule_makes_one_state_of_each_final_response(space: Space) -> None:
    task = space.task("t", isu=False)
    request = task.request("one")
    raws = call(request, "first", "second")
    assert set(rejected(say(request, add("a")))) == {"add a"}
    say(request, message="The answer is 7")
    request = task.request("two")
    call(request, "a later result")
    say(request, message="The later answer")
    request = task.request("three")
    assert index_ids(request.status()) == {1: ["response-1"], 2: ["response-2"]}
    say(request, see=("response-1",))
    say(request, see=("response-2",))
    assert related(request.status(), "response-2") == {"derives>obs:2.1"}
    state = request.status().active[0]
    assert (state.kind, state.value) == (StateKind.ARTIFACT, {"response": "The answer is 7"})
    assert related(request.status(), "response-1") == {f"derives>{raw}" for raw in raws}
    assert say(request, see=(raws[1],)).disclosed == (raws[1],)


def test_an_update_cannot_rest_on_what_its_delta_removes_or_on_an_add_that_was_rejected(space: Space) -> None:
    request = space.task("t").request("one")
    say(request, add("a"), add("b"), add("c"))
    result = say(request, remove("b"), update("a", "supports>b"), add("d", "nowhere"), update("c", "supports>d"))
    assert (result.removed, result.updated, result.added) == (("b",), (), ())
    assert set(rejected(result)) >= {"update a", "update c", "add d"}
    assert related(request.status(), "a") == related(request.status(), "c") == set()
