"""Prune: the texts of old raw results go; id, call, size and hash stay, and whatever shows the text says `[pruned: …]`.

A task knows no clock but its numbers, so age is counted in steps or requests. Only the texts of results go: what a
model wrote of them (states, summaries, outputs) is the model's. Invariant: a batch is one transaction and one Step,
which raises the version of the task and of its forks; a text that comes again, by the same call with the same result,
is there again.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphmem.errors import InvalidValueError, NotFoundError, StoreError
from graphmem.state.values import Value
from graphmem.store import Connection, query
from graphmem.task.rows import check_held
from graphmem.vocabulary import check_name

Row = Mapping[str, Any]
Progress = Callable[[str], None]

_BATCH: Final = 500
_PAGE: Final = 1_000
_AGE: Final = re.compile(r"(\d{1,18}) ?(steps?|requests?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Age:
    """So many steps or requests back from the last one of a task."""

    count: int
    unit: str

    @classmethod
    def of(cls, text: str) -> "Age":
        """The age of `200 steps` or `3 requests`.

        Raises:
            InvalidValueError: it is none.
        """
        found = _AGE.fullmatch(text.strip())
        if found is None:
            raise InvalidValueError(
                f"{text!r} is no age: write so many steps or requests, such as '200 steps' or '3 requests'. A task has "
                "no other clock"
            )
        return cls(count=int(found[1]), unit=found[2].rstrip("s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned(Value):
    """What was pruned of a task, or would be. `until_step`: what was observed in steps up to it."""

    task: str
    results: int
    bytes: int
    until_step: int
    batches: int
    dry_run: bool


def prune(
    connection: Connection,
    space: str,
    task: str,
    older_than: str,
    *,
    author: str = "operator",
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Pruned:
    """Prune the raw results of a task that are older than `200 steps` or `3 requests`.

    Raises:
        InvalidValueError: no such age.
        NotFoundError: there is no such task.
        TaskHeldError: an import or a forget of it was interrupted.
    """
    p = {"space": space, "task": check_name("task", task)}
    first, until = _range(connection, p, Age.of(older_than))
    count = size = batches = 0
    for batch, of_batch in _batches(connection, p, first, until):
        count, size, batches = count + len(batch), size + of_batch, batches + 1
        if not dry_run:
            _write(connection, p | {"author": author, "limit_step": until}, batch)
        if progress is not None:
            progress(f"{task}: {count} raw results, {size} bytes")
    return Pruned(task=task, results=count, bytes=size, until_step=until, batches=batches, dry_run=dry_run)


def _range(connection: Connection, p: Row, age: Age) -> tuple[int, int]:
    """The first step of the task, and the last one that is old enough."""
    rows = connection.read(query("exchange/export_task"), p)
    if not rows:
        raise NotFoundError(f"there is no task {p['task']!r} in space {p['space']!r}")
    own = rows[0]["properties"]
    check_held(p["space"], p["task"], {"options": own})
    first, last = rows[0]["first"], rows[0]["last"]
    if age.unit == "step":
        return first, max(0, last - age.count)
    number = own["next_request"] - age.count
    opened = connection.read(query("exchange/opened"), {**p, "request": number}) if age.count else []
    if age.count and not opened:
        return first, 0
    return first, opened[0]["step"] - 1 if opened else last


def _batches(connection: Connection, p: Row, first: int, until: int) -> Iterator[tuple[list[Row], int]]:
    """What is left of each result, so many at a time, with the bytes of their texts."""
    batch: list[Row] = []
    for after in range(first - 1, until, _PAGE):
        page = {"after": after, "until": min(after + _PAGE, until), "limit_step": until}
        for row in connection.stream(query("exchange/prune_page"), {**p, **page}):
            batch.append(left_of(row["key"], row["content"]))
            if len(batch) == _BATCH:
                yield batch, sum(row["bytes"] for row in batch)
                batch = []
    if batch:
        yield batch, sum(row["bytes"] for row in batch)


def left_of(key: str, content: str) -> Row:
    """What stays of a text."""
    data = content.encode()
    sha = hashlib.sha256(data).hexdigest()
    return {"key": key, "bytes": len(data), "sha256": sha, "text": f"[pruned: {len(data)} bytes, sha256 {sha}]"}


def _write(connection: Connection, p: Row, batch: list[Row]) -> None:
    def check(row: Row) -> None:
        if row["verdict"] == "held":
            check_held(p["space"], p["task"], {"options": {"held": "forget"}})
        if row["pruned"] > len(batch):
            raise StoreError("prune refused: more would have been pruned than was meant; nothing was written")

    connection.write(query("exchange/prune_write"), {**p, "op": "prune", "rows": batch}, check)
