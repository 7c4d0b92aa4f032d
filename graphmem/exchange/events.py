"""A recording as the writes that it makes, each with a name that follows from everything before it.

Pure. An event is a request opened, a turn, the results of its calls, or the end of a request that was not answered. Its
key is a digest of the event and of the one before it, so that a key is in the graph only when all of the run up to it
is: that is how a new process knows where the last one stopped. Ids of calls do not count, nor does the order in which
results came. Invariant: events of the beginning of a run are the beginning of its events.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from graphmem.errors import LimitError
from graphmem.exchange.values import Round, Turn
from graphmem.state.values import ToolCall
from graphmem.task import Context
from graphmem.vocabulary import Json, check_text, digest, json_text, short_name

Kind = Literal["open", "turn", "results", "close"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One write. `place`: the message, or what stands for it, that it comes from.

    `text` of a request that is opened; `turn` and whether it `is_answer`; `contents` of the calls of the turn before.
    """

    kind: Kind
    key: str
    place: int
    text: str = ""
    turn: Turn | None = None
    is_answer: bool = False
    contents: tuple[str | None, ...] = ()


def events(
    rounds: Sequence[Round],
    places: Sequence[Sequence[int]],
    *,
    run: str,
    context: Context,
    is_over: bool,
) -> tuple[Event, ...]:
    """The writes of a run. Results that are missing are awaited when they are the last thing, and the run goes on.

    `run`: the name of the run, which is a part of every key; `is_over`: nothing more will come of it.

    Raises:
        LimitError: a text, a result, or what a call is given, is too large.
    """
    chain = _Chain(digest("recorded run", run), context)
    made: list[Event] = []
    for number, (round_, at) in enumerate(zip(rounds, places, strict=True)):
        is_last = number == len(rounds) - 1
        following = None if is_last else places[number + 1][0]
        made += _round(chain, round_, at, following=following, is_over=is_over or not is_last)
    return tuple(made)


def _round(
    chain: "_Chain", round_: Round, at: Sequence[int], *, following: int | None, is_over: bool
) -> Iterator[Event]:
    yield Event(kind="open", key=chain.add("open", round_.text, place=at[0]), place=at[0], text=round_.text)
    for i, turn in enumerate(round_.turns):
        is_last = i == len(round_.turns) - 1
        is_answer = is_last and round_.has_answer
        yield Event(
            kind="turn",
            key=chain.turn(turn, at[i + 1], is_answer=is_answer),
            place=at[i + 1],
            turn=turn,
            is_answer=is_answer,
        )
        if not turn.calls:
            continue
        if is_last and not is_over and None in turn.results:
            return
        yield Event(
            kind="results", key=chain.results(turn, at[i + 1]), place=at[i + 1], turn=turn, contents=turn.results
        )
    if following is not None and not round_.has_answer:
        yield Event(kind="close", key=chain.add("close"), place=following)


def stored_calls(context: Context, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Calls as they are stored."""
    return calls if context.redact is None else context.calls(calls)


class _Chain:
    """The digest of everything so far, as it may be stored: a redactor sees each text before it is hashed.

    What is too large is refused here, before anything of the run is written.
    """

    def __init__(self, start: str, context: Context) -> None:
        self._key = start
        self._context = context

    def add(self, kind: str, text: str = "", *, place: int = 0) -> str:
        self._key = digest(self._key, kind, self._text(text, place))
        return self._key

    def turn(self, turn: Turn, place: int, *, is_answer: bool) -> str:
        calls = [self._call(call, place) for call in stored_calls(self._context, turn.calls)]
        said, author = self._text(turn.text or "", place), self._text(turn.author or "", place)
        kind = "answer" if is_answer else "turn"
        self._key = digest(self._key, kind, author, said, json_text(calls, sort_keys=True))
        return self._key

    def results(self, turn: Turn, place: int) -> str:
        limit = self._context.limits.result_bytes
        contents = [
            None if text is None else self._context.text(_fitting(text, limit, f"message {place}: a result"))
            for text in turn.results
        ]
        self._key = digest(self._key, "results", json_text(contents))
        return self._key

    def _text(self, text: str, place: int) -> str:
        return self._context.text(_fitting(text, self._context.limits.text_bytes, f"message {place}"))

    def _call(self, call: ToolCall, place: int) -> list[Json]:
        what, limits = f"message {place}: a call of {short_name(call.name)}", self._context.limits
        if len(call.name) > limits.id_characters:
            raise LimitError(f"{what}: its name has {len(call.name):,} characters; the limit is {limits.id_characters}")
        _fitting(json_text(call.arguments), limits.value_bytes, f"{what}: what it is given")
        return [call.name, call.arguments]


def _fitting(text: str, limit: int, what: str) -> str:
    """The text, if it is short enough.

    Raises:
        LimitError: it is not.
    """
    return text if len(text) * 4 <= limit else check_text(what, text, max_bytes=limit)
