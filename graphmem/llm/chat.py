"""A model that is talked to: messages in, one completion out.

Owns the protocol and its scripted form, which needs no model. Knows nothing of what the texts mean.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from graphmem.errors import InvalidValueError

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered. `usage` counts tokens by the provider's names, None when it says nothing."""

    text: str
    usage: Mapping[str, int] | None = None


@runtime_checkable
class ChatModel(Protocol):
    """Whatever answers messages with a text."""

    def complete(self, messages: Sequence[Message]) -> Completion:
        """The answer to these messages."""
        ...


ScriptedOutput: TypeAlias = str | Callable[[Sequence[Message]], str]


class ScriptedModel:
    """Answers with given outputs in turn; one that is a callable is asked with the messages.

    The outputs are drawn one at a time, so that a generator can look at the run before it gives the next.
    """

    def __init__(self, outputs: Iterable[ScriptedOutput]) -> None:
        self._outputs = iter(outputs)
        self._answered = 0

    def complete(self, messages: Sequence[Message]) -> Completion:
        """The next output of the script.

        Raises:
            InvalidValueError: the script has run out.
        """
        try:
            output = next(self._outputs)
        except StopIteration:
            raise InvalidValueError(
                f"the script has run out: it holds {self._answered} outputs and one more was asked for"
            ) from None
        self._answered += 1
        return Completion(text=output if isinstance(output, str) else output(messages))
