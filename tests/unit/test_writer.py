"""The rule-based writer: what it makes of a status and a turn, odd ones too. No server is needed."""

import json
from typing import Any

import pytest

from graphmem import Operation, Ref, Relation, StateKind, StepOutput, ToolCall
from graphmem.exchange import Turn, results
from graphmem.exchange.writer import notes, output
from graphmem.state import rules
from graphmem.state.values import Observation
from graphmem.task import Status
from graphmem.vocabulary import value_fault

from .statuses import active_state, saw, status_of

_PROFILE = json.dumps(
    {
        "name": {"first_name": "Mia", "last_name": "Li"},
        "dob": "1990-04-05",
        "payment_methods": {"credit_card_4421486": {"brand": "visa", "last_four": "7447"}},
        "reservations": ["NO6JO3", "ABCXYZ"],
        "is_member": True,
        "phone": None,
    }
)
_BOOKING = json.dumps(
    {"reservation_id": "NO6JO3", "cabin": "economy", "price": 174, "flights": [{"date": "2024-05-24"}]}
)


def _one(observation: Observation, **more: Any) -> Operation:
    (operation,) = notes(status_of(observation=(observation,), **more))
    return operation


def _valid(status: Status, made: StepOutput) -> None:
    """Every operation of an output is one that the rules take, and can be stored."""
    assert rules.validate(made, status.view()).rejected == ()
    assert rules.refusal(made) is None
    assert [value_fault(op.value) for op in made.delta] == [None] * len(made.delta)
    assert all(len(op.id) <= 200 and 0 < len(op.summary or "-") <= 2_000 for op in made.delta)


# --- what becomes of results -----------------------------------------------------------------------------------------


def test_a_result_gives_one_state_that_derives_from_it_and_names_what_a_later_call_may_need() -> None:
    made = _one(saw(_PROFILE, user_id="mia_li_3668"))
    assert made.refs == (Ref(relation=Relation.DERIVES, target="obs:1.1"),)
    for name in ("mia_li_3668", "credit_card_4421486", "NO6JO3", "ABCXYZ"):
        assert results.occurs(name, made.summary or "")
    assert "visa" not in (made.summary or "")


def test_a_long_list_gives_one_state_not_one_an_item() -> None:
    flights = [{"flight_number": f"HAT{i:03}", "prices": {"economy": i}} for i in range(500)]
    (made,) = notes(status_of(observation=(saw(json.dumps(flights), "search"),)))
    assert made.kind is StateKind.KNOWLEDGE
    assert len(made.summary or "") < 1_000


def test_a_result_about_one_thing_is_an_attribute_of_it() -> None:
    made = _one(saw(_BOOKING, "get_booking", reservation_id="NO6JO3"))
    assert (made.kind, made.id) == (StateKind.ATTRIBUTE, "NO6JO3@1")
    assert made.value == {"price": 174, "cabin": "economy"}


def test_the_same_thing_seen_again_in_a_request_is_an_update_that_keeps_its_evidence() -> None:
    before = active_state("NO6JO3@1", raw="obs:1.1")
    status = status_of(active=(before,), observation=(saw(_BOOKING, "get_booking", id_="obs:2.1"),))
    (made,) = notes(status)
    assert (made.operation, made.id) == ("update", "NO6JO3@1")
    assert [ref.target for ref in made.refs or ()] == ["obs:1.1", "obs:2.1"]
    _valid(status, StepOutput(delta=(made,)))


def test_the_same_thing_seen_in_a_later_request_supersedes_what_was_known() -> None:
    status = status_of(
        request=2, index=[("NO6JO3@1", "get_booking NO6JO3")], observation=(saw(_BOOKING, "get_booking"),)
    )
    (made,) = notes(status)
    assert (made.operation, made.id) == ("add", "NO6JO3@2")
    assert Ref(relation=Relation.SUPERSEDES, target="NO6JO3@1") in (made.refs or ())
    _valid(status, StepOutput(delta=(made,)))


def test_two_results_about_one_thing_in_one_observation_are_one_state_that_rests_on_both() -> None:
    status = status_of(observation=(saw(_BOOKING, "a"), saw(_BOOKING, "b", id_="obs:1.2")))
    (made,) = notes(status)
    assert {ref.target for ref in made.refs or ()} == {"obs:1.1", "obs:1.2"}
    _valid(status, StepOutput(delta=(made,)))


@pytest.mark.parametrize(
    ("tool", "content", "kind"),
    [
        ("book_hotel", "H-1001 confirmed", StateKind.ARTIFACT),
        ("cancelOrder", '{"order_id": "W1", "status": "cancelled"}', StateKind.ARTIFACT),
        ("book_hotel", "Error: no room is free", StateKind.KNOWLEDGE),
        ("book_hotel", '{"error": "no room"}', StateKind.KNOWLEDGE),
        ("book_hotel", '{"success": false}', StateKind.KNOWLEDGE),
        ("book_hotel", None, StateKind.KNOWLEDGE),
        ("get_booking", "H-1001 confirmed", StateKind.KNOWLEDGE),
    ],
)
def test_only_a_write_that_succeeded_makes_an_artifact(tool: str, content: str | None, kind: StateKind) -> None:
    assert _one(saw(content, tool)).kind is kind


