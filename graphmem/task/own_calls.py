"""Compress and revise as the model's own calls, `compress(summary)` and `revise(step, feedback, world)`.

Pure. Such a call stands alone: it is one decision. What is wrong with it is a reason for the model, and never stops the
delta that came with it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from graphmem.state.values import StepOutput, ToolCall
from graphmem.trace import World
from graphmem.vocabulary import Json, short_name

NAMES: Final = ("compress", "revise")
_NUMBER: Final = re.compile("[0-9]{1,18}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCall:
    """What the call asks for. `fault`: why it cannot be done."""

    name: str
    text: str = ""
    target: str | None = None
    boundary: int | None = None
    world: World = World.UNCHANGED
    fault: str | None = None


def not_alone(output: StepOutput) -> str | None:
    """Why an output with such a call among others is refused."""
    named = [call.name for call in output.tool_calls if call.name in NAMES]
    if not named or len(output.tool_calls) == 1:
        return None
    return f"{named[0]} stands alone in tool_calls: give it in an output of its own"


def own_call(output: StepOutput, options: Mapping[str, bool], *, in_r: bool) -> tuple[OwnCall | None, StepOutput]:
    """The call, if the output is one, and the output without it."""
    if len(output.tool_calls) != 1 or output.tool_calls[0].name not in NAMES:
        return None, output
    call = output.tool_calls[0]
    rest = replace(output, tool_calls=())
    if not options.get(call.name, True):
        return OwnCall(name=call.name, fault=f"this task runs without {call.name}"), rest
    return (_compress(call, in_r=in_r) if call.name == "compress" else _revise(call)), rest


def _compress(call: ToolCall, *, in_r: bool) -> OwnCall:
    text = call.arguments.get("summary")
    if not isinstance(text, str) or not text.strip():
        return OwnCall(name=call.name, fault='it needs {"summary": "<what the subgoal came to>"}')
    if not in_r:
        return OwnCall(name=call.name, fault="nothing was done since the last compression")
    return OwnCall(name=call.name, text=text)


def _revise(call: ToolCall) -> OwnCall:
    feedback = call.arguments.get("feedback")
    if not isinstance(feedback, str) or not feedback.strip():
        return OwnCall(name=call.name, fault='it needs {"feedback": "<what went wrong and what to do instead>"}')
    target: Json = call.arguments.get("step")
    boundary = int(target) if isinstance(target, str) and _NUMBER.fullmatch(target.strip()) else target
    if boundary is not None and (not isinstance(boundary, int) or isinstance(boundary, bool) or boundary < 0):
        return OwnCall(name=call.name, fault=f"step {short_name(repr(target))} is not the step of a completed subgoal")
    world = call.arguments.get("world", World.UNCHANGED)
    if world not in tuple(World):
        return OwnCall(name=call.name, fault=f"world {short_name(repr(world))} is none of {', '.join(World)}")
    return OwnCall(name=call.name, text=feedback.strip(), boundary=boundary, world=World(str(world)))
