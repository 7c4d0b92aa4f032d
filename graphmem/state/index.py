"""The Historical State Index G, folded to a budget (FlowState, §2.1).

Pure: the newest states are kept, what does not fit is named as a range of requests, and a request that the fold cuts
says so. Invariant: folding hides lines, never membership: a folded id stays in IDs(G) and can be asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphmem.state.values import IndexEntry, IndexLine
from graphmem.vocabulary import short_name

_QUERY_CHARACTERS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A state in view of an earlier request."""

    request: int
    id: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """An earlier request. `states` is filled for one that was asked for by `request:<number>`."""

    number: int
    text: str
    abandoned: bool = False
    states: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """G as it is shown: its entries, requests that were asked for last; the last folded request, 0 when none is folded.

    `lines` is the number of states shown before any request was asked for: the limit that rebuilds this index.
    """

    entries: tuple[IndexEntry, ...] = ()
    folded_to: int = 0
    lines: int = 0
    unfolded: tuple[int, ...] = ()

    @property
    def folded(self) -> bool:
        """Whether IDs(G) may hold more than is shown."""
        return self.folded_to > 0 or any(entry.cut for entry in self.entries)


def fold(
    newest_first: Sequence[Line],
    headings: Sequence[Heading],
    unfolded: Sequence[Heading],
    *,
    lines: int,
    budget_tokens: int | None,
    count: Callable[[str], int],
) -> Index:
    """G from its newest states and its headings, at most `lines` states and about `budget_tokens` tokens."""
    kept = _affordable(newest_first[:lines], headings, budget_tokens, count)
    lowest = headings[0].number if headings else 1
    shown = [line for line in newest_first[:kept] if line.request >= lowest]
    if len(shown) < len(newest_first):
        first = max(lowest, shown[-1].request) if shown else (headings[-1].number + 1 if headings else 1)
    else:
        first = lowest
    dropped = newest_first[len(shown)].request if len(shown) < len(newest_first) else None
    entries = [
        _entry(
            heading, [line for line in reversed(shown) if line.request == heading.number], cut=heading.number == dropped
        )
        for heading in headings
        if heading.number >= first
    ]
    visible = tuple(entry for entry in entries if entry.states or not entry.abandoned)
    complete = {entry.request for entry in visible if not entry.cut}
    asked = tuple(
        _entry(heading, heading.states, cut=False, whole=True) for heading in unfolded if heading.number not in complete
    )
    return Index(
        entries=tuple(e for e in visible if e.request not in {a.request for a in asked}) + asked,
        folded_to=first - 1,
        lines=len(shown),
        unfolded=tuple(heading.number for heading in unfolded),
    )


def _affordable(
    newest_first: Sequence[Line], headings: Sequence[Heading], budget_tokens: int | None, count: Callable[[str], int]
) -> int:
    """How many of the newest states fit, each with the heading of its request counted once."""
    if budget_tokens is None:
        return len(newest_first)
    texts = {heading.number: heading.text for heading in headings}
    spent, seen = 0, set[int]()
    for i, line in enumerate(newest_first):
        spent += count(line.id) + count(line.summary) + 12
        if line.request not in seen:
            seen.add(line.request)
            spent += count(short_name(texts.get(line.request, ""), characters=_QUERY_CHARACTERS)) + 16
        if spent > budget_tokens:
            return i
    return len(newest_first)


def _entry(heading: Heading, lines: Sequence[Line], *, cut: bool, whole: bool = False) -> IndexEntry:
    return IndexEntry(
        request=heading.number,
        text=heading.text if whole else short_name(heading.text, characters=_QUERY_CHARACTERS),
        states=tuple(IndexLine(id=line.id, summary=line.summary) for line in lines),
        abandoned=heading.abandoned,
        cut=cut,
    )
