"""Import: the file of an export back into a graph, value for value.

The whole file is checked first, so nothing is written from one that was altered or cut off. Then each task is written
in batches while it is held: nobody else can write to it, and the line reached is kept with each batch, so an import
that was killed goes on where it ended. Invariant: a task that is there already is compared and never changed; where it
differs the import is refused.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from graphmem.errors import DumpError, InvalidValueError, TaskExistsError
from graphmem.exchange.dumps.check import Read, checked, reading
from graphmem.exchange.dumps.lines import Line, read_lines, unpacked
from graphmem.exchange.dumps.renaming import Renaming
from graphmem.state.values import Value
from graphmem.store import Connection, query, schema_version
from graphmem.task.rows import check_held
from graphmem.vocabulary import check_name, json_text

Row = dict[str, Any]
Progress = Callable[[str], None]

_ROWS: Final = 1_000
_BYTES: Final = 4_000_000
_LOST: Final = {"options": {"held": "import"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTask(Value):
    """What became of a task. `waiting`: relations to other tasks that are not there; a later import restores them."""

    task: str
    nodes: int
    relations: int
    waiting: Mapping[str, int] = field(default_factory=dict)
    was_there: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported(Value):
    """What an import wrote."""

    file: str
    space: str
    tasks: tuple[ImportedTask, ...]


@dataclass(slots=True)
class _Batch:
    line: int = 0
    size: int = 0
    nodes: list[Row] = field(default_factory=list)
    relations: list[Row] = field(default_factory=list)
    outside: list[Row] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        return len(self.nodes) + len(self.relations) + len(self.outside) >= _ROWS or self.size >= _BYTES


def restore(
    connection: Connection,
    file: Path,
    *,
    as_space: str | None = None,
    as_task: str | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Bring the tasks of a file into the graph, into its space or another, its one task by its name or another.

    Raises:
        DumpError: the file was altered or cut off, is of a newer format, or cannot have other keys; with the line.
        TaskExistsError: a task of that name is there and differs from the one in the file.
        TaskHeldError: another import or a forget holds the task.
    """
    read = checked(file, schema_version(connection))
    space = read.space if as_space is None else check_name("space", as_space)
    tasks = _renamed(file, read, as_task)
    with Renaming(read.space, space, tasks) as names:
        if names.changes:
            _check_renaming(file, read)
        work = _Import(connection, file, space, read.mark, names, progress or (lambda _line: None))
        return Imported(file=str(file), space=space, tasks=tuple(work.tasks(tasks)))


def _renamed(file: Path, read: Read, as_task: str | None) -> dict[str, str]:
    if as_task is None:
        return {name: check_name("task", name) for name in read.origins}
    if len(read.origins) != 1:
        raise InvalidValueError(f"{file} holds {len(read.origins)} tasks; another name is for a file of one task")
    return {name: check_name("task", as_task) for name in read.origins}


def _check_renaming(file: Path, read: Read) -> None:
    for name, origins in read.origins.items():
        missing = [origin for origin in origins if origin not in read.origins]
        if missing:
            raise DumpError(
                file,
                1,
                f"{name} is a fork of {missing[-1]}, which is not in the file: its keys in another space or under "
                "another name cannot be known. Export both into one file, or import under the names it has",
            )


class _Import:
    """The second reading, which writes."""

    def __init__(
        self, connection: Connection, file: Path, space: str, mark: str, names: Renaming, say: Progress
    ) -> None:
        self._connection = connection
        self._file = file
        self._p = {"space": space, "op": "import"}
        self._mark = mark
        self._names = names
        self._say = say

    def tasks(self, names: Mapping[str, str]) -> Iterator[ImportedTask]:
        lines = read_lines(self._file)
        for line in lines:
            if "task" in line.content:
                yield self._task(names[line.content["task"]], line, lines)

    def _task(self, task: str, begin: Line, lines: Iterator[Line]) -> ImportedTask:
        p = self._p | {"task": task}
        claim = self._connection.write(query("exchange/import_claim"), p | {"mark": self._mark, "line": begin.nth})
        if (claim["held"], claim["mark"]) != ("import", self._mark):
            check_held(p["space"], task, {"options": claim})
        into: _Writing | _Comparing
        if claim["held"] is None:
            into = _Comparing(self._connection, p, self._file)
        else:
            into = _Writing(self._connection, p, self._mark, done=claim["line"])
        waiting: dict[str, int] = {}
        for batch in self._batches(lines, into):
            missing = into.take(batch)
            for other in missing:
                waiting[other] = waiting.get(other, 0) + 1
            self._say(f"{task}: line {batch.line}, {into.nodes} nodes")
        return ImportedTask(
            task=task,
            nodes=into.nodes,
            relations=into.relations,
            waiting=waiting,
            was_there=isinstance(into, _Comparing),
        )

    def _batches(self, lines: Iterator[Line], into: "_Writing | _Comparing") -> Iterator[_Batch]:
        """The lines of a task until its cursor, in batches; the cursor itself ends it."""
        batch = _Batch()
        for line in lines:
            content = line.content
            if "cursor" in content:
                yield batch
                with reading(self._file, line):
                    own = self._names.node(["Task"], unpacked(content["cursor"]), None)
                into.finish(own, line.nth)
                return
            with reading(self._file, line):
                self._add(batch, content)
            batch.line = line.nth
            if batch.is_full:
                yield batch
                batch = _Batch(line=line.nth)

    def _add(self, batch: _Batch, content: Mapping[str, Any]) -> None:
        if "node" in content:
            labels = content["node"]
            properties = self._names.node(labels, unpacked(content["properties"]), content.get("above"))
            batch.nodes.append({"labels": labels, "properties": properties})
            batch.size += sum(len(value) for value in properties.values() if isinstance(value, str))
            return
        row = {
            "type": content["relation"],
            "from": self._names.key(content["from"]),
            "to": self._names.key(content["to"]),
            "properties": unpacked(content.get("properties", {})),
        }
        if "other" in content:
            batch.outside.append(row | {"other": content["other"]})
        else:
            batch.relations.append(row)


