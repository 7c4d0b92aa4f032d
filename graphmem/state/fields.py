"""The fields of one object that a model wrote: spelled as agreed or nearly so, each of the right kind and size.

Owns the checks that every entry of the protocol shares, and the difference between a wrong shape and a limit. Which
fields there are is `protocol`. Invariant: a value that is given back can be stored as it is.
"""

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from graphmem.state.repair import NUMBER_DIGITS, Repairs, UnreadableError, read_json
from graphmem.vocabulary import Limits, json_text, short_name, text_fault, value_fault

T = TypeVar("T")


class EntryError(Exception):
    """One entry cannot be taken. `is_shape` when B.3 is violated, else a limit."""

    def __init__(self, reason: str, *, is_shape: bool = True) -> None:
        super().__init__(reason)
        self.is_shape = is_shape


class Words(Generic[T]):
    """A closed set as B.3 spells it, and what else is understood."""

    def __init__(self, words: Mapping[str, T], also: Mapping[str, T]) -> None:
        self.words = words
        self.also = {**words, **also}


class FieldReader:
    """Reads fields within limits, and notes what it mends."""

    def __init__(self, repairs: Repairs, limits: Limits) -> None:
        self.repairs = repairs
        self.limits = limits
        self.nulls_are_slips = True  # in one JSON object by the schema, null is how a field is left out

    def list(self, name: str, value: object) -> list[object]:
        """The list of a block: one object alone is put in a list, nothing is an empty one.

        Raises:
            UnreadableError: it is something else.
        """
        if isinstance(value, dict) and list(value) == [name]:
            self.repairs.note(f"{name} was wrapped in an object of that name")
            value = value[name]
        if isinstance(value, list):
            return value
        if value is None or value in ("", {}):
            self.repairs.note(f"{name} was {shown(value)} and was read as empty")
            return []
        if isinstance(value, dict):
            self.repairs.note(f"{name} was one object instead of a list")
            return [value]
        raise UnreadableError(f"{name} is {shown(value)}, not a list")

    def fields(
        self, where: str, item: object, known: Mapping[str, tuple[str, ...]], *, may_be_null: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """The fields of an object under their names in B.3; null means not given, save for `may_be_null`."""
        if not isinstance(item, dict):
            raise EntryError(f"{shown(item)} is not an object with {', '.join(known)}")
        names = {spelling: name for name, spellings in known.items() for spelling in (name, *spellings)}
        fields = {name: item[name] for name in known if name in item}
        for key, value in item.items():
            name = names.get(key.strip().lower()) if isinstance(key, str) else None
            if key in known:
                continue
            if name is None or name in fields:
                self.repairs.note(f"{where}: the key {short_name(str(key))!r} was ignored")
            else:
                self.repairs.note(f"{where}: {short_name(key)!r} was read as {name}")
                fields[name] = value
        for name in [name for name, value in fields.items() if value is None and name not in may_be_null]:
            if self.nulls_are_slips:
                self.repairs.note(f"{where}: {name} null was read as not given")
            del fields[name]
        return fields

    def unpacked(self, where: str, item: object, name: str, *, may_be_text: bool = False) -> object:
        """The object with the field `name` in place of `name_json`, a text that holds it (`schema`).

        `may_be_text`: a text that is no JSON stands for itself.
        """
        key = f"{name}_json"
        if self.repairs.strict or not isinstance(item, dict) or key not in item or name in item:
            return item
        text, rest = item[key], {field: value for field, value in item.items() if field != key}
        if not isinstance(text, str):
            if text is not None:
                self.repairs.note(f"{where}: {key} was {shown(text)} instead of a text")
            return rest if text is None else {**rest, name: text}
        if not text.strip():
            self.repairs.note(f"{where}: {key} was blank and was read as not given")
            return rest
        try:
            return {**rest, name: read_json(f"{where}.{key}", text, self.repairs, allow_unknown=False)}
        except UnreadableError as error:
            if not may_be_text or text.lstrip()[0] in '[{"':
                raise EntryError(f"{error}") from None
            self.repairs.note(f"{where}: {key} was no JSON and was read as a text")
            return {**rest, name: text}

    def word(self, where: str, field: str, given: object, words: Words[T]) -> T:
        """The member of a closed set that was meant."""
        if isinstance(given, str) and given in words.words:
            return words.words[given]
        folded = re.sub(r"[\s-]+", "_", given.strip().lower()) if isinstance(given, str) else ""
        if folded not in words.also:
            what = "is missing" if given is None else f"{shown(given)} is unknown"
            raise EntryError(f"{field} {what}; use {', '.join(words.words)}")
        self.repairs.note(f"{where}: {field} was spelled {shown(given)}")
        return words.also[folded]

    def text(self, field: str, given: object) -> str:
        """A text that can be stored."""
        if not isinstance(given, str):
            raise EntryError(f"{field} is {shown(given)}, not a text" if given is not None else f"{field} is missing")
        fault = text_fault(given)
        if fault is not None:
            raise EntryError(f"{field}: {fault}; leave it out", is_shape=False)
        return given

    def id(self, where: str, field: str, given: object) -> str:
        """An id of a legal length."""
        if isinstance(given, int) and not isinstance(given, bool):
            self.repairs.note(f"{where}: {field} was a number instead of a text")
            given = str(given)
            if len(given) >= NUMBER_DIGITS:
                raise EntryError(f"{field} is a number of {NUMBER_DIGITS} digits or more", is_shape=False)
        found = self.text(field, given)
        if not 1 <= len(found) <= self.limits.id_characters:
            raise EntryError(
                f"{field} has {len(found):,} characters; use 1 to {self.limits.id_characters}", is_shape=False
            )
        return found

    def value(self, field: str, given: object) -> Any:
        """JSON that can be stored, as it is."""
        try:
            fault = value_fault(given, path=field)
            size = 0 if fault else len(json_text(given).encode())
        except RecursionError:
            fault, size = f"{field} is nested too deep", 0
        if size > self.limits.value_bytes:
            fault = f"{field} has {size:,} bytes as JSON; the limit is {self.limits.value_bytes:,}"
        if fault is not None:
            raise EntryError(fault, is_shape=False)
        return given


def shown(value: object) -> str:
    """A value in a sentence."""
    if isinstance(value, str):
        return repr(short_name(value))
    return "an object" if isinstance(value, dict) else "a list" if isinstance(value, list) else short_name(f"{value}")
