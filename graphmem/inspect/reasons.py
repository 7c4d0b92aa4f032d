"""Why: from a state down to the raw results that it rests on.

A ref points at the first version of a lineage and counts for its present one, and hangs on the version in which it was
given. So the way down is walked level by level, one statement each, over the lineages that the level above named; a
lineage is asked for once, which makes cycles and shared evidence harmless. What supports a state stands on the other
end of its arrow (B.3: from the declaring state to its target) and is followed against it.
Invariant: at most `depth` statements, and at most `MOST` states in the answer.
"""

import json
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from graphmem.errors import InvalidValueError, NotFoundError
from graphmem.inspect.reads import command, legible, no_such_id, require_task, task_params
from graphmem.inspect.values import Evidence, Reader, Reasoned
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


def why(reader: Reader, space: str, task: str, id: str, *, depth: int = 12) -> Reasoned:
    """A state with its refs, what supports it, and all that they rest on, down to raw results, at most `depth` levels.

    The state in view under that id, else the last one that was.

    Raises:
        NotFoundError: there is no such task, or no such state in it.
        InvalidValueError: `depth` is not 1 to 100.
    """
    if not 1 <= depth <= DEEPEST:
        raise InvalidValueError(f"depth is {depth}; give 1 to {DEEPEST} levels")
    rows = reader.read(query("inspect/why"), task_params(space, task, id=id, lineages=None))
    if not rows:
        require_task(reader, space, task)
        if id.startswith("obs:"):
            raise NotFoundError(
                f"{id!r} is a raw result, which rests on nothing else; `show` has it verbatim.",
                command=command("show", task, id, space=space),
            )
        raise no_such_id(space, task, id)
    known = {row["lineage"]: row for row in rows}
    top, asked = rows[0]["lineage"], _named(rows[0])
    for _ in range(depth - 1):
        missing = [lineage for lineage in dict.fromkeys(asked) if lineage not in known][: max(0, MOST - len(known))]
        if not missing:
            break
        rows = reader.read(query("inspect/why"), task_params(space, task, id=id, lineages=missing))
        known |= {row["lineage"]: row for row in rows}
        asked = [lineage for row in rows for lineage in _named(row)]
    with legible(space, task):
        return _node(known, _first_places(known, top), top, place=None)


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


def _node(
    known: Mapping[str, Row], places: Mapping[str, Place | None], lineage: str, *, place: Place | None
) -> Reasoned:
    row = known[lineage]
    again = places[lineage] != place
    by = None if place is None else _edges(known[place[0]])[place[1]]
    # The arrow that led here is not followed back.
    back = None if place is None or by is None else _Edge(place[0], by.relation, not by.incoming)
    below = [] if again else [(i, edge) for i, edge in enumerate(_edges(row)) if edge != back]
    return Reasoned(
        **{name: row[name] for name in ("id", "summary", "request", "from_step", "to_step", "in_view", "given_step")},
        kind=StateKind(row["kind"]),
        value=json.loads(row["value"]),
        by=None if by is None else by.relation,
        incoming=by is not None and by.incoming,
        evidence=() if again else tuple(_evidence(ref) for ref in row["refs"] if "tool" in ref),
        below=tuple(
            _node(known, places, edge.lineage, place=(lineage, i)) for i, edge in below if edge.lineage in known
        ),
        again=again and bool(row["refs"] or row["supporters"]),
        more=any(edge.lineage not in known for _, edge in below),
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
