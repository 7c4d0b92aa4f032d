"""A recorded run as a measure sees it: what was said up to each call, and which arguments of the call stood in that.

Pure. A `Moment` is a turn with calls: the question put to a memory is whether the arguments that were said before are
in what the model is shown now. Invariant: nothing of a moment comes from the turn itself but the calls' names, the
names of their parameters and the arguments that are looked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf

from graphmem.exchange import results
from graphmem.exchange.values import Round, Run, Turn
from graphmem.state.values import ToolCall
from graphmem.vocabulary import Json, json_text

Kind = OneOf["user", "assistant", "call", "result"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of the history: its text, and of which `kind` and `round` it is, from 0. `call`: of an assistant's."""

    kind: Kind
    round: int
    text: str
    call: str = ""

    @property
    def shown(self) -> str:
        """The message as a model without memory is given it."""
        who = "tool" if self.kind == "result" else "assistant" if self.kind == "call" else self.kind
        return f"{who}: {self.text}{self.call}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A text or number among the arguments of a call. `parameter`: the innermost name that it stands under."""

    tool: str
    parameter: str
    text: str

    def said_in(self, text: str) -> bool:
        """Whether the text names it as a word of its own, as it is or as JSON writes it."""
        escaped = json_text(self.text)[1:-1]
        return results.occurs(self.text, text) or (escaped != self.text and results.occurs(escaped, text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A turn with calls. `seen`: how many messages were before it; `literals`: arguments that these say."""

    round: int
    seen: int
    tools: tuple[str, ...]
    parameters: tuple[str, ...]
    literals: tuple[Literal, ...]


@dataclass(frozen=True)
class Script:
    """The run as a measure plays it."""

    run: Run

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The history: every message but the system's, in order."""
        return tuple(message for _, _, said in _walk(self.run.rounds) for message in said)

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """Every turn with calls, in order."""
        return tuple(self._moments())

    def _moments(self) -> Iterator[Moment]:
        seen = 0
        for number, turn, said in _walk(self.run.rounds):
            if turn is not None and turn.calls:
                before = "\n".join(f"{m.text}\n{m.call}" for m in self.messages[:seen])
                yield Moment(
                    round=number,
                    seen=seen,
                    tools=tuple(call.name for call in turn.calls),
                    parameters=tuple(
                        dict.fromkeys(name for call in turn.calls for name in results.parameters(call.arguments))
                    ),
                    literals=tuple(x for call in turn.calls for x in literals(call) if x.said_in(before)),
                )
            seen += len(said)

    def kind(self, moment: Moment, literal: Literal) -> str:
        """Where a literal was said last before a moment: by whom, and whether in the request of the moment."""
        for message in reversed(self.messages[: moment.seen]):
            when = "this request" if message.round == moment.round else "an earlier request"
            if message.call and literal.said_in(message.call):
                return f"argument, {when}"
            if literal.said_in(message.text):
                return f"{message.kind}, {when}"
        return "nowhere"


def _walk(rounds: Sequence[Round]) -> Iterator[tuple[int, Turn | None, tuple[Message, ...]]]:
    for number, round_ in enumerate(rounds):
        yield number, None, (Message(kind="user", round=number, text=round_.text),)
        for turn in round_.turns:
            calls = "".join(f"\n{json_text({'name': c.name, 'arguments': c.arguments})}" for c in turn.calls)
            kind: Kind = "call" if turn.calls else "assistant"
            said = [Message(kind=kind, round=number, text=turn.text or "", call=calls)]
            said += [Message(kind="result", round=number, text=result or "") for result in turn.results]
            yield number, turn, tuple(said)


def literals(call: ToolCall) -> tuple[Literal, ...]:
    """Every text and number in the arguments, however deep; no booleans, no nulls, no empty texts."""
    return tuple(Literal(tool=call.name, parameter=name, text=text) for name, text in _named(call.arguments, ""))


def _named(value: Json, name: str) -> Iterator[tuple[str, str]]:
    match value:
        case None | bool() | "":
            return
        case str():
            yield name, value
        case int() | float():
            yield name, json_text(value)
        case Mapping():
            for key, item in value.items():
                yield from _named(item, key)
        case _:
            for item in value:
                yield from _named(item, name)
