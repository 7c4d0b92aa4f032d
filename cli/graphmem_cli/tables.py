"""Text for a terminal: tables, trees and blocks that fit its width.

What comes out of the graph was written by models, tools and users, so no character of it may move the cursor, change a
colour or turn the direction of writing: `visible` writes such characters as escapes. Invariant: a row of a table is
one line, wide characters counted as two.
"""

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

GAP: Final = "  "

_NARROWEST: Final = 8
_NARROWEST_TEXT: Final = 24
_PAGE: Final = 120
_BREAK: Final = re.compile(r"(?= )|(?<=,)(?=[^\d ])")
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


def json_escape(character: str) -> str:
    """The character inside a JSON text: as it stands, or as the escape that means it."""
    return character if _is_plain(character, newlines=False) else json.dumps(character)[1:-1]


def width(text: str) -> int:
    """How many columns the text takes."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if character == _JOINER or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def page_width() -> int:
    """The columns of the terminal, or as many as a page has where the output goes to a file or a pipe."""
    return terminal_width() or _PAGE


def cut(text: str, columns: int) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    return text if width(text) <= columns else _fitting(text, columns - 1) + "…"


def _fitting(text: str, columns: int) -> str:
    used = 0
    for i, character in enumerate(text):
        used += _columns(character)
        if used > columns:
            return text[:i]
    return text


def terminal_width() -> int | None:
    """The columns of the terminal; None where the output goes to a file or a pipe, and nothing need be cut."""
    if "COLUMNS" in os.environ or (sys.stdout is not None and sys.stdout.isatty()):
        return shutil.get_terminal_size().columns
    return None


def wrapped(text: str, *, columns: int, first: str = "", rest: str = "") -> Iterator[str]:
    """The text in lines that fit, broken at blanks and commas where it has any, the first one and the others indented.

    An indent that leaves no room is cut on its left.
    """
    line, prefix, is_empty = _indent(first, columns), _indent(rest, columns), True
    for part in _BREAK.split(visible(text)):
        if width(line) + width(part) > columns:
            if not is_empty:
                yield line.rstrip(" ")
                line, part = prefix, part.lstrip(" ")
            while width(line) + width(part) > columns:
                head = _fitting(part, columns - width(line)) or part[:1]
                yield line + head
                line, part = prefix, part[len(head) :]
        line, is_empty = line + part, False
    yield line.rstrip(" ")


def _indent(indent: str, columns: int) -> str:
    room = max(0, columns - _NARROWEST_TEXT)
    return indent if len(indent) <= room else f"…{indent[len(indent) - room + 1 :]}"


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
