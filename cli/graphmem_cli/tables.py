"""Text for a terminal: tables, trees and blocks that fit its width.

What comes out of the graph was written by models, tools and users, so no character of it may move the cursor, change a
colour or turn the direction of writing: `visible` writes such characters as escapes. Invariant: a row of a table is
one line, wide characters counted as two.
"""

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

GAP: Final = "  "

_NARROWEST: Final = 8
_JOINER: Final = "\u200d"


def visible(text: str, *, newlines: bool = False) -> str:
    """The text with every character that could drive a terminal, or hide in it, written as an escape."""
    return "".join(character if _is_plain(character, newlines) else _escape(character) for character in text)


def _is_plain(character: str, newlines: bool) -> bool:
    if character.isprintable() or character == _JOINER:
        return True
    if character == "\n":
        return newlines
    return unicodedata.category(character) == "Zs"


def _escape(character: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character) or character.encode("unicode_escape").decode()


def width(text: str) -> int:
    """How many columns the text takes."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if character == _JOINER or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, columns: int) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    if width(text) <= columns:
        return text
    kept, used = [], 1
    for character in text:
        used += _columns(character)
        if used > columns:
            break
        kept.append(character)
    return "".join(kept) + "…"


def terminal_width() -> int | None:
    """The columns of the terminal; None where the output goes to a file or a pipe, and nothing need be cut."""
    if "COLUMNS" in os.environ or sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return None


def table(headers: Sequence[str], rows: Iterable[Sequence[object]], *, columns: int | None) -> Iterator[str]:
    """The lines of a table: numbers to the right, the widest columns cut until a line fits."""
    taken = [list(row) for row in rows]
    cells = [[_cell(value) for value in row] for row in taken]
    numeric = [bool(taken) and all(isinstance(row[i], int | None) for row in taken) for i in range(len(headers))]
    widths = [max(width(text) for text in column) for column in zip(headers, *cells, strict=True)]
    widths = widths if columns is None else fitted(widths, columns)
    for line in ([*headers], *cells):
        parts = (_padded(cut(text, w), w, right) for text, w, right in zip(line, widths, numeric, strict=True))
        yield GAP.join(parts).rstrip()


def _cell(value: object) -> str:
    return "" if value is None else visible(str(value))


def _padded(text: str, columns: int, right: bool) -> str:
    space = " " * (columns - width(text))
    return space + text if right else text + space


def fitted(widths: Sequence[int], columns: int) -> list[int]:
    """The widths, the largest ones lowered to one limit until all of them fit, none below what can be read."""
    room = columns - len(GAP) * (len(widths) - 1)
    if sum(widths) <= room:
        return list(widths)
    limit = max(widths)
    while limit > _NARROWEST and sum(min(w, limit) for w in widths) > room:
        limit -= 1
    return [min(w, limit) for w in widths]


def block(text: str, *, indent: str) -> Iterator[str]:
    """The lines of a text of any length, indented."""
    yield from (indent + line for line in visible(text, newlines=True).split("\n"))
