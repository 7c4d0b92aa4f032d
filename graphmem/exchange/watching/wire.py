"""A chat completion as it passes over the wire: what was asked, and what was answered.

Reads bytes, whole answers and streams alike, and never fails: what cannot be read is None. Headers are not looked at,
so no key can come out of it. Invariant: an answer that was broken off is no answer.
"""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from graphmem.exchange.messages import RESULT, result_text, text_of

Message: TypeAlias = Mapping[str, Any]

_PATH: Final = "/chat/completions"
_DONE: Final = "[DONE]"
_SYSTEM: Final = ("system", "developer")
_FIELDS: Final = ("role", "name", "tool_calls", "tool_call_id", "function_call", "refusal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The assistant's message: the first choice of `choices`."""

    message: Message
    choices: int = 1


def is_chat_completion(method: str, path: str) -> bool:
    """Whether a request asks for a chat completion, at whatever base URL."""
    return method == "POST" and path.rstrip("/").endswith(_PATH)


def asked(body: bytes) -> tuple[Message, ...] | None:
    """The messages of a request, without those of the system, which is never recorded."""
    found = _json(body)
    messages = found.get("messages") if isinstance(found, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return None
    return tuple(_kept(message) for message in messages if message.get("role") not in _SYSTEM)


def answered(body: bytes, *, content_type: str) -> Answer | None:
    """The answer in the body of a response, if it is whole."""
    if content_type.partition(";")[0].strip() == "text/event-stream":
        return _joined(_events(body))
    found = _json(body)
    choices = _dicts(found.get("choices")) if isinstance(found, dict) else ()
    message = _first(choices).get("message")
    return (
        Answer(message=_kept({"role": "assistant", **message}), choices=len(choices))
        if isinstance(message, dict)
        else None
    )


def _json(data: bytes | str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _events(body: bytes) -> Iterator[str]:
    """The data of server-sent events. An event that no empty line ends was cut off."""
    lines: list[str] = []
    for line in body.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if not line and lines:
            yield "\n".join(lines)
            lines = []
        elif line.startswith("data:"):
            lines.append(line[5:].removeprefix(" "))


def _joined(events: Iterable[str]) -> Answer | None:
    """The chunks of a stream as one answer; None unless the first choice came to its end."""
    message = _Growing()
    seen, is_whole = {"0"}, False
    for event in events:
        if event.startswith(_DONE):
            is_whole = True
            break
        chunk = _json(event)
        for choice in _dicts(chunk.get("choices")) if isinstance(chunk, dict) else ():
            seen.add(index := str(choice.get("index") or 0))
            if index == "0":
                message.add(_dict(choice.get("delta")))
                is_whole |= choice.get("finish_reason") is not None
    return Answer(message=_kept(message.whole()), choices=len(seen)) if is_whole and message.is_begun else None


class _Growing:
    """The message of a stream, delta by delta."""

    def __init__(self) -> None:
        self.is_begun = False
        self._texts: dict[str, str] = {}
        self._calls: dict[str, dict[str, Any]] = {}

    def add(self, delta: Message) -> None:
        self.is_begun |= bool(delta)
        for key in ("content", "refusal"):
            if isinstance(piece := delta.get(key), str):
                self._texts[key] = self._texts.get(key, "") + piece
        for call in _dicts(delta.get("tool_calls")):
            _extend(self._call(call), call)
        if legacy := _dict(delta.get("function_call")):
            _extend(self._calls.setdefault("function_call", {}), {"function": legacy})

    def _call(self, call: Message) -> dict[str, Any]:
        index = call.get("index")
        if index is None:  # some servers number nothing: an id begins a call, what has none goes on with the last
            index = call.get("id") or next(reversed(self._calls), 0)
        return self._calls.setdefault(str(index), {"id": "", "type": "function"})

    def whole(self) -> Message:
        legacy = self._calls.pop("function_call", None)
        found = {"content": self._texts.get("content"), "refusal": self._texts.get("refusal")}
        if legacy is not None:
            found["function_call"] = legacy["function"]
        return {"role": "assistant", **found, "tool_calls": list(self._calls.values())}


def _extend(call: dict[str, Any], delta: Message) -> None:
    for key in ("id", "type"):
        call[key] = call.get(key) if not delta.get(key) else delta[key]
    for kind, text in (("function", "arguments"), ("custom", "input")):
        if piece := _dict(delta.get(kind)):
            part = call.setdefault(kind, {"name": "", text: ""})
            part["name"] = part["name"] or piece.get("name") or ""
            part[text] += piece[text] if isinstance(piece.get(text), str) else ""


def _dict(value: Any) -> Message:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> Sequence[Message]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else ()


def _first(choices: Sequence[Message]) -> Message:
    return next((choice for choice in choices if choice.get("index") == 0), choices[0] if choices else {})


def _kept(message: Message) -> Message:
    """What is recorded of a message, and nothing else: parts that are no text are named only."""
    kept = {key: message[key] for key in _FIELDS if message.get(key)}
    content = message.get("content")
    if isinstance(content, list):
        with contextlib.suppress(TypeError):
            content = result_text(content) if message.get("role") in RESULT else text_of(content)
    audio = message.get("audio")
    if isinstance(audio, dict) and audio.get("transcript"):
        kept["audio"] = {"transcript": audio["transcript"]}
    return {**kept, "content": content}
