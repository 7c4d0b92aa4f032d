"""A small world with money, seats and messages, for runs whose truth is known.

Pure but for its own state, which is copied deeply to put the world back. Answers depend on the state: prices on the
bookings there are, ids of bookings on the lowest free seat. `book` and `upgrade` can be undone exactly, `notify` never.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from experiments.scene import Goal
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


class Booking:
    """The scene of a seed: guests to be served, one after another."""

    undoes = True
    irreversible: Collection[str] = IRREVERSIBLE

    def __init__(self, random: Random) -> None:
        goals = [_calls(random, number) for number in range(random.randint(4, 6))]
        ends = {number for number in range(len(goals)) if random.random() < 0.3} | {len(goals) - 1}
        self.goals = tuple(
            Goal(calls=tuple(calls), ends=number in ends, query=f"serve from guest {number} on")
            for number, calls in enumerate(goals)
        )

    def world(self) -> World:
        """An empty one."""
        return World()

    def filled(self, call: ToolCall, earlier: Sequence[str]) -> ToolCall:
        """A booking is named by the seat that `book` gives it, which is known when it is run."""
        if call.name != "upgrade":
            return call
        booking = next(told["booking"] for answer in reversed(earlier) if "booking" in (told := json.loads(answer)))
        return ToolCall(name=call.name, arguments={**call.arguments, "booking": booking})

    def wrong(self, random: Random, word: str) -> ToolCall:
        """A booking or a message for somebody whom nobody named."""
        train = random.choice(TRAINS)
        return random.choice(
            (
                ToolCall(name="book", arguments={"train": train, "who": word}),
                ToolCall(name="notify", arguments={"who": word, "text": f"a message of {word}"}),
            )
        )

    def undo(self, call: ToolCall, content: str) -> ToolCall | None:
        """A booking is cancelled, a meal is put back; a message has gone."""
        answer: dict[str, Json] = json.loads(content)
        match call.name:
            case "book":
                return ToolCall(name="cancel", arguments={"booking": answer["booking"]})
            case "upgrade":
                return ToolCall(name="upgrade", arguments={"booking": answer["booking"], "meal": answer["was"]})
        return None

    def settled(self, world: Any, gold: Any, ran: Sequence[ToolCall]) -> bool:
        """Bookings and money are the gold world's; what went out is what ran, in order."""
        sent = [f"{call.arguments['who']}: {call.arguments['text']}" for call in ran if call.name == "notify"]
        return bool((world.money, world.bookings, world.outbox) == (gold.money, gold.bookings, sent))


def _calls(random: Random, number: int) -> list[ToolCall]:
    train, who = random.choice(TRAINS), f"guest-{number}"
    calls = [
        ToolCall(name="look", arguments={"train": train}),
        ToolCall(name="book", arguments={"train": train, "who": who}),
        ToolCall(name="upgrade", arguments={"booking": "", "meal": random.choice(MEALS[1:])}),
        ToolCall(name="notify", arguments={"who": who, "text": f"your seat, number {number}"}),
    ]
    return calls[: random.randint(2, 4)]
