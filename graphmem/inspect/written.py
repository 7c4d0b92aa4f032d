"""Who wrote something: steps by their number, through forks to the ledgers of the origins.

Invariant: one statement, whatever the number of steps asked for.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from graphmem.inspect.reads import task_params
from graphmem.inspect.values import Reader, Subgoal, WrittenBy
from graphmem.store import query

Row = Mapping[str, Any]


def written_by(reader: Reader, space: str, task: str, numbers: Iterable[int | None]) -> dict[int, WrittenBy]:
    """The steps of these numbers, by number; one that the ledger does not have is left out."""
    wanted = sorted({number for number in numbers if isinstance(number, int)})
    if not wanted:
        return {}
    rows = reader.read(query("inspect/steps"), task_params(space, task, numbers=wanted))
    return {row["number"]: WrittenBy(**{**row, "summary": subgoal(row["summary"])}) for row in rows}


def subgoal(row: Row | None) -> Subgoal | None:
    """A summary as it is named; None where there is none."""
    return None if row is None else Subgoal(**row)
