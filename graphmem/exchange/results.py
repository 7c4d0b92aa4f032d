"""What a tool's result says, as far as a rule can tell: its identifiers, its fields, whom it is about, whether it failed.

Pure, and total: every text gives an answer, JSON or not. Invariant: what is found stands in the result word for word.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from graphmem.vocabulary import Json, json_text, value_fault

_IDENTIFIER: Final = re.compile(
    r"#?(?=[\w@.+-]*\d)(?=[\w@.+-]*[A-Za-z])[A-Za-z0-9][\w@.+-]*\w|#?(?<![\w.,:-])\d{5,}(?![\w:-])"
)
_ERROR: Final = re.compile(
    r"\s*(?:\W*)(?:error|exception|traceback|failed|failure|invalid|cannot|unable)\b", re.IGNORECASE
)
_ERROR_KEYS: Final = ("error", "errors", "exception", "error_message")
_PARSED_CHARACTERS: Final = 200_000
_NAMED_CHARACTERS: Final = 64
_WRITES: Final = frozenset(
    "add activate assign apply append approve archive book buy cancel cd change close commit complete copy cp create "
    "deactivate delete deploy disable display edit enable enroll exchange execute export fill fund generate insert "
    "install issue lock login make mark merge mkdir modify move mv open order pay place post publish purchase push put "
    "record refund register release remove rename replace reply reserve reset resolve restore retweet return rm rmdir "
    "run save schedule send set setup sign start stop submit touch transfer undo unlock update upload upgrade write".split()
)
_READS: Final = frozenset(
    "calculate check compute count describe detail display estimate fetch find get grep has is list lookup look ls open "
    "preview query read retrieve scroll search see select show status tail think verify view".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A raw result as a rule reads it. `data` is its JSON, None where it is none; `is_error`: the tool says it failed."""

    content: str
    data: Json
    is_error: bool

    @property
    def identifiers(self) -> tuple[str, ...]:
        """What names things in it, in the order of first appearance."""
        return identifiers(self.content[:_PARSED_CHARACTERS])

    @property
    def entity(self) -> tuple[str, str] | None:
        """The field that says which one thing a result is about, and its name; None where it is about several or none."""
        if not isinstance(self.data, Mapping):
            return None
        for key, value in self.data.items():
            is_name = isinstance(value, str) and 0 < len(value) <= _NAMED_CHARACTERS and not value.isspace()
            if key.lower() == "id" or key.lower().endswith(("_id", "number")):
                if is_name or (isinstance(value, int) and not isinstance(value, bool)):
                    return key, str(value)
        return None

    @property
    def fields(self) -> dict[str, Json]:
        """The plain fields of an object; nothing for anything else."""
        if not isinstance(self.data, Mapping):
            return {}
        return {key: value for key, value in self.data.items() if isinstance(value, str | int | float | bool)}


def read(content: str) -> Result:
    """The result; JSON that cannot be stored as a value counts as text."""
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
    """Words with letters and digits, and long numbers: what a later call may have to name."""
    return tuple(dict.fromkeys(_IDENTIFIER.findall(text)))


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
        case Sequence():
            for item in value:
                yield from literals(item)


def words(text: str) -> tuple[str, ...]:
    """The words of a name or sentence in lower case: `updateOrder_v2` is update, order, v2."""
    return tuple(re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).lower()))


def is_write(tool: str) -> bool:
    """Whether the name of a tool says that it changes something: its first verb decides."""
    for word in words(tool.rpartition(".")[2]):
        if word in _READS:
            return False
        if word in _WRITES:
            return True
    return False
