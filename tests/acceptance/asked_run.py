"""A run with a wrong turn, and the questions that tests ask about it."""

from typing import Any

import graphmem
from graphmem import StateKind, inspect
from graphmem.inspect import Reasoned
from graphmem.store import Connection
from tests.acceptance.speech import add, call, say, update


class Run:
    """A run in the space of a test, and the questions about it."""

    def __init__(self, connection: Connection, space: graphmem.Space) -> None:
        self.connection, self.space = connection, space.name
        self.task = space.task("t")
        self.request = self.task.request("Find out")

    def why(self, id_: str, task: str = "t") -> Any:
        return inspect.why(self.connection, self.space, task, id_)

    def state(self, id_: str, task: str = "t") -> Reasoned:
        found = self.why(id_, task)
        assert isinstance(found, Reasoned)
        return found

    def impact(self, id_: str, task: str = "t") -> inspect.Impact:
        return inspect.impact(self.connection, self.space, task, id_)

    def parts(self, id_: str, task: str = "t") -> dict[str, inspect.BlamedPart]:
        return {part.part: part for part in inspect.blame(self.connection, self.space, task, id_).parts}


def wrong_turn(connection: Connection, space: graphmem.Space) -> Run:
    """Steps 1-4: a call and what it taught. 5: compressed. 6-8: a wrong call and a wrong fact. Nothing is revised yet.

    `fact` cites obs:1.1, `use` derives from it; `wrong` cites obs:2.1; `pick` derives from both.
    """
    run = Run(connection, space)
    request = run.request
    call(request, "one")
    say(request, add("fact", "obs:1.1", value={"a": 1, "b": 2}), add("use", "fact", kind=StateKind.JUDGEMENT))
    run.task.compress("Looked at one")
    call(request, "two")
    say(
        request,
        add("wrong", "obs:2.1", kind=StateKind.ATTRIBUTE),
        add("pick", "fact", "wrong", kind=StateKind.JUDGEMENT),
        update("fact", summary="the fact, again"),
        update("use", summary="used otherwise"),
    )
    return run
