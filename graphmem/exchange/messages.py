"""OpenAI chat messages, cut into what a task is made of: rounds of the user's words and the assistant's turns.

Each message of the user is a round; one of the assistant is a turn, and one without calls is the round's answer. That
is decided by what came before, never by what follows, so that messages give the same rounds when they grow one by one.
Tolerant of what real recordings hold (no content or parts, ids of calls that repeat, legacy functions, arguments that
are no JSON, results in another order, `developer` for `system`); what nothing can be made of is an error that names
record, message and reason. System messages are the policy, not a part of the run. Invariant: order is kept.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from graphmem.errors import UnreadableRunError
from graphmem.exchange.values import Round, Turn
from graphmem.state.values import ToolCall
from graphmem.vocabulary import Json, json_text, short_name, text_fault, value_fault

OPENED_BY_ASSISTANT: Final = "(the assistant spoke first)"
WENT_ON: Final = "(the assistant went on)"
NOTHING_SAID: Final = "(nothing)"

_SYSTEM: Final = ("system", "developer")
RESULT: Final = ("tool", "function")
_ARGUMENTS: Final = ("arguments", "input", "args", "parameters")
_WORDS: Final = ("text", "input_text", "output_text", "refusal")
# Parts that are no text, by the keys that hold what they are: they are named, and a base64 of megabytes is not kept.
_NAMED: Final = {
    "image_url": ("image_url",),
    "input_image": ("image_url", "file_id"),
    "image": ("source", "data"),
    "input_audio": ("input_audio",),
    "audio": ("audio", "data"),
    "file": ("file",),
    "input_file": ("file_id", "file_data", "file_url"),
    "resource": ("resource",),
    "thinking": ("thinking",),
    "redacted_thinking": ("data",),
}

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages as rounds. `places`: of each round the message that opened it, then that of each turn, from 0."""

    rounds: tuple[Round, ...]
    places: tuple[tuple[int, ...], ...]
    system: str | None = None


def conversation(messages: Iterable[object], *, record: str = "") -> Conversation:
    """The messages as rounds. Each is a mapping, or an object of a client library with `model_dump()`.

    Raises:
        UnreadableRunError: an unknown role, a result without its call, two results for one call, a call without a name,
            a text that cannot be stored.
    """
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise UnreadableRunError(
            f"messages must be a list of chat messages, not {type(messages).__name__}", record=record
        )
    reading = _Reading(record)
    for place, message in enumerate(messages):
        reading.read(place, message)
    return Conversation(
        rounds=tuple(round_.closed() for round_ in reading.rounds),
        places=tuple((round_.place, *(turn.place for turn in round_.turns)) for round_ in reading.rounds),
        system="\n\n".join(reading.system) or None,
    )


@dataclass(slots=True)
class _Turn:
    """A turn whose results are not all in."""

    place: int
    text: str | None
    calls: tuple[ToolCall, ...]
    author: str | None
    results: list[str | None] = field(default_factory=list)

    def closed(self) -> Turn:
        return Turn(text=self.text, calls=self.calls, results=tuple(self.results), author=self.author)


@dataclass(slots=True)
class _Round:
    """A round that may go on."""

    place: int
    text: str
    turns: list[_Turn] = field(default_factory=list)

    @property
    def is_answered(self) -> bool:
        return bool(self.turns) and not self.turns[-1].calls

    def closed(self) -> Round:
        return Round(text=self.text, turns=tuple(turn.closed() for turn in self.turns), is_answered=self.is_answered)