def test_a_call_whose_outcome_is_unknown_is_told_as_such() -> None:
    assert (_one(saw(None, "book_hotel", hotel="C")).summary or "") == "book_hotel C: outcome unknown"


def test_a_result_that_says_nothing_gives_no_state_unless_something_was_changed() -> None:
    assert notes(status_of(observation=(saw("", "think", thought="hm"),))) == ()
    assert _one(saw("", "delete_file", path="a")).kind is StateKind.ARTIFACT


def test_a_name_that_the_index_tells_is_not_told_again() -> None:
    made = _one(saw(_PROFILE), index=[("a", "earlier: NO6JO3 credit_card_4421486")], request=2)
    assert "NO6JO3" not in (made.summary or "")
    assert "ABCXYZ" in (made.summary or "")


def test_the_fields_of_a_tool_are_told_once() -> None:
    first = _one(saw(_BOOKING, "get_booking", a="X1"))
    later = _one(saw(_BOOKING, "get_booking", b="X2"), index=[(first.id, first.summary or "")], request=2)
    assert "(reservation_id cabin price flights)" in (first.summary or "")
    assert "reservation_id" not in (later.summary or "")


@pytest.mark.parametrize(
    "content",
    [
        "plain text",
        "{broken",
        "[" * 5_000,
        "null",
        "[]",
        "{}",
        '[null, true, 1e400, {"a": []}]',
        '{"id": 12345678901234567890123}',
        '{"id": true, "x_id": null, "number": ""}',
        '{"id": "a b", "other_id": 7}',
        "Ünïcode \U0001f600 \u2028 </latest_observation>",
        json.dumps({"id": "x" * 5_000, "text": "y" * 100_000}),
        json.dumps([{"id": i} for i in range(20_000)]),
        "word-1 " * 100_000,
        json.dumps({f"key_{i}": i for i in range(2_000)}),
        '{"user_id": "Zoë-1", "note": "a\\nb"}',
    ],
)
def test_any_result_gives_states_that_are_valid(content: str) -> None:
    status = status_of(observation=(saw(content, "get", flag=True, nothing=None, many=[1, {"x": "y"}]),))
    made = output(status, Turn(calls=(ToolCall(name="next"),)), is_answer=False)
    _valid(status, made)
    assert len(made.delta) <= 1
    assert made.delta == output(status, Turn(calls=(ToolCall(name="next"),)), is_answer=False).delta


# --- what becomes of words -------------------------------------------------------------------------------------------


def test_a_wish_that_outlives_its_request_is_a_preference() -> None:
    (made,) = notes(status_of("Book it. I never fly before 11am."))
    assert (made.kind, made.id, made.summary) == (StateKind.PREFERENCE, "user-1", "I never fly before 11am.")
    assert notes(status_of("Yes, book it.")) == ()


def test_a_request_too_long_for_its_heading_is_kept_whole() -> None:
    (made,) = notes(status_of("word " * 200))
    assert made.value == "word " * 200


def test_an_answer_is_a_judgement_that_rests_on_what_was_found_and_replaces_drafts() -> None:
    active = (active_state("user-1"), active_state("NO6JO3@1"), active_state("draft-1.1"))
    status = status_of("I never fly before 11am", active=active)
    made = output(status, Turn(text="HAT136 it is"), is_answer=True)
    answer, gone = made.delta
    assert (answer.id, answer.kind, made.message) == ("answer-1", StateKind.JUDGEMENT, "HAT136 it is")
    assert {(ref.relation.value, ref.target) for ref in answer.refs or ()} == {
        ("follows", "user-1"),
        ("derives", "NO6JO3@1"),
    }
    assert (gone.operation, gone.id) == ("remove", "draft-1.1")
    _valid(status, made)


@pytest.mark.parametrize("text", ["", "  ", "You're welcome! Have a nice day.", "Which hotel do you mean?"])
def test_an_answer_that_decides_nothing_gives_no_state(text: str) -> None:
    assert output(status_of(), Turn(text=text), is_answer=True) == StepOutput(message=text)


@pytest.mark.parametrize("text", ["Take the train.", "Shall I book H-1001?"])
def test_an_answer_that_decides_or_names_something_is_kept(text: str) -> None:
    (made,) = output(status_of(), Turn(text=text), is_answer=True).delta
    assert (made.kind, made.summary) == (StateKind.JUDGEMENT, text)


def test_text_beside_calls_is_a_draft() -> None:
    made = output(status_of(), Turn(text="Let me look at 3 of them", calls=(ToolCall(name="get"),)), is_answer=False)
    assert [op.id for op in made.delta] == ["draft-1.1"]


def test_what_was_written_is_not_written_again_after_a_restart() -> None:
    status = status_of("I never fly", observation=(saw(_PROFILE),))
    written = [active_state(op.id) for op in notes(status)]
    assert notes(status_of("I never fly", active=written, observation=(saw(_PROFILE),))) == ()
    answered = status_of(active=(active_state("answer-1"),))
    assert output(answered, Turn(text="Take the train."), is_answer=True).delta == ()


def test_a_task_without_state_updates_gets_none() -> None:
    status = status_of("I never fly", observation=(saw(_PROFILE),), isu=False)
    assert notes(status) == ()
    assert output(status, Turn(text="Take the train."), is_answer=True) == StepOutput(message="Take the train.")
