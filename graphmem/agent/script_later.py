"""The demo's story, third part: what changes afterwards, and what is decided anew.

A flight is retimed, hotel B becomes cheaper, an itinerary is made, the dinner is called off. `rethink` is FlowState's
Figure 1: D7 is found in the index, its evidence E4 through D7, the policy's own words through E4, and D8 supersedes D7.
"""

from collections.abc import Generator
from typing import Any

from graphmem.agent.seen import Seen, found, number
from graphmem.agent.story import (
    ARTIFACT,
    ATTRIBUTE,
    JUDGEMENT,
    KNOWLEDGE,
    PREFERENCE,
    Said,
    add,
    remove,
    say,
    update,
    use,
)
from graphmem.errors import StoryError


def retimed(see: Seen) -> Generator[Said, Seen, None]:
    """A fact is superseded; an output that is two decisions at once is refused."""
    asked = {
        see.line("e11-"): "number and date of the flight out, to check its times",
        see.line("e12-"): "number and date of the flight back, to check its times",
    }
    see = yield say(
        access=asked,
        calls=[use("list_bookings")],
        message="I will look at your bookings and come back to you.",
        is_refused=True,
    )
    see.needs_reason("the whole output", "one decision")
    see = yield say(access=asked)
    out, back = see.value("e11-flight-out"), see.value("e12-flight-back")
    see = yield say(
        access={see.line("e6-"): "when the room is ready, to judge the first day"},
        calls=[use("check_flight", flight=_flight(booked["what"]), date=booked["date"]) for booked in (out, back)],
    )
    now, same = see.result(0), see.result(1)
    if now["changed"] is None or same["changed"] is not None:
        raise StoryError(f"the flight out should be retimed and the one back not, but {now} and {same}")
    ready = see.value("e6-booking-a")["check_in_from"]
    see = yield say(
        add(
            KNOWLEDGE,
            "e19-flight-out-retimed",
            f"{now['flight']} now leaves at {now['departs']} and lands at {now['arrives']}",
            {**out, "departs": now["departs"], "arrives": now["arrives"], "cause": now["changed"]["cause"]},
            derives=see.raw[0],
            supersedes="e11-flight-out",
        ),
        add(
            JUDGEMENT,
            "d4-first-day",
            f"D4: landing at {now['arrives']} is fine, the room is ready at {ready}",
            {"lands": now["arrives"], "room_ready": ready, "do": "leave the luggage at the desk"},
            derives=["e19-flight-out-retimed", "e6-booking-a"],
        ),
        calls=[use("read_policy", policy=out["fare"])],
    )
    minutes = number(r"more than (\d+) minutes", see.words)
    earlier = _minutes(out["departs"]) - _minutes(now["departs"])
    yield say(
        update(
            "d4-first-day",
            f"D4: {earlier} minutes earlier gives no right to a refund, and the first day still works",
            {"lands": now["arrives"], "room_ready": ready, "minutes_earlier": earlier, "free_rebooking": False},
            derives=["e19-flight-out-retimed", "e6-booking-a", *see.raw],
        ),
        message=f"{now['flight']} now leaves at {now['departs']} instead of {out['departs']} and lands at "
        f"{now['arrives']}; the flight back is unchanged. Only changes of more than {minutes} minutes may be rebooked "
        f"free of charge. The room is ready at {ready}; leave your luggage at the desk until then.",
    )


def rethink(see: Seen) -> Generator[Said, Seen, None]:
    """D7 revisited: keep hotel A, since leaving it would cost more than B saves."""
    see = yield from _revisit(see)
    yield from _decide_anew(see)


def _stay(query: str) -> dict[str, str]:
    """Hotel and dates that the price alert in the user's text names."""
    return {
        "hotel": found(r"\((\S+)\) costs", query),
        "check_in": found(r"USD for (\S+) to", query),
        "check_out": found(r"USD for \S+ to (\S+)", query),
    }


