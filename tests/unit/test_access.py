"""Rule-based access: what is asked for before a call, of a whole index and of a folded one. No server is needed."""

from dataclasses import replace

import pytest

from graphmem import Access, ToolCall
from graphmem.exchange import Round, Run, Turn
from graphmem.exchange.access import wanted
from graphmem.exchange.measuring.playing import Known, by_rule
from graphmem.exchange.measuring.script import Script
from graphmem.state.index import Index
from graphmem.state.values import IndexEntry, IndexLine

from .statuses import active_state, saw, status_of

_INDEX = (
    ("result-1.1", "get_user_details mia_li_3668: (name dob payment_methods) credit_card_4421486"),
    ("NO6JO3@1", "get_booking NO6JO3: (reservation_id cabin flights) HAT136"),
    ("answer-1", "Shall I book HAT136 for 3 people?"),
)


def _targets(found: tuple[Access, ...]) -> list[str]:
    return [item.target for item in found]


def test_a_state_whose_fields_match_the_parameters_is_asked_for() -> None:
    status = status_of(
        "The second passenger is the one on file, with the date of birth that you have there.", request=2
    )
    status = status_of(f"{status.query} Thanks.", request=2, index=_INDEX)
    assert _targets(wanted(status, tool="get_seat", parameters=("dob",))) == ["result-1.1"]
    assert _targets(wanted(status, tool="get_seat", parameters=("cabin",))) == ["NO6JO3@1"]


def test_names_of_things_need_no_access_since_the_index_has_them() -> None:
    status = status_of("x" * 100, request=2, index=_INDEX)
    assert wanted(status, tool="get_booking", parameters=("reservation_id", "user_id")) == ()


def test_a_parameter_that_is_in_view_is_not_asked_for() -> None:
    status = status_of("x" * 100, request=2, index=_INDEX, observation=(saw('{"dob": "1990-04-05"}'),))
    assert wanted(status, tool="get_seat", parameters=("dob",)) == ()


def test_what_lies_behind_a_disclosed_state_is_asked_for_next() -> None:
    shown = active_state("result-1.1", own=False, raw="obs:1.1", summary=_INDEX[0][1])
    status = status_of("x" * 100, request=2, index=_INDEX, active=(shown,))
    assert _targets(wanted(status, tool="get_seat", parameters=("dob",))) == ["obs:1.1"]


def test_a_short_go_ahead_for_a_write_asks_for_the_last_answer() -> None:
    status = status_of("Yes, please.", request=2, index=_INDEX)
    assert _targets(wanted(status, tool="book_flight", parameters=("flight_number",))) == ["answer-1"]
    assert wanted(status, tool="get_flight", parameters=("flight_number",)) == ()


@pytest.mark.parametrize(("parameter", "state"), [("dob", "result-1.1"), ("reservation_id", "NO6JO3@1")])
def test_what_is_folded_away_is_asked_for_by_the_whole_index_and_names_of_things_too(
    parameter: str, state: str
) -> None:
    whole = status_of("x" * 100, request=2, index=_INDEX)
    folded = replace(whole, history=Index(folded_ranges=((1, 1),)))
    found = wanted(folded, tool="get_seat", parameters=(parameter,), whole=whole)
    assert _targets(found) == [state, "answer-1"]


def test_where_no_state_matches_the_folded_request_with_most_words_is_asked_for_once() -> None:
    lines = {1: "get_user_details mia_li_3668: credit_card_4421486", 2: "get_train ICE 70 Ulm", 3: "get_train Graz"}
    entries = tuple(
        IndexEntry(request=n, text=f"request {n}", states=(IndexLine(id=f"result-{n}.1", summary=line),))
        for n, line in lines.items()
    )
    whole = replace(status_of("The train to Ulm", request=4), history=Index(entries=entries))
    folded = replace(whole, history=Index(entries=entries[2:], folded_ranges=((1, 2),)))
    assert _targets(wanted(folded, tool="hold", parameters=("seat",), whole=whole)) == ["request:2"]
    again = replace(folded, history=replace(folded.history, unfolded=(2,)))
    assert wanted(again, tool="hold", parameters=("seat",), whole=whole) == ()


def test_among_states_with_the_same_fields_the_one_that_the_request_speaks_of_comes_first() -> None:
    more = ("EHGLP3@1", "get_booking EHGLP3: HAT002")
    for text, state in (("x" * 100, "EHGLP3@1"), (f"{'x' * 100} of NO6JO3", "NO6JO3@1")):
        status = status_of(text, request=2, index=(*_INDEX[:2], more))
        assert _targets(wanted(status, tool="get_seat", parameters=("cabin",))) == [state]


def test_nothing_is_asked_for_without_access_and_nothing_twice() -> None:
    assert wanted(status_of(request=2, index=_INDEX, psa=False), tool="book", parameters=("dob",)) == ()
    shown = [active_state(id_, own=False, summary=summary) for id_, summary in _INDEX]
    assert wanted(status_of("Yes", request=2, index=_INDEX, active=shown), tool="book", parameters=("dob",)) == ()


@pytest.mark.parametrize("value", ["1990-04-05", "HAT136", "NO6JO3"])
def test_only_names_of_parameters_count_never_values(value: str) -> None:
    """Of a call that is to come, its values are not looked at, whatever in the index they would lead to."""
    status = status_of("x" * 100, request=2, index=_INDEX)
    turn = Turn(calls=(ToolCall(name="get_seat", arguments={"dob": value}),), results=("done",))
    (moment,) = Script(Run(task="t", rounds=(Round(text=f"It is {value}", turns=(turn,)),))).moments
    assert [literal.text for literal in moment.literals] == [value]
    assert _targets(by_rule(status, status, moment, Known())) == ["result-1.1"]