class _Writing:
    """Batches into a task that is held for this import."""

    def __init__(self, connection: Connection, p: Row, mark: str, *, done: int) -> None:
        self._connection = connection
        self._p = p | {"mark": mark}
        self._done = done
        self.nodes = 0
        self.relations = 0

    def take(self, batch: _Batch) -> list[str]:
        """Write a batch. The other tasks to which relations lead whose other end is not there, one a relation."""
        if batch.line <= self._done:
            return _missing(self._connection, self._p, batch.outside)

        def check(row: Mapping[str, Any]) -> None:
            meant, touched = (len(batch.nodes), len(batch.relations)), (row["created"], row["linked"])
            if row["verdict"] == "lost":
                check_held(self._p["space"], self._p["task"], _LOST)
            if row["verdict"] == "ok" and meant != touched:
                raise InvalidValueError(f"it leads to a node that is not there: {meant} meant, {touched} touched")

        row = self._connection.write(
            query("exchange/import_batch"),
            self._p
            | {
                "line": batch.line,
                "nodes": batch.nodes,
                "relations": batch.relations,
                "outside": batch.outside,
            },
            check,
        )
        self.nodes += row["created"]
        self.relations += row["linked"] + row["restored"]
        if row["restored"] == len(batch.outside):
            return []
        return _missing(self._connection, self._p, batch.outside)

    def finish(self, properties: Row, _line: int) -> None:
        """Give the task its cursor and let go of it."""
        row = self._connection.write(query("exchange/import_finish"), self._p | {"properties": properties})
        if row["verdict"] == "lost":
            check_held(self._p["space"], self._p["task"], _LOST)
        self.nodes += 1


class _Comparing:
    """Batches against a task that is there."""

    def __init__(self, connection: Connection, p: Row, file: Path) -> None:
        self._connection = connection
        self._p = p
        self._file = file
        self.nodes = 0
        self.relations = 0

    def take(self, batch: _Batch) -> list[str]:
        """Compare a batch, and restore relations to other tasks that came after it."""
        row = self._there(batch.nodes, batch.relations)
        there = {node["key"]: node for node in row["nodes"]}
        for wanted in batch.nodes:
            found = there.get(wanted["properties"]["key"])
            if found is None or not _is_same(wanted, found):
                self._refuse(batch.line, str(wanted["properties"]["key"]))
        if len(row["counts"]) != len(batch.relations):
            self._refuse(batch.line, "a relation")
        if batch.outside:
            before = len(_missing(self._connection, self._p, batch.outside))
            self._connection.write(query("exchange/import_links"), self._p | {"outside": batch.outside})
            missing = _missing(self._connection, self._p, batch.outside)
            self.relations += before - len(missing)
            return missing
        return []

    def finish(self, properties: Row, line: int) -> None:
        """Compare the cursor."""
        found = self._there([{"properties": properties}], [])["nodes"]
        if not found or not _is_same({"labels": ["Task"], "properties": properties}, found[0], but={"lock"}):
            self._refuse(line, "its cursor")

    def _there(self, nodes: list[Row], relations: list[Row]) -> Mapping[str, Any]:
        p = {"space": self._p["space"], "keys": [row["properties"]["key"] for row in nodes], "relations": relations}
        return self._connection.read(query("exchange/import_there"), p)[0]

    def _refuse(self, line: int, what: str) -> None:
        raise TaskExistsError(
            f"there is a task {self._p['task']!r} in space {self._p['space']!r} that differs from the one of "
            f"{self._file}, until line {line}: {what}. Nothing was changed; import it under another name or into "
            "another space, or forget the one that is there."
        )


def _missing(connection: Connection, p: Mapping[str, Any], outside: list[Row]) -> list[str]:
    """The other tasks of relations that are not there."""
    if not outside:
        return []
    row = connection.read(query("exchange/import_there"), {"space": p["space"], "keys": [], "relations": outside})[0]
    there = {found["i"] for found in row["counts"]}
    return [relation["other"] for i, relation in enumerate(outside) if i not in there]


def _is_same(wanted: Row, found: Mapping[str, Any], but: frozenset[str] | set[str] = frozenset()) -> bool:
    properties = {name: value for name, value in found["properties"].items() if name not in but}
    return sorted(wanted["labels"]) == sorted(found["labels"]) and _text(wanted["properties"]) == _text(properties)


def _text(properties: Mapping[str, Any]) -> str:
    try:
        return json_text(properties, sort_keys=True)
    except ValueError:  # a number that JSON has none of
        return json.dumps(properties, sort_keys=True)