class _Reading:
    """Messages read so far."""

    def __init__(self, record: str) -> None:
        self.rounds: list[_Round] = []
        self.system: list[str] = []
        self._record = record
        self._place = 0

    def read(self, place: int, given: object) -> None:
        self._place = place
        message = _plain(given)
        if message is None:
            self._fail(f"it is {type(given).__name__}, not a chat message; give mappings with role and content")
        role = message.get("role")
        if role == "user":
            self.rounds.append(_Round(place, self._text(self._content(message)) or NOTHING_SAID))
        elif role == "assistant":
            self._assistant(message)
        elif role in RESULT:
            self._result(message)
        elif role in _SYSTEM:
            self.system += filter(None, [self._content(message)])
        else:
            known = ", ".join(("user", "assistant", *RESULT, *_SYSTEM))
            self._fail(f"it has the unknown role {short_name(repr(role))}; the roles are {known}")

    def _assistant(self, message: Message) -> None:
        calls = tuple(self._calls(message))
        text = self._content(message) or _spoken(message)
        if text is not None and not text.strip():
            text = None
        if text is None and not calls:
            return  # an empty answer, or reasoning alone
        if not self.rounds or self.rounds[-1].is_answered:
            self.rounds.append(_Round(self._place, WENT_ON if self.rounds else OPENED_BY_ASSISTANT))
        turn = _Turn(self._place, self._text(text), calls, self._author(message), [None] * len(calls))
        self.rounds[-1].turns.append(turn)

    def _author(self, message: Message) -> str | None:
        name = message.get("name")
        return self._text(name) if isinstance(name, str) and name.strip() else None

    def _calls(self, message: Message) -> Iterator[ToolCall]:
        given = message.get("tool_calls") or ()
        legacy = message.get("function_call")
        if not isinstance(given, Sequence) or isinstance(given, str):
            self._fail("its tool_calls are no list")
        for call in (*given, *([{"function": legacy}] if legacy else [])):
            plain = _plain(call)
            if plain is None:
                self._fail(f"a call is {type(call).__name__}, not a mapping")
            yield self._call(plain)

    def _call(self, call: Message) -> ToolCall:
        function = _plain(call.get("function")) or _plain(call.get("custom")) or call
        name = function.get("name")
        if not isinstance(name, str) or not name.strip():
            self._fail("a call has no name")
        given = next((function[key] for key in _ARGUMENTS if key in function), None)
        id_ = call.get("id") or call.get("call_id") or ""
        return ToolCall(name=self._storable(name), arguments=self._arguments(given), id=str(id_))

    def _arguments(self, given: object) -> Mapping[str, Json]:
        """Arguments as an object; a model's text that is none is kept as it came."""
        read = given
        if isinstance(given, str):
            try:
                read = json.loads(given) if given.strip() else {}
            except (ValueError, RecursionError):
                read = None
        if given is None:
            read = {}
        if isinstance(read, Mapping) and value_fault(read) is None:
            return {str(key): value for key, value in read.items()}
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
        return {"unreadable": self._storable(text)}

    def _result(self, message: Message) -> None:
        """Put the result to its call: to the first one open of that id in the latest turn that has the id.

        Where several open calls of a turn have the id, the name of the result decides.
        """
        id_, name = _call_id(message), message.get("name")
        if id_ is None and message.get("id") and self._latest(str(message["id"])) is not None:
            id_ = str(message["id"])  # as some write it, the message's own id is the call's
        turn = self._latest(id_)
        if id_ is not None:
            fits = [] if turn is None else [call.id == id_ for call in turn.calls]
            asked = [] if turn is None else zip(fits, turn.calls, turn.results, strict=True)
            named = [fit and call.name == name and result is None for fit, call, result in asked]
            fits = named if any(named) else fits
        else:
            fits = [] if turn is None else [name is None or call.name == name for call in turn.calls]
        what = f"call {id_!r}" if id_ is not None else f"call of {name!r}" if name else "call"
        if turn is None or not any(fits):
            self._fail(f"a result for the {what}, which no message before it makes")
        i = next((i for i, result in enumerate(turn.results) if fits[i] and result is None), None)
        if i is None:
            self._fail(f"a second result for the {what}, which has one already")
        turn.results[i] = self._storable(result_text(message.get("content")))

    def _latest(self, id_: str | None) -> _Turn | None:
        """The latest turn with calls, or with a call of that id."""
        turns = (turn for round_ in reversed(self.rounds) for turn in reversed(round_.turns) if turn.calls)
        return next((turn for turn in turns if id_ is None or any(call.id == id_ for call in turn.calls)), None)

    def _content(self, message: Message) -> str | None:
        try:
            return text_of(message.get("content"))
        except TypeError as error:
            self._fail(str(error))

    def _text(self, text: str | None) -> str | None:
        return None if text is None or not text.strip() else self._storable(text)

    def _storable(self, text: str) -> str:
        fault = text_fault(text)
        if fault is not None:
            self._fail(f"{fault}; remove or replace it")
        return text

    def _fail(self, reason: str) -> NoReturn:
        raise UnreadableRunError(reason, record=self._record, position=self._place)


def text_of(content: object) -> str | None:
    """The text of a message's content: a text, nothing, or parts, of which those that are no text are named only.

    Raises:
        TypeError: it is none of them.
    """
    match content:
        case None | str():
            return content
        case Mapping():
            return _part(content)
        case list() | tuple():
            return "".join(part if isinstance(part, str) else _part(_plain(part)) for part in content)
        case _:
            raise TypeError(f"its content is {type(content).__name__}, not a text, parts or null")


def _part(part: Message | None) -> str:
    if part is None:
        raise TypeError("a part of its content is neither a text nor a mapping")
    kind = part.get("type")
    if kind in ("tool_use", "tool_result"):
        raise TypeError(f"a part of its content is a {kind}; give calls as tool_calls and results as messages")
    if _is_named(part):
        return f"[{kind}]"
    words = _words(part)
    return _as_json(part) if words is None else words


def _words(part: Message) -> str | None:
    """The text of a part that is one."""
    if part.get("type") in (None, *_WORDS):
        for key in ("text", "refusal", "content"):
            text = part.get(key)
            if isinstance(text, Mapping):
                text = text.get("value")
            if isinstance(text, str):
                return text
    return None


def _is_named(part: Message) -> bool:
    return any(key in part for key in _NAMED.get(str(part.get("type")), ()))


def result_text(content: object) -> str:
    """What a tool returned: a text as it is, parts as a message's; any other value, also a list of things, as JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    is_parts = isinstance(content, list | tuple) and all(
        isinstance(part, Mapping) and "type" in part and (_is_named(part) or _words(part) is not None)
        for part in content
    )
    return (text_of(content) or "") if is_parts and content else _as_json(content)


def _as_json(value: object) -> str:
    try:
        return json_text(value)
    except (TypeError, ValueError):
        return str(value)


def _spoken(message: Message) -> str | None:
    """What the assistant said otherwise than as content: a refusal, or the words of a sound."""
    audio = _plain(message.get("audio")) or {}
    for text in (message.get("refusal"), audio.get("transcript")):
        if isinstance(text, str):
            return text
    return None


def _call_id(message: Message) -> str | None:
    given = message.get("tool_call_id") or message.get("tool_call_ids") or message.get("call_id")
    if isinstance(given, list | tuple):
        given = given[0] if given else None
    return None if given is None else str(given)


def _plain(given: object) -> Message | None:
    """A mapping, or what an object of a client library dumps to; None when it is neither."""
    if isinstance(given, Mapping):
        return given
    dump = getattr(given, "model_dump", None)
    dumped = dump() if callable(dump) else None
    return dumped if isinstance(dumped, Mapping) else None
