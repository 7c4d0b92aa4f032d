"""Two runs, or two moments of one, side by side: where they part, and what differs from there.

A fork and its origin share what came before the fork: its copies are known by their originals. Invariant: nothing is
written, and both sides are read as of a step, so the answer does not move while it is being made.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphmem.state.values import ActiveState, Value
from graphmem.store import Connection, query
from graphmem.trace import Path, Summary
from graphmem.vocabulary import Json

if TYPE_CHECKING:
    from graphmem.task.past import Past


@dataclass(frozen=True, slots=True, kw_only=True)
class Side(Value):
    """One of two: a task as of a step, with what only it has. Actions are (ℓ, what was called) in order.

    `summaries`: its own, and common ones of which Maintain said something else; `states`: (id, summary); `values`:
    theirs by id.
    """

    task: str
    step: int
    actions: tuple[tuple[int, str], ...] = ()
    summaries: tuple[Summary, ...] = ()
    states: tuple[tuple[str, str], ...] = ()
    values: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing(Value):
    """A state that both have, with another kind, summary, value or refs: `a` and `b`, each (summary, value, refs)."""

    id: str
    a: tuple[str, Json, tuple[str, ...]]
    b: tuple[str, Json, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(Value):
    """Where two sides part, and what differs. `parted_at`: the ℓ of the last node both have, None when they have none.

    `common`: how many actions they share; states of a side are (id, summary).
    """

    a: Side
    b: Side
    parted_at: int | None
    common: int
    differing: tuple[Differing, ...] = ()

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        sides = (self.a, self.b)
        return not self.differing and not any(side.actions or side.summaries or side.states for side in sides)


def compared(connection: Connection, a: "Past", b: "Past") -> Comparison:
    """The comparison of two tasks as of a step each."""
    trails = [_trail(connection, past.path()) for past in (a, b)]
    shared = 0
    for mine, theirs in zip(*trails, strict=False):
        if mine["original"] != theirs["original"]:
            break
        shared += 1
    paths, states = (a.path(), b.path()), ({s.id: s for s in a.states()}, {s.id: s for s in b.states()})
    summaries = _own_summaries(*paths, shared={row["number"] for row in trails[0][:shared]})
    sides = [
        Side(
            task=path.task,
            step=past.step,
            actions=tuple((row["number"], row["name"]) for row in trail[shared:]),
            summaries=own_summaries,
            states=tuple((s.id, s.summary) for s in own.values() if s.id not in other),
            values={s.id: s.value for s in own.values() if s.id not in other},
        )
        for past, path, trail, own_summaries, own, other in zip(
            (a, b), paths, trails, summaries, states, reversed(states), strict=True
        )
    ]
    both = [(states[0][id_], states[1][id_]) for id_ in states[0] if id_ in states[1]]
    return Comparison(
        a=sides[0],
        b=sides[1],
        parted_at=trails[0][shared - 1]["number"] if shared else None,
        common=max(0, shared - 1),
        differing=tuple(
            Differing(id=x.id, a=_told(x), b=_told(y)) for x, y in both if (x.kind, _told(x)) != (y.kind, _told(y))
        ),
    )


def _told(state: ActiveState) -> tuple[str, Json, tuple[str, ...]]:
    refs = sorted(f"{ref.relation} {ref.id}" for ref in state.related if not ref.incoming)
    return state.summary, state.value, tuple(refs)


def _own_summaries(a: Path, b: Path, *, shared: Set[int]) -> tuple[tuple[Summary, ...], tuple[Summary, ...]]:
    """What only one of them has: not of one text and over the same nodes in both, or not of one verdict and note."""
    count, judged = 0, list[int]()
    for mine, theirs, end, other in zip(a.summaries, b.summaries, _ends(a), _ends(b), strict=False):
        if (mine.boundary, mine.text, end) != (theirs.boundary, theirs.text, other) or end not in shared:
            break
        if (mine.verdict, mine.note) != (theirs.verdict, theirs.note):
            judged.append(count)
        count += 1
    first, second = (tuple(s for i, s in enumerate(path.summaries) if i >= count or i in judged) for path in (a, b))
    return first, second


def _ends(path: Path) -> list[int]:
    """The ℓ of the last node that each summary covers: where the next one starts, or R."""
    return [*(summary.boundary for summary in path.summaries[1:]), path.boundary]


def _trail(connection: Connection, path: Path) -> list[Mapping[str, Any]]:
    """The nodes from the root to p_b, through the origins of a fork."""
    trail: list[Mapping[str, Any]] = []
    key: str | None = path.p_b
    while key is not None:
        rows = connection.read(query("inspect/trail"), {"space": path.space, "key": key, "limit": None})
        trail += rows if not trail else rows[1:]
        key = rows[-1]["on"] if rows else None
    return trail[::-1]
