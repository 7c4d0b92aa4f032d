"""How the tests of looking tell a run: one action a line."""

from typing import Any, LiteralString

import graphmem
from graphmem import Access, Operation, Ref, Relation, StateKind, StepOutput, ToolCall, ToolResult

ERASE: LiteralString = "MATCH (n {space: $p.space}) DETACH DELETE n"
CONTENT = "Cancelling costs 80 USD\nuntil \x1b[31mMonday\x1b[0m, 取消"


def add(id: str, *refs: tuple[Relation, str], kind: StateKind = StateKind.KNOWLEDGE, value: Any = None) -> Operation:
    given = tuple(Ref(relation=relation, target=target) for relation, target in refs)
    return Operation(
        operation="add", id=id, kind=kind, summary=f"about {id}", value=value or {}, has_value=True, refs=given
    )


def update(id: str, summary: str) -> Operation:
    return Operation(operation="update", id=id, summary=summary)


def act(request: graphmem.Request, *delta: Operation, access: tuple[str, ...] = (), **more: Any) -> graphmem.StepResult:
    wanted = tuple(Access(target=target, reason="test") for target in access)
    return request.step(request.status(), StepOutput(delta=delta, access=wanted, **more))


def call(request: graphmem.Request, content: str | None, *delta: Operation) -> None:
    result = act(request, *delta, tool_calls=(ToolCall(name="policy", arguments={"hotel": "A"}),))
    request.observe(result, [ToolResult(call_id=result.calls[0].id, content=content)])
