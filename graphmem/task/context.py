"""What every task of a graph shares: the connection, limits, the redactor and the tokenizer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from graphmem.errors import InvalidValueError
from graphmem.llm.tokens import Tokenizer
from graphmem.state.values import Operation, StepOutput, ToolCall
from graphmem.store import Connection
from graphmem.vocabulary import Json, Limits, check_text, text_fault

Redact = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Shared by every handle of one graph. `redact` sees each text before it is hashed and written."""

    connection: Connection
    tokenizer: Tokenizer
    limits: Limits = field(default_factory=Limits)
    redact: Redact | None = None

    def text(self, text: str) -> str:
        """A text as it may be stored."""
        if self.redact is None:
            return text
        redacted = self.redact(text)
        if not isinstance(redacted, str):
            raise InvalidValueError(f"redact must return a str, not {type(redacted).__name__}; nothing was written")
        # What came with the text is for its reader to refuse; what the redactor put in is refused here.
        fault = text_fault(redacted) if text_fault(text) is None else None
        if fault is not None or (text and not redacted):
            raise InvalidValueError(f"redact must leave a text that can be stored: {fault or 'it is empty'}")
        return redacted

    def author(self, author: str) -> str:
        """Who is said to have written a step, as it may be stored."""
        return self.text(check_text("author", author, max_bytes=1_000))

    def value(self, value: Json) -> Json:
        """A JSON value with every text in it, keys included, as it may be stored."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                redacted = {self.text(key): self.value(item) for key, item in value.items()}
                if len(redacted) < len(value):
                    raise InvalidValueError("redact makes two keys of one object alike; nothing was written")
                return redacted
            case list() | tuple():
                return [self.value(item) for item in value]
            case _:
                return value

    def output(self, output: StepOutput) -> StepOutput:
        """An output as it may be stored. The calls to be run are those of the original."""
        if self.redact is None:
            return output
        return replace(
            output,
            delta=tuple(self._operation(operation) for operation in output.delta),
            access=tuple(
                replace(a, target=self.text(a.target), reason=self.text(a.reason), fault=self._fault(a.fault))
                for a in output.access
            ),
            tool_calls=self.calls(output.tool_calls),
            message=None if output.message is None else self.text(output.message),
            text=self.text(output.text),
            repairs=tuple(map(self.text, output.repairs)),
            fault=self._fault(output.fault),
        )

    def calls(self, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
        """Calls as they may be stored."""
        return tuple(
            replace(call, id=self.text(call.id), name=self.text(call.name), arguments=self._arguments(call.arguments))
            for call in calls
        )

    def _fault(self, fault: str | None) -> str | None:
        return None if fault is None else self.text(fault)

    def _arguments(self, arguments: Mapping[str, Json]) -> dict[str, Any]:
        redacted = self.value(arguments)
        return dict(redacted) if isinstance(redacted, Mapping) else {}

    def _operation(self, operation: Operation) -> Operation:
        return replace(
            operation,
            id=self.text(operation.id),
            fault=self._fault(operation.fault),
            summary=None if operation.summary is None else self.text(operation.summary),
            value=self.value(operation.value),
            refs=None
            if operation.refs is None
            else tuple(replace(r, target=self.text(r.target)) for r in operation.refs),
        )
