"""Where a raw result, a finished subgoal or a step comes from: what `why` answers when not asked about a state.

Each is one statement of `cypher/inspect/` and one for the steps that are named. Nothing is written.
"""

import json
from collections.abc import Mapping
from typing import Any

from graphmem.inspect.reads import legible, no_such_id, show, task_params
from graphmem.inspect.reason_values import (
    CoveredNode,
    RawReason,
    ResultName,
    StepReason,
    SummaryReason,
    Told,
    WroteState,
)
from graphmem.inspect.values import RawResult, Reader
from graphmem.inspect.written import subgoal, written_by
from graphmem.state.values import ToolCall
from graphmem.store import query
from graphmem.vocabulary import StateKind

Row = Mapping[str, Any]
_SAID = ("message", "text", "note", "verdict", "of_step", "world", "boundary_step", "refused", "output")
_TOLD = ("number", "kind", "author", "request", "text", "verdict", "note", "of_step", "abandoned_step")
_SUMMARY = ("key", "boundary", "rank", "text", "verdict", "note", "on_path", "from_step", "origin")


def raw_reason(reader: Reader, space: str, task: str, id: str) -> RawReason:
    """A raw result and the step that called its tool.

    Raises:
        NotFoundError: there is no such task or result.
    """
    found = show(reader, space, task, id)
    if not isinstance(found, RawResult):
        raise no_such_id(space, task, id)
    steps = written_by(reader, space, task, [found.asked_step])
    return RawReason(result=found, called=steps.get(found.asked_step or 0))


def summary_reason(reader: Reader, space: str, task: str, id: str) -> SummaryReason | None:
    """A finished subgoal by its key or as `summary:ℓ`; None when there is none."""
    rows = reader.read(query("inspect/why_summary"), task_params(space, task, id=id))
    if not rows:
        return None
    row = rows[0]
    steps = written_by(reader, space, task, [row["written"]])
    with legible(space, task):
        return SummaryReason(
            **{name: row[name] for name in _SUMMARY},
            written=steps.get(row["written"]),
            covers=tuple(CoveredNode(**{**node, "results": _results(node["results"])}) for node in row["covers"]),
            told=tuple(Told(**{name: told[name] for name in _TOLD}) for told in row["told"]),
            siblings=tuple(sibling["key"] for sibling in row["siblings"]),
        )


def step_reason(reader: Reader, space: str, task: str, number: int) -> StepReason | None:
    """A step of the ledger; None when there is none of that number."""
    rows = reader.read(query("inspect/step"), task_params(space, task, step=number))
    steps = written_by(reader, space, task, [number])
    if not rows or number not in steps:
        return None
    row = rows[0]
    observed = row["observed"] or {}
    with legible(space, task):
        revised = json.loads(row["result"] or "{}") if row["kind"] == "revise" else {}
        return StepReason(
            step=steps[number],
            **{name: row[name] for name in _SAID},
            calls=tuple(ToolCall(**call) for call in json.loads(row["calls"] or "[]")),
            about=subgoal(row["about"]),
            left=tuple(revised.get("left", ())),
            returned=tuple(revised.get("returned", ())),
            wrote=tuple(WroteState(**{**state, "kind": StateKind(state["kind"])}) for state in row["wrote"]),
            removed=tuple(row["removed"] or ()),
            observed_step=observed.get("number"),
            observed_node=observed.get("node"),
            merged=bool(observed.get("merged")),
            results=_results(row["results"]),
        )


def _results(rows: list[Row]) -> tuple[ResultName, ...]:
    return tuple(ResultName(id=row["id"], key=row["key"], tool=row["tool"], arguments=row["arguments"]) for row in rows)
