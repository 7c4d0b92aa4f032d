"""JSON as a model writes it: the value where it is valid, a mended one where it is not, and what was mended.

Owns the slips inside one JSON text and nothing of blocks or fields. Invariants: JSON that is valid is taken as it is,
whatever its strings say; every deviation goes through `Repairs.note`, so that strict reading is the same code with
mending forbidden. The rules that need no guess come first; `json-repair` is last, since it also trims texts and can
move quotes. Numbers keep their form: 1 and 1.0 stay apart. The time is in proportion to the length of the text, since
what guesses has an allowance for each output.
"""

import ast
import json
import re
from dataclasses import dataclass, field
from typing import Final, SupportsIndex

import json_repair

from graphmem.vocabulary import short_name

NESTING: Final = 100  # far below where a recursive reader, ours or a later one's, runs out of stack

JSON_STRING: Final = r'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z)'
_WHOLE_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
_BLANK = re.compile(r"[ \t\r\n]*")
_FENCE_BEGUN = re.compile(r"\s*[`‘~]{3,}\w*[ \t]*")
_FENCE_MARKS: Final = "`’~"
_HERMES_TAG = re.compile(r"\A\s*<tool_call>|</tool_call>\s*<tool_call>|</tool_call>\s*\Z")
_BRACKETS = re.compile(rf"{JSON_STRING}|[\[\]{{}}]", re.S)
_CLOSERS: Final = {"[": "]", "{": "}"}
_UNTIDY = re.compile(
    rf"(?P<string>{JSON_STRING})"
    r"|(?P<comma>,)(?=\s*(?:[\]}]|\Z))"
    r"|(?P<before>[:\[,]\s*)(?P<word>\?+|None|True|False|undefined)(?=\s*(?:[,\]}]|\Z))"
    r"|(?P<join>\})(?=\s*\{)",
    re.S,
)
_MOST_MENDED: Final = 1 << 20  # characters; rules without a guess take 2 s for so many brackets
_MOST_LITERAL: Final = 300_000  # characters of one output; the parser of Python takes 1 s for so many names
_MOST_GUESSED: Final = 64_000  # characters of one output; json-repair takes up to 30 µs for each
_READS: Final = 16  # for each character; json-repair needs 2, but reads on to the end at each open parenthesis
_LISTED: Final = 50
_REPAIR_CHARACTERS: Final = 500
NUMBER_DIGITS: Final = 640  # Python reads and writes so many whatever its settings
_WORDS: Final = {"None": "null", "True": "true", "False": "false", "undefined": "null"}
_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
# In what Python prints, a letter before a quote stands inside a string. F-strings take it a time in n² to read.
_PREFIXED = re.compile(rf"""{JSON_STRING}|'[^'\\]*(?:\\.?[^'\\]*)*(?:'|\Z)|(?P<prefix>\w['"])""", re.S)
# json-repair promises none of them; its guessing meets texts that nobody foresaw.
_REPAIR_ERRORS: Final = (ValueError, RecursionError, IndexError, KeyError, TypeError, AttributeError)


class UnreadableError(Exception):
    """The output as a whole cannot be read. Never leaves `protocol.parse`."""


class _ReadsError(Exception):
    """The allowance is used up."""


class _MeteredText(str):
    """A text that may be read so many times: json-repair looks ahead from character to character, without a bound."""

    __slots__ = ("reads",)
    reads: list[int]

    @classmethod
    def of(cls, text: str, reads: list[int]) -> "_MeteredText":
        """The text; `reads` holds how many are left."""
        metered = cls(text)
        metered.reads = reads
        return metered

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        self.reads[0] -= 1
        if self.reads[0] < 0:
            raise _ReadsError
        found = super().__getitem__(key)
        if len(found) <= 1_000:
            return found
        self.reads[0] -= len(found) // 1_000
        return _MeteredText.of(found, self.reads)

    def __add__(self, other: str) -> str:
        return _MeteredText.of(super().__add__(other), self.reads)


