"""Tasks with everything in them, for tests that carry them from one place to another."""

from collections.abc import Callable

import graphmem
from graphmem import ActiveState, Space, StepOutput, ToolCall, ToolResult
from graphmem.store import Connection
from graphmem.vocabulary import Json
from tests.acceptance.speech import add
from tests.acceptance.test_past import Recorder, mixed_run
from tests.acceptance.tree_speech import grow

ODD = 'NUL-free \u2028 \u2029 \x85 \ufeff 🎉 \U0001f468\u200d\U0001f469 日本語 "\\/ \r\n\t\x01 </script>'
ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


def erase(connection: Connection, space: str) -> None:
    connection.run("tests/erase", ERASE, {"space": space})


def told(states: tuple[ActiveState, ...]) -> list[object]:
    """States without their keys, which name the space."""
    return [(s.id, s.kind, s.summary, s.value, s.related, s.request) for s in states]


class Quiet(Recorder):
    """Does what is recorded elsewhere."""

    def does(self, action: Callable[[], object]) -> None:
        action()


def full_task(space: Space, connection: Connection, name: str = "t") -> graphmem.Task:
    """A task with everything in it: a long mixed run, odd texts, numbers, an unknown outcome, a call that waits."""
    task = space.task(name, irreversible=("book",))
    mixed_run(Quiet(task, connection))
    request = task.open_request()
    request.step(request.status(), StepOutput(message=f"done {ODD}"))
    request = task.request(f"odd {ODD}")
    value: Json = {"i": 2**63 - 1, "j": -(2**63), "f": 0.1, "g": 1.0, "h": 1e300, "n": None, "t": ODD, "l": [[], {}]}
    calls = (ToolCall(name="book", arguments={"x": value}), ToolCall(name="look", arguments={"o": ODD}))
    result = request.step(request.status(), StepOutput(tool_calls=calls))
    request.observe(
        result, [ToolResult(call_id=result.calls[0].id, content=ODD), ToolResult.unknown(result.calls[1].id)]
    )
    request.step(request.status(), StepOutput(delta=(add(f"odd/{ODD[:40]}!#@", value=value),)), usage={"cost": 0.25})
    request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="look", arguments={}),)))
    return task


def with_forks(space: Space, connection: Connection) -> None:
    """A full task, a fork in its middle and one of its end, and a fork of a fork that went on."""
    task = full_task(space, connection)
    task.fork("early", at=9)
    late = task.fork("late", at=task.now().step - 1)
    grow(late.open_request(), "more", delta=(add("mine"),))
    late.compress("more")
    deep = late.fork("deep")
    grow(deep.open_request(), "deeper", delta=(add("deepest", "derives>mine"),))
    space.task("alone").request("another one")
