"""Searching the texts of a task by a regular expression of Python.

The graph gives pages of the ledger, the pattern is applied here, so no text of a user becomes part of a statement.
Invariant: memory holds one page at a time, cut texts first and whole ones in runs of a few MB (or one step, where that
has more); time is limited whatever the pattern.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphmem.inspect.matching import Matcher
from graphmem.inspect.reads import legible, require_task, task_params
from graphmem.inspect.values import Reader
from graphmem.state.values import Value
from graphmem.store import query
from graphmem.vocabulary import json_text

Row = Mapping[str, Any]
_PAGE: Final = 1_000
_CUT: Final = 2_000
_RUN: Final = 4_000_000
_WHOLE: Final = 2**31 - 1
_AROUND: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Value):
    """A line that matches, cut around its first match.

    `what`: request, call, message, raw result, state, summary (`id`: where it starts), feedback (about the summary of
    that id) or refused (an output). What has no id has that of its step. A state is searched as its id, its summary and
    its value as JSON, a line each.
    """

    what: str
    id: str
    step: int
    in_view: bool
    line: str


def search(
    reader: Reader,
    space: str,
    task: str,
    pattern: str,
    *,
    ignore_case: bool = False,
    everything: bool = False,
    limit: int = 200,
    seconds: float = 10.0,
) -> tuple[Hit, ...]:
    """The first `limit` lines that match, in the order of the ledger; only what is in view, unless `everything`.

    In view is what is on the path, a live state, feedback that H tells, and what no revise has left. `^` and `$` stand
    for the ends of lines. `seconds`: of processor time, for the matching of one page.

    Raises:
        NotFoundError: there is no such task.
        InvalidValueError: the pattern is empty, no regular expression, or takes too long.
    """
    require_task(reader, space, task)
    hits: list[Hit] = []
    with Matcher(pattern, ignore_case=ignore_case, seconds=seconds) as matcher, legible(space, task):
        for rows in _runs(reader, space, task, everything=everything):
            hits += _hits(rows, matcher, limit - len(hits))
            if len(hits) >= limit:
                break
    return tuple(hits)


def _hits(rows: Sequence[Row], matcher: Matcher, most: int) -> list[Hit]:
    pairs = [(row, text) for row in rows for text in _texts(row)]
    found = zip(pairs, matcher.places([text for _, text in pairs], most=most), strict=True)
    return [_hit(row, text, *place) for (row, text), places in found for place in places][:most]


def _texts(row: Row) -> list[str]:
    if row["what"] != "call":
        return [row["text"]]
    return [f"{call['name']} {json_text(call['arguments'])}" for call in json.loads(row["text"])]


def _hit(row: Row, text: str, start: int, end: int) -> Hit:
    low = text.rfind("\n", 0, start) + 1
    high = text.find("\n", start)
    line_end = len(text) if high < 0 else high
    first, last = max(low, start - _AROUND), min(line_end, end + _AROUND, start + 5 * _AROUND)
    line = f"{'…' if first > low else ''}{text[first:last]}{'…' if last < line_end else ''}"
    return Hit(
        what=row["what"], id=row["id"] or f"step:{row['step']}", step=row["step"], in_view=row["in_view"], line=line
    )


def _runs(reader: Reader, space: str, task: str, *, everything: bool) -> Iterator[list[Row]]:
    """The texts of a task, whole, as many at a time as may be held."""

    def page(first: int, limit: int, characters: int) -> list[Row]:
        p = task_params(space, task, first=first, limit=limit, characters=characters, all=everything)
        return list(reader.read(query("inspect/texts"), p))

    (about,) = reader.read(query("task/read_step"), task_params(space, task, step=1))
    for first in range(about["first_step"], about["steps"] + 1, _PAGE):
        for run in _split(page(first, min(_PAGE, about["steps"] - first + 1), _CUT), _RUN):
            low, high = run[0]["step"], run[-1]["step"]
            yield run if all(row["size"] <= _CUT for row in run) else page(low, high - low + 1, _WHOLE)


def _split(rows: Sequence[Row], most: int) -> Iterator[list[Row]]:
    """Rows of the ledger in runs of whole steps, with no more than so many characters where a run has several."""
    run: list[Row] = []
    size, sizes = 0, _sizes(rows)
    for row in rows:
        begins = not run or row["step"] != run[-1]["step"]
        if run and begins and size + sizes[row["step"]] > most:
            yield run
            run, size = [], 0
        if begins:
            size += sizes[row["step"]]
        run.append(row)
    if run:
        yield run


def _sizes(rows: Sequence[Row]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for row in rows:
        sizes[row["step"]] = sizes.get(row["step"], 0) + row["size"]
    return sizes
