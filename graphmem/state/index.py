"""The Historical State Index G, folded to a budget (FlowState, §2.1).

Pure: the newest states are kept, what does not fit is named as ranges of requests, and a request that the fold cuts
says so. Invariant: folding hides lines, never membership: a folded id stays in IDs(G) and can be asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile

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
    """G as it is shown: its entries, requests that were asked for last, and the ranges of requests folded away.

    `fold` is what rebuilds it from the graph, as it was before any request was asked for: the number of states shown,
    then the first and last request of each range folded away.
    """

    entries: tuple[IndexEntry, ...] = ()
    folded_ranges: tuple[tuple[int, int], ...] = ()
    fold: tuple[int, ...] = (0,)
    unfolded: tuple[int, ...] = ()

    @property
    def folded(self) -> bool:
        """Whether IDs(G) may hold more than is shown."""
        return bool(self.folded_ranges) or any(entry.cut for entry in self.entries)


def fold(
    newest_first: Sequence[Line],
    headings: Sequence[Heading],
    unfolded: Sequence[Heading],
    *,
    request: int,
    lines: int,
    budget_tokens: int | None,
    count: Callable[[str], int],
) -> Index:
    """G at request number `request`: its newest states, at most `lines` of them and about `budget_tokens` tokens.

    `newest_first` holds one state more than `lines` where there are more; `headings` are in the order of requests.
    """
    kept, cut = newest_first[:lines], {line.request for line in newest_first[lines:]}
    entries: list[IndexEntry] = []
    budget = _Budget(budget_tokens, count)
    gone: set[int] = set()
    for heading in reversed(headings):
        if heading.number < max(cut, default=0) or not budget.takes(_query(heading), 16):
            break
        mine = [line for line in kept if line.request == heading.number]
        shown = list(takewhile(lambda line: budget.takes(line.id + line.summary, 12), mine))
        is_cut = len(shown) < len(mine) or heading.number in cut
        if shown or is_cut or not heading.abandoned:
            entries.append(_entry(heading, shown[::-1], cut=is_cut))
        else:
            gone.add(heading.number)
        if is_cut:
            break
    complete = {entry.request for entry in entries if not entry.cut}
    asked = [
        _entry(heading, heading.states, whole=True)
        for heading in unfolded
        if heading.number not in complete or _query(heading) != heading.text
    ]
    replaced = {entry.request for entry in asked}
    visible = tuple(entry for entry in reversed(entries) if entry.request not in replaced) + tuple(asked)
    earlier = set(range(1, request)) - gone
    ranges = _ranges(earlier - {entry.request for entry in entries})
    return Index(
        entries=visible,
        folded_ranges=_ranges(earlier - {entry.request for entry in visible}),
        fold=(sum(len(entry.states) for entry in entries), *chain.from_iterable(ranges)),
        unfolded=tuple(heading.number for heading in unfolded),
    )


def refold(
    newest_first: Sequence[Line],
    headings: Sequence[Heading],
    unfolded: Sequence[Heading],
    *,
    request: int,
    fold_was: Sequence[int],
    count: Callable[[str], int],
) -> Index:
    """G as it was shown, from what `Index.fold` said then: so many states, and no request of the ranges folded away."""
    ranges = list(zip(fold_was[1::2], fold_was[2::2], strict=True))
    kept = [h for h in headings if not any(first <= h.number <= last for first, last in ranges)]
    return fold(newest_first, kept, unfolded, request=request, lines=fold_was[0], budget_tokens=None, count=count)


class _Budget:
    """Tokens that are left; once something did not fit, nothing does."""

    def __init__(self, tokens: int | None, count: Callable[[str], int]) -> None:
        self._left = tokens
        self._count = count

    def takes(self, text: str, frame_tokens: int) -> bool:
        if self._left is not None and self._left >= 0:
            self._left -= self._count(text) + frame_tokens
        return self._left is None or self._left >= 0


def _ranges(numbers: set[int]) -> tuple[tuple[int, int], ...]:
    """The numbers as ranges from the first to the last of each."""
    starts = sorted(number for number in numbers if number - 1 not in numbers)
    ends = sorted(number for number in numbers if number + 1 not in numbers)
    return tuple(zip(starts, ends, strict=True))


def _query(heading: Heading) -> str:
    fits = len(heading.text) <= _QUERY_CHARACTERS
    return heading.text if fits else short_name(heading.text, characters=_QUERY_CHARACTERS)


def _entry(heading: Heading, lines: Sequence[Line], *, cut: bool = False, whole: bool = False) -> IndexEntry:
    return IndexEntry(
        request=heading.number,
        text=heading.text if whole else _query(heading),
        states=tuple(IndexLine(id=line.id, summary=line.summary) for line in lines),
        abandoned=heading.abandoned,
        cut=cut,
    )
