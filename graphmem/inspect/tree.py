"""The execution tree of a task, read whole in pages of the ledger.

Every page is one statement with a bound of its own, so that a tree of any size costs memory for what it shows and no
long transaction. What the pages do not say together, they are not asked: the active path follows from the cursor that
was read first, and steps after it are not read. Invariant: parents stand before their children.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import Any, Final, Literal

from graphmem.inspect.reads import legible, require_task, task_params
from graphmem.inspect.tree_values import Tree, TreeNode, TreeRequest, Written
from graphmem.inspect.values import Reader
from graphmem.store import query

Row = Mapping[str, Any]
PAGE: Final = 2_000


def tree(reader: Reader, space: str, task: str) -> Tree:
    """Everything that was ever grown in a task, the active path marked.

    Raises:
        NotFoundError: there is no such task.
    """
    rows = reader.read(query("inspect/tree_start"), task_params(space, task))
    if not rows:
        require_task(reader, space, task)
    with legible(space, task):
        (start,) = rows
        if not start["nodes"]:
            raise ValueError("its first step leads to no trace node")
        reading = _Reading(start)
        for row in pages(reader, "inspect/tree", space, task, last=start["last"]):
            reading.take(row)
        return reading.tree(space, task, start)


def pages(reader: Reader, name: str, space: str, task: str, *, last: int, **more: Any) -> Iterator[Row]:
    """The rows of a statement that takes `first` and `limit`, page by page up to `last`."""
    for first in range(1, last + 1, PAGE):
        limit = min(PAGE, last - first + 1)
        yield from reader.read(query(name), task_params(space, task, first=first, limit=limit, **more))


class _Reading:
    """What was read up to now; nodes as plain maps until all is known of them."""

    def __init__(self, start: Row) -> None:
        self._nodes: dict[str, dict[str, Any]] = {}
        self._summaries: dict[str, dict[str, Any]] = {}
        self._requests: dict[int, dict[str, Any]] = {}
        self._visits: dict[str, list[int]] = {}
        self._in: dict[str, list[int]] = {}
        self._written: dict[str, list[Written]] = {}
        for made in start["nodes"]:
            self._nodes[made["key"]] = dict(made)
        for summary in start["summaries"]:
            self._summaries[summary["key"]] = dict(summary)
        for asked in start["requests"]:
            self._requests[asked["number"]] = {**asked, "at": None}

    def take(self, row: Row) -> None:
        """One step of the ledger."""
        if row["made"] is not None:
            self._nodes[row["made"]["key"]] = {**row["made"], "asked_step": row["of_step"]}
        if row["summary"] is not None:
            self._summaries[row["summary"]["key"]] = {**row["summary"]}
        if row["asked"] is not None:
            self._requests[row["asked"]["number"]] = {**row["asked"], "at": row["p_b"]}
        if row["kind"] == "observe" and row["node"] is not None:
            self._visits.setdefault(row["node"], []).append(row["step"])
            self._in.setdefault(row["node"], []).append(row["request"])
        written = _written(row)
        if written is not None:
            self._written.setdefault(row["p_b"], []).append(written)

    def tree(self, space: str, task: str, start: Row) -> Tree:
        """The tree, with what follows from the cursor."""
        path, top = _path(self._nodes, start["p_b"]), _path(self._summaries, start["p_t"])
        nodes = (self._trace(row, key in path) for key, row in self._nodes.items())
        summaries = (_summary(row, key in top) for key, row in self._summaries.items() if row["rank"])
        return Tree(
            space=space,
            task=task,
            version=start["version"],
            last_step=start["last"],
            open=start["open"],
            cursor=start["p_b"],
            boundary=start["boundary"],
            origin=start["origin"],
            requests=tuple(_request(row, path, start["p_b"]) for _, row in sorted(self._requests.items())),
            nodes=tuple(nodes),
            summaries=tuple(summaries),
        )

    def _trace(self, row: Row, on_path: bool) -> TreeNode:
        key = row["key"]
        node = TreeNode(**row, layer="trace", on_path=on_path)
        requests = tuple(dict.fromkeys(self._in.get(key, ())))
        visits, written = tuple(self._visits.get(key, ())), tuple(self._written.get(key, ()))
        return replace(node, visits=visits, requests=requests, written=written)


def _path(rows: Mapping[str, Row], last: str) -> set[str]:
    """The keys from one upwards."""
    found: set[str] = set()
    key: str | None = last
    while key is not None and key in rows and key not in found:
        found.add(key)
        key = rows[key]["parent"]
    return found


def _written(row: Row) -> Written | None:
    lists = {name: tuple(row[name] or ()) for name in ("added", "updated", "removed")}
    if not any(lists.values()):
        return None
    return Written(step=row["step"], abandoned_step=row["abandoned_step"], **lists)


def _summary(row: Row, on_path: bool) -> TreeNode:
    given = {name: value for name, value in row.items() if name not in ("boundary", "rank")}
    return TreeNode(**given, layer="summary", number=row["boundary"], depth=row["rank"], on_path=on_path)


def _request(row: Row, path: Set[str], cursor: str) -> TreeRequest:
    given = {name: value for name, value in row.items() if name != "is_open"}
    if row["is_open"] and row["at"] is not None and row["at"] not in path:
        given["at"] = cursor
    return TreeRequest(**given, standing=_standing(row))


def _standing(row: Row) -> Literal["open", "abandoned", "cut", "finished"]:
    if row["is_open"]:
        return "open"
    if row["abandoned_step"] is not None:
        return "abandoned"
    return "cut" if row["finished_step"] is None else "finished"
