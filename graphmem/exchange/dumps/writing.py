"""Export: a task, or all of a space, as JSON Lines that `restoring` brings back value for value.

A task is written along its ledger, a page of steps at a time: every node names the step that made it, so memory holds
one page whatever the task's size. It is read without a lock; where the task moved on meanwhile it is read once more
while its lock is held, so a writer waits at most for that reading. Invariant: what stands in the file of a task is how
the task stood between two of its writes; tasks of one space may be of different moments, a fork never older than what
it was made of.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from graphmem.errors import InvalidValueError, NotFoundError
from graphmem.exchange.dumps.lines import Writer, packed
from graphmem.state.values import Value
from graphmem.store import Connection, Stream, query, schema_version
from graphmem.task.rows import check_held
from graphmem.vocabulary import check_name

Row = Mapping[str, Any]
Progress = Callable[[str], None]

_PAGE: Final = 500
_LOCK: Final = frozenset({"lock"})  # the mark of whoever locked last is no data


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTask(Value):
    """A task as it stands in a file. `outside`: relations to tasks of `origins` that are not in the file."""

    task: str
    version: int
    nodes: int
    relations: int
    outside: int
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported(Value):
    """What an export wrote."""

    file: str
    space: str
    tasks: tuple[ExportedTask, ...]
    bytes: int


@dataclass(slots=True)
class _Count:
    nodes: int = 1  # the task's own
    relations: int = 0
    outside: int = 0


def export(
    connection: Connection, space: str, file: Path, *, tasks: Sequence[str] = (), progress: Progress | None = None
) -> Exported:
    """Write tasks of a space, all of them by default, to a file; it appears when it is whole.

    Raises:
        NotFoundError: there is no such space or task.
        TaskHeldError: an import or a forget of one was interrupted.
        InvalidValueError: the file cannot be written, or a node holds what graphmem does not write.
    """
    names = _chosen(connection, space, tasks)
    file = file.resolve()  # behind a link
    if file.exists() and not file.is_file():
        raise InvalidValueError(f"{file} is no regular file: an export is written as a whole; give another FILE")
    part = file.with_name(f"{file.name}.{uuid4().hex[:8]}.part")
    try:
        with part.open("x+b") as out:
            writer = Writer(out)
            writer.header({"schema": schema_version(connection), "space": space, "tasks": names})
            done = tuple(_Export(connection, space, name, frozenset(names), progress).write(writer) for name in names)
            writer.end({"tasks": len(done)})
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        part.replace(file)
    except OSError as error:
        raise InvalidValueError(f"{file} cannot be written: {error.strerror}; give another FILE") from error
    finally:
        part.unlink(missing_ok=True)
    return Exported(file=str(file), space=space, tasks=done, bytes=size)


def _chosen(connection: Connection, space: str, tasks: Sequence[str]) -> list[str]:
    """The names in the order of the file: origins before their forks."""
    found = connection.read(query("exchange/names"), {"space": check_name("space", space)})
    there = {row["name"]: row for row in found}
    missing = [name for name in tasks if name not in there]
    if missing:
        raise NotFoundError(f"there is no task {missing[0]!r} in space {space!r}")
    if not found:
        raise NotFoundError(f"there is nothing in space {space!r}")
    names = [row["name"] for row in found if not tasks or row["name"] in tasks]
    for name in names:
        check_held(space, name, {"options": there[name]})
    return names


class _Export:
    """One task into the file."""

    def __init__(
        self, connection: Connection, space: str, task: str, names: frozenset[str], progress: Progress | None
    ) -> None:
        self._connection = connection
        self._p = {"space": space, "task": task}
        self._task = task
        self._key = f"{space}/{task}"
        self._names = names
        self._say = progress or (lambda _line: None)

    def write(self, writer: Writer) -> ExportedTask:
        mark = writer.mark()
        before = self._settled()
        done = self._whole(writer, self._connection.stream, before)
        if self._settled() == before:
            return done
        self._say(f"{self._task} moved on while it was read; once more, while its writers wait")
        writer.back_to(mark)
        with self._connection.holding(query("exchange/export_lock"), self._p | {"op": "export"}) as stream:
            return self._whole(writer, stream, self._stands(stream(query("exchange/export_task"), self._p)))

    def _settled(self) -> Row:
        """How the task stands once no commit is on its way."""
        rows, _ = self._connection.read_locked(query("exchange/export_lock"), self._p | {"op": "export"})
        return self._stands(iter(rows))

    def _stands(self, rows: Iterator[Row]) -> Row:
        row = next(rows, None)
        if row is None:
            raise NotFoundError(f"there is no task {self._task!r} in space {self._p['space']!r} any more")
        own = {name: value for name, value in row["properties"].items() if name not in _LOCK}
        check_held(self._p["space"], self._task, {"options": own})
        return {**row, "properties": own}

    def _whole(self, writer: Writer, stream: Stream, stands: Row) -> ExportedTask:
        own, count = stands["properties"], _Count()
        origins = [key.partition("/")[2] for key in own.get("origins") or ()]
        writer.write({"task": self._task, "origins": origins})
        if origins:
            self._page(writer, stream(query("exchange/export_copies"), self._p), count)
        for after in range(stands["first"] - 1, stands["last"], _PAGE):
            until = min(after + _PAGE, stands["last"])
            self._page(writer, stream(query("exchange/export_page"), self._p | {"after": after, "until": until}), count)
            self._say(f"{self._task}: step {until} of {stands['last']}, {count.nodes} nodes")
        writer.write(
            {
                "cursor": packed(own, str(own["key"])),
                "nodes": count.nodes,
                "relations": count.relations,
            }
        )
        return ExportedTask(
            task=self._task,
            version=own["version"],
            nodes=count.nodes,
            relations=count.relations,
            outside=count.outside,
            origins=tuple(origins),
        )

    def _page(self, writer: Writer, rows: Iterator[Row], count: _Count) -> None:
        """Nodes as they come, then the relations that lead from them."""
        relations: list[dict[str, Any]] = []
        for row in rows:
            key = str(row["properties"].get("key"))
            line = {"node": sorted(row["labels"]), "properties": packed(row["properties"], key)}
            writer.write(line if row["above"] is None else line | {"above": row["above"]})
            count.nodes += 1
            relations += [self._relation(found) for found in row["relations"] if found is not None]
        for relation in sorted(relations, key=lambda r: (r["relation"], r["from"], r["to"])):
            writer.write(relation)
            count.relations += 1
            count.outside += relation.get("other", self._task) not in self._names

    def _relation(self, found: Row) -> dict[str, Any]:
        line = {"relation": found["type"], "from": found["from"], "to": found["key"]}
        if found["properties"]:
            line["properties"] = packed(found["properties"], f"a {found['type']} from {found['from']}")
        other = found["task"]
        return line if other in (None, self._key) else line | {"other": str(other).partition("/")[2]}
