"""What a request adds to the conversation that is known so far.

Pure. An agent sends its whole history each time, or what it keeps of it: a window of the last messages, a summary and
the last ones, old results cut short. All of that goes on with the conversation, and only what is new is added. What
differs in the model's words alone (it was asked again, or another of its choices was taken) is added after them, since
it was said as well. Messages that share neither a beginning nor the last words with it are another conversation.
Invariant: the conversation is never rewritten, it only grows.
"""

import json
from collections.abc import Hashable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

Messages: TypeAlias = Sequence[Mapping[str, Any]]

_RESULTS: Final = ("tool", "function")
_JOINT: Final = 2
_PLACES: Final = 50  # where the last word is said over and over, each place costs as much as the history is long


def continued(known: Messages, given: Messages) -> Messages | None:
    """The conversation with what is new in `given`; None where that belongs to another one."""
    old, new = [_mark(message) for message in known], [_mark(message) for message in given]
    same = _common(old, new)
    if same == len(old):
        return (*known, *given[same:])
    if same == len(new):
        return known
    joint = _joint(old, new)
    if joint is not None:
        return (*known, *given[joint:])
    if any(message.get("role") == "user" for message in given[:same]):
        rest = same + _overlap(old[same:], new[same:])
        return (*known, *_without_results(given[rest:]))
    return None


def _joint(old: Sequence[Hashable], new: Sequence[Hashable]) -> int | None:
    """Where in `new` the last words of `old` end, as many of them as can be found there, but two at least."""
    best, at = 0, None
    ends = (end for end in range(len(new), 0, -1) if new[end - 1] == old[-1])
    for end in islice(ends, _PLACES):
        length = _common(old[::-1], new[end - 1 :: -1])
        if length > best and length >= min(_JOINT, end):
            best, at = length, end
    return at


def _overlap(old: Sequence[Hashable], new: Sequence[Hashable]) -> int:
    """How many words at the beginning of `new` are the last ones of `old`."""
    return next((n for n in range(min(len(old), len(new)), 0, -1) if old[-n:] == new[:n]), 0)


def _without_results(messages: Messages) -> Messages:
    """Without results at its start: they are other words for results that are known."""
    first = next((i for i, message in enumerate(messages) if message.get("role") not in _RESULTS), len(messages))
    return messages[first:]


def _common(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _mark(message: Mapping[str, Any]) -> Hashable:
    """A message as far as it counts: who, the words, the calls; not their ids, which some agents choose anew."""
    content = message.get("content") or message.get("refusal")
    calls = [_call(call) for call in (*(message.get("tool_calls") or ()), {"function": message.get("function_call")})]
    words = content.strip() if isinstance(content, str) else json.dumps(content, sort_keys=True)
    return message.get("role"), words if content else "", tuple(call for call in calls if call is not None)


def _call(call: Any) -> Hashable:
    part = (call.get("function") or call.get("custom")) if isinstance(call, Mapping) else None
    if not isinstance(part, Mapping):
        return None
    arguments = part.get("arguments", part.get("input"))
    try:
        arguments = json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        return part.get("name"), str(arguments)
    return part.get("name"), json.dumps(arguments, sort_keys=True)
