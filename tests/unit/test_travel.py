"""The world of the demo: its days, its money, and what it refuses."""

import json
from datetime import date
from typing import Any

import pytest

from graphmem.agent.tools import Tool, call
from graphmem.agent.travel import Travel, TravelError
from graphmem.state.values import ToolCall

STAY = {"check_in": "2026-10-05", "check_out": "2026-10-07"}


@pytest.fixture
def travel() -> Travel:
    return Travel(date(2026, 9, 1))


def told(answer: object) -> Any:
    return json.loads(json.dumps(answer))


def test_a_booking_keeps_its_price_when_the_price_falls(travel: Travel) -> None:
    booked = told(travel.book_hotel("hotel-b", **STAY))
    travel.advance(date(2026, 9, 12))
    assert told(travel.check_prices("hotel-b", **STAY))["total_usd"] < booked["paid_usd"]
    assert told(travel.list_bookings())[0]["paid_usd"] == booked["paid_usd"]


def test_the_figure_has_its_numbers(travel: Travel) -> None:
    booked = told(travel.book_hotel("hotel-a", **STAY))
    travel.advance(date(2026, 9, 12))
    new = told(travel.check_prices("hotel-b", **STAY))["total_usd"]
    fee = told(travel.cancel_booking(booked["booking"]))["fee_usd"]
    assert (booked["paid_usd"], new, fee, new + fee) == (200, 160, 80, 240)


def test_the_policies_say_what_a_cancellation_really_costs(travel: Travel) -> None:
    booked = told(travel.book_hotel("hotel-a", **STAY))
    fee = told(travel.cancel_booking(booked["booking"]))["fee_usd"]
    assert f"a fee of {fee} USD is kept" in told(travel.read_policy("hotel-a"))


def test_a_price_alert_tells_once_and_only_below_its_limit(travel: Travel) -> None:
    travel.set_price_alert("hotel-b", **STAY, below_usd=200)
    travel.set_price_alert("hotel-b", **STAY, below_usd=160)
    assert travel.advance(date(2026, 9, 11)) == []
    fired = travel.advance(date(2026, 9, 12))
    assert [line.partition(":")[0] for line in fired] == ["PA-1"]
    assert travel.advance(date(2026, 9, 13)) == []


def test_every_movement_of_money_is_a_payment(travel: Travel) -> None:
    hotel = told(travel.book_hotel("hotel-a", **STAY))["booking"]
    table = told(travel.reserve_table("graapus", "2026-10-06", "19:30", 3, ""))["booking"]
    travel.cancel_booking(table)
    travel.cancel_booking(hotel)
    assert [(p["booking"], p["usd"]) for p in told(travel.list_payments())["payments"]] == [
        (hotel, 200),
        (table, 30),
        (table, -30),
        (hotel, -120),
    ]
    assert told(travel.list_payments())["spent_usd"] == 80


def test_a_booking_is_cancelled_once(travel: Travel) -> None:
    booking = told(travel.book_hotel("hotel-d", **STAY))["booking"]
    travel.cancel_booking(booking)
    with pytest.raises(TravelError, match=booking):
        travel.cancel_booking(booking)
    assert told(travel.list_payments())["spent_usd"] == 0


def test_a_flight_that_was_retimed_tells_its_old_times_from_that_day_on(travel: Travel) -> None:
    before = told(travel.check_flight("NF 402", "2026-10-05"))
    travel.advance(date(2026, 9, 9))
    after = told(travel.check_flight("NF 402", "2026-10-05"))
    assert before["changed"] is None
    assert after["changed"]["was"] == {"departs": before["departs"], "arrives": before["arrives"]}
    assert after["departs"] != before["departs"]


def test_nothing_of_the_future_is_told(travel: Travel) -> None:
    everything = json.dumps(
        [travel.search_hotels("Oslo", **STAY), travel.search_flights("London", "Oslo", "2026-10-05")]
    )
    assert "2026-09-12" not in everything
    assert "08:10" not in everything


def test_the_first_free_appointment_is_neither_past_nor_too_early(travel: Travel) -> None:
    assert told(travel.book_visa_appointment("Norway", "2026-09-10"))["date"] == "2026-09-16"
    with pytest.raises(TravelError, match="free"):
        travel.book_visa_appointment("Norway", "2027-01-01")


def test_time_does_not_go_back(travel: Travel) -> None:
    with pytest.raises(TravelError, match="already"):
        travel.advance(date(2026, 8, 31))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("book_hotel", {"hotel": "hotel-z", **STAY}),
        ("book_hotel", {"hotel": "hotel-a", "check_in": "2026-10-07", "check_out": "2026-10-05"}),
        ("book_hotel", {"hotel": "hotel-a", "check_in": "soon", "check_out": "2026-10-05"}),
        ("book_flight", {"flight": "NF 402", "date": "2025-10-05"}),
        ("search_hotels", {"city": "Bergen", **STAY}),
        ("search_restaurants", {"city": "Oslo", "area": "Nowhere", "people": 2}),
        ("read_policy", {"policy": "none"}),
        ("cancel_booking", {"booking": "H-1"}),
        ("cancel_booking", {}),
    ],
)
def test_what_the_world_refuses_changes_nothing_and_is_told_as_a_result(
    travel: Travel, name: str, arguments: dict[str, Any]
) -> None:
    tools = {tool.name: tool for tool in map(Tool.of, travel.tools())}
    assert call(tools, ToolCall(name=name, arguments=arguments)).startswith("error: ")
    assert (travel.bookings, travel.payments, travel.alerts) == ({}, [], [])


def test_every_tool_is_described_and_every_hotel_restaurant_and_fare_has_its_policy(travel: Travel) -> None:
    assert all(Tool.of(function).description for function in travel.tools())
    named = told(travel.search_hotels("Oslo", **STAY)) + told(travel.search_restaurants("Oslo", "Grünerløkka", 2))
    policies = [item["policy"] for item in named]
    policies += [flight["fare"] for flight in told(travel.search_flights("London", "Oslo", "2026-10-05"))]
    assert all(travel.read_policy(policy) for policy in policies)
