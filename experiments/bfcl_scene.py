"""A BFCL task as a scene: its user turns and gold calls in its simulators, and wrong calls of the same tools.

A wrong call is one of three, each as the data's tools take them: a gold call with an argument changed, another tool
with arguments of the types it documents, or a gold call of another place. Nothing undoes a call by another one: the
world is put back, or stays as the calls left it. Every tool is taken for irreversible, so that a revise has to report
every call that it leaves.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

from experiments import bfcl
from experiments.scene import Goal
from graphmem import ToolCall
from graphmem.vocabulary import Json

_MOST_CALLS = 3


class BfclScene:
    """The scene of a task; the gold calls of a user turn are cut into subgoals of one to three calls."""

    undoes = False

    def __init__(self, task: bfcl.Task, random: Random) -> None:
        self.task = task
        self.irreversible: Collection[str] = tuple(
            sorted({tool.name for tool in task.tools} | {c.name for turn in task.gold for c in turn})
        )
        self.goals = tuple(
            goal for turn in zip(task.questions, task.gold, strict=True) for goal in _goals(*turn, random)
        )
        self._gold = [call for turn in task.gold for call in turn]

    def world(self) -> bfcl.Simulator:
        """The simulators with their scenarios loaded."""
        return self.task.simulator()

    def filled(self, call: ToolCall, earlier: Sequence[str]) -> ToolCall:  # noqa: ARG002  # gold calls are complete
        """The gold call itself."""
        return call

    def wrong(self, random: Random, word: str) -> ToolCall:
        """A call of the same simulators that the task does not ask for here."""
        call = random.choice(self._gold)
        way = random.choice(("argument", "tool", "place"))
        if way == "argument" and call.arguments:
            changed = random.choice(list(call.arguments))
            return ToolCall(
                name=call.name, arguments={**call.arguments, changed: _other(call.arguments[changed], word)}
            )
        if way == "place":
            return call
        tool = random.choice(self.task.tools)
        return ToolCall(name=tool.name, arguments=_given(tool, random, word))

    def undo(self, call: ToolCall, content: str) -> None:
        """Nothing does."""

    def settled(self, world: Any, gold: Any, ran: Sequence[ToolCall]) -> bool:  # noqa: ARG002  # it is not the gold world
        """The world is what the calls make of a new one, in their order."""
        again = self.world()
        for call in ran:
            again.call(call)
        return bool(again == world)


def _goals(query: str, calls: Sequence[ToolCall], random: Random) -> Sequence[Goal]:
    """One subgoal at least: where no call is right, it is to call nothing."""
    cuts = [0]
    while cuts[-1] < len(calls):
        cuts.append(min(len(calls), cuts[-1] + random.randint(1, _MOST_CALLS)))
    parts = [tuple(calls[a:b]) for a, b in pairwise(cuts)] or [()]
    return [Goal(calls=part, ends=i == len(parts), query=query) for i, part in enumerate(parts, 1)]


def _other(value: Json, word: str) -> Json:
    """A value of the same type, and not the same."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 17
        case str():
            return word
        case Mapping():
            return {**value, word: word}
        case Sequence():
            return [*value, word]
    return word


def _given(tool: bfcl.Tool, random: Random, word: str) -> dict[str, Json]:
    """What the tool needs, and some of what it takes."""
    needed = set(tool.parameters.get("required", ()))
    properties: Mapping[str, Mapping[str, Any]] = tool.parameters["properties"]
    return {
        name: _value(about, random, word)
        for name, about in properties.items()
        if name in needed or random.random() < 0.3
    }


def _value(about: Mapping[str, Any], random: Random, word: str) -> Json:
    if about.get("enum"):
        chosen: Json = random.choice(about["enum"])
        return chosen
    match about.get("type"):
        case "integer":
            return random.randint(1, 400)
        case "float":
            return random.randint(1, 4_000) / 8
        case "boolean":
            return random.random() < 0.5
        case "array" | "tuple":
            return [_value(about.get("items", {}), random, word)]
        case "dict":
            return {word: word}
    return word