def _revisit(see: Seen) -> Generator[Said, Seen, Seen]:
    """From the index to D7, from D7 to E4, from E4 to the raw text of the policy."""
    d7 = see.line("d7-")
    raw = found(r"(obs:\d+\.\d+)", see.index[see.line("e4-")])
    see = yield say(
        access={d7: "why hotel A was chosen and what was paid", raw: "the exact cancellation terms of hotel A"},
        calls=[use("check_prices", **_stay(see.query))],
        rejects=[f"access {raw}"],
    )
    see.needs_reason(f"access {raw}", "disclose one that does first")
    e4, price = see.related(d7, "e4-"), see.result()
    see = yield say(
        add(
            ATTRIBUTE,
            "e20-price-b",
            f"Hotel B costs {price['total_usd']} USD on {price['as_of']}",
            price,
            derives=see.raw,
        ),
        access={e4: "the cancellation terms that D7 rests on"},
    )
    raw = see.related(e4, "obs:")
    return (yield say(access={raw: "the wording of fee and time limit, before money is moved"}))


def _decide_anew(see: Seen) -> Generator[Said, Seen, None]:
    """D8, from D7's price, the new one and the fee in the policy's own words."""
    d7, e4 = see.state("d7-"), see.state("e4-")
    raw = see.related(e4, "obs:")
    fee = number(r"a fee of (\d+) USD is kept", see.value(raw))
    if fee != see.value(e4)["fee_usd"]:
        raise StoryError(f"the policy's text says {fee} USD, {e4} says {see.value(e4)}")
    paid, new = see.value(d7)["paid_usd"], see.value("e20-price-b")["total_usd"]
    switching, limit = new + fee, paid - fee
    if switching <= paid:
        raise StoryError(f"the story wants hotel A to be kept, but switching costs {switching} and keeping {paid}")
    see = yield say(
        add(
            JUDGEMENT,
            "d8-keep-hotel-a",
            f"D8: keep hotel A; switching to B costs {switching} USD, keeping A {paid}",
            {
                "keep": see.value(d7)["chosen"],
                "keeping_usd": paid,
                "switching_usd": switching,
                "switch_below_usd": limit,
            },
            supersedes=d7,
            derives=[e4, "e20-price-b", raw],
            follows="p3-reconsider-b",
        ),
        calls=[use("set_price_alert", **_stay(see.query), below_usd=limit)],
    )
    new_alert = see.result()
    yield say(
        add(
            KNOWLEDGE,
            "e21-alert-b",
            f"Price alert on hotel B below {limit} USD",
            new_alert,
            derives=see.raw,
            supersedes="e7-alert-b",
        ),
        message=f"Keep hotel A. Its terms keep {fee} USD of any cancellation, so switching would cost {new} + {fee} = "
        f"{switching} USD against the {paid} USD already paid. B pays off only below {limit} USD; "
        f"{new_alert['alert']} watches that.",
    )


