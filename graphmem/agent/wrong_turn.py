"""The second part of the demo: a wrong turn that Maintain catches, a Revise in both worlds, and a fork.

The same request is played twice. In one task what the tools did stands after the revise, so the booking stays in view
and has to be dealt with; in the other the world is put back too, and it leaves. A fork goes on from the step before the
choice with another plan. Invariant: the judge looks at nothing but what Maintain shows it.
"""

from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Final

from graphmem.agent import loop
from graphmem.agent.events import Invocation
from graphmem.agent.loop import Upkeep
from graphmem.agent.seen import Seen
from graphmem.agent.story import ARTIFACT, JUDGEMENT, KNOWLEDGE, PREFERENCE, Said, Story, add, pick, remove, say, use
from graphmem.agent.tools import Tool
from graphmem.agent.travel import Travel
from graphmem.errors import StoryError
from graphmem.state.values import ToolCall
from graphmem.task import Task
from graphmem.trace import Case, Revised, Ruling, World

GUESTS: Final = (
    "Two colleagues come to the conference too. Book them a quiet room from 5 to 7 October, at most 380 USD for the "
    "stay. They must be able to cancel for free."
)
_DAY: Final = date(2026, 9, 16)
_STAY: Final = {"check_in": "2026-10-05", "check_out": "2026-10-07"}
_IRREVERSIBLE: Final = ("book_hotel",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One playing of the story: what the revise did, and what was spent in the world."""

    task: str
    world: str
    feedback: str
    left: tuple[str, ...]
    kept: tuple[str, ...]
    irreversible: tuple[str, ...]
    spent_usd: int
    answer: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """The second part of the demo: both playings, and the fork with its answer."""

    turns: tuple[Turn, ...]
    fork: str
    forked_at: int
    fork_answer: str


def second_part(tasks: Callable[[str], Task], name: str) -> Branches:
    """Play it in three tasks whose names begin with `name`."""
    playing, unchanged = play(tasks(f"{name}-guests"), World.UNCHANGED)
    _, restored = play(tasks(f"{name}-restored"), World.RESTORED)
    forked, answer = plan_b(playing, f"{name}-plan-b")
    origin = forked.task.origin()
    return Branches(
        turns=(unchanged, restored),
        fork=forked.task.name,
        forked_at=0 if origin is None else origin.step,
        fork_answer=answer,
    )


def told(branches: Branches) -> list[str]:
    """The second part for the eye, a sentence each."""
    first, second = branches.turns
    return [
        f"A wrong turn, in task {first.task}: {GUESTS}",
        f"  maintain  fails the finished subgoal: {first.feedback}",
        f"  revise    (the world as it is) leaves {', '.join(first.left)}; {', '.join(first.kept)} really happened and "
        f"stays in view; cannot be undone: {'; '.join(first.irreversible)}",
        f"  answer    {first.answer} ({first.spent_usd} USD)",
        f"The same where the world is put back too, in task {second.task}: leaves {', '.join(second.left)}; "
        f"{second.answer} ({second.spent_usd} USD)",
        f"A fork of {first.task} from step {branches.forked_at}, in task {branches.fork}: {branches.fork_answer}",
    ]


def conditions_read(case: Case) -> Ruling:
    """A rule-based judge: no hotel is booked before its conditions were read, as the policy of the agent demands."""
    read: set[object] = set()
    for node in case.trace:
        for seen in node.results:
            if seen.tool == "read_policy":
                read.add(seen.arguments["policy"])
            elif seen.tool == "book_hotel" and seen.arguments["hotel"] not in read:
                return Ruling(
                    passed=False,
                    feedback=f"step {node.number} books {seen.arguments['hotel']} and its conditions were not read. "
                    "They must be able to cancel for free: read the conditions first, then choose.",
                )
    return Ruling(passed=True)


class Play:
    """A task, its world, and the world as it was after each step of the ledger."""

    def __init__(self, task: Task, travel: Travel) -> None:
        self.task = task
        self.travel = travel
        self.tools = [Tool.of(function, irreversible=function.__name__ in _IRREVERSIBLE) for function in travel.tools()]
        self.worlds: list[tuple[int, Any]] = [(1, travel.saved())]
        self.revised: list[Revised] = []

    def run(self, text: str | None, part: Callable[[Seen], Generator[Said, Seen, None]], *, world: World) -> str:
        """The answer to the request, by the script."""
        story = Story([part])

        def on_step(done: Invocation) -> None:
            story.check(done.result)
            if done.revised is not None:
                self.revised.append(done.revised)
                if world is World.RESTORED:
                    self.travel.restore(self.world_at(done.revised.boundary_step))
            self.worlds.append((done.revised.step if done.revised else done.result.step + 1, self.travel.saved()))

        upkeep = Upkeep(judge=conditions_read, world=world)
        return loop.run(self.task, text, story, self.tools, upkeep=upkeep, on_step=on_step)

    def world_at(self, step: int) -> Any:
        """The world as it was after a step."""
        return [saved for number, saved in self.worlds if number <= step][-1]

    @property
    def spent_usd(self) -> int:
        """What the world was paid."""
        return sum(payment["usd"] for payment in self.travel.payments)

    def told(self, answer: str, world: World) -> Turn:
        """What this playing came to."""
        if len(self.revised) != 1:
            raise StoryError(f"{self.task.name}: {len(self.revised)} revises, not 1")
        revised = self.revised[0]
        return Turn(
            task=self.task.name,
            world=str(world),
            feedback=self.task.at(revised.step).path().hints.feedback or "",
            left=revised.left,
            kept=revised.kept,
            irreversible=tuple(f"{call.tool} {call.arguments}" for call in revised.irreversible),
            spent_usd=self.spent_usd,
            answer=answer,
        )


def play(task: Task, world: World) -> tuple[Play, Turn]:
    """The wrong turn in a fresh task."""
    playing = Play(task, Travel(_DAY))
    answer = playing.run(GUESTS, guests, world=world)
    return playing, playing.told(answer, world)


def plan_b(playing: Play, name: str) -> tuple[Play, str]:
    """A fork from before the choice, with another plan, in a world of its own."""
    at = next(line for line, _ in playing.worlds[1:])
    travel = Travel(_DAY)
    travel.restore(playing.world_at(at))
    forked = Play(playing.task.fork(name, at=at), travel)
    return forked, forked.run(None, plan, world=World.UNCHANGED)


def guests(seen: Seen) -> Generator[Said, Seen, None]:
    """Choose by the price list alone; after Maintain's feedback by the conditions."""
    seen = yield say(
        add(PREFERENCE, "p1-guests", "quiet, at most 380 USD, free cancellation", {"usd_at_most": 380}),
        calls=[use("search_hotels", city="Oslo", **_STAY)],
    )
    hotels = {hotel["hotel"]: hotel for hotel in seen.result() if hotel["total_usd"] <= 380}
    found = seen.raw[0]
    best = max(hotels.values(), key=lambda hotel: hotel["quiet"])["hotel"]
    seen = yield say(
        add(
            KNOWLEDGE,
            "k1-offers",
            "hotels within the limit",
            {name: pick(h, "total_usd", "quiet") for name, h in hotels.items()},
            derives=found,
        ),
        add(JUDGEMENT, "j1-choice", f"{best} is the quietest within the limit", {"hotel": best}, derives=found),
        calls=[use("book_hotel", hotel=best, **_STAY)],
    )
    booking = seen.result()
    seen = yield say(
        add(
            ARTIFACT,
            "b1-booking",
            f"{booking['booking']}: {best}",
            pick(booking, "booking", "what"),
            derives=seen.raw[0],
        ),
        calls=[
            ToolCall(name="compress", arguments={"summary": f"Booked {best} for the guests: {booking['booking']}."})
        ],
    )
    yield from _again(seen)


def _again(seen: Seen) -> Generator[Said, Seen, None]:
    """What the agent does once the judge has sent it back: the booking is in view only where it stands."""
    if "conditions were not read" not in seen.feedback:
        raise StoryError(f"the prompt does not say why the subgoal failed, but {seen.feedback!r}")
    stands = "b1-booking" in seen.active
    quiet = "hotel-b"
    seen = yield say(calls=[use("read_policy", policy="hotel-c"), use("read_policy", policy=quiet)])
    binding, free = seen.raw
    seen = yield say(
        add(
            KNOWLEDGE, "k2-binding", "hotel-c is binding: the whole price is due", {"hotel": "hotel-c"}, derives=binding
        ),
        add(KNOWLEDGE, "k3-free", "hotel-b can be cancelled without cost until 18:00 the day before", {}, derives=free),
        add(JUDGEMENT, "j2-choice", "hotel-b: quiet, and free to cancel", {"hotel": quiet}, derives=[binding, free]),
        calls=[
            *([use("cancel_booking", booking=seen.value("b1-booking")["booking"])] if stands else []),
            use("book_hotel", hotel=quiet, **_STAY),
        ],
    )
    booked = seen.result(1 if stands else 0)
    summary = f"Booked {quiet} for the guests, free to cancel: {booked['booking']}."
    lost = " The first booking was binding, so its 190 USD are lost." if stands else ""
    seen = yield say(
        add(
            ARTIFACT,
            "b2-booking",
            f"{booked['booking']}: {quiet}",
            pick(booked, "booking", "what"),
            derives=seen.raw[-1],
        ),
        *([remove("b1-booking")] if stands else []),
        calls=[ToolCall(name="compress", arguments={"summary": summary + lost})],
    )
    yield say(message=f"{summary}{lost}")


def plan(seen: Seen) -> Generator[Said, Seen, None]:
    """The fork: the hotel on the square, its conditions read first."""
    seen = yield say(
        add(JUDGEMENT, "j1-choice", "hotel-d: next to the conference", {"hotel": "hotel-d"}, derives=seen.raw[0]),
        calls=[use("read_policy", policy="hotel-d")],
    )
    seen = yield say(
        add(KNOWLEDGE, "k1-free", "hotel-d can be cancelled until noon of the day of arrival", {}, derives=seen.raw[0]),
        calls=[use("book_hotel", hotel="hotel-d", **_STAY)],
    )
    booked = seen.result()
    yield say(
        add(
            ARTIFACT,
            "b1-booking",
            f"{booked['booking']}: hotel-d",
            pick(booked, "booking", "what"),
            derives=seen.raw[0],
        ),
        message=f"Booked hotel-d for the guests: {booked['booking']}.",
    )
