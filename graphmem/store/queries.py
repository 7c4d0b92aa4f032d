"""Query files: one statement a file, its path is its name, its header is read by machines.

A header is the run of `//` lines before the statement: a sentence for the caller, then `mode:`, `params:` (the keys of
the one parameter `$p`), `returns:` and any number of `why:`. Invariant: what a header declares equals what the
statement uses, so that a typing error is found when the file is loaded, with its name and line.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, LiteralString, cast

from graphmem.errors import InvalidValueError

Mode = Literal["read", "write", "schema"]

_FIELD = re.compile(r"//\s*(mode|params|returns|why):\s*(.*)")
_PARAMETER = re.compile(r"\$p\.(\w+)")
_ANY_PARAMETER = re.compile(r"\$(?!p\.)(\w+)")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'")
_LOCK_LINE = re.compile(r"^.*// lock$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A statement with its header. `params` are the keys of `$p`; `returns` the columns."""

    name: str
    summary: str
    mode: Mode
    params: tuple[str, ...]
    returns: tuple[str, ...]
    why: tuple[str, ...]
    text: LiteralString

    @property
    def without_lock(self) -> LiteralString:
        """The same statement without the line marked `// lock`, for a database that refuses writes."""
        return literal(_LOCK_LINE.sub("", self.text))


def literal(text: str) -> LiteralString:
    """The text of a file that ships with the project, for a driver that takes no other: never anything put together."""
    return cast(LiteralString, text)  # type: ignore[redundant-cast]  # mypy takes any str for one, pyright does not


def folder() -> Path:
    """Where the query files are: beside the package in a wheel, else in the checkout."""
    inside = Path(__file__).parents[1] / "cypher"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "cypher"


@cache
def query(name: str) -> Query:
    """The query of that name, such as `task/step`.

    Raises:
        InvalidValueError: there is no such file, or its header is wrong.
    """
    path = folder() / f"{name}.cypher"
    if not re.fullmatch(r"[a-z_]+/[a-z0-9_]+", name) or not path.is_file():
        raise InvalidValueError(f"there is no query named {name!r}; `graphmem cypher` lists those to be looked at")
    return parse(name, path.read_text(encoding="utf-8"))


def query_names(room: str) -> tuple[str, ...]:
    """The names of a room's queries, sorted."""
    return tuple(sorted(f"{room}/{path.stem}" for path in (folder() / room).glob("*.cypher")))


def parse(name: str, source: str) -> Query:
    """A query from the text of its file.

    Raises:
        InvalidValueError: a part of the header is missing, or declared and used parameters differ.
    """
    lines = source.splitlines()
    count = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    summary: list[str] = []
    fields: dict[str, list[str]] = {"mode": [], "params": [], "returns": [], "why": []}
    for line in lines[:count]:
        found = _FIELD.match(line)
        if found:
            fields[found[1]].append(found[2].strip())
        elif not fields["mode"]:
            summary.append(line.removeprefix("//").strip())
        else:
            fields["why"][-1:] = [f"{fields['why'][-1]} {line.removeprefix('//').strip()}"]
    text = "\n".join(lines[count:]).strip() + "\n"
    _check(name, text, summary, fields)
    return Query(
        name=name,
        summary=" ".join(summary),
        mode=cast(Mode, fields["mode"][0]),
        params=_names(fields["params"]),
        returns=_names(fields["returns"]),
        why=tuple(fields["why"]),
        text=literal(text),
    )


def _names(declared: list[str]) -> tuple[str, ...]:
    return tuple(name for name in re.split(r"[,\s]+", " ".join(declared)) if name and name != "none")


_REQUIRED: Final = ("mode", "params", "returns")


def _check(name: str, text: str, summary: list[str], fields: dict[str, list[str]]) -> None:
    missing = [field for field in _REQUIRED if len(fields[field]) != 1]
    if missing or not summary:
        raise InvalidValueError(f"{name}.cypher: the header needs a sentence and one each of {', '.join(_REQUIRED)}")
    if fields["mode"][0] not in ("read", "write", "schema"):
        raise InvalidValueError(f"{name}.cypher: mode {fields['mode'][0]!r} is not read, write or schema")
    code = _STRING.sub("''", text)
    used, declared = set(_PARAMETER.findall(code)), set(_names(fields["params"]))
    other = _ANY_PARAMETER.findall(code.replace("$(", ""))
    if other:
        raise InvalidValueError(f"{name}.cypher: ${other[0]} is not $p.{other[0]}; a statement takes the one map $p")
    if used != declared:
        raise InvalidValueError(f"{name}.cypher: declared and used parameters differ: {sorted(used ^ declared)}")
