"""Why: from a state down to the raw results that it rests on, each with the step that wrote it.

A ref points at the first version of a lineage and counts for its present one, and hangs on the version in which it was
given. So the way down is walked level by level, one statement each, over the lineages that the level above named; a
lineage is asked for once, which makes cycles and shared evidence harmless. What supports a state stands on the other
end of its arrow (B.3: from the declaring state to its target) and is followed against it.
A raw result, a summary or a step is answered for by `causes`. Invariant: at most `depth` statements and one for the
steps, and at most `MOST` states in the answer.
"""

import json
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from graphmem.errors import InvalidValueError, NotFoundError
from graphmem.inspect.causes import raw_reason, step_reason, summary_reason
from graphmem.inspect.reads import command, legible, no_such_id, require_task, task_params
from graphmem.inspect.reason_values import Reason, StepReason
from graphmem.inspect.values import Evidence, Reader, Reasoned, WrittenBy
from graphmem.inspect.written import written_by
from graphmem.store import query
from graphmem.vocabulary import Relation, StateKind

MOST: Final = 500
DEEPEST: Final = 100

Row = Mapping[str, Any]
Place = tuple[str, int]


class _Edge(NamedTuple):
    lineage: str
    relation: Relation
    incoming: bool


def why(reader: Reader, space: str, task: str, id: str, *, depth: int = 12) -> Reason:
    """What a state, a raw result, a summary or a step rests on.

    A state (the one in view under that id, else the last one that was): its refs, what supports it, and all that they
    rest on, down to raw results, at most `depth` levels, each with the step that wrote it, the subgoal that covers it,
    and the revise that left it. `obs:ℓ.i`: its node and the step that called the tool. `summary:ℓ` or a summary's key:
    what it covers and what was said of it. `step:n`: what it did.

    Raises:
        NotFoundError: there is no such task, or nothing of that id in it.
        InvalidValueError: `depth` is not 1 to 100.
    """
    check_depth(depth)
    rows = reader.read(query("inspect/why"), task_params(space, task, id=id, lineages=None))
    if rows:
        return _state_reason(reader, space, task, id, rows, depth)
    require_task(reader, space, task)
    prefix, _, number = id.partition(":")
    if prefix == "obs":
        return raw_reason(reader, space, task, id)
    if prefix == "step" and number.isascii() and number.isdecimal():
        return step_of(reader, space, task, id)
    found = summary_reason(reader, space, task, id)
    if found is None:
        raise no_such_id(space, task, id)
    return found


def step_of(reader: Reader, space: str, task: str, id: str) -> StepReason:
    """The step `step:n`.

    Raises:
        NotFoundError: there is none of that number.
    """
    found = step_reason(reader, space, task, int(id.removeprefix("step:")[:18]))
    if found is None:
        raise NotFoundError(
            f"{task} has no step {id.removeprefix('step:')}; those that there are are in the log.",
            command=command("log", task, space=space),
        )
    return found


def check_depth(depth: int) -> None:
    """Raises: InvalidValueError, when the number of levels is not 1 to 100."""
    if not 1 <= depth <= DEEPEST:
        raise InvalidValueError(f"depth is {depth}; give 1 to {DEEPEST} levels")


def _state_reason(reader: Reader, space: str, task: str, id: str, rows: list[dict[str, Any]], depth: int) -> Reasoned:
    known = {row["lineage"]: row for row in rows}
    top, asked = rows[0]["lineage"], _named(rows[0])
    for _ in range(depth - 1):
        missing = [lineage for lineage in dict.fromkeys(asked) if lineage not in known][: max(0, MOST - len(known))]
        if not missing:
            break
        rows = reader.read(query("inspect/why"), task_params(space, task, id=id, lineages=missing))
        known |= {row["lineage"]: row for row in rows}
        asked = [lineage for row in rows for lineage in _named(row)]
    steps = written_by(reader, space, task, [row["written"] for row in known.values()])
    with legible(space, task):
        return _Tree(known, top, steps).node(top)


def _named(row: Row) -> list[str]:
    return [edge.lineage for edge in _edges(row)]


def _first_places(known: Mapping[str, Row], top: str) -> dict[str, Place | None]:
    """Where each lineage comes first, level by level: there it is shown in full."""
    places: dict[str, Place | None] = {top: None}
    queue = deque([top])
    while queue:
        above = queue.popleft()
        for i, edge in enumerate(_edges(known[above])):
            if edge.lineage in known and edge.lineage not in places:
                places[edge.lineage] = (above, i)
                queue.append(edge.lineage)
    return places


class _Tree:
    """The tree of the rows that were read, each lineage in full where it comes first."""

    def __init__(self, known: Mapping[str, Row], top: str, steps: Mapping[int, WrittenBy]) -> None:
        self._known = known
        self._steps = steps
        self._places = _first_places(known, top)

    def node(self, lineage: str, place: Place | None = None) -> Reasoned:
        known, row = self._known, self._known[lineage]
        again = self._places[lineage] != place
        by = None if place is None else _edges(known[place[0]])[place[1]]
        # The arrow that led here is not followed back.
        back = None if place is None or by is None else _Edge(place[0], by.relation, not by.incoming)
        below = [] if again else [(i, edge) for i, edge in enumerate(_edges(row)) if edge != back]
        names = ("id", "summary", "request", "from_step", "to_step", "in_view", "given_step")
        return Reasoned(
            **{name: row[name] for name in names},
            kind=StateKind(row["kind"]),
            value=json.loads(row["value"]),
            by=None if by is None else by.relation,
            incoming=by is not None and by.incoming,
            evidence=() if again else tuple(_evidence(ref) for ref in row["refs"] if "tool" in ref),
            below=tuple(self.node(edge.lineage, (lineage, i)) for i, edge in below if edge.lineage in known),
            again=again and bool(row["refs"] or row["supporters"]),
            more=any(edge.lineage not in known for _, edge in below),
            written=self._steps.get(row["written"]),
        )


def _edges(row: Row) -> list[_Edge]:
    refs = [_Edge(ref["lineage"], Relation(ref["relation"]), False) for ref in row["refs"] if "tool" not in ref]
    return refs + [_Edge(supporter["lineage"], Relation.SUPPORTS, True) for supporter in row["supporters"]]


def _evidence(ref: Row) -> Evidence:
    names = ("id", "tool", "content", "characters", "step", "request")
    return Evidence(
        **{name: ref[name] for name in names},
        by=Relation(ref["relation"]),
        arguments=json.loads(ref["arguments"]),
        node=int(ref["id"].removeprefix("obs:").partition(".")[0]),
    )
