"""Impact: everything that rests on a state, a raw result or a step, and what of it is in view.

The way up is walked level by level, one statement each, as `why` goes down; what was reached is asked for once, which
makes cycles harmless. What a state supports rests on it; what supports a state does not. Invariant: at most `depth`
statements and two more, and at most `MOST` states in the answer.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphmem.errors import InvalidValueError
from graphmem.inspect.reads import legible, no_such_id, require_task, task_params
from graphmem.inspect.reason_values import Affected, AffectedRequest, Impact, StepReason
from graphmem.inspect.reasons import MOST, check_depth, step_of
from graphmem.inspect.values import Reader, Subgoal, WrittenBy
from graphmem.inspect.written import written_by
from graphmem.store import query

Row = Mapping[str, Any]
_WROTE, _GOT = "wrote", "got back"


class _Edge(NamedTuple):
    key: str
    by: str


def impact(reader: Reader, space: str, task: str, id: str, *, depth: int = 12) -> Impact:
    """What rests on a state (the one in view under that id, else the last one), on `obs:ℓ.i`, or on `step:n`.

    Raises:
        NotFoundError: there is no such task, or nothing of that id in it.
        InvalidValueError: `depth` is not 1 to 100, or the id is that of a summary.
    """
    check_depth(depth)
    rows = reader.read(query("inspect/impact"), task_params(space, task, id=id, targets=None))
    step = None if rows else _step(reader, space, task, id)
    edges = [_Edge(row["target"], "") for row in rows] if step is None else _made(step)
    known = {row["target"]: row for row in rows}
    asked = [edge.key for row in rows for edge in _edges(row)] if step is None else [edge.key for edge in edges]
    for _ in range(depth - 1 if step is None else depth):
        missing = [key for key in dict.fromkeys(asked) if key not in known][: max(0, MOST - len(known))]
        if not missing:
            break
        rows = reader.read(query("inspect/impact"), task_params(space, task, id=id, targets=missing))
        known |= {row["target"]: row for row in rows}
        asked = [edge.key for row in rows for edge in _edges(row)]
    steps = written_by(reader, space, task, [row["written"] for row in known.values()])
    with legible(space, task):
        top = _Tree(known, edges, step).top()
        return _whole(top, known, [*steps.values(), *([] if step is None else [step.step])], step)


def _step(reader: Reader, space: str, task: str, id: str) -> StepReason:
    require_task(reader, space, task)
    prefix, _, number = id.partition(":")
    if prefix == "summary":
        raise InvalidValueError(f"{id} covers what its steps wrote; ask for one of those: `why` names them.")
    if prefix != "step" or not (number.isascii() and number.isdecimal()):
        raise no_such_id(space, task, id)
    return step_of(reader, space, task, id)


def _made(step: StepReason) -> list[_Edge]:
    """What a step wrote, and the raw results that its calls had."""
    return [*(_Edge(state.lineage, _WROTE) for state in step.wrote), *(_Edge(raw.key, _GOT) for raw in step.results)]


def _edges(row: Row) -> list[_Edge]:
    return [_Edge(other["key"], other["relation"]) for other in row["dependents"]]


class _Tree:
    """The tree of the rows that were read, each thing in full where it comes first."""

    def __init__(self, known: Mapping[str, Row], first: list[_Edge], step: StepReason | None) -> None:
        self._known = known
        self._step = step
        self._first = first
        self._parents: dict[str, str | None] = dict.fromkeys((edge.key for edge in first if edge.key in known), None)
        queue = deque(self._parents)
        while queue:
            above = queue.popleft()
            for edge in _edges(known[above]):
                if edge.key in known and edge.key not in self._parents:
                    self._parents[edge.key] = above
                    queue.append(edge.key)

    def top(self) -> Affected:
        if self._step is None:
            return self._node(self._first[0].key, None, None)
        step = self._step.step
        return Affected(
            what="step",
            id=f"step:{step.number}",
            summary=self._step.text or self._step.message or step.kind,
            request=step.request,
            step=step.number,
            in_view=step.abandoned_step is None,
            below=tuple(self._node(edge.key, edge.by, None) for edge in self._first if edge.key in self._known),
            more=any(edge.key not in self._known for edge in self._first),
        )

    def _node(self, key: str, by: str | None, above: str | None) -> Affected:
        row = self._known[key]
        edges = _edges(row)
        again = self._parents[key] != above
        below = () if again else tuple(self._node(edge.key, edge.by, key) for edge in edges if edge.key in self._known)
        return Affected(
            what="raw result" if row["raw"] else row["kind"],
            id=row["id"],
            summary=row["summary"],
            request=row["request"],
            step=row["from_step"],
            in_view=bool(row["in_view"]),
            by=by or None,
            below=below,
            again=again and bool(edges),
            more=not again and any(edge.key not in self._known for edge in edges),
        )


def _whole(top: Affected, known: Mapping[str, Row], steps: Sequence[WrittenBy], step: StepReason | None) -> Impact:
    """The tree with what stands above all of it: subgoals and requests."""
    about = None if step is None else step.about
    subgoals: dict[str, Subgoal] = {s.key: s for s in (*(one.summary for one in steps), about) if s is not None}
    asked = {one.request: one for one in steps if one.standing is not None}
    in_view = sorted(row["id"] for row in known.values() if row["in_view"] and not row["raw"])
    return Impact(
        top=top,
        states=tuple(id_ for id_ in in_view if id_ != top.id),
        summaries=tuple(sorted(subgoals.values(), key=lambda s: (s.boundary, s.key))),
        requests=tuple(
            AffectedRequest(number=number, standing=one.standing or "", text=one.asked or "")
            for number, one in sorted(asked.items())
        ),
    )
