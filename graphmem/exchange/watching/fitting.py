"""Messages made fit to be recorded, where nobody is there to mend them: an agent that is watched must go on.

Pure. A character that no text may hold is replaced, a text that is too large is cut and says so, a call without a name
gets one. `record` refuses all of this, since its caller can do better. Invariant: what is fit comes back as it is, and
the same message gives the same result, in whatever process.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from graphmem.task.outputs import storable
from graphmem.vocabulary import Limits, text_fault

_RESULTS: Final = ("tool", "function")
_TEXTS: Final = ("content", "refusal", "name")
_UNNAMED: Final = "unnamed"
_FRAME: Final = 100


def fit(message: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    """The message, with what cannot be recorded of it replaced or cut."""
    # what is said becomes the value of a state as well
    limit = limits.result_bytes if message.get("role") in _RESULTS else min(limits.text_bytes, limits.value_bytes)
    changed: dict[str, Any] = {}
    for key in _TEXTS:
        if isinstance(text := message.get(key), str):
            changed[key] = _text(text, limit)
    if isinstance(calls := message.get("tool_calls"), list):
        changed["tool_calls"] = [_call(call, limits) for call in calls]
    if isinstance(legacy := message.get("function_call"), dict):
        changed["function_call"] = _function(legacy, limits)
    return message if all(message[key] == value for key, value in changed.items()) else {**message, **changed}


def _call(call: Any, limits: Limits) -> Any:
    if not isinstance(call, dict):
        return {"function": {"name": _UNNAMED, "arguments": str(call)}}
    kind = next((kind for kind in ("function", "custom") if isinstance(call.get(kind), dict)), None)
    return {**call, kind: _function(call[kind], limits)} if kind else {**call, "function": {"name": _UNNAMED}}


def _function(function: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
    name = function.get("name")
    named = isinstance(name, str) and bool(name.strip())
    changed: dict[str, Any] = {"name": _text(str(name), limits.id_characters) if named else _UNNAMED}
    for key in ("arguments", "input"):
        if isinstance(text := function.get(key), str):
            changed[key] = _arguments(text, limits.value_bytes)
    return {**function, **changed}


def _arguments(text: str, limit: int) -> str:
    """What is no JSON is recorded as a text in JSON, where quotes and line ends take two bytes."""
    text = _text(text, limit)
    half = limit // 2
    return text if len(text.encode()) <= half - _FRAME or _is_json(text) else _cut(text, half - _FRAME)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _text(text: str, limit: int) -> str:
    if text_fault(text) is not None:
        text = storable(text, len(text) * 4)
    return text if len(text.encode()) <= limit else _cut(text, limit)


def _cut(text: str, limit: int) -> str:
    note = f"… [cut: it has {len(text):,} characters]"
    return text.encode()[: max(0, limit - len(note.encode()))].decode(errors="ignore") + note
