"""How large a task is: nodes, relations, and the bytes of their texts, by kind.

Every text is read, page by page along the ledger, since the database does not count bytes. Invariant: the nodes and
relations that are counted are those that an export writes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphmem.errors import NotFoundError
from graphmem.state.values import Value
from graphmem.store import Connection, query

Row = Mapping[str, Any]
Progress = Callable[[str], None]

_PAGE: Final = 500
MARKS: Final = ("State", "Live", "OnPath")


@dataclass(frozen=True, slots=True, kw_only=True)
class KindSize(Value):
    """The nodes of one kind, and the bytes of all their texts in UTF-8; `largest` of one node."""

    kind: str
    nodes: int
    bytes: int
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSize(Value):
    """How large a task is. `pruned`: raw results whose text is gone; `forks`: tasks that were made of it."""

    task: str
    nodes: int
    relations: int
    bytes: int
    pruned: int
    forks: tuple[str, ...]
    kinds: tuple[KindSize, ...]


def sizes(
    connection: Connection, space: str, task: str | None = None, *, progress: Progress | None = None
) -> tuple[TaskSize, ...]:
    """How large a task of a space is, or each of them.

    Raises:
        NotFoundError: there is no such space or task.
    """
    there = connection.read(query("exchange/names"), {"space": space})
    names = [row["name"] for row in there if task in (None, row["name"])]
    if not names:
        raise NotFoundError(f"there is nothing in space {space!r}" if task is None else _missing(space, task))
    found = []
    for name in names:
        forks = tuple(row["name"] for row in there if f"{space}/{name}" in row["origins"])
        found.append(_size(connection, {"space": space, "task": name}, forks))
        if progress is not None:
            progress(f"{name}: {found[-1].nodes} nodes")
    return tuple(found)


def _missing(space: str, task: str) -> str:
    return f"there is no task {task!r} in space {space!r}"


def _size(connection: Connection, p: Row, forks: tuple[str, ...]) -> TaskSize:
    kinds: dict[str, list[int]] = {}
    relations = pruned = 0
    for row in records(connection, p["space"], p["task"]):
        kind = next(label for label in row["labels"] if label not in MARKS)
        kinds.setdefault(kind, []).append(sum(map(_bytes, row["properties"].values())))
        relations += sum(found is not None for found in row["relations"])
        pruned += "pruned_step" in row["properties"]
    of_kind = tuple(
        KindSize(kind=kind, nodes=len(of), bytes=sum(of), largest=max(of)) for kind, of in sorted(kinds.items())
    )
    return TaskSize(
        task=p["task"],
        nodes=sum(kind.nodes for kind in of_kind),
        relations=relations,
        bytes=sum(kind.bytes for kind in of_kind),
        pruned=pruned,
        forks=forks,
        kinds=of_kind,
    )


def records(connection: Connection, space: str, task: str) -> Iterator[Row]:
    """Every node of a task: its `labels`, `properties`, and the `relations` that lead from it.

    Raises:
        NotFoundError: there is no such task.
    """
    p = {"space": space, "task": task}
    stands = next(connection.stream(query("exchange/export_task"), p), None)
    if stands is None:
        raise NotFoundError(_missing(space, task))
    yield {"labels": ["Task"], "properties": stands["properties"], "relations": []}
    if stands["properties"].get("origins"):
        yield from connection.stream(query("exchange/export_copies"), p)
    for after in range(stands["first"] - 1, stands["last"] or 0, _PAGE):
        page = {"after": after, "until": min(after + _PAGE, stands["last"])}
        yield from connection.stream(query("exchange/export_page"), {**p, **page})


def _bytes(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode())
    return sum(map(_bytes, value)) if isinstance(value, list) else 0
