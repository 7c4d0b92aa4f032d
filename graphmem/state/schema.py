"""Model output y = (ΔS, R, z) as one JSON object: the pydantic models, their JSON Schema, and an output written so.

Owns the second form of the output, for endpoints that hold a model to a schema; `protocol.parse` reads both forms. The
fields are those of B.3, but that a state's value and a call's arguments are JSON in a text: strict structured outputs
know no object of free form. Invariants: every object is closed and every field required, so that what need not be given
is null; what `render_object` writes follows the schema and is read back without a repair.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from graphmem.state.values import Operation, StepOutput
from graphmem.vocabulary import json_text

StateSet = Literal["preference", "knowledge", "attribute", "judgement", "artifacts"]
Rel = Literal["supports", "derives", "follows", "supersedes"]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class FocusObject(_Closed):
    target_id: str = Field(description="the id of a historical state, a raw result or a request that you can see")
    reason: str = Field(description="what is missing, and what it is needed for")


class RefObject(_Closed):
    rel: Rel
    state_id: str = Field(description="what the state rests on or relates to: a state, or a raw result such as obs:3.1")


class DeltaObject(_Closed):
    operation: Literal["add", "update", "remove"]
    state_id: str
    state_set: StateSet | None = Field(description="needed by add; null where it does not change")
    summary: str | None = Field(description="needed by add; null where it does not change")
    value_json: str | None = Field(description="the value as JSON text; null where it does not change")
    refs: list[RefObject] | None = Field(description="null where they do not change, [] for none")


class CallObject(_Closed):
    name: str
    arguments_json: str = Field(description="the arguments as the JSON text of one object")


class MessageObject(_Closed):
    content: str | None = Field(description="the final reply to the user; null until then")


class OutputObject(_Closed):
    """One step's output."""

    state_focus: list[FocusObject]
    state_delta: list[DeltaObject]
    tool_calls: list[CallObject]
    assistant_message: MessageObject


_UNNEEDED: Final = ("title", "default")


def step_output_schema(*, tools: Iterable[str] = ()) -> dict[str, Any]:
    """The JSON Schema of an output, fit for structured outputs in strict mode; with `tools`, no other can be called."""
    schema: dict[str, Any] = _plain(OutputObject.model_json_schema())
    names = sorted(set(tools))
    if names:
        schema["$defs"]["CallObject"]["properties"]["name"]["enum"] = names
    return schema


def render_object(output: StepOutput) -> str:
    """The output as one JSON object. Reading gives it back, but for ids of calls; parts at fault are left out."""
    written = OutputObject(
        state_focus=[FocusObject(target_id=a.target, reason=a.reason) for a in output.access if a.fault is None],
        state_delta=[_delta(operation) for operation in output.delta if operation.fault is None],
        tool_calls=[CallObject(name=c.name, arguments_json=json_text(c.arguments)) for c in output.tool_calls],
        assistant_message=MessageObject(content=output.message),
    )
    return written.model_dump_json()


def _delta(operation: Operation) -> DeltaObject:
    refs = operation.refs
    return DeltaObject.model_validate(
        {
            "operation": operation.operation,
            "state_id": operation.id,
            "state_set": None if operation.kind is None else operation.kind.word,
            "summary": operation.summary,
            "value_json": json_text(operation.value) if operation.has_value else None,
            "refs": None
            if refs is None
            else [RefObject.model_validate({"rel": ref.relation.value, "state_id": ref.target}) for ref in refs],
        }
    )


def _plain(schema: Any) -> Any:
    """The schema without what says nothing to a model."""
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if key not in _UNNEEDED or isinstance(value, dict)}
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema
