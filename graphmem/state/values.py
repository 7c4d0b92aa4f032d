"""The values of FlowState: what a model puts out, what a status shows, what a step answers.

Frozen values only; no rule and no input or output lives here. A `StepOutput` is y = (ΔS, R, z) of the paper (§2.3), a
`Status` is what is serialized into C (equation 3) with what a later step needs to be validated against it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal, TypeVar

from graphmem.errors import InvalidValueError
from graphmem.vocabulary import Json, Relation, StateKind

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

OperationName = Literal["add", "update", "remove", "unknown"]


class Value:
    """A frozen value that can be given out as plain data."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers, ready for JSON."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self) if f.repr}  # type: ignore[arg-type]  # a dataclass


def _plain(value: object) -> Any:
    match value:
        case Value():
            return value.to_dict()
        case Mapping():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def _member(kind: type[E], given: object, what: str) -> E:
    """The member of a closed set, given as itself or as its text.

    Raises:
        InvalidValueError: it is none of them.
    """
    try:
        return kind(str(given))
    except ValueError:
        raise InvalidValueError(f"{what} {given!r} is none of {', '.join(kind)}") from None


def _all(kind: type[T], given: Iterable[T], what: str) -> tuple[T, ...]:
    """The items as a tuple.

    Raises:
        InvalidValueError: `given` is not a list or tuple of them.
    """
    if not isinstance(given, list | tuple) or not all(isinstance(item, kind) for item in given):
        raise InvalidValueError(f"{what} must be a tuple of {kind.__name__}, not {given!r}")
    return tuple(given)


# --- what a model puts out -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref(Value):
    """A directed relation from the state that declares it to `target` (B.3)."""

    relation: Relation
    target: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", _member(Relation, self.relation, "relation"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Value):
    """One operation of ΔS. A field that was not given is None; `has_value` tells a null value from none.

    `kind` and a relation may be given as their texts.

    `fault` is set when the operation could not be read: it is rejected with that reason, and does not stop the others.
    Its `operation` is then perhaps `unknown` and its `id` blank.
    """

    operation: OperationName
    id: str
    kind: StateKind | None = None
    summary: str | None = None
    value: Json = None
    has_value: bool = False
    refs: tuple[Ref, ...] | None = None
    fault: str | None = None

    def __post_init__(self) -> None:
        if self.kind is not None:
            object.__setattr__(self, "kind", _member(StateKind, self.kind, "kind"))
        if self.refs is not None:
            object.__setattr__(self, "refs", _all(Ref, self.refs, "refs"))
        object.__setattr__(self, "has_value", self.has_value or self.value is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access(Value):
    """One entry of R: a historical state, raw result or request to disclose, and what for."""

    target: str
    reason: str = ""
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(Value):
    """A call that the model decided on. `id` is the caller's, or `call:<step>.<i>` when it gave none."""

    name: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutput(Value):
    """y = (ΔS, R, z). z is the calls, or the message, or neither.

    `text` is the model's text as it came; `repairs` says what was mended in it; `fault` why nothing could be read.
    """

    delta: tuple[Operation, ...] = ()
    access: tuple[Access, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    message: str | None = None
    text: str = ""
    repairs: tuple[str, ...] = ()
    fault: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", _all(Operation, self.delta, "delta"))
        object.__setattr__(self, "access", _all(Access, self.access, "access"))
        object.__setattr__(self, "tool_calls", _all(ToolCall, self.tool_calls, "tool_calls"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(Value):
    """What a call returned, verbatim; `content` None says that its outcome is unknown."""

    call_id: str
    content: str | None

    @classmethod
    def unknown(cls, call_id: str) -> "ToolResult":
        """The call may or may not have run; nobody knows what it returned."""
        return cls(call_id=call_id, content=None)


# --- what a status shows ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLine(Value):
    """A historical state in the index: its id and summary, nothing else (§2.1)."""

    id: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry(Value):
    """One earlier request of the Historical State Index. `cut` says that older states of it were folded away."""

    request: int
    text: str
    states: tuple[IndexLine, ...]
    abandoned: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Related(Value):
    """A neighbour of a state: its id and how they are related, never its content (§2.2.2)."""

    id: str
    relation: Relation
    incoming: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveState(Value):
    """An entry of S: a state of this request, a disclosed historical state, or a disclosed raw result (`kind` None).

    `own` says that it was created in this request, so that it can be updated and removed. `more` counts the
    neighbours left out by relation, incoming ones as `supports (incoming)`.
    """

    id: str
    kind: StateKind | None
    summary: str
    value: Json
    related: tuple[Related, ...]
    own: bool
    request: int
    more: Mapping[str, int] = field(default_factory=dict)
    version: "Version | None" = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(Value):
    """What an update of a state needs to know of its present version: keys and places in the graph."""

    key: str
    lineage: str
    born: int
    position: int
    request: int
    value_text: str
    refs_at: str
    refs: frozenset[tuple[Relation, str]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(Value):
    """One raw result as the latest observation shows it; `content` None when its outcome is unknown."""

    id: str
    tool: str
    arguments: Mapping[str, Json]
    content: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason(Value):
    """Why a part of the last output was not taken: `what` names the part, `why` the reason."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCalls(Value):
    """Calls that were committed and whose results are not in yet. `recorded`: as the graph has them, redacted."""

    step: int
    calls: tuple[ToolCall, ...]
    p_b: str
    recorded: tuple[ToolCall, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "recorded", self.recorded or self.calls)


# --- what a step answers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult(Value):
    """What became of an output.

    `added`, `updated`, `removed`: ids committed; `rejected`: what was not, and why; `disclosed`: ids newly in the
    Active State from the next status on; `calls`: what to run now; `refused`: why nothing of the output was taken;
    `replayed`: the answer of an earlier call with the same attempt key, perhaps of another process that is running its
    calls now; `summary`: the key of the summary that the output made, by its own `compress` or by finishing; `revised`:
    what became of its own `revise` (a `graphmem.Revised`); `recorded`: the calls as the graph has them, redacted.
    """

    step: int
    version: int
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rejected: tuple[Reason, ...] = ()
    disclosed: tuple[str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    message: str | None = None
    repairs: tuple[str, ...] = ()
    refused: str | None = None
    replayed: bool = False
    p_b: str = ""
    summary: str | None = None
    revised: Value | None = None
    recorded: tuple[ToolCall, ...] = field(default=(), repr=False)

    @property
    def committed(self) -> tuple[str, ...]:
        """Every id that the delta changed."""
        return self.added + self.updated + self.removed

    @property
    def finished(self) -> bool:
        """Whether the output was the final response of the request."""
        return self.message is not None

    @property
    def pending(self) -> PendingCalls:
        """The calls to be observed."""
        return PendingCalls(step=self.step, calls=self.calls, p_b=self.p_b, recorded=self.recorded)
