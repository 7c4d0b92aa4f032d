"""A small world of travel for the demo: prices that move, things that can be booked, paid and cancelled.

Owns the state of that world and the rules by which it changes; its facts stand in `world.json`. Knows nothing of
agents. Invariants: time moves only through `advance`; every movement of money is in `payments`; the same calls give the
same answers.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib import resources
from typing import Any


class TravelError(Exception):
    """The world says no, and why."""


@dataclass(slots=True)
class Booking:
    """Something that was reserved; `fee_usd` is kept when it is cancelled, `paid_usd` was paid for it."""

    booking: str
    kind: str
    what: str
    date: str
    paid_usd: int
    fee_usd: int
    status: str = "confirmed"
    details: dict[str, Any] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """What a counterpart tells of it: everything but what only its conditions say."""
        told = asdict(self)
        del told["fee_usd"]
        return {**told, **told.pop("details")}


@dataclass(slots=True)
class PriceAlert:
    """Tells once when the price of a stay is below a limit."""

    alert: str
    hotel: str
    check_in: str
    check_out: str
    below_usd: int
    is_fired: bool = False


class Travel:
    """The world on one day. Its tools are the public methods named in `tools`."""

    def __init__(self, today: date) -> None:
        self.today = today
        self.bookings: dict[str, Booking] = {}
        self.alerts: list[PriceAlert] = []
        self.payments: list[dict[str, Any]] = []
        self._world = json.loads(resources.files("graphmem.agent").joinpath("world.json").read_text(encoding="utf-8"))

    def advance(self, today: date) -> list[str]:
        """Let the days pass; what the price alerts have to say."""
        if today < self.today:
            raise TravelError(f"it is {self.today} already")
        self.today = today
        fired = [alert for alert in self.alerts if not alert.is_fired and self._alert_price(alert) < alert.below_usd]
        for alert in fired:
            alert.is_fired = True
        return [
            f"{alert.alert}: {self._find('hotels', 'hotel', alert.hotel)['name']} ({alert.hotel}) costs "
            f"{self._alert_price(alert)} USD for {alert.check_in} to {alert.check_out}"
            for alert in fired
        ]

    def saved(self) -> Any:
        """Everything that moves, to be put back by `restore`."""
        return copy.deepcopy((self.today, self.bookings, self.alerts, self.payments))

    def restore(self, saved: Any) -> None:
        """The world as it was saved: what was booked and paid since did not happen."""
        self.today, self.bookings, self.alerts, self.payments = copy.deepcopy(saved)

    def tools(self) -> list[Callable[..., object]]:
        """Everything that an agent may call."""
        return [
            self.search_hotels,
            self.check_prices,
            self.book_hotel,
            self.set_price_alert,
            self.search_flights,
            self.check_flight,
            self.book_flight,
            self.search_insurance,
            self.buy_insurance,
            self.book_visa_appointment,
            self.search_restaurants,
            self.reserve_table,
            self.read_policy,
            self.list_bookings,
            self.list_payments,
            self.cancel_booking,
        ]

    def search_hotels(self, city: str, check_in: str, check_out: str) -> object:
        """Hotels in and around a city, with today's total price in USD for the stay (dates as YYYY-MM-DD)."""
        self._city(city)
        return [self._offer(hotel, check_in, check_out) for hotel in self._world["hotels"]]

    def check_prices(self, hotel: str, check_in: str, check_out: str) -> object:
        """Today's price in USD of a stay in one hotel."""
        offer = self._offer(self._find("hotels", "hotel", hotel), check_in, check_out)
        return {
            "as_of": self.today.isoformat(),
            **{key: offer[key] for key in ("hotel", "name", "nights", "total_usd")},
        }

    def book_hotel(self, hotel: str, check_in: str, check_out: str) -> object:
        """Book and pay a stay in a hotel at today's price."""
        found = self._find("hotels", "hotel", hotel)
        offer = self._offer(found, check_in, check_out)
        details = {
            "check_in": check_in,
            "check_out": check_out,
            "check_in_from": found["check_in_from"],
            "area": found["area"],
            "address": found["address"],
            "policy": found["policy"],
        }
        fee = min(found["cancellation_fee_usd"], offer["total_usd"])
        return self._book("H", "hotel", found["name"], check_in, offer["total_usd"], fee=fee, details=details)

    def set_price_alert(self, hotel: str, check_in: str, check_out: str, below_usd: int) -> object:
        """Be told when a stay in a hotel costs less than a limit in USD."""
        self._offer(self._find("hotels", "hotel", hotel), check_in, check_out)
        name = f"PA-{len(self.alerts) + 1}"
        self.alerts.append(PriceAlert(name, hotel, check_in, check_out, below_usd))
        return {"alert": name, "hotel": hotel, "below_usd": below_usd, "set_on": self.today.isoformat()}

    def _offer(self, hotel: dict[str, Any], check_in: str, check_out: str) -> dict[str, Any]:
        nights = (date.fromisoformat(check_out) - date.fromisoformat(check_in)).days
        if nights < 1 or date.fromisoformat(check_in) < self.today:
            raise TravelError(f"no stay from {check_in} to {check_out} can be had on {self.today}")
        price = [p["usd"] for p in hotel["per_night_usd"] if p["from"] <= self.today.isoformat()][-1]
        kept = ("per_night_usd", "cancellation_fee_usd", "check_in_from")
        told = {key: value for key, value in hotel.items() if key not in kept}
        return {**told, "nights": nights, "total_usd": price * nights}

    def _alert_price(self, alert: PriceAlert) -> int:
        hotel = self._find("hotels", "hotel", alert.hotel)
        return int(self._offer(hotel, alert.check_in, alert.check_out)["total_usd"])

    def search_flights(self, origin: str, destination: str, date: str) -> object:
        """Flights between two cities on a date, with times and prices in USD."""
        self._city(destination if origin == "London" else origin)
        found = [f for f in self._world["flights"] if (f["from"], f["to"]) == (origin, destination)]
        return [{**flight, **self._timetable(flight, date), "retimed": self._is_retimed(flight)} for flight in found]

    def check_flight(self, flight: str, date: str) -> object:
        """The times of a flight as the airline plans them today, and whether they were changed."""
        found = self._find("flights", "flight", flight)
        retimed = found.get("retimed")
        change = (
            {"was": {"departs": found["departs"], "arrives": found["arrives"]}, "cause": retimed["cause"]}
            if retimed
            else None
        )
        return {
            **self._timetable(found, date),
            "as_of": self.today.isoformat(),
            "changed": change if self._is_retimed(found) else None,
        }

    def book_flight(self, flight: str, date: str) -> object:
        """Book and pay one seat on a flight."""
        found = self._find("flights", "flight", flight)
        times = self._timetable(found, date)
        details = {
            "departs": times["departs"],
            "arrives": times["arrives"],
            "fare": found["fare"],
            "seat": "at check-in",
        }
        what = f"{flight} {found['from']} to {found['to']}"
        return self._book("F", "flight", what, date, found["usd"], fee=found["usd"], details=details)

    def _is_retimed(self, flight: dict[str, Any]) -> bool:
        return "retimed" in flight and flight["retimed"]["on"] <= self.today.isoformat()

    def _timetable(self, flight: dict[str, Any], day: str) -> dict[str, Any]:
        times = flight["retimed"] if self._is_retimed(flight) else flight
        return {
            "flight": flight["flight"],
            "from": flight["from"],
            "to": flight["to"],
            "date": day,
            "departs": times["departs"],
            "arrives": times["arrives"],
        }

    def search_insurance(self, start: str, end: str) -> object:
        """Travel insurance for a journey, with cover and price in USD."""
        return [{**offer, "valid": f"{start} to {end}"} for offer in self._world["insurance"]]

    def buy_insurance(self, offer: str, start: str, end: str) -> object:
        """Buy one of the offers for a journey."""
        found = self._find("insurance", "offer", offer)
        details = {key: found[key] for key in ("medical_cover_eur", "repatriation")} | {"valid": f"{start} to {end}"}
        what = f"{found['insurer']} {offer}"
        return self._book("I", "insurance", what, start, found["usd"], fee=found["usd"], details=details)

    def book_visa_appointment(self, country: str, not_before: str) -> object:
        """Book and pay the first free appointment at the visa centre on or after a date."""
        if country != "Norway":
            raise TravelError(f"the visa centre takes no applications for {country}")
        free = [slot for slot in self._world["visa_slots"] if slot[:10] >= max(not_before, self.today.isoformat())]
        if not free:
            raise TravelError("no appointment is free")
        fee = self._world["visa_fee_usd"]
        details = {"time": free[0][11:], "place": "Visa centre, 66 Wilson Street, London"}
        return self._book("V", "visa appointment", country, free[0][:10], fee, fee=fee, details=details)

    def search_restaurants(self, city: str, area: str, people: int) -> object:
        """Restaurants within a walk of an area of a city, for a number of people."""
        self._city(city)
        if not any(restaurant["area"] == area for restaurant in self._world["restaurants"]):
            raise TravelError(f"no restaurant is known near {area!r}")
        return [
            {**found, "deposit_usd": found["deposit_per_person_usd"] * people} for found in self._world["restaurants"]
        ]

    def reserve_table(self, restaurant: str, date: str, time: str, people: int, note: str) -> object:
        """Reserve a table and pay its deposit."""
        found = self._find("restaurants", "restaurant", restaurant)
        details = {"time": time, "people": people, "note": note, "policy": found["policy"]}
        paid = found["deposit_per_person_usd"] * people
        return self._book("T", "table", found["name"], date, paid, fee=0, details=details)

    def read_policy(self, policy: str) -> object:
        """The conditions of a hotel, fare, restaurant or authority, word for word."""
        if policy not in self._world["policies"]:
            raise TravelError(f"there is no policy {policy!r}; there are {', '.join(self._world['policies'])}")
        return self._world["policies"][policy]

    def list_bookings(self) -> object:
        """Everything that was booked, with its status today."""
        return [booking.told() for booking in self.bookings.values()]

    def list_payments(self) -> object:
        """Every payment and refund in USD, and what was spent in all."""
        return {"payments": self.payments, "spent_usd": sum(payment["usd"] for payment in self.payments)}

    def cancel_booking(self, booking: str) -> object:
        """Cancel a booking under its conditions; says what is paid back."""
        found = self.bookings.get(booking)
        if found is None or found.status == "cancelled":
            raise TravelError(f"there is no booking {booking!r} that could be cancelled")
        found.status = "cancelled"
        refund = found.paid_usd - found.fee_usd
        self._pay(booking, -refund)
        return {"booking": booking, "status": found.status, "fee_usd": found.fee_usd, "refund_usd": refund}

    def _book(
        self, letter: str, kind: str, what: str, day: str, usd: int, *, fee: int, details: dict[str, Any]
    ) -> dict[str, Any]:
        if date.fromisoformat(day) < self.today:
            raise TravelError(f"{day} is over")
        name = f"{letter}-{1001 + len(self.bookings)}"
        self.bookings[name] = Booking(name, kind, what, day, usd, fee, details=details)
        self._pay(name, usd)
        return self.bookings[name].told()

    def _pay(self, booking: str, usd: int) -> None:
        self.payments.append({"date": self.today.isoformat(), "booking": booking, "usd": usd})

    def _find(self, kind: str, key: str, name: str) -> dict[str, Any]:
        found: list[dict[str, Any]] = [item for item in self._world[kind] if item[key] == name]
        if not found:
            raise TravelError(f"there is no {key} {name!r}; there are {', '.join(i[key] for i in self._world[kind])}")
        return found[0]

    def _city(self, city: str) -> None:
        if city != "Oslo":
            raise TravelError(f"this world ends at Oslo; {city!r} is outside it")
