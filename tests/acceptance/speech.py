"""Short ways to say outputs and operations in tests."""

from graphmem import (
    Access,
    Operation,
    Ref,
    Relation,
    Request,
    StateKind,
    Status,
    StepOutput,
    StepResult,
    ToolCall,
    ToolResult,
)
from graphmem.vocabulary import Json


def add(
    id_: str, *refs: str, kind: StateKind = StateKind.KNOWLEDGE, summary: str = "", value: Json = None
) -> Operation:
    """An add; a ref is `relation>target`, or a target that it derives from."""
    return Operation(
        operation="add",
        id=id_,
        kind=kind,
        summary=summary or f"summary of {id_}",
        value={"of": id_} if value is None else value,
        has_value=True,
        refs=tuple(ref(text) for text in refs),
    )


def update(id_: str, *refs: str, summary: str | None = None) -> Operation:
    """An update of the summary, the refs, or both."""
    return Operation(operation="update", id=id_, summary=summary, refs=tuple(ref(text) for text in refs) or None)


def remove(id_: str) -> Operation:
    """A remove."""
    return Operation(operation="remove", id=id_)


def ref(text: str) -> Ref:
    """`supersedes>target`, or a target that is derived from."""
    relation, _, target = text.rpartition(">")
    return Ref(relation=Relation(relation or "derives"), target=target)


def access(*targets: str) -> tuple[Access, ...]:
    """Accesses, each with a reason."""
    return tuple(Access(target=target, reason="needed") for target in targets)


def say(request: Request, *delta: Operation, see: tuple[str, ...] = (), message: str | None = None) -> StepResult:
    """A step from a fresh status: a delta, accesses, perhaps the final message."""
    return request.step(request.status(), StepOutput(delta=delta, access=access(*see), message=message))


def call(request: Request, *contents: str, delta: tuple[Operation, ...] = (), tool: str = "look") -> tuple[str, ...]:
    """A step with calls and its observation; the ids of the raw results."""
    calls = tuple(ToolCall(name=tool, arguments={"n": i, "of": text[:20]}) for i, text in enumerate(contents))
    result = request.step(request.status(), StepOutput(delta=delta, tool_calls=calls))
    return request.observe(
        result, [ToolResult(call_id=c.id, content=text) for c, text in zip(result.calls, contents, strict=True)]
    )


def index_ids(status: Status) -> dict[int, list[str]]:
    """Ids of the index by request."""
    return {entry.request: [line.id for line in entry.states] for entry in status.index}


def active_ids(status: Status) -> list[str]:
    """Ids of the Active State in the order of their appearance."""
    return [state.id for state in status.active]


def related(status: Status, id_: str) -> set[str]:
    """The neighbours of an active state as `relation>id`, or `relation<id` when incoming."""
    (state,) = [state for state in status.active if state.id == id_]
    return {f"{r.relation.value}{'<' if r.incoming else '>'}{r.id}" for r in state.related}


def rejected(result: StepResult) -> dict[str, str]:
    """What was rejected, and why."""
    return {reason.what: reason.why for reason in result.rejected}
