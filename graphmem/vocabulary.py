"""The closed sets of the graph, and the limits of what goes into it.

Owns every word that a statement may use as a label, relation type or kind, the reserved prefixes of ids, and the checks
that a text passes before it is hashed or written. Knows nothing of Neo4j, of models or of tasks.
Invariant: a text that passes `text_fault` comes back from the graph byte for byte.
"""

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Final, TypeAlias

from graphmem.errors import InvalidValueError, LimitError

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None


class StateKind(StrEnum):
    """The five state types (FlowState, Table 6). The value is the label of the node in lower case."""

    PREFERENCE = "preference"
    KNOWLEDGE = "knowledge"
    ATTRIBUTE = "attribute"
    JUDGEMENT = "judgement"
    ARTIFACT = "artifact"

    @property
    def label(self) -> str:
        """The node label."""
        return self.value.capitalize()

    @property
    def word(self) -> str:
        """The word of the runtime prompt (FlowState, B.3), which writes `artifacts` in the plural."""
        return "artifacts" if self is StateKind.ARTIFACT else self.value


class Relation(StrEnum):
    """The relations that a model may declare in `refs` (FlowState, B.3)."""

    SUPPORTS = "supports"
    DERIVES = "derives"
    FOLLOWS = "follows"
    SUPERSEDES = "supersedes"

    @property
    def type(self) -> str:
        """The relation type in the graph."""
        return self.value.upper()


RESERVED_PREFIXES: Final = ("obs:", "request:", "memory:")

_NAME = re.compile(r"[A-Za-z0-9._:@-]{1,128}\Z")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_INT64: Final = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How large one piece may be: bytes in UTF-8; `refs` of one operation; `entries` of one block of an output."""

    id_characters: int = 200
    summary_characters: int = 2_000
    value_bytes: int = 1 << 20
    result_bytes: int = 1 << 20
    text_bytes: int = 4 << 20
    refs: int = 200
    entries: int = 1_000

    def __post_init__(self) -> None:
        for field in fields(self):
            if not isinstance(getattr(self, field.name), int) or getattr(self, field.name) < 1:
                raise InvalidValueError(f"the limit {field.name} must be a whole number of at least 1")


def check_name(what: str, name: str) -> str:
    """The name of a space or a task, if it is one.

    Raises:
        InvalidValueError: not 1–128 letters, digits or `._:@-`.
    """
    if not isinstance(name, str) or not _NAME.match(name):
        raise InvalidValueError(
            f"{what} {name!r} is not a name: use 1 to 128 of the letters A-Z a-z, digits and . _ : @ -"
        )
    return name


def whole_number(what: str, number: int, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """The number, if it is one.

    Raises:
        InvalidValueError: not a whole number from `least` to `most`.
    """
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise InvalidValueError(f"{what} must be a whole number from {least:,} to {most:,}, not {number!r}")
    return number


def check_tools(what: str, tools: Collection[str]) -> frozenset[str]:
    """The names of tools. One text is refused: its characters are not names.

    Raises:
        InvalidValueError: not a collection of texts.
    """
    if isinstance(tools, str | bytes) or not isinstance(tools, Collection):
        raise InvalidValueError(f"{what} must be names of tools in a list, not {short_name(repr(tools))}")
    for name in tools:
        check_text(f"a name in {what}", name, max_bytes=1_000)
    return frozenset(tools)


def text_fault(text: str) -> str | None:
    """Why a text cannot be stored, with the position of the first bad character; None when it can."""
    with suppress(UnicodeEncodeError):  # a long text is looked at twenty times as fast like this
        if "\x00" not in text and text.encode() is not None:
            return None
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    what = "NUL" if found.group() == "\x00" else "a lone surrogate"
    return f"{what} (U+{ord(found.group()):04X}) at character {found.start()} cannot be stored"


def check_text(what: str, text: str, *, max_bytes: int) -> str:
    """The text, if it can be stored whole.

    Raises:
        InvalidValueError: not a string, or it holds NUL or a lone surrogate.
        LimitError: longer than `max_bytes` in UTF-8.
    """
    if not isinstance(text, str):
        raise InvalidValueError(f"{what} must be a str, not {type(text).__name__}")
    fault = text_fault(text)
    if fault is not None:
        raise InvalidValueError(f"{what}: {fault}; remove or replace it")
    size = len(text.encode())
    if size > max_bytes:
        raise LimitError(
            f"{what} has {size:,} bytes; the limit is {max_bytes:,}. Shorten it, or raise it in graphmem.Limits"
        )
    return text


def value_fault(value: object, *, path: str = "value", levels: int = 100) -> str | None:
    """Why a value cannot be stored as JSON, with its place below `path`; None when it can.

    Integers are limited to 64 bits, numbers to finite ones, keys to strings, nesting to `levels`, texts as by
    `text_fault`.
    """
    found = _fault(value, levels)
    return None if found is None else f"{path}{found[0]}: {found[1]}"


def _fault(value: object, levels: int) -> tuple[str, str] | None:
    """Where below a value something is wrong, and what. The place is put together on the way back only."""
    if levels < 0:
        return "", "it is nested too deeply; flatten it"
    match value:
        case None | bool():
            return None
        case int():
            return None if -_INT64 <= value < _INT64 else ("", "an integer does not fit in 64 bits; write it as a text")
        case float():
            return None if math.isfinite(value) else ("", f"{value} is not a finite number")
        case str():
            fault = text_fault(value)
            return None if fault is None else ("", fault)
        case Mapping():
            return _key_fault(value) or _below(value.items(), levels)
        case Sequence() if not isinstance(value, bytes | bytearray):
            return _below(enumerate(value), levels)
        case _:
            return "", f"{type(value).__name__} is not JSON"


def _key_fault(value: Mapping[object, object]) -> tuple[str, str] | None:
    for key in value:
        if not isinstance(key, str):
            return "", f"the key {key!r} is not a text"
        fault = text_fault(key)
        if fault is not None:
            return " key", fault
    return None


def _below(items: Iterable[tuple[int | str, object]], levels: int) -> tuple[str, str] | None:
    for key, item in items:
        found = _fault(item, levels - 1)
        if found is not None:
            step = f"[{key}]" if isinstance(key, int) else f".{short_name(key)}"
            return f"{step}{found[0]}", found[1]
    return None


def json_text(value: object, *, sort_keys: bool = False) -> str:
    """Compact JSON text. With `sort_keys` it is canonical: the order of keys does not count, 1 and 1.0 differ."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, separators=(",", ":"))


def digest(*parts: str) -> str:
    """SHA-256 in hex over the parts, each preceded by its length, so that no two lists of parts share a digest."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.encode()
        sha.update(len(data).to_bytes(8, "big"))
        sha.update(data)
    return sha.hexdigest()


def words(name: str) -> str:
    """An identifier as words, which Neo4j Browser can break into lines: `keep_hotel-a` as `keep hotel a`."""
    return name.replace("_", " ").replace("-", " ")


def short_name(text: str, *, characters: int = 40) -> str:
    """One line of at most `characters`, for the eye."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1] + "…"
