"""A task with a finished subgoal and a tail, for tests that ask it for what it cannot do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest

from graphmem import Request, Summary, Task
from graphmem.store import Connection
from tests.acceptance.speech import add
from tests.acceptance.tree_speech import grow, last_step

NO_TEXT: Final = (5, True, 1.5, b"x", ["x"], {"a": 1}, "a\x00", "\ud800")


@dataclass(frozen=True)
class Walk:
    """A task with a finished subgoal and a tail."""

    task: Task
    request: Request
    summary: Summary


def walked_in(task: Task) -> Walk:
    request = task.request("go")
    grow(request, "one")
    summary = task.compress("did one")
    grow(request, "two", delta=(add("a"),))
    return Walk(task, request, summary)


def refused(
    walk: Walk, connection: Connection, call: Callable[[Any], object], given: object, kind: type[Exception]
) -> None:
    """The call refuses the value by an error of this kind, and neither ledger nor path moved."""
    was, path = last_step(connection, walk.task), walk.task.path()
    with pytest.raises(kind):
        call(given)
    assert last_step(connection, walk.task) == was
    assert walk.task.path() == path
