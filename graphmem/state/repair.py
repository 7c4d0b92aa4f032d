"""JSON as a model writes it: the value where it is valid, a mended one where it is not, and what was mended.

Owns the slips inside one JSON text and nothing of blocks or fields. Invariants: JSON that is valid is taken as it is,
whatever its strings say; every deviation goes through `Repairs.note`, so that strict reading is the same code with
mending forbidden. The rules that need no guess come first; `json-repair` is last, since it also trims texts and can
move quotes. Numbers keep their form: 1 and 1.0 stay apart.
"""

import ast
import json
import re
from dataclasses import dataclass, field
from typing import Final

import json_repair

from graphmem.vocabulary import short_name

NESTING: Final = 100  # far below where a recursive reader, ours or a later one's, runs out of stack

JSON_STRING: Final = r'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z)'
_WHOLE_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
_BLANK = re.compile(r"[ \t\r\n]*")
_FENCED = re.compile(r"\s*[`‘~]{3,}\w*[ \t]*\n?(.*?)(?:\n?[`’~]{3,})?\s*\Z", re.S)
_HERMES_TAG = re.compile(r"\A\s*<tool_call>|</tool_call>\s*<tool_call>|</tool_call>\s*\Z")
_BRACKETS = re.compile(rf"(?P<string>{JSON_STRING})|[\[\]{{}}]", re.S)
_UNTIDY = re.compile(
    rf"(?P<string>{JSON_STRING})"
    r"|(?P<comma>,)(?=\s*(?:[\]}]|\Z))"
    r"|(?P<before>[:\[,]\s*)(?P<word>\?+|None|True|False|undefined)(?=\s*(?:[,\]}]|\Z))"
    r"|(?P<join>\})(?=\s*\{)",
    re.S,
)
_MOST_GUESSED: Final = 300_000  # characters; json-repair takes 2 s for so many quotes in a row, and 20 s for 1 MiB
_WORDS: Final = {"None": "null", "True": "true", "False": "false", "undefined": "null"}
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
# json-repair promises none of them; its guessing meets texts that nobody foresaw.
_REPAIR_ERRORS: Final = (ValueError, RecursionError, IndexError, KeyError, TypeError, AttributeError)


class UnreadableError(Exception):
    """The output as a whole cannot be read. Never leaves `protocol.parse`."""


@dataclass(slots=True)
class Repairs:
    """What was mended, a sentence each. In strict reading the first one is the fault."""

    strict: bool
    sentences: list[str] = field(default_factory=list)

    def note(self, sentence: str) -> None:
        """Say what was mended.

        Raises:
            UnreadableError: mending is not allowed.
        """
        if self.strict:
            raise UnreadableError(sentence)
        if sentence not in self.sentences:
            self.sentences.append(sentence)


@dataclass(frozen=True, slots=True)
class Shape:
    """The brackets of a text: those open at its end, how deep it goes, where the last whole entry of its list ends."""

    open: str
    deepest: int
    in_string: bool
    entry_end: int

    @classmethod
    def of(cls, text: str) -> "Shape":
        """The shape of JSON text; brackets inside strings do not count, those that match nothing neither."""
        stack: list[str] = []
        deepest, entry_end, in_string = 0, 0, False
        for found in _BRACKETS.finditer(text):
            piece = found.group()
            if found["string"] is not None:
                in_string = _WHOLE_STRING.fullmatch(piece) is None
            elif piece in "[{":
                stack.append(piece)
                deepest = max(deepest, len(stack))
            elif stack and stack[-1] + piece in ("[]", "{}"):
                stack.pop()
                entry_end = found.end() if stack == ["["] else entry_end
        return cls("".join(stack), deepest, in_string, entry_end)

    @property
    def closers(self) -> str:
        """The brackets that are missing at the end."""
        return "".join("]" if bracket == "[" else "}" for bracket in reversed(self.open))


def blank_end(text: str, start: int) -> int:
    """Where the JSON white space at `start` ends."""
    found = _BLANK.match(text, start)
    return found.end() if found else start


def json_end(text: str, start: int) -> int | None:
    """Where the valid JSON value that begins at `start` ends; None when none does."""
    try:
        return _DECODER.raw_decode(text, blank_end(text, start))[1]
    except (ValueError, RecursionError):
        return None


