"""What a run with wrong calls plays in: a world whose truth is known, its gold calls, and calls that nobody asked for.

Values and protocols only. A world answers calls and can be copied deeply; a scene says what is asked of it. Invariant:
the gold calls of a scene give the same answers in every new world of it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from graphmem import ToolCall
from graphmem.vocabulary import Json

Seen = tuple[str, dict[str, Json], str | None]


class World(Protocol):
    """Something that calls change. Worlds are equal when everything in them is."""

    def call(self, call: ToolCall) -> str:
        """What a call answers, after it took effect."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A subgoal: the calls that reach it, whether its request ends there, and the words of a request that begins here.

    Without calls, the right answer is to call nothing.
    """

    calls: tuple[ToolCall, ...]
    ends: bool
    query: str


class Scene(Protocol):
    """What is asked in a world. `undoes`: calls are compensated by calls in a world that nobody puts back.

    `irreversible`: tools whose calls a revise has to report.
    """

    undoes: bool
    irreversible: Collection[str]

    @property
    def goals(self) -> Sequence[Goal]:
        """What is asked, in order."""
        ...

    def world(self) -> World:
        """The world before the first call."""
        ...

    def filled(self, call: ToolCall, earlier: Sequence[str]) -> ToolCall:
        """A gold call as it is made, after these answers to the calls of its subgoal."""
        ...

    def wrong(self, random: Random, word: str) -> ToolCall:
        """A call that nobody asked for; what it says is told from other calls by the word, where it says anything."""
        ...

    def undo(self, call: ToolCall, content: str) -> ToolCall | None:
        """The call that compensates one; None where nothing was changed, or nothing can be done."""
        ...

    def settled(self, world: Any, gold: Any, ran: Sequence[ToolCall]) -> bool:
        """Whether a world that nobody put back is as it must be: after the calls of the path and those reported."""
        ...


def gold(scene: Scene) -> tuple[list[list[Seen]], World]:
    """By subgoal, what the right calls are and what they answer; and the world after them."""
    world, seen = scene.world(), list[list[Seen]]()
    for goal in scene.goals:
        answers: list[str] = []
        seen.append([])
        for call in goal.calls:
            filled = scene.filled(call, answers)
            answers.append(world.call(filled))
            seen[-1].append((filled.name, dict(filled.arguments), answers[-1]))
    return seen, world
