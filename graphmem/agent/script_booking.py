"""The demo's story, first part: the hotel and the flights are booked.

Each function is one request, played by `story`; what it says follows from what its prompts show. Ids of states follow
FlowState's Figure 1: the decision D7 to book hotel A rests on the cancellation terms E4.
"""

from collections.abc import Generator
from typing import Any

from graphmem.agent.seen import Seen, number
from graphmem.agent.story import (
    ATTRIBUTE,
    JUDGEMENT,
    KNOWLEDGE,
    PREFERENCE,
    Said,
    add,
    pick,
    remove,
    say,
    update,
    use,
)
from graphmem.state.values import Operation


def lodging(see: Seen) -> Generator[Said, Seen, None]:
    """Hotel A is booked, and hotel B is kept in mind."""
    see = yield from _compare_hotels(see)
    yield from _book_hotel(see)


def _compare_hotels(see: Seen) -> Generator[Said, Seen, Seen]:
    """Hotels A and B are found; what comes back shows the terms of both."""
    check_in, check_out = _dates(see.query)
    budget = number(r"at most (\d+) USD", see.query)
    stay: dict[str, Any] = {"city": "Oslo", "check_in": check_in, "check_out": check_out}
    see = yield say(
        add(
            PREFERENCE,
            "p1-trip",
            f"Conference in Oslo, {check_in} to {check_out}",
            {**stay, "home": "London", "guests": 1},
        ),
        add(
            PREFERENCE,
            "p2-lodging-wishes",
            f"Hotel: central, quiet, can be cancelled, at most {budget} USD",
            {"max_total_usd": budget, "max_metres_to_centre": 1500, "min_quiet": 8, "must_be_cancellable": True},
            follows="p1-trip",
        ),
        add(JUDGEMENT, "d1-plan", "Plan: search hotels, read the terms of the best, book", {"next": "search_hotels"}),
        calls=[use("search_hotels", **stay)],
    )
    wishes = see.value("p2-lodging-wishes")
    fit = [
        h
        for h in see.result()
        if h["metres_to_centre"] <= wishes["max_metres_to_centre"] and h["quiet"] >= wishes["min_quiet"]
    ]
    a, b = sorted(fit, key=lambda hotel: int(hotel["total_usd"]))[:2]
    return (
        yield say(
            add(ATTRIBUTE, "e1-hotel-a", f"Hotel A, {a['name']}: {a['total_usd']} USD", _hotel(a), derives=see.raw),
            add(ATTRIBUTE, "e2-hotel-b", f"Hotel B, {b['name']}: {b['total_usd']} USD", _hotel(b), derives=see.raw),
            update("d1-plan", "Plan: compare the terms of hotels A and B, then book one", {"next": "read_policy"}),
            calls=[use("read_policy", policy=a["policy"]), use("read_policy", policy=b["policy"])],
        )
    )


def _book_hotel(see: Seen) -> Generator[Said, Seen, None]:
    """Decision D7, on the terms just read."""
    stay = pick(see.value("p1-trip"), "check_in", "check_out")
    raw_a, raw_b = see.raw
    fee = number(r"a fee of (\d+) USD is kept", see.results[raw_a])
    hours = number(r"up to (\d+) hours before", see.results[raw_a])
    a, b = see.value("e1-hotel-a"), see.value("e2-hotel-b")
    see = yield say(
        add(
            PREFERENCE,
            "p3-reconsider-b",
            "Reconsider hotel B if it becomes cheaper than A",
            {"if": "hotel B costs less than hotel A", "then": "compare again"},
            follows="p2-lodging-wishes",
        ),
        add(
            KNOWLEDGE,
            "e4-cancellation-a",
            f"Terms of hotel A: it can be cancelled until {hours} hours before, at a fee; their text is {raw_a}",
            {"hotel": a["hotel"], "fee_usd": fee, "hours_before": hours},
            derives=raw_a,
        ),
        add(
            KNOWLEDGE,
            "e5-cancellation-b",
            "Terms of hotel B: free to cancel until the evening before; their text is " + raw_b,
            {"hotel": b["hotel"], "fee_usd": 0, "price_fixed_when_booked": True},
            derives=raw_b,
        ),
        calls=[use("book_hotel", hotel=a["hotel"], **stay)],
    )
    booked = see.result()
    see = yield say(
        add(KNOWLEDGE, "e6-booking-a", f"Hotel A is booked and paid: {booked['booking']}", booked, derives=see.raw),
        add(
            JUDGEMENT,
            "d7-book-hotel-a",
            "D7: hotel A booked; B was dearer. Reconsider if B becomes cheaper",
            {
                "chosen": a["hotel"],
                "paid_usd": booked["paid_usd"],
                "instead_of": {"hotel": b["hotel"], "usd": b["total_usd"]},
            },
            derives=["e1-hotel-a", "e2-hotel-b", "e4-cancellation-a", "e6-booking-a"],
            follows=["p2-lodging-wishes", "p3-reconsider-b"],
        ),
        remove("d1-plan"),
        calls=[use("set_price_alert", hotel=b["hotel"], **stay, below_usd=booked["paid_usd"])],
    )
    alert = see.result()
    yield say(
        add(
            KNOWLEDGE,
            "e7-alert-b",
            f"Price alert {alert['alert']} on hotel B",
            alert,
            derives=see.raw,
            supports="p3-reconsider-b",
        ),
        message=f"{booked['what']} is booked for {booked['paid_usd']} USD ({booked['booking']}); cancelling it would "
        f"cost {fee} USD. Hotel B costs {b['total_usd']} USD today; an alert tells us when it falls "
        f"below {alert['below_usd']} USD.",
    )