def read_json(where: str, text: str, repairs: Repairs, *, allow_unknown: bool = True) -> object:
    """The value of JSON text: as it stands where it is valid, else mended.

    `allow_unknown` says whether a bare ? may stand for a value; it is read as null.

    Raises:
        UnreadableError: no value can be had, or it is nested too deep.
    """
    if Shape.of(text).deepest > NESTING:
        raise UnreadableError(f"{where} is nested deeper than {NESTING} levels; write a flatter value")
    try:
        return _decode(where, text, repairs)
    except (ValueError, RecursionError) as error:
        if repairs.strict:
            raise UnreadableError(f"{where} is not valid JSON: {error}") from None
        reason = f"{error}"
    text, said = _unwrapped(text)
    tidy, tidied = _tidied(text)
    if not allow_unknown and _UNKNOWN in tidied:
        raise UnreadableError(f"{where}: a value is a bare ?; find it out first")
    listed = (*tidied, "entries without a list around them")
    for candidate, slips in ((text, ()), (tidy, tidied), (f"[{tidy}]", listed)):
        try:
            value = _decode(where, candidate, repairs, strict=False)
        except (ValueError, RecursionError):
            continue
        for slip in (*said, *slips) or ("a raw line break or tab in a text",):
            repairs.note(f"{where}: mended {slip}")
        return value
    return _guessed(where, text, tidy, reason, repairs)


def _whole_number(digits: str) -> int:
    # Python refuses to read thousands of digits; what has more than 20 does not fit in 64 bits, whatever they are.
    return int(digits[:21])


_DECODER = json.JSONDecoder(parse_int=_whole_number)


def _decode(where: str, text: str, repairs: Repairs, *, strict: bool = True) -> object:
    """Valid JSON, with every key that stands twice noted.

    Raises:
        ValueError: not JSON.
    """
    twice: list[str] = []
    words: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        value = dict(items)
        if len(value) < len(items):
            seen: set[str] = set()
            twice.extend(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return value

    def constant(word: str) -> float:
        words.append(word)
        return float(word)

    value: object = json.loads(
        text, object_pairs_hook=pairs, parse_int=_whole_number, parse_constant=constant, strict=strict
    )
    for key in twice:
        repairs.note(f"{where}: the key {short_name(key)!r} stands twice in one object; the last one counts")
    for word in words:
        repairs.note(f"{where}: {word} is not JSON")
    return value


def _unwrapped(text: str) -> tuple[str, tuple[str, ...]]:
    fenced = _FENCED.match(text)
    inner = fenced.group(1) if fenced else text
    bare = _HERMES_TAG.sub(" ", inner)
    said = ("a code fence around it",) if fenced else ()
    return bare.strip(), said if bare == inner else (*said, "<tool_call> tags around the entries")


_UNKNOWN: Final = "a bare ? (read as null)"


def _tidied(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with the slips mended that can be told without a guess, and which; strings are left alone."""
    said: list[str] = []

    def mend(found: re.Match[str]) -> str:
        if found["string"] is not None:
            return found.group()
        if found["comma"]:
            said.append("a trailing comma")
            return ""
        if found["join"]:
            said.append("a missing comma between entries")
            return "},"
        word = found["word"]
        said.append(_UNKNOWN if word.startswith("?") else f"{word} for {_WORDS[word]}")
        return found["before"] + _WORDS.get(word, "null")

    text = _UNTIDY.sub(mend, text)
    shape = Shape.of(text)
    closers = "" if shape.in_string else shape.closers  # a quote too many hides where a text should have ended
    if closers:
        said.append(f"a missing {closers} at the end")
    return text + closers, tuple(dict.fromkeys(said))


def _guessed(where: str, text: str, tidy: str, reason: str, repairs: Repairs) -> object:
    value = _python_literal(text)
    if value is not None:
        repairs.note(f"{where}: mended single quotes")
        return value
    # json-repair leaves both kinds of escapes undecoded.
    text = _PAIR.sub(lambda pair: str(json.loads(f'"{pair.group()}"')), tidy).replace("\\/", "/")
    try:
        value = json_repair.loads(text, skip_json_loads=True) if len(text) <= _MOST_GUESSED else None
    except _REPAIR_ERRORS:
        value = None
    if not isinstance(value, dict | list):
        raise UnreadableError(f"{where} is not JSON: {reason}")
    repairs.note(f"{where}: mended by json-repair, since it was not JSON: {reason}")
    return value


def _python_literal(text: str) -> object:
    """The value of a dict or list as Python prints it; None when it is not one."""
    if "'" not in text or "\\u" in text:  # JSON writes a character beyond the BMP as two \u escapes, Python does not
        return None
    try:
        value: object = json.loads(json.dumps(ast.literal_eval(text)))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict | list) else None
