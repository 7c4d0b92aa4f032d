"""A writer that walks a tree up and down in a thread of its own, and what a ledger looks like after many of them."""

import contextlib
import random
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from graphmem import (
    Space,
    Task,
)
from graphmem.store import Connection
from tests.acceptance.speech import add, say
from tests.acceptance.tree_speech import fails, grow, passes


def check_ledger(connection: Connection, space: Space, task: str = "t") -> list[dict[str, Any]]:
    """Numbers from 1 without a gap, versions that go up by one with every step but a verdict."""
    rows = connection.run(
        "test",
        "MATCH (s:Step {task: $p.task}) RETURN s.number AS number, s.kind AS kind, s.version AS version "
        "ORDER BY number",
        {"task": f"{space.name}/{task}"},
    )
    assert [row["number"] for row in rows] == list(range(1, len(rows) + 1))
    for before, after in pairwise(rows):
        assert after["version"] - before["version"] == (0 if after["kind"] == "maintain" else 1)
    return rows


@contextlib.contextmanager
def writing(task: Task, *, several: int = 6) -> Iterator[list[int]]:
    """One writer that walks, compresses, judges, goes back and finishes until the block ends; the steps it made."""
    wrote: list[int] = []
    over, failed = threading.Event(), list[BaseException]()

    def write() -> None:
        chance = random.Random(5)
        try:
            while not over.is_set():
                wrote.append(_write(task, chance, several))
        except BaseException as error:  # noqa: BLE001  # told below, in the thread of the test
            failed.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield wrote
    finally:
        over.set()
        thread.join()
    assert not failed, failed


def _write(task: Task, chance: random.Random, several: int) -> int:
    """One operation of a writer that is alone."""
    request = task.open_request()
    path = task.path()
    match chance.choice("gggcmrRf"):
        case "c" if path.recent:
            return task.compress("did something").from_step
        case "m" if path.summaries:
            return task.maintain(None, chance.choice([passes, fails("no")])).step
        case "r" if path.recent:
            return task.revise(feedback="no").step
        case "R" if path.summaries:
            return task.revise(chance.choice(path.summaries), feedback="back").step
        case "f":
            step = say(request, message="done").step
            task.request("next")
            return step
        case _:
            texts = [f"{chance.randint(0, 3)} {i}" for i in range(several)]
            id_ = f"s{chance.randint(0, 9)}"
            grow(request, *texts, delta=(add(id_),))
            return 0
