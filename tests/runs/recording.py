"""Recorded conversations of an agent with a user and tools, as chat messages, cut into what a task is made of.

Owns the reading of a file of tau-bench's shape (`traj`: messages with roles; calls answered by tool messages) and the
choice of which ones to run. A round is what the user said with everything the assistant did until it answered; a turn
is one message of the assistant. Invariant: every message but the system's is in exactly one round, in order.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from graphmem.vocabulary import Json, json_text

OPENED_BY_ASSISTANT: Final = "(the assistant spoke first)"
NOTHING_SAID: Final = "(nothing)"
NO_ANSWER: Final = "(no answer was recorded)"

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A recorded call; `result` None when the recording has none."""

    name: str
    arguments: Mapping[str, Json]
    id: str
    result: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of the assistant. `seen` counts the messages before it; `is_answer`: it ends its round."""

    text: str | None
    calls: tuple[Call, ...] = ()
    seen: int
    is_answer: bool = False
    is_recorded: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What the user said, turns without an answer between them joined, and what the assistant did."""

    text: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A recorded conversation; `history` holds each message but the system's as a model would be given it."""

    name: str
    trial: int
    history: tuple[str, ...]
    rounds: tuple[Round, ...]

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn, in order."""
        return tuple(turn for round_ in self.rounds for turn in round_.turns)

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)


def read(path: Path) -> tuple[Conversation, ...]:
    """The conversations of a file.

    Raises:
        ValueError: a message has a role or a tool result that cannot be placed.
    """
    return tuple(_conversation(item, index) for index, item in enumerate(json.loads(path.read_text(encoding="utf-8"))))


def choose(conversations: Sequence[Conversation], *, count: int, max_messages: int) -> tuple[Conversation, ...]:
    """`count` of them with at most `max_messages`: as many of each trial, spread over its lengths from end to end."""
    fitting = [c for c in conversations if len(c.history) <= max_messages]
    trials = sorted({c.trial for c in fitting})
    chosen: list[Conversation] = []
    for index, trial in enumerate(trials):
        by_length = sorted((c for c in fitting if c.trial == trial), key=lambda c: (-len(c.history), c.name))
        share = count // len(trials) + (index < count % len(trials))
        chosen += _spread(by_length, share)
    return tuple(chosen)


def _spread(items: Sequence[Conversation], count: int) -> list[Conversation]:
    if count >= len(items) or count < 2:
        return list(items[:count])
    return [items[i * (len(items) - 1) // (count - 1)] for i in range(count)]


def _conversation(item: Mapping[str, Any], index: int) -> Conversation:
    messages = [message for message in item["traj"] if message["role"] != "system"]
    trial = int(item.get("trial", 0))
    return Conversation(
        name=f"task-{item.get('task_id', index)}-trial-{trial}",
        trial=trial,
        history=tuple(_as_shown(message) for message in messages),
        rounds=tuple(_rounds(messages)),
    )


def _as_shown(message: Message) -> str:
    calls = "".join(f"\n{json_text(call['function'])}" for call in message.get("tool_calls") or ())
    return f"{message['role']}: {_text(message.get('content')) or ''}{calls}\n"


def _text(content: object) -> str | None:
    """The text of a message's content: a string, nothing, or a list of parts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part.get("type") == "text")
    raise ValueError(f"content of an unknown shape: {content!r:.80}")


def _rounds(messages: Sequence[Message]) -> Iterator[Round]:
    """A run of user messages opens a round; it ends where the next run begins."""
    said: list[str] = []
    turns: list[Turn] = []
    for seen, message in enumerate(messages):
        match message["role"]:
            case "user":
                if turns:
                    yield _closed(said, turns, seen)
                    said, turns = [], []
                said.append(_text(message.get("content")) or NOTHING_SAID)
            case "assistant":
                turns += _turn(message, seen)
            case "tool":
                turns[-1:] = [_answered(turns, message)]
            case role:
                raise ValueError(f"message {seen} has the unknown role {role!r}")
    if said or turns:
        ends = bool(turns) and not turns[-1].calls
        yield _closed(said, turns, len(messages)) if ends else _open(said, turns)


def _open(said: Sequence[str], turns: Sequence[Turn]) -> Round:
    return Round(text="\n\n".join(said) or OPENED_BY_ASSISTANT, turns=tuple(turns))


def _closed(said: Sequence[str], turns: Sequence[Turn], seen: int) -> Round:
    """A round that another follows needs an answer; where none was recorded, the round says so."""
    *before, last = turns
    if last.calls:
        return _open(said, [*turns, Turn(text=NO_ANSWER, seen=seen, is_answer=True, is_recorded=False)])
    return _open(said, [*before, replace(last, is_answer=True)])


def _turn(message: Message, seen: int) -> Iterator[Turn]:
    text = _text(message.get("content"))
    calls = tuple(_call(call) for call in message.get("tool_calls") or ())
    has_text = text is not None and bool(text.strip())
    if calls or has_text:
        yield Turn(text=text if has_text else None, calls=calls, seen=seen)


def _call(call: Mapping[str, Any]) -> Call:
    function = call["function"]
    arguments = function["arguments"]
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            arguments = {"unreadable": arguments}
    if not isinstance(arguments, dict):
        arguments = {"unreadable": arguments}
    return Call(name=function["name"], arguments=arguments, id=call.get("id") or "")


def _answered(turns: Sequence[Turn], message: Message) -> Turn:
    """The last turn with the result put to its first open call of that id: recordings repeat ids, also in one turn."""
    calls = list(turns[-1].calls) if turns else []
    for i, call in enumerate(calls):
        if call.id == message["tool_call_id"] and call.result is None:
            calls[i] = replace(call, result=_text(message.get("content")))
            return replace(turns[-1], calls=tuple(calls))
    raise ValueError(f"a tool message answers {message['tool_call_id']!r}, which no call before it has")