def flights(see: Seen) -> Generator[Said, Seen, None]:
    """Both flights; a ref to something that was never made is rejected, and mended."""
    see = yield from _search_flights(see)
    yield from _book_flights(see)


def _search_flights(see: Seen) -> Generator[Said, Seen, Seen]:
    """Two searches on the days of the trip, which have to be disclosed first."""
    limit = number(r"under (\d+) USD", see.query)
    wishes = {
        "land_before": "15:00",
        "leave_after": "17:00",
        "home_before": "21:00",
        "max_total_usd": limit,
        "seat": "aisle",
    }
    see = yield say(
        add(
            PREFERENCE, "p4-flight-wishes", f"Flights: land before 15:00, home before 21:00, under {limit} USD", wishes
        ),
        access={"p1-trip": "the dates and the home of the traveller, to search flights"},
    )
    trip = see.value("p1-trip")
    return (
        yield say(
            calls=[
                use("search_flights", origin=trip["home"], destination=trip["city"], date=trip["check_in"]),
                use("search_flights", origin=trip["city"], destination=trip["home"], date=trip["check_out"]),
            ],
        )
    )


def _book_flights(see: Seen) -> Generator[Said, Seen, None]:
    """The cheapest two that fit the wishes."""
    wishes = see.value("p4-flight-wishes")
    raw_out, raw_back = see.raw
    out = min((f for f in see.result(0) if f["arrives"] < wishes["land_before"]), key=lambda f: int(f["usd"]))
    back = min(
        (f for f in see.result(1) if f["departs"] > wishes["leave_after"] and f["arrives"] < wishes["home_before"]),
        key=lambda f: int(f["usd"]),
    )
    decision = {"out": out["flight"], "back": back["flight"], "usd": out["usd"] + back["usd"]}
    headline = f"D2: {out['flight']} out and {back['flight']} back"
    see = yield say(
        _offered("e8-offer-out", out, raw_out),
        _offered("e9-offer-back", back, raw_back),
        add(JUDGEMENT, "d2-flights", headline, decision, derives=["e8-offer-out", "e9-offer-back", "e10-fare-terms"]),
        calls=[use("read_policy", policy=out["fare"])],
        rejects=["add d2-flights"],
    )
    see.needs_reason("add d2-flights", "e10-fare-terms")
    terms = {"cabin_bag_usd": number(r"cabin bag of up to 10 kg costs (\d+) USD", see.words), "refund": "none"}
    see = yield say(
        add(
            KNOWLEDGE,
            "e10-fare-terms",
            "Nordfly Light: no refund, cabin bag costs extra, aisle seat at check-in",
            terms,
            derives=see.raw,
        ),
        add(
            JUDGEMENT,
            "d2-flights",
            headline,
            decision,
            derives=["e8-offer-out", "e9-offer-back", "e10-fare-terms"],
            follows="p4-flight-wishes",
        ),
        calls=[use("book_flight", flight=f["flight"], date=f["date"]) for f in (out, back)],
    )
    (raw_out, raw_back), (out, back) = see.raw, (see.result(0), see.result(1))
    yield say(
        _booked("e11-flight-out", out, raw_out),
        _booked("e12-flight-back", back, raw_back),
        message=f"Booked: {out['what']} at {out['departs']} ({out['booking']}) and {back['what']} at {back['departs']} "
        f"({back['booking']}), {out['paid_usd'] + back['paid_usd']} USD together. A cabin bag would cost "
        f"{terms['cabin_bag_usd']} USD each way.",
    )


def _dates(text: str) -> tuple[str, str]:
    """The two days of 'from 5 to 7 October 2026'."""
    first, last = number(r"from (\d+) to", text), number(r"to (\d+) October 2026", text)
    return f"2026-10-{first:02}", f"2026-10-{last:02}"


def _hotel(offer: dict[str, Any]) -> dict[str, Any]:
    return pick(offer, "hotel", "name", "area", "quiet", "total_usd", "policy")


def _offered(state_id: str, flight: dict[str, Any], raw: str) -> Operation:
    value = pick(flight, "flight", "date", "departs", "arrives", "usd", "fare")
    return add(
        ATTRIBUTE, state_id, f"{flight['flight']} on {flight['date']}, lands {flight['arrives']}", value, derives=raw
    )


def _booked(state_id: str, flight: dict[str, Any], raw: str) -> Operation:
    summary = f"Booked {flight['what']}, leaves {flight['departs']}"
    return add(KNOWLEDGE, state_id, summary, flight, derives=raw, follows="d2-flights")