def itinerary(see: Seen) -> Generator[Said, Seen, None]:
    """Everything in one artifact, checked against what was really booked and paid."""
    parts = [see.line(beginning) for beginning in ("e6-", "e12-", "e15-", "e16-", "e18-", "e19-", "d8-")]
    see = yield say(
        add(
            JUDGEMENT,
            "d5-plan",
            "Plan: gather what is booked, compare with the bookings, write it down",
            {"next": "list_bookings"},
        ),
        access=dict.fromkeys(parts, "its times and booking number, for the itinerary"),
        calls=[use("list_bookings")],
    )
    values = {part.partition("-")[0]: see.value(part) for part in parts}
    known = {value["booking"] for value in values.values() if "booking" in value}
    booked = {entry["booking"] for entry in see.result() if entry["status"] == "confirmed"}
    if known != booked:
        raise StoryError(f"what was disclosed ({sorted(known)}) is not what is booked ({sorted(booked)})")
    days = _days(*(values[key] for key in ("e6", "e19", "e12", "e16", "e18")))
    see = yield say(
        add(
            KNOWLEDGE,
            "e22-bookings",
            f"{len(booked)} bookings are confirmed",
            {"bookings": sorted(booked)},
            derives=see.raw,
        ),
        add(ARTIFACT, "a2-itinerary", "Itinerary of the trip to Oslo", {"days": days}, derives=parts),
        update("d5-plan", "Plan: add what was paid, then send the itinerary", {"next": "list_payments"}),
        calls=[use("list_payments")],
    )
    spent = see.result()["spent_usd"]
    yield say(
        update(
            "a2-itinerary", f"Itinerary of the trip to Oslo, {spent} USD in all", {"days": days, "spent_usd": spent}
        ),
        remove("d5-plan"),
        message="\n".join(
            [*(f"{day}: {'; '.join(lines)}" for day, lines in days.items()), f"Spent so far: {spent} USD."]
        ),
    )


def _days(
    hotel: dict[str, Any], out: dict[str, Any], back: dict[str, Any], visa: dict[str, Any], table: dict[str, Any]
) -> dict[str, list[str]]:
    """What happens on each day."""
    return {
        visa["date"]: [f"{visa['time']} {visa['place']} ({visa['booking']})"],
        out["date"]: [
            f"{out['departs']} {out['what']} ({out['booking']})",
            f"{hotel['check_in_from']} {hotel['what']}, {hotel['address']} ({hotel['booking']})",
        ],
        table["date"]: [f"{table['time']} dinner at {table['what']} ({table['booking']})"],
        back["date"]: [f"{back['departs']} {back['what']} ({back['booking']})"],
    }


def dinner_off(see: Seen) -> Generator[Said, Seen, None]:
    """The dinner is cancelled under its terms, and the itinerary superseded."""
    table, plan = see.line("e18-"), see.line("a2-")
    see = yield say(
        add(
            PREFERENCE,
            "p8-no-dinner",
            "No dinner on 6 October: the guests cannot come",
            {"cancelled_by": "user"},
            follows="p7-dinner",
        ),
        access={table: "booking number and terms of the table", plan: "the itinerary to be changed"},
    )
    see = yield say(calls=[use("read_policy", policy=see.value(table)["policy"])])
    hours = number(r"up to (\d+) hours before", see.words)
    booking = see.value(table)["booking"]
    see = yield say(
        add(
            JUDGEMENT,
            "d6-cancel-dinner",
            "D6: cancel the table; in time, so that the deposit comes back",
            {"booking": booking, "hours_before": hours},
            derives=[table, *see.raw],
            follows="p8-no-dinner",
        ),
        calls=[use("cancel_booking", booking=booking)],
    )
    gone = see.result()
    date, old = see.value(table)["date"], see.value(plan)
    days = {day: lines for day, lines in old["days"].items() if day != date}
    spent = old["spent_usd"] - gone["refund_usd"]
    yield say(
        add(
            KNOWLEDGE,
            "e23-table-cancelled",
            f"{booking} is cancelled, {gone['refund_usd']} USD come back",
            gone,
            derives=see.raw,
            supersedes=table,
        ),
        add(
            ARTIFACT,
            "a3-itinerary",
            f"Itinerary without the dinner, {spent} USD in all",
            {"days": days, "spent_usd": spent},
            supersedes=plan,
            derives="e23-table-cancelled",
        ),
        message=f"The table is cancelled and {gone['refund_usd']} USD come back to you; the trip now costs "
        f"{spent} USD. The evening of {date} is free.",
    )


def _flight(what: str) -> str:
    """'NF 402' of 'NF 402 London to Oslo'."""
    return " ".join(what.split()[:2])


def _minutes(time: str) -> int:
    hours, minutes = time.split(":")
    return int(hours) * 60 + int(minutes)
