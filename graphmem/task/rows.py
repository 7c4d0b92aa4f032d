"""The rows of a task's statements as frozen values, and nothing else."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphmem.errors import TaskHeldError
from graphmem.state.index import Heading, Line
from graphmem.state.values import (
    ActiveState,
    Observation,
    PendingCalls,
    Reason,
    Related,
    StepResult,
    ToolCall,
    Value,
    Version,
)
from graphmem.vocabulary import Relation, StateKind, short_name

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A status as it was read, before it is folded."""

    version: int
    open: int | None
    text: str
    psa: bool
    isu: bool
    p_b: str
    p_t: str
    in_r: bool
    lines: tuple[Line, ...]
    headings: tuple[Heading, ...]
    unfolded: tuple[Heading, ...]
    active: tuple[ActiveState, ...]
    observation: tuple[Observation, ...]
    reasons: tuple[Reason, ...]
    pending: PendingCalls | None
    locked: bool


def check_held(space: str, task: str, row: Row) -> None:
    """Refuse a task of which an import or a forget is not done; the row has its `options`."""
    held = row["options"].get("held")
    if held is not None:
        raise TaskHeldError(
            f"Task({space}/{task}): {'an import' if held == 'import' else 'a forget'} of it is going on, or was "
            f"interrupted. Run `graphmem {held}` again to end it"
            + (", or forget the task to be rid of what there is of it." if held == "import" else ".")
        )


def calls_from(text: str | None, step: int) -> tuple[ToolCall, ...]:
    """Stored calls; one without an id of its own is named after its step."""
    return named_calls(json.loads(text or "[]"), step)


def named_calls(calls: Sequence[Row], step: int) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(name=call["name"], arguments=call["arguments"], id=call["id"] or f"call:{step}.{i}")
        for i, call in enumerate(calls, start=1)
    )


def _reasons(text: str | None, refused: str | None) -> tuple[Reason, ...]:
    whole = (Reason(what="the whole output", why=refused),) if refused else ()
    return whole + tuple(Reason(**reason) for reason in json.loads(text or "[]"))


def replayed(step: Row, *, is_own: bool, revised: Value | None = None) -> StepResult:
    """The answer that a step has already; its own when the driver had to send the call twice."""
    calls = calls_from(step["calls"], step["number"])
    return StepResult(
        step=step["number"],
        version=step["version"],
        added=tuple(step["added"] or ()),
        updated=tuple(step["updated"] or ()),
        removed=tuple(step["removed"] or ()),
        rejected=_reasons(step["rejected"], None),
        disclosed=tuple(step["disclosed"] or ()),
        calls=calls,
        message=step["message"],
        repairs=tuple(step["repairs"] or ()),
        refused=step["refused"],
        replayed=not is_own,
        p_b=step["p_b"],
        summary=None if step["kind"] == "revise" else step["about"],
        revised=revised,
        recorded=calls,
    )


def reading(row: Row, request: int, locked: bool) -> Reading:
    pending = row["pending_step"]
    calls = calls_from(row["calls"], pending or 0)
    return Reading(
        version=row["version"],
        open=row["open"],
        text=row["text"] or "",
        psa=row["psa"],
        isu=row["isu"],
        p_b=row["p_b"],
        p_t=row["p_t"],
        in_r=row["in_r"],
        lines=tuple(Line(**line) for line in row["lines"]),
        headings=tuple(Heading(**head) for head in row["heads"]),
        unfolded=tuple(_unfolded(head) for head in row["unfolded"]),
        active=active(row["active"], request),
        observation=tuple(_observation(node) for node in row["observation"]),
        reasons=_reasons(row["rejected"], row["refused"]),
        pending=None if pending is None else PendingCalls(step=pending, calls=calls, p_b=row["p_b"], recorded=calls),
        locked=locked,
    )


def _unfolded(head: Row) -> Heading:
    return Heading(
        number=head["number"],
        text=head["text"],
        abandoned=head["abandoned"],
        states=tuple(Line(**s) for s in head["states"]),
    )


def _observation(node: Row) -> Observation:
    return Observation(
        id=node["id"], tool=node["tool"], arguments=json.loads(node["arguments"]), content=node.get("content")
    )


def active(rows: Sequence[Row], request: int) -> tuple[ActiveState, ...]:
    """S in the order of appearance: own states by their birth, disclosed ones by the step that showed them."""
    ordered = sorted(enumerate(rows), key=lambda item: (item[1]["step"], item[0]))
    return tuple(_active_state(row, request) for _, row in ordered)


def _active_state(row: Row, request: int) -> ActiveState:
    node = row["node"]
    related = tuple(_related(r) for r in row["related"])
    more: dict[str, int] = {}
    for name in row["rest"]:
        more[name] = more.get(name, 0) + 1
    if "RawObservation" in row["labels"]:
        seen = _observation(node)
        summary = short_name(f"{seen.tool} {node['arguments']}", characters=200)
        return ActiveState(
            id=seen.id,
            kind=None,
            summary=summary,
            value=seen.content,
            related=related,
            own=False,
            request=node["request"],
            more=more,
        )
    return ActiveState(
        id=node["id"],
        kind=next(kind for kind in StateKind if kind.label in row["labels"]),
        summary=node["summary"],
        value=json.loads(node["value"]),
        related=related,
        own=node["request"] == request,
        request=node["request"],
        more=more,
        version=_version_of(node, row),
    )


def _version_of(node: Row, row: Row) -> Version:
    hidden = not all(ref["visible"] for ref in row["refs"])
    refs = frozenset((Relation(ref["type"].lower()), ref["id"]) for ref in row["refs"])
    return Version(
        key=node["key"],
        lineage=node["lineage"],
        born=node["born"],
        position=node["position"],
        request=node["request"],
        value_text=node["value"],
        refs_at=node.get("refs_at") or node["key"],
        refs=None if hidden else refs,
    )


def _related(row: Row) -> Related:
    return Related(id=row["id"], relation=Relation(row["type"].lower()), incoming=row["incoming"])
