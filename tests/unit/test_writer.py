"""The rule-based writer and access: what they make of a status and a turn, odd ones too. No server is needed."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from graphmem import Access, Operation, Ref, Relation, StateKind, StepOutput, ToolCall
from graphmem.exchange import Turn, results
from graphmem.exchange.access import wanted
from graphmem.exchange.verbs import is_write
from graphmem.exchange.writer import notes, output
from graphmem.llm.tokens import estimate
from graphmem.state import rules
from graphmem.state.index import Index
from graphmem.state.values import ActiveState, IndexEntry, IndexLine, Observation, Related
from graphmem.task import Status
from graphmem.vocabulary import Json, value_fault

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


def _status(
    query: str = "Please look",
    *,
    request: int = 1,
    index: Sequence[tuple[str, str]] = (),
    active: Sequence[ActiveState] = (),
    observation: Sequence[Observation] = (),
    isu: bool = True,
    psa: bool = True,
) -> Status:
    lines = tuple(IndexLine(id=id_, summary=summary) for id_, summary in index)
    entries = (IndexEntry(request=1, text="earlier", states=lines),) if index else ()
    return Status(
        space="s",
        task="t",
        request=request,
        query=query,
        version=1,
        history=Index(entries=entries),
        active=tuple(active),
        observation=tuple(observation),
        reasons=(),
        pending=None,
        psa=psa,
        isu=isu,
        locked=True,
        p_b="",
        p_t="",
        tokenizer=estimate(),
    )


def _saw(content: str | None, tool: str = "get_user", *, id_: str = "obs:1.1", **arguments: Json) -> Observation:
    return Observation(id=id_, tool=tool, arguments=arguments, content=content)


def _active(id_: str, *, own: bool = True, raw: str = "", summary: str = "it") -> ActiveState:
    kind = StateKind.ATTRIBUTE if "@" in id_ else StateKind.KNOWLEDGE
    related = (Related(id=raw, relation=Relation.DERIVES),) if raw else ()
    return ActiveState(id=id_, kind=kind, summary=summary, value=None, related=related, own=own, request=1)


def _one(observation: Observation, **more: Any) -> Operation:
    (operation,) = notes(_status(observation=(observation,), **more))
    return operation


def _valid(status: Status, made: StepOutput) -> None:
    """Every operation of an output is one that the rules take, and can be stored."""
    assert rules.validate(made, status.view()).rejected == ()
    assert rules.refusal(made) is None
    assert [value_fault(op.value) for op in made.delta] == [None] * len(made.delta)
    assert all(len(op.id) <= 200 and 0 < len(op.summary or "-") <= 2_000 for op in made.delta)


# --- what becomes of results -----------------------------------------------------------------------------------------


def test_a_result_gives_one_state_that_derives_from_it_and_names_what_a_later_call_may_need() -> None:
    made = _one(_saw(_PROFILE, user_id="mia_li_3668"))
    assert made.refs == (Ref(relation=Relation.DERIVES, target="obs:1.1"),)
    for name in ("mia_li_3668", "credit_card_4421486", "NO6JO3", "ABCXYZ"):
        assert results.occurs(name, made.summary or "")
    assert "visa" not in (made.summary or "")


def test_a_long_list_gives_one_state_not_one_an_item() -> None:
    flights = [{"flight_number": f"HAT{i:03}", "prices": {"economy": i}} for i in range(500)]
    (made,) = notes(_status(observation=(_saw(json.dumps(flights), "search"),)))
    assert made.kind is StateKind.KNOWLEDGE
    assert len(made.summary or "") < 1_000


def test_a_result_about_one_thing_is_an_attribute_of_it() -> None:
    made = _one(_saw(_BOOKING, "get_booking", reservation_id="NO6JO3"))
    assert (made.kind, made.id) == (StateKind.ATTRIBUTE, "NO6JO3@1")
    assert made.value == {"price": 174, "cabin": "economy"}


def test_the_same_thing_seen_again_in_a_request_is_an_update_that_keeps_its_evidence() -> None:
    before = _active("NO6JO3@1", raw="obs:1.1")
    status = _status(active=(before,), observation=(_saw(_BOOKING, "get_booking", id_="obs:2.1"),))
    (made,) = notes(status)
    assert (made.operation, made.id) == ("update", "NO6JO3@1")
    assert [ref.target for ref in made.refs or ()] == ["obs:1.1", "obs:2.1"]
    _valid(status, StepOutput(delta=(made,)))


def test_the_same_thing_seen_in_a_later_request_supersedes_what_was_known() -> None:
    status = _status(
        request=2, index=[("NO6JO3@1", "get_booking NO6JO3")], observation=(_saw(_BOOKING, "get_booking"),)
    )
    (made,) = notes(status)
    assert (made.operation, made.id) == ("add", "NO6JO3@2")
    assert Ref(relation=Relation.SUPERSEDES, target="NO6JO3@1") in (made.refs or ())
    _valid(status, StepOutput(delta=(made,)))


def test_two_results_about_one_thing_in_one_observation_are_one_state_that_rests_on_both() -> None:
    status = _status(observation=(_saw(_BOOKING, "a"), _saw(_BOOKING, "b", id_="obs:1.2")))
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
    assert _one(_saw(content, tool)).kind is kind


def test_a_call_whose_outcome_is_unknown_is_told_as_such() -> None:
    assert (_one(_saw(None, "book_hotel", hotel="C")).summary or "") == "book_hotel C: outcome unknown"


def test_a_result_that_says_nothing_gives_no_state_unless_something_was_changed() -> None:
    assert notes(_status(observation=(_saw("", "think", thought="hm"),))) == ()
    assert _one(_saw("", "delete_file", path="a")).kind is StateKind.ARTIFACT


def test_a_name_that_the_index_tells_is_not_told_again() -> None:
    made = _one(_saw(_PROFILE), index=[("a", "earlier: NO6JO3 credit_card_4421486")], request=2)
    assert "NO6JO3" not in (made.summary or "")
    assert "ABCXYZ" in (made.summary or "")


def test_the_fields_of_a_tool_are_told_once() -> None:
    first = _one(_saw(_BOOKING, "get_booking", a="X1"))
    later = _one(_saw(_BOOKING, "get_booking", b="X2"), index=[(first.id, first.summary or "")], request=2)
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
    status = _status(observation=(_saw(content, "get", flag=True, nothing=None, many=[1, {"x": "y"}]),))
    made = output(status, Turn(calls=(ToolCall(name="next"),)), is_answer=False)
    _valid(status, made)
    assert len(made.delta) <= 1
    assert made.delta == output(status, Turn(calls=(ToolCall(name="next"),)), is_answer=False).delta


# --- what becomes of words -------------------------------------------------------------------------------------------


def test_a_wish_that_outlives_its_request_is_a_preference() -> None:
    (made,) = notes(_status("Book it. I never fly before 11am."))
    assert (made.kind, made.id, made.summary) == (StateKind.PREFERENCE, "user-1", "I never fly before 11am.")
    assert notes(_status("Yes, book it.")) == ()


def test_a_request_too_long_for_its_heading_is_kept_whole() -> None:
    (made,) = notes(_status("word " * 200))
    assert made.value == "word " * 200


def test_an_answer_is_a_judgement_that_rests_on_what_was_found_and_replaces_drafts() -> None:
    active = (_active("user-1"), _active("NO6JO3@1"), _active("draft-1.1"))
    status = _status("I never fly before 11am", active=active)
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
    assert output(_status(), Turn(text=text), is_answer=True) == StepOutput(message=text)


@pytest.mark.parametrize("text", ["Take the train.", "Shall I book H-1001?"])
def test_an_answer_that_decides_or_names_something_is_kept(text: str) -> None:
    (made,) = output(_status(), Turn(text=text), is_answer=True).delta
    assert (made.kind, made.summary) == (StateKind.JUDGEMENT, text)


def test_text_beside_calls_is_a_draft() -> None:
    made = output(_status(), Turn(text="Let me look at 3 of them", calls=(ToolCall(name="get"),)), is_answer=False)
    assert [op.id for op in made.delta] == ["draft-1.1"]


def test_what_was_written_is_not_written_again_after_a_restart() -> None:
    status = _status("I never fly", observation=(_saw(_PROFILE),))
    written = [_active(op.id) for op in notes(status)]
    assert notes(_status("I never fly", active=written, observation=(_saw(_PROFILE),))) == ()
    answered = _status(active=(_active("answer-1"),))
    assert output(answered, Turn(text="Take the train."), is_answer=True).delta == ()


def test_a_task_without_state_updates_gets_none() -> None:
    status = _status("I never fly", observation=(_saw(_PROFILE),), isu=False)
    assert notes(status) == ()
    assert output(status, Turn(text="Take the train."), is_answer=True) == StepOutput(message="Take the train.")


# --- what is asked for -----------------------------------------------------------------------------------------------

_INDEX = (
    ("result-1.1", "get_user_details mia_li_3668: (name dob payment_methods) credit_card_4421486"),
    ("NO6JO3@1", "get_booking NO6JO3: (reservation_id cabin flights) HAT136"),
    ("answer-1", "Shall I book HAT136 for 3 people?"),
)


def _targets(found: tuple[Access, ...]) -> list[str]:
    return [item.target for item in found]


def test_a_state_whose_fields_match_the_parameters_is_asked_for() -> None:
    status = _status("The second passenger is the one on file, with the date of birth that you have there.", request=2)
    status = _status(f"{status.query} Thanks.", request=2, index=_INDEX)
    assert _targets(wanted(status, tool="get_seat", parameters=("dob",))) == ["result-1.1"]
    assert _targets(wanted(status, tool="get_seat", parameters=("cabin",))) == ["NO6JO3@1"]


def test_names_of_things_need_no_access_since_the_index_has_them() -> None:
    status = _status("x" * 100, request=2, index=_INDEX)
    assert wanted(status, tool="get_booking", parameters=("reservation_id", "user_id")) == ()


def test_a_parameter_that_is_in_view_is_not_asked_for() -> None:
    status = _status("x" * 100, request=2, index=_INDEX, observation=(_saw('{"dob": "1990-04-05"}'),))
    assert wanted(status, tool="get_seat", parameters=("dob",)) == ()


def test_what_lies_behind_a_disclosed_state_is_asked_for_next() -> None:
    shown = _active("result-1.1", own=False, raw="obs:1.1", summary=_INDEX[0][1])
    status = _status("x" * 100, request=2, index=_INDEX, active=(shown,))
    assert _targets(wanted(status, tool="get_seat", parameters=("dob",))) == ["obs:1.1"]


def test_a_short_go_ahead_for_a_write_asks_for_the_last_answer() -> None:
    status = _status("Yes, please.", request=2, index=_INDEX)
    assert _targets(wanted(status, tool="book_flight", parameters=("flight_number",))) == ["answer-1"]
    assert wanted(status, tool="get_flight", parameters=("flight_number",)) == ()


@pytest.mark.parametrize(("parameter", "state"), [("dob", "result-1.1"), ("reservation_id", "NO6JO3@1")])
def test_what_is_folded_away_is_asked_for_by_the_whole_index_and_names_of_things_too(
    parameter: str, state: str
) -> None:
    whole = _status("x" * 100, request=2, index=_INDEX)
    folded = replace(whole, history=Index(folded_ranges=((1, 1),)))
    found = wanted(folded, tool="get_seat", parameters=(parameter,), whole=whole)
    assert _targets(found) == [state, "answer-1"]


def test_where_no_state_matches_the_folded_request_with_most_words_is_asked_for_once() -> None:
    lines = {1: "get_user_details mia_li_3668: credit_card_4421486", 2: "get_train ICE 70 Ulm", 3: "get_train Graz"}
    entries = tuple(
        IndexEntry(request=n, text=f"request {n}", states=(IndexLine(id=f"result-{n}.1", summary=line),))
        for n, line in lines.items()
    )
    whole = replace(_status("The train to Ulm", request=4), history=Index(entries=entries))
    folded = replace(whole, history=Index(entries=entries[2:], folded_ranges=((1, 2),)))
    assert _targets(wanted(folded, tool="hold", parameters=("seat",), whole=whole)) == ["request:2"]
    again = replace(folded, history=replace(folded.history, unfolded=(2,)))
    assert wanted(again, tool="hold", parameters=("seat",), whole=whole) == ()


def test_among_states_with_the_same_fields_the_one_that_the_request_speaks_of_comes_first() -> None:
    more = ("EHGLP3@1", "get_booking EHGLP3: HAT002")
    for text, state in (("x" * 100, "EHGLP3@1"), (f"{'x' * 100} of NO6JO3", "NO6JO3@1")):
        status = _status(text, request=2, index=(*_INDEX[:2], more))
        assert _targets(wanted(status, tool="get_seat", parameters=("cabin",))) == [state]


def test_nothing_is_asked_for_without_access_and_nothing_twice() -> None:
    assert wanted(_status(request=2, index=_INDEX, psa=False), tool="book", parameters=("dob",)) == ()
    shown = [_active(id_, own=False, summary=summary) for id_, summary in _INDEX]
    assert wanted(_status("Yes", request=2, index=_INDEX, active=shown), tool="book", parameters=("dob",)) == ()


def test_only_names_of_parameters_count_never_values() -> None:
    """The signature takes none; what a call is given cannot change what is asked for."""
    assert "arguments" not in wanted.__annotations__


# --- reading results and names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "writes"),
    [
        ("book_hotel", True),
        ("api.orders.cancelOrder", True),
        ("get_booking", False),
        ("list_orders_to_cancel", False),
        ("weather", False),
        ("", False),
    ],
)
def test_the_first_verb_of_a_name_says_whether_it_writes(tool: str, *, writes: bool) -> None:
    assert is_write(tool) is writes


@pytest.mark.parametrize(
    ("literal", "text", "there"),
    [("1", "10", False), ("1", "a 1.", True), ("a-1", "x a-1 y", True), ("user", "user_id", False), ("é", "é", True)],
)
def test_a_literal_occurs_as_a_word_of_its_own(literal: str, text: str, *, there: bool) -> None:
    assert results.occurs(literal, text) is there


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"order_id": "#W4923227", "created_at": "2024-05-14T10:44:24"}, ("#W4923227",)),
        ({"id": 17, "price": 4421}, ("17",)),
        ({"origin": "JFK", "date": "2024-05-24", "dob": "1990-04-05"}, ("JFK", "2024-05-24")),
        ({"payment_methods": {"card_77": {}}, "tags": ["red"]}, ("card_77", "red")),
        ([True, None, 3.5, ""], ()),
    ],
)
def test_what_a_result_names(value: Json, names: tuple[str, ...]) -> None:
    assert results.read(json.dumps(value)).names == names


def test_parameters_are_the_names_at_every_depth() -> None:
    arguments: Mapping[str, Json] = {"a": [{"b": 1}, {"c": {"d": None}}], "e": True}
    assert list(results.parameters(arguments)) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("row", ["x", "-", ".", "_", "ACGT", "=-", "7", "a1"])
def test_a_long_row_of_one_kind_of_character_is_read_as_fast_as_any_other_text(row: str) -> None:
    text = (row * 20_000)[:20_000]
    started = time.process_time()
    results.read(text).names  # noqa: B018  # what is found does not matter here
    assert time.process_time() - started < 5.0  # it was half a minute, in which no other thread can run
