"""The demo's story, second part: visa, insurance and a dinner are arranged."""

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
    pick,
    say,
    update,
    use,
)


def papers(see: Seen) -> Generator[Said, Seen, None]:
    """Visa and insurance; a historical state cannot be updated, so a new one is linked to it."""
    see = yield from _read_rule(see)
    yield from _get_papers(see)


def _read_rule(see: Seen) -> Generator[Said, Seen, Seen]:
    """What the authority wants; what comes back shows the insurances."""
    see = yield say(
        add(
            PREFERENCE,
            "p5-passport",
            "Indian passport, British residence permit",
            {"passport": "India", "lives_in": "United Kingdom"},
        ),
        access={"p1-trip": "the dates of the stay, for insurance and visa"},
        calls=[use("read_policy", policy="visa-norway")],
    )
    cover = number(r"at least ([\d,]+) EUR", see.words)
    trip = see.value("p1-trip")
    return (
        yield say(
            add(
                KNOWLEDGE,
                "e13-visa-rule",
                f"Visa needed: appointment in person, insurance of {cover} EUR; the rule is {see.raw[0]}",
                {
                    "is_needed": "India" in see.words,
                    "min_cover_eur": cover,
                    "days_before": number(r"latest (\d+) days", see.words),
                },
                derives=see.raw,
                supports="p5-passport",
            ),
            calls=[use("search_insurance", start=trip["check_in"], end=trip["check_out"])],
        )
    )


def _get_papers(see: Seen) -> Generator[Said, Seen, None]:
    """The cheapest insurance that fits the rule, and an appointment."""
    trip, cover = see.value("p1-trip"), see.value("e13-visa-rule")["min_cover_eur"]
    offer = min(
        (o for o in see.result() if o["medical_cover_eur"] >= cover and o["repatriation"]), key=lambda o: int(o["usd"])
    )
    with_papers = {**trip, "papers": ["visa", "insurance"]}
    see = yield say(
        add(
            ATTRIBUTE,
            "e14-insurance-offer",
            f"{offer['insurer']} {offer['offer']}: {offer['usd']} USD",
            pick(offer, "offer", "insurer", "usd", "medical_cover_eur", "repatriation"),
            derives=see.raw,
        ),
        update("p1-trip", f"Conference in {trip['city']}, with visa and insurance", with_papers),
        calls=[use("buy_insurance", offer=offer["offer"], start=trip["check_in"], end=trip["check_out"])],
        rejects=["update p1-trip"],
    )
    see.needs_reason("update p1-trip", "earlier request")
    bought = see.result()
    see = yield say(
        add(
            PREFERENCE,
            "p6-papers",
            "The trip needs a visa and insurance",
            {"papers": with_papers["papers"]},
            follows="p1-trip",
        ),
        add(
            KNOWLEDGE,
            "e15-insurance",
            f"Insured: {bought['booking']}, {bought['medical_cover_eur']} EUR",
            bought,
            derives=see.raw,
        ),
        calls=[use("book_visa_appointment", country="Norway", not_before="2026-09-10")],
    )
    visit = see.result()
    needed = ["form", "passport", "photograph", "hotel booking", "return ticket", "invitation", "insurance"]
    yield say(
        add(
            KNOWLEDGE,
            "e16-visa-visit",
            f"Visa appointment on {visit['date']} at {visit['time']}",
            visit,
            derives=see.raw,
        ),
        add(
            ARTIFACT,
            "a1-visa-checklist",
            f"What to bring to the visa centre on {visit['date']}",
            {"bring": needed},
            derives=["e13-visa-rule", "e16-visa-visit"],
            follows="p6-papers",
        ),
        message=f"You need a visa. Appointment: {visit['date']}, {visit['time']}, {visit['place']} "
        f"({visit['paid_usd']} USD). {bought['what']} insures you for {bought['paid_usd']} USD. "
        f"Bring: {', '.join(needed)}.",
    )


def dinner(see: Seen) -> Generator[Said, Seen, None]:
    """A table near the hotel; one output has the flaws of real models and is repaired."""
    people = number(r"for (\d+)", see.query)
    when: dict[str, Any] = {"date": "2026-10-06", "time": found(r"at (\d\d:\d\d)", see.query), "people": people}
    see = yield say(
        add(
            PREFERENCE,
            "p7-dinner",
            f"Dinner on 6 October at 19:30 for {people}: vegan dishes, a kitchen without nuts",
            {**when, "needs": ["vegan menu", "no nuts"]},
        ),
        access={"e6-booking-a": "where the hotel is, to look for a table within a walk"},
    )
    area = see.value("e6-booking-a")["area"]
    see = yield say(calls=[use("search_restaurants", city="Oslo", area=area, people=people)])
    fit = [r for r in see.result() if r["vegan_menu"] and r["nut_free_kitchen"]]
    table = min(fit, key=lambda r: int(r["walk_minutes"]))
    see = yield say(
        add(
            ATTRIBUTE,
            "e17-restaurant",
            f"{table['name']}: vegan, no nuts, {table['walk_minutes']} minutes on foot",
            pick(
                table, "restaurant", "name", "walk_minutes", "vegan_menu", "nut_free_kitchen", "deposit_usd", "policy"
            ),
            derives=see.raw,
        ),
        add(
            JUDGEMENT,
            "d3-dinner",
            f"D3: {table['name']}, the nearest kitchen without nuts",
            {"restaurant": table["restaurant"]},
            derives=["e17-restaurant", "e6-booking-a"],
            follows="p7-dinner",
        ),
        calls=[use("reserve_table", restaurant=table["restaurant"], **when, note="one guest is allergic to nuts")],
        is_flawed=True,
    )
    booked = see.result()
    yield say(
        add(
            KNOWLEDGE,
            "e18-table",
            f"Table at {booked['what']}: {booked['booking']}",
            booked,
            derives=see.raw,
            follows="d3-dinner",
        ),
        message=f"A table for {people} at {booked['what']} on {booked['date']} at {booked['time']} is yours "
        f"({booked['booking']}). The deposit of {booked['paid_usd']} USD is set off against the bill.",
    )
