"""What a tool's result says, as far as a rule can tell: what it names, its fields, which thing it is about, a failure.

Pure, and total: every text gives an answer, JSON or not. Invariant: what is found stands in the result word for word.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graphmem.vocabulary import Json, json_text, value_fault

_PARSED_CHARACTERS: Final = 200_000
_SCANNED_CHARACTERS: Final = 20_000
_NAME_CHARACTERS: Final = 64
_LEAST_DIGITS: Final = 5
_CAPITALS: Final = range(2, 11)
_IDENTIFIER: Final = re.compile(
    # how far it looks ahead is bounded: in a row of thousands of letters or dashes it would look from each to the end
    r"#?(?=[\w@.+-]{0,63}\d)(?=[\w@.+-]{0,63}[A-Za-z])[A-Za-z0-9][\w@.+-]*\w|(?<![\w.,:-])#?\d{5,}(?![\w:-])"
)
_FILE: Final = re.compile(r"(?<![\w./-])[\w-]+\.[A-Za-z]{1,5}(?![\w.])")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_CLOCK: Final = re.compile(r"\d{1,2}:\d\d")
_ERROR: Final = re.compile(
    r"\W*(?:error|exception|traceback|failed|failure|invalid|cannot|unable|no such|not found)\b", re.IGNORECASE
)
_ERROR_KEYS: Final = ("error", "errors", "exception", "error_message")
_NOTHING: Final = ("", "null", "None")
_NAMING: Final = frozenset(("id", "ids", "number", "code", "symbol", "username", "login", "email"))
_NEVER_NAMING: Final = frozenset(
    ("time", "created", "updated", "timestamp", "zip", "address", "address1", "address2", "phone", "price", "prices")
)
_MOMENTS: Final = frozenset(("time", "created", "updated", "timestamp"))
_BIRTH: Final = frozenset(("dob", "birth", "birthday", "birthdate"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A raw result as a rule reads it. `data`: its JSON, None where it is none; `is_error`: the tool says it failed."""

    content: str
    data: Json
    is_error: bool

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing."""
        return self.content.strip() in _NOTHING

    @property
    def names(self) -> tuple[str, ...]:
        """What it names that a later call may have to name: identifiers, codes, dates, in order of first appearance."""
        if self.data is None:
            return identifiers(self.content[:_SCANNED_CHARACTERS])
        return tuple(dict.fromkeys(_names(self.data)))

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields of the object, or of the first object of a list of them."""
        data = self.data
        while isinstance(data, list) and data:
            data = data[0]
        return tuple(key for key in data if not is_name("", key)) if isinstance(data, Mapping) else ()

    @property
    def entity(self) -> str | None:
        """The name of the one thing that an object is about, by its first field for a name; None without one."""
        if not isinstance(self.data, Mapping):
            return None
        for key, value in self.data.items():
            if (words(key) or ("",))[-1] in ("id", "number") and isinstance(value, str | int):
                name = str(value)
                if not isinstance(value, bool) and 0 < len(name) <= _NAME_CHARACTERS and not re.search(r"\s", name):
                    return name
        return None

    @property
    def plain(self) -> dict[str, Json]:
        """The fields of the object that are texts, numbers or booleans, but moments."""
        if not isinstance(self.data, Mapping):
            return {}
        return {
            key: value
            for key, value in self.data.items()
            if isinstance(value, str | int | float | bool) and not _MOMENTS & set(words(key))
        }


def read(content: str | None) -> Result:
    """The result; JSON that cannot be stored as a value counts as text."""
    content = content or ""
    data: Json = None
    if len(content) <= _PARSED_CHARACTERS and content.lstrip()[:1] in ("{", "["):
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            data = None
        if value_fault(data) is not None:
            data = None
    return Result(content=content, data=data, is_error=_is_error(content, data))


def _is_error(content: str, data: Json) -> bool:
    if isinstance(data, Mapping):
        return any(data.get(key) for key in _ERROR_KEYS) or data.get("success") is False
    return data is None and _ERROR.match(content) is not None


def identifiers(text: str) -> tuple[str, ...]:
    """Words of letters and digits, long numbers and names of files in a text."""
    found = sorted((match.start(), match[0]) for match in (*_IDENTIFIER.finditer(text), *_FILE.finditer(text)))
    return tuple(dict.fromkeys(name for _, name in found if not _CLOCK.search(name)))


def _names(value: Json, key: str = "", *, in_list: bool = False) -> Iterator[str]:
    match value:
        case None | bool() | float():
            return
        case str():
            if is_name(key, value, in_list=in_list):
                yield value
        case int():
            if (words(key) or ("",))[-1] in ("id", "ids", "number"):
                yield str(value)
        case Mapping():
            for name, item in value.items():
                if is_name("", name):
                    yield name
                yield from _names(item, name)
        case Sequence():
            for item in value:
                yield from _names(item, key, in_list=not isinstance(item, Mapping))


def is_name(key: str, text: str, *, in_list: bool = False) -> bool:
    """Whether the text of a field names a thing: a code, a date, what its field says is a name, an item of a list."""
    about = words(key)
    if not text or len(text) > _NAME_CHARACTERS or re.search(r"\s", text) or _CLOCK.search(text):
        return False
    if _NEVER_NAMING & set(about):
        return False
    if _DATE.fullmatch(text):
        return not _BIRTH & set(about)
    has_digit, has_letter = any(c.isdigit() for c in text), any(c.isalpha() for c in text)
    if has_digit and has_letter:
        return True
    if text.isdigit() and len(text) >= _LEAST_DIGITS:
        return True
    if has_letter and text.isupper() and len(text) in _CAPITALS:
        return True
    return in_list or (bool(about) and about[-1] in _NAMING)


def literals(value: Json) -> Iterator[str]:
    """Every text and number in a value, however deep; no booleans, no nulls."""
    match value:
        case None | bool():
            return
        case str():
            yield value
        case int() | float():
            yield json_text(value)
        case Mapping():
            for item in value.values():
                yield from literals(item)
        case _:
            for item in value:
                yield from literals(item)


def parameters(value: Json) -> Iterator[str]:
    """The names of arguments or fields in a value, however deep."""
    match value:
        case str() | int() | float() | None:
            return
        case Mapping():
            for key, item in value.items():
                yield key
                yield from parameters(item)
        case _:
            for item in value:
                yield from parameters(item)


def occurs(literal: str, text: str) -> bool:
    """Whether the text names the literal as a word of its own."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(literal)}(?![A-Za-z0-9_])", text) is not None


def words(text: str) -> tuple[str, ...]:
    """The words of a name or sentence in lower case: `updateOrder_v2` is update, order, v2."""
    return tuple(re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).lower()))
