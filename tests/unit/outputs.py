"""Outputs in the form of B.3, for the tests of reading them."""

import json
from typing import Any

from graphmem.state.protocol import parse
from graphmem.state.values import Operation, Ref, StepOutput
from graphmem.vocabulary import Relation, StateKind

ADD: dict[str, Any] = {
    "state_set": "judgement",
    "operation": "add",
    "state_id": "plan",
    "summary": "Book hotel A",
    "value": {"hotel": "A", "nights": 2},
    "refs": [{"rel": "derives", "state_id": "obs:3.0"}],
}
PLAN = Operation(
    operation="add",
    id="plan",
    kind=StateKind.JUDGEMENT,
    summary="Book hotel A",
    value={"hotel": "A", "nights": 2},
    has_value=True,
    refs=(Ref(relation=Relation.DERIVES, target="obs:3.0"),),
)
CALL = {"name": "book", "arguments": {"hotel": "A"}}
B3 = """<state_focus>
[{"target_id": "hotel-b", "reason": "its price, to compare"}]
</state_focus>
<state_delta>
[{"state_set": "artifacts", "operation": "add", "state_id": "itinerary", "summary": "Oslo trip", "value": {}, "refs": \
[{"rel": "supports", "state_id": "obs:1.0"}]}]
</state_delta>
<tool_calls>
[{"name": "search", "arguments": {}}]
</tool_calls>
<assistant_message>
{"content": null}
</assistant_message>
"""


def blocks(focus: Any = (), delta: Any = (), calls: Any = (), message: Any = None, body: str | None = None) -> str:
    """The four blocks; a part that is a str stands there as it is, and so does the `body` of the message."""
    parts = {
        "state_focus": list(focus) if isinstance(focus, tuple) else focus,
        "state_delta": list(delta) if isinstance(delta, tuple) else delta,
        "tool_calls": list(calls) if isinstance(calls, tuple) else calls,
        "assistant_message": {"content": message} if body is None else body,
    }
    bodies = {name: part if isinstance(part, str) else json.dumps(part) for name, part in parts.items()}
    return "\n".join(f"<{name}>\n{body}\n</{name}>" for name, body in bodies.items())


OBJECT: dict[str, Any] = {
    "state_focus": [{"target_id": "h", "reason": "r"}],
    "state_delta": [ADD],
    "tool_calls": [CALL],
    "assistant_message": {"content": None},
}
GOOD = blocks(({"target_id": "h", "reason": "r"},), (ADD,), (CALL,))


def taken(output: StepOutput) -> tuple[object, ...]:
    return (output.fault, output.access, output.delta, output.tool_calls, output.message)


def mended(text: str) -> StepOutput:
    """The lenient reading of a text that must be mended, and that strict reading refuses."""
    output = parse(text)
    assert output.fault is None
    assert output.repairs
    assert parse(text, strict=True).fault
    return output


def operation(fields: dict[str, Any], **kwargs: Any) -> Any:
    (only,) = parse(blocks(delta=(fields,)), **kwargs).delta
    return only
