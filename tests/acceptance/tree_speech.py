"""Short ways to walk the tree in tests: grow, judge, the model's own calls, and what is in view."""

from collections.abc import Callable
from typing import Any

from graphmem import (
    Case,
    Grown,
    Operation,
    Path,
    Prompt,
    Request,
    Ruling,
    Status,
    StepOutput,
    StepResult,
    Task,
    ToolCall,
    ToolResult,
    Tried,
)
from graphmem.store import Connection
from graphmem.vocabulary import Json
from tests.acceptance.speech import access, active_ids, index_ids


def grow(
    request: Request,
    *contents: str | None,
    delta: tuple[Operation, ...] = (),
    tool: str = "look",
    arguments: dict[str, Json] | None = None,
    irreversible: tuple[str, ...] = (),
) -> Grown:
    """A step with a call for each content, and its observation. Without `arguments` they follow from the content."""
    calls = tuple(ToolCall(name=tool, arguments=arguments or {"of": (text or "?")[:40]}) for text in contents)
    result = request.step(request.status(), StepOutput(delta=delta, tool_calls=calls))
    results = [ToolResult(call_id=c.id, content=text) for c, text in zip(result.calls, contents, strict=True)]
    return request.observe(result, results, irreversible=irreversible)


def own(
    request: Request,
    name: str,
    *delta: Operation,
    see: tuple[str, ...] = (),
    shown: Status | Prompt | None = None,
    attempt: str | None = None,
    **arguments: Any,
) -> StepResult:
    """A step whose one call is the model's own `compress` or `revise`."""
    output = StepOutput(delta=delta, access=access(*see), tool_calls=(ToolCall(name=name, arguments=dict(arguments)),))
    return request.step(shown or request.status(), output, attempt=attempt)


def passes(case: Case) -> Ruling:  # noqa: ARG001  # a judge takes the case
    """A judge that passes everything."""
    return Ruling(passed=True)


def fails(feedback: str) -> Callable[[Case], Ruling]:
    """A judge that fails everything with this feedback."""
    return lambda _case: Ruling(passed=False, feedback=feedback)


def walked(path: Path) -> list[int]:
    """The numbers of R."""
    return [node.number for node in path.recent]


def subgoals(path: Path) -> list[tuple[int, str]]:
    """Boundary and text of C."""
    return [(summary.boundary, summary.text) for summary in path.summaries]


def begins(tried: Tried) -> str:
    """What the first result of a child of p_b says."""
    return tried.results[0].content or ""


def in_view(request: Request) -> set[str]:
    """Ids of states in the Active State or the Historical State Index."""
    status = request.status()
    return set(active_ids(status)) | {id_ for ids in index_ids(status).values() for id_ in ids}


def last_step(connection: Connection, task: Task) -> int:
    """The number of the last step of a task's ledger; 0 when there is no such task."""
    rows = connection.run(
        "tests/last_step",
        "MATCH (t:Task {key: $p.key}) RETURN t.next_step - 1 AS number",
        {"key": f"{task.space}/{task.name}"},
    )
    return int(rows[0]["number"]) if rows else 0
