"""A model that is talked to: messages in, one completion out.

Owns the protocols and their scripted form, which needs no model. Knows nothing of what the texts mean.
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
    """What a model answered. `usage` counts tokens, None when the provider says nothing: `prompt_tokens` (of which
    `cached_tokens` were read from its cache), `completion_tokens` (of which `reasoning_tokens`), `total_tokens`.
    """

    text: str
    usage: Mapping[str, int] | None = None


@runtime_checkable
class ChatModel(Protocol):
    """Whatever answers messages with a text."""

    def complete(self, messages: Sequence[Message]) -> Completion:
        """The answer to these messages."""
        ...


OnText: TypeAlias = Callable[[str], None]


@runtime_checkable
class StreamingModel(ChatModel, Protocol):
    """A model that tells its answer as it comes."""

    def stream(
        self, messages: Sequence[Message], on_text: OnText | None = None, *, timeout_seconds: float | None = None
    ) -> Completion:
        """The answer, with `on_text` told of each piece of it; an empty piece says that the answer begins anew.

        `timeout_seconds`: when to give up, all retries included.
        """
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
