"""The arguments of every tool, as a model gives them: pydantic models, their JSON Schema, and what is said of faults.

Owns the shape alone; whether a state exists or a call waits is for the graph to say. Lists that arrive as JSON text, as
some clients send them, are read. Invariant: what is wrong ends as one short sentence that names the field.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from graphmem.errors import InvalidValueError
from graphmem.state.fields import shown
from graphmem.state.values import Access, Operation, Ref, StepOutput, ToolCall
from graphmem.trace import World
from graphmem.vocabulary import Relation, StateKind, short_name

_FAULTS: Final = 5

T = TypeVar("T", bound="Arguments")


def _list(given: object) -> object:
    """A list that came as JSON text, or one item alone."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return given
    return [given] if isinstance(given, dict) else given


class Arguments(BaseModel):
    """What a tool takes. A field that it does not know is a fault, so that a typing error is not lost."""

    model_config = ConfigDict(extra="forbid")


class NoArguments(Arguments):
    """Nothing."""


class RequestArguments(Arguments):
    """Of `request`."""

    text: str = Field(description="What the user asked for, in the user's own words.")


class RefArguments(Arguments):
    """A relation of a state."""

    relation: Relation
    target: str = Field(description="Id of a state, or of a raw result such as obs:4.1.")


class OperationArguments(Arguments):
    """One operation on states."""

    operation: Literal["add", "update", "remove"]
    id: str = Field(description="Yours to choose for add: short, telling, never used before.")
    kind: StateKind | None = Field(None, description="For add.")
    summary: str | None = Field(None, description="One line, for add: all that later requests see until they ask.")
    value: Any = Field(None, description="The content: any JSON.")
    refs: Annotated[list[RefArguments] | None, BeforeValidator(_list)] = Field(
        None, description="What it rests on: above all `derives` from raw results."
    )

    def value_of(self) -> Operation:
        """As graphmem knows it."""
        refs = None if self.refs is None else tuple(Ref(relation=r.relation, target=r.target) for r in self.refs)
        has_value = "value" in self.model_fields_set
        return Operation(
            operation=self.operation,
            id=self.id,
            kind=self.kind,
            summary=self.summary,
            value=self.value,
            has_value=has_value,
            refs=refs,
        )


class AccessArguments(Arguments):
    """Something to be shown in full from now on."""

    target: str = Field(description="Id from the index, a raw result (obs:4.1), or a folded request (request:2).")
    reason: str = Field("", description="What for.")


