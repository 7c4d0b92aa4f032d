"""SWE-agent trajectories (`.traj`): what the agent thought and did, and what its environment showed.

Two forms: calls of functions in the history, or a thought with an action of the shell. A call is a function's with its
arguments, or the command that an action begins with, and the action. An observation is the trajectory's own, which the
history repeats with a prompt behind it; where there is no trajectory, it is the history's. Invariant: a turn for each
step of the trajectory, in order, with its observation byte for byte.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from graphmem.errors import UnreadableRunError
from graphmem.exchange.formats.openai import info_of
from graphmem.exchange.messages import NOTHING_SAID, conversation, text_of
from graphmem.exchange.values import Round, Run, Turn
from graphmem.state.values import ToolCall
from graphmem.vocabulary import text_fault

_COMMAND: Final = re.compile(r"\s*([\w./-]{1,60})")
_SHELL: Final = "shell"

Item = Mapping[str, Any]


def matches(value: object) -> bool:
    """Whether a record is of this form."""
    if not isinstance(value, Mapping):
        return False
    return _has(value.get("trajectory"), "action", "observation") or (
        _has(value.get("history"), "role", "agent") and "mistake_step" not in value
    )


def read(value: Any, *, where: str, index: int) -> Run:  # noqa: ARG001  # the form's signature
    """The run of a record.

    Raises:
        UnreadableRunError: nothing can be made of a step or a message.
    """
    record = {key: item for key, item in value.items() if key not in ("trajectory", "history")}
    history = _history(value.get("history") or (), where)
    own = conversation([message for message in history if not message.get("is_demo")], record=where)
    steps = value.get("trajectory") or ()
    info = info_of(record) | info_of(record.get("info") or {})
    if not steps:
        return Run(task="", is_named=False, rounds=own.rounds, source=where, system=own.system, info=info)
    asked = own.rounds[0].text if own.rounds else NOTHING_SAID
    turns = tuple(_turns(steps, history, where))
    rounds = (Round(text=asked, turns=turns),)
    return Run(task="", is_named=False, rounds=rounds, source=where, system=own.system, info=info)


def _has(items: object, *keys: str) -> bool:
    first = items[0] if isinstance(items, list) and items else None
    return isinstance(first, Mapping) and all(key in first for key in keys)


def _history(items: Sequence[Item], where: str) -> list[Item]:
    """The history as chat messages: a thought's action is a call of it, and what is shown then its result."""
    if not isinstance(items, list | tuple) or not all(isinstance(item, Mapping) for item in items):
        raise UnreadableRunError("its history is no list of messages", record=where)
    messages: list[Item] = []
    is_acting = False
    for item in items:
        if item.get("role") == "assistant" and item.get("action") and not item.get("tool_calls"):
            call = _action(str(item["action"]))
            function = {"name": call.name, "arguments": dict(call.arguments)}
            item = {**item, "content": item.get("thought"), "tool_calls": [{"id": "", "function": function}]}
            is_acting = True
        elif item.get("role") == "user" and is_acting:
            item, is_acting = {**item, "role": "tool"}, False
        messages.append(item)
    return messages


def _turns(steps: Sequence[Item], history: Sequence[Item], where: str) -> Iterator[Turn]:
    called = [item for item in history if item.get("role") == "assistant" and not item.get("is_demo")]
    for i, step in enumerate(steps):
        if not isinstance(step, Mapping):
            raise UnreadableRunError(f"it is {type(step).__name__}, not a step", record=where, position=i, unit="step")
        said = called[i] if i < len(called) and called[i].get("thought") == step.get("thought") else None
        thought = step.get("thought") or step.get("response")
        text = _checked(thought, i, where) if isinstance(thought, str) and thought.strip() else None
        calls = _calls(step, said)
        observed = step.get("observation")
        if not calls:
            yield Turn(text=text)
            continue
        results = [_checked("" if observed is None else _shown(observed, i, where), i, where)]
        yield Turn(text=text, calls=calls, results=(*results, *[None] * (len(calls) - 1)))


def _calls(step: Item, said: Item | None) -> tuple[ToolCall, ...]:
    """The functions that the history says were called, else the action."""
    if said is not None and said.get("tool_calls"):
        turns = conversation([{"role": "assistant", "tool_calls": said["tool_calls"]}]).rounds[0].turns
        return turns[0].calls
    action = step.get("action")
    return (_action(action),) if isinstance(action, str) and action.strip() else ()


def _action(text: str) -> ToolCall:
    command = _COMMAND.match(text)
    return ToolCall(name=_SHELL if command is None else command[1], arguments={"command": text})


def _shown(observed: object, i: int, where: str) -> str:
    try:
        return text_of(observed) or ""
    except TypeError as error:
        raise UnreadableRunError(f"its observation: {error}", record=where, position=i, unit="step") from error


def _checked(text: str, i: int, where: str) -> str:
    fault = text_fault(text)
    if fault is not None:
        raise UnreadableRunError(fault, record=where, position=i, unit="step")
    return text