@dataclass(slots=True)
class Repairs:
    """What was mended, a sentence each. In strict reading the first one is the fault."""

    strict: bool
    listed: dict[str, None] = field(default_factory=dict)
    more: set[int] = field(default_factory=set)
    literal_characters: int = _MOST_LITERAL
    guessed_characters: int = _MOST_GUESSED

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was mended: the first of it, and how much more there was."""
        return (*self.listed, f"and {len(self.more):,} more") if self.more else tuple(self.listed)

    def note(self, sentence: str) -> None:
        """Say what was mended.

        Raises:
            UnreadableError: mending is not allowed.
        """
        if self.strict:
            raise UnreadableError(sentence)
        if len(sentence) > _REPAIR_CHARACTERS:
            sentence = sentence[: _REPAIR_CHARACTERS - 1] + "…"
        if len(self.listed) < _LISTED:
            self.listed[sentence] = None
        elif sentence not in self.listed:
            self.more.add(hash(sentence))


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
            piece = found[0]
            if piece in _CLOSERS:
                stack.append(piece)
                if len(stack) > deepest:
                    deepest += 1
            elif piece[0] == '"':
                in_string = found.end() == len(text) and _WHOLE_STRING.fullmatch(piece) is None
            elif stack and _CLOSERS[stack[-1]] == piece:
                stack.pop()
                if len(stack) == 1 and stack[0] == "[":
                    entry_end = found.end()
        return cls("".join(stack), deepest, in_string, entry_end)

    @property
    def closers(self) -> str:
        """The brackets that are missing at the end."""
        return "".join(_CLOSERS[bracket] for bracket in reversed(self.open))


def blank_end(text: str, start: int) -> int:
    """Where the JSON white space at `start` ends."""
    found = _BLANK.match(text, start)
    return found.end() if found else start


def json_end(text: str, start: int) -> tuple[int | None, int]:
    """Where the valid JSON value that begins at `start` ends, None when none does; and how far the text was read."""
    try:
        end = _DECODER.raw_decode(text, blank_end(text, start))[1]
    except json.JSONDecodeError as error:
        return None, len(text) if error.msg.startswith("Unterminated") else error.pos
    except (ValueError, RecursionError):
        return None, len(text)
    return end, end


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
    if len(text) > _MOST_MENDED:
        raise _too_long(where, reason)
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
    # Python refuses to read thousands of digits; so many are refused as a value and as an id, whatever they are.
    return int(digits[:NUMBER_DIGITS])


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
            twice.extend(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]  # add is None, so false
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
    fenced = _FENCE_BEGUN.match(text)
    inner = text
    if fenced:
        inner = text[fenced.end() :].rstrip()
        without = inner.rstrip(_FENCE_MARKS)
        inner = without if len(inner) - len(without) >= 3 else inner
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
    value = _python_literal(text, repairs)
    if value is not None:
        repairs.note(f"{where}: mended single quotes")
        return value
    # json-repair leaves both kinds of escapes undecoded.
    text = _PAIR.sub(lambda pair: str(json.loads(f'"{pair.group()}"')), tidy).replace("\\/", "/")
    repairs.guessed_characters -= len(text)
    if repairs.guessed_characters < 0:
        raise _too_long(where, reason)
    try:
        metered = _MeteredText.of(text, [_READS * len(text) + 10_000])
        value = json.loads(json.dumps(json_repair.loads(metered, skip_json_loads=True)))  # plain texts again
    except (_ReadsError, *_REPAIR_ERRORS):
        value = None
    if not isinstance(value, dict | list):
        raise UnreadableError(f"{where} is not JSON: {reason}")
    repairs.note(f"{where}: mended by json-repair, since it was not JSON: {reason}")
    return value


def _too_long(where: str, reason: str) -> UnreadableError:
    return UnreadableError(f"{where} is not JSON and too long to be mended: {reason}; write it again, shorter")


def _python_literal(text: str, repairs: Repairs) -> object:
    """The value of a dict or list as Python prints it; None when it is not one."""
    if "'" not in text or "\\u" in text:  # JSON writes a character beyond the BMP as two \u escapes, Python does not
        return None
    repairs.literal_characters -= len(text)
    if repairs.literal_characters < 0 or any(found["prefix"] for found in _PREFIXED.finditer(text)):
        return None
    try:
        value: object = json.loads(json.dumps(ast.literal_eval(text)))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, dict | list) else None
