"""A small world with money, seats and messages, for runs whose truth is known.

Pure but for its own state, which is copied deeply to put the world back. Answers depend on the state: prices on the
bookings there are, ids of bookings on the lowest free seat. `book` and `upgrade` can be undone exactly, `notify` never.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Final

from graphmem import ToolCall
from graphmem.vocabulary import Json, json_text

TRAINS: Final = ("north", "south", "east")
MEALS: Final = ("none", "soup", "fish", "cake")
IRREVERSIBLE: Final = ("notify",)
_SEATS: Final = 40


@dataclass
class World:
    """Seats by train, bookings, money, and messages that went out."""

    money: int = 10_000
    bookings: dict[str, dict[str, Json]] = field(default_factory=dict)
    outbox: list[str] = field(default_factory=list)

    def call(self, call: ToolCall) -> str:
        """What a call answers, after it took effect."""
        given = call.arguments
        match call.name:
            case "look":
                return self._told(train=given["train"], price=self._price(str(given["train"])), money=self.money)
            case "book":
                return self._book(str(given["train"]), str(given["who"]))
            case "upgrade":
                booking = self.bookings[str(given["booking"])]
                was, booking["meal"] = booking["meal"], given["meal"]
                return self._told(booking=given["booking"], meal=given["meal"], was=was)
            case "cancel":
                gone = self.bookings.pop(str(given["booking"]))
                self.money += int(str(gone["paid"]))
                return self._told(cancelled=given["booking"], money=self.money)
            case "notify":
                self.outbox.append(f"{given['who']}: {given['text']}")
                return self._told(sent_to=given["who"], text=given["text"])
        raise ValueError(call.name)

    def _book(self, train: str, who: str) -> str:
        seat = next(s for s in range(1, _SEATS) if f"{train}-{s}" not in self.bookings)
        price = self._price(train)
        self.money -= price
        self.bookings[f"{train}-{seat}"] = {"who": who, "paid": price, "meal": "none"}
        return self._told(booking=f"{train}-{seat}", who=who, paid=price, money=self.money)

    def _price(self, train: str) -> int:
        return 20 + 3 * sum(id_.startswith(train) for id_ in self.bookings)

    def _told(self, **answer: Json) -> str:
        return json_text(answer, sort_keys=True)


def undo(call: ToolCall, answer: dict[str, Json]) -> ToolCall | None:
    """The call that compensates one; None where nothing was changed, or nothing can be done."""
    match call.name:
        case "book":
            return ToolCall(name="cancel", arguments={"booking": answer["booking"]})
        case "upgrade":
            return ToolCall(name="upgrade", arguments={"booking": answer["booking"], "meal": answer["was"]})
    return None


def subgoal(random: Random, number: int) -> list[ToolCall]:
    """The calls of one subgoal. A booking is named by the seat that `book` gives it, which is known when it is run."""
    train, who = random.choice(TRAINS), f"guest-{number}"
    calls = [
        ToolCall(name="look", arguments={"train": train}),
        ToolCall(name="book", arguments={"train": train, "who": who}),
        ToolCall(name="upgrade", arguments={"booking": "", "meal": random.choice(MEALS[1:])}),
        ToolCall(name="notify", arguments={"who": who, "text": f"your seat, number {number}"}),
    ]
    return calls[: random.randint(2, 4)]


def wrong(random: Random, token: str) -> ToolCall:
    """A call that nobody asked for; what it says names no other call."""
    train = random.choice(TRAINS)
    return random.choice(
        (
            ToolCall(name="book", arguments={"train": train, "who": token}),
            ToolCall(name="notify", arguments={"who": token, "text": f"a message of {token}"}),
        )
    )