class CallArguments(Arguments):
    """A call of one of your own tools."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: str | None = Field(None, description="What it returned, verbatim, when it has run already.")


class StepArguments(Arguments):
    """Of `step`."""

    version: int = Field(description="The version of the task that you answer to, from the last reply that gave one.")
    delta: Annotated[list[OperationArguments], BeforeValidator(_list)] = Field(
        default_factory=list, description="States to add, update or remove."
    )
    access: Annotated[list[AccessArguments], BeforeValidator(_list)] = Field(
        default_factory=list, description="What to show in full during this request."
    )
    tool_calls: Annotated[list[CallArguments], BeforeValidator(_list)] = Field(
        default_factory=list,
        description="Calls of your own tools. With `result` in every one they are recorded as done; without, run them "
        "after this and give the results to `observe`.",
    )
    message: str | None = Field(None, description="The final answer to the user; it finishes the request.")

    def output(self) -> StepOutput:
        """y = (ΔS, R, z)."""
        return StepOutput(
            delta=tuple(operation.value_of() for operation in self.delta),
            access=tuple(Access(target=access.target, reason=access.reason) for access in self.access),
            tool_calls=tuple(ToolCall(name=call.name, arguments=call.arguments) for call in self.tool_calls),
            message=self.message,
        )

    def results(self) -> list[str] | None:
        """What the calls returned, where all have run already; None where none has.

        Raises:
            InvalidValueError: some have and some have not.
        """
        results = [call.result for call in self.tool_calls if call.result is not None]
        if results and len(results) < len(self.tool_calls):
            raise InvalidValueError("tool_calls: give a result for every call, or for none. Nothing was written.")
        return results or None


class ResultArguments(Arguments):
    """What one call returned."""

    call_id: str | None = Field(None, description="From the reply of `step`; not needed when one call waits.")
    content: str | None = Field(description="Verbatim. null: nobody knows whether it ran or what it returned.")


class ObserveArguments(Arguments):
    """Of `observe`."""

    step: int = Field(description="The step that made the calls.")
    results: Annotated[list[ResultArguments], BeforeValidator(_list)] = Field(description="One for every call.")


class PathArguments(Arguments):
    """Of `path`."""

    at: int | None = Field(None, ge=1, description="As it was after this step.")


class ShowArguments(Arguments):
    """Of `show`."""

    id: str = Field(description="State id, obs:4.1, request:2, step:12 or summary:3.")
    offset: int = Field(0, ge=0, description="The character to begin at, for a long text.")


class WhyArguments(Arguments):
    """Of `why`."""

    id: str = Field(description="State id, obs:4.1, summary:3 or step:12.")
    depth: int = Field(12, ge=1, le=100, description="How many levels down.")


class LogArguments(Arguments):
    """Of `log`."""

    first: int | None = Field(None, ge=1, description="From this step on.")
    last: int | None = Field(None, ge=1, description="Up to this step.")
    request: int | None = Field(None, ge=1, description="Only steps of this request.")
    limit: int = Field(50, ge=1, le=200, description="The newest so many of them.")


class QueryArguments(Arguments):
    """Of `query`."""

    name: str | None = Field(None, description="Without it: the list of queries.")
    params: dict[str, Any] = Field(default_factory=dict, description="By name; space and task are given by the server.")
    skip: int = Field(0, ge=0, description="Rows to leave out at the start.")


class CompressArguments(Arguments):
    """Of `compress`."""

    text: str = Field(description="What was reached and what later work needs: ids, names, numbers, decisions.")


class ReviseArguments(Arguments):
    """Of `revise`."""

    feedback: str | None = Field(None, description="What was wrong and what to do instead; you will see it.")
    target: int | None = Field(
        None,
        ge=0,
        description="Number of a summary on the path. Without it: what was done since the last one.",
    )
    world: World = Field(World.UNCHANGED, description="Whether what the tools did stands, or was really undone by you.")
    dry_run: bool = Field(False, description="Only say what would leave the view.")


class ForkArguments(Arguments):
    """Of `fork`."""

    name: str = Field(description="Of the branch; the new task is called TASK.NAME.")
    at: int | None = Field(None, ge=1, description="The step to go on from; without it the last one.")


def read(model: type[T], given: object) -> T:
    """The arguments of a call.

    Raises:
        InvalidValueError: they are not of the shape that the tool takes.
    """
    try:
        return model.model_validate({} if given is None else given)
    except ValidationError as error:
        raise InvalidValueError(_sentence(error, tuple(model.model_fields))) from None


def _sentence(error: ValidationError, known: Sequence[str]) -> str:
    found = error.errors(include_url=False, include_context=False)
    faults = [f"{_place(fault['loc'])}: {_fault(fault['type'], fault['msg'], fault['input'])}" for fault in found]
    more = f" (and {len(faults) - _FAULTS} more)" if len(faults) > _FAULTS else ""
    has_other = any(fault["type"] == "extra_forbidden" and len(fault["loc"]) == 1 for fault in found)
    told = f" It takes {', '.join(known) or 'none'}." if has_other else ""
    return f"{'; '.join(faults[:_FAULTS])}{more}.{told} Nothing was done; mend the arguments and call again."


def _place(parts: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{short_name(part)}" for part in parts)
    return text.removeprefix(".") or "the arguments"


def _fault(kind: str, message: str, given: object) -> str:
    if kind == "missing":
        return "it is missing"
    if kind == "extra_forbidden":
        return "this tool has no such argument"
    return f"{message.lower()}, not {shown(given)}"


def schema(model: type[Arguments]) -> dict[str, Any]:
    """The JSON Schema of a model, written out: no references, no titles, no nulls where leaving out says the same."""
    whole = model.model_json_schema()
    plain = _plain(whole, whole.pop("$defs", {}))
    plain.pop("description", None)
    return dict(plain)


def _plain(node: Any, defs: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(item, defs) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        named = defs[node["$ref"].rpartition("/")[2]]
        return _plain({**{k: v for k, v in named.items() if k != "description"}, **_without(node, "$ref")}, defs)
    choices = [choice for choice in node.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) == 1 and node.get("default", 0) is None:
        return _plain({**choices[0], **_without(node, "anyOf", "default")}, defs)
    kept = {name: value for name, value in node.items() if not (name == "title" and isinstance(value, str))}
    if kept.get("default", 0) is None:
        del kept["default"]
    return {name: _plain(value, defs) for name, value in kept.items()}


def _without(node: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name not in names}
