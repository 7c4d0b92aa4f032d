"""Searching the texts of a task by a regular expression of Python.

The graph gives pages of the ledger, the pattern is applied here, so no text of a user becomes part of a statement and
memory does not grow with the task. Invariant: the time is limited between lines; one line can be stopped only by its
caller (the command line does).
"""

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphmem.errors import InvalidValueError, QueryTimeoutError
from graphmem.inspect.reads import require_task, task_params
from graphmem.inspect.values import Reader
from graphmem.state.values import Value
from graphmem.store import query

_PAGE: Final = 500
_SECONDS: Final = 60.0
_LINE_CHARACTERS: Final = 10_000
_AROUND: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Value):
    """A line that matches. `what`: state, raw result, request or step; `line`: the line, cut around the match."""

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
) -> tuple[Hit, ...]:
    """The first `limit` lines that match, in the order of the ledger; only what is in view, unless `everything`.

    A line longer than 10,000 characters is searched in pieces of that length.

    Raises:
        NotFoundError: there is no such task.
        InvalidValueError: the pattern is empty or no regular expression.
        QueryTimeoutError: it took longer than a minute.
    """
    try:
        compiled = re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidValueError(f"{pattern!r} is no regular expression: {error}") from error
    if not pattern:
        raise InvalidValueError("the pattern is empty; give what to look for")
    require_task(reader, space, task)
    hits: list[Hit] = []
    deadline = time.monotonic() + _SECONDS
    for row in _rows(reader, space, task):
        if not (everything or row["in_view"]):
            continue
        for line in _matching(row["texts"], compiled, deadline):
            hits.append(Hit(**{name: row[name] for name in ("what", "id", "step", "in_view")}, line=line))
            if len(hits) >= limit:
                return tuple(hits)
    return tuple(hits)


def _rows(reader: Reader, space: str, task: str) -> Iterator[Mapping[str, Any]]:
    last = reader.read(query("task/read_task"), task_params(space, task))[0]["steps"] or 0
    for first in range(1, last + 1, _PAGE):
        yield from reader.read(
            query("inspect/texts"), task_params(space, task, first=first, last=min(last, first + _PAGE - 1))
        )


def _matching(texts: list[str], pattern: re.Pattern[str], deadline: float) -> Iterator[str]:
    for text in texts:
        for whole in text.splitlines():
            for start in range(0, max(1, len(whole)), _LINE_CHARACTERS):
                if time.monotonic() > deadline:
                    raise QueryTimeoutError("the search took more than a minute; give a simpler pattern")
                piece = whole[start : start + _LINE_CHARACTERS]
                found = pattern.search(piece)
                if found is not None:
                    yield _around(piece, found.start(), found.end())
                    break


def _around(line: str, start: int, end: int) -> str:
    low, high = max(0, start - _AROUND), min(len(line), end + _AROUND)
    return f"{'…' if low else ''}{line[low:high]}{'…' if high < len(line) else ''}"
