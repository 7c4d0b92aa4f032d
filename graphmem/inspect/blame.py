"""Blame: the step, request and words that wrote each part of a state, through revises and forks.

The versions of the lineage are walked from the oldest: a part belongs to the step that last made it what it is. What a
revise brought back belongs to the step that wrote it first, and names the revise. A fork's copies wrote nothing.
Invariant: two statements.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphmem.errors import NotFoundError
from graphmem.inspect.reads import command, legible, no_such_id, require_task, task_params
from graphmem.inspect.reason_values import Blame, BlamedPart
from graphmem.inspect.said import said_at
from graphmem.inspect.values import Reader
from graphmem.store import query
from graphmem.vocabulary import Json, json_text

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """A part with the row of the version that wrote it, and the step of the revise that brought it back."""

    content: str
    row: Row
    returned_step: int | None = None


Marks = dict[str, _Mark]


def blame(reader: Reader, space: str, task: str, id: str) -> Blame:
    """Every part of a state: the one in view under that id, else the last one that was.

    Raises:
        NotFoundError: there is no such task, or no such state in it.
    """
    rows = reader.read(query("inspect/blame"), task_params(space, task, id=id))
    if not rows:
        require_task(reader, space, task)
        if id.startswith("obs:"):
            raise NotFoundError(
                f"{id!r} is a raw result, and blame tells the parts of a state; why names the call that it answers.",
                command=command("why", task, id, space=space),
            )
        raise no_such_id(space, task, id)
    with legible(space, task):
        marks = _marks(rows)
        steps = sorted({mark.row["step"] for mark in marks.values()})
        said = {
            row["number"]: row["output"]
            for row in reader.read(query("inspect/outputs"), task_params(space, task, numbers=steps))
        }
        last = rows[-1]
        return Blame(
            id=last["id"],
            from_step=last["step"],
            in_view=last["to_step"] is None and last["origin"] is None,
            parts=tuple(_part(name, mark, said.get(mark.row["step"])) for name, mark in marks.items()),
            copied_step=next((row["copied_step"] for row in reversed(rows) if row["copied_step"] is not None), None),
        )


def _marks(rows: Sequence[Row]) -> Marks:
    """Every part of the last version, with whence it comes."""
    seen: list[tuple[int, Marks]] = []
    for row in rows:
        if row["copied_step"] is not None:
            continue
        back = _brought_back(seen, row)
        before = back if back is not None else (seen[-1][1] if seen else {})
        marks: Marks = {}
        for name, content in _contents(row).items():
            held = before.get(name)
            if held is None or held.content != content:
                marks[name] = _Mark(content=content, row=row)
            else:
                marks[name] = held if back is None else replace(held, returned_step=row["step"])
        seen.append((row["step"], marks))
    return seen[-1][1] if seen else {}


def _brought_back(seen: Sequence[tuple[int, Marks]], row: Row) -> Marks | None:
    """The version of the boundary, where a revise brought it back."""
    result = json.loads(row["result"] or "{}")
    if row["id"] not in result.get("returned", ()):
        return None
    return next((marks for step, marks in reversed(seen) if step <= row["boundary_step"]), None)


def _contents(row: Row) -> dict[str, str]:
    value: Json = json.loads(row["value"])
    keys = {f"value.{key}": json_text(item) for key, item in value.items()} if isinstance(value, dict) else {}
    refs = {ref: ref for ref in row["refs"]}
    return {"id": row["id"], "kind": row["kind"], "summary": row["summary"], "value": json_text(value)} | keys | refs


def _part(name: str, mark: _Mark, output: str | None) -> BlamedPart:
    row = mark.row
    said = None if output is None else _said(output, row["id"], name)
    return BlamedPart(
        part=name,
        content=mark.content,
        step=row["step"],
        author=row["author"],
        request=row["request"],
        origin=row["origin"],
        line=None if said is None else said[0],
        said=None if said is None else said[1],
        returned_step=mark.returned_step,
    )


def _said(output: str, id: str, name: str) -> tuple[int, str] | None:
    if name in ("id", "kind", "summary", "value"):
        return said_at(output, id, name)
    if name.startswith("value."):
        return said_at(output, id, "value", key=name.removeprefix("value."))
    return said_at(output, id, "ref", ref=name.partition(" ")[2])
