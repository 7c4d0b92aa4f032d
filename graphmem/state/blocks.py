"""The four blocks of the output protocol (FlowState, B.3) in a model's text, each as its JSON value.

Owns everything about the text around the JSON: reasoning that leaked, fences, tags, special tokens, an output that was
cut off or goes on by itself. Knows the names of the blocks and nothing of what stands in them. Invariants: tags inside
the strings of valid JSON are text; where an output was cut, what is complete counts and the entry that was cut is
handed on as such, never completed by a guess.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from graphmem.state.repair import Repairs, Shape, UnreadableError, blank_end, json_end, read_json
from graphmem.vocabulary import short_name

FOCUS: Final = "state_focus"
DELTA: Final = "state_delta"
CALLS: Final = "tool_calls"
MESSAGE: Final = "assistant_message"
BLOCKS: Final = (FOCUS, DELTA, CALLS, MESSAGE)

_TAG = rf"<(?P<close>/?)\s*(?P<name>{'|'.join(BLOCKS)})\s*(?P<empty>/?)>"
# The end of a turn, and the tags of the input: a model that goes on after them plays the environment.
_END = (
    r"<\|\w+\|>|<｜[^｜<>]{1,40}｜>|</s>|<eos>|<(?:start|end)_of_turn>"
    r"|<(?:agent_status|latest_observation|user_query)>"
)
_TOP = re.compile(rf"{_TAG}|(?P<end>{_END})", re.I)
# Where JSON is not valid, quotes may not pair up: a string is sure when punctuation follows it in its line.
_SURE_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"(?=\s*(?:[,:\]}]|\Z))'
_TOP_OR_STRING = re.compile(rf"(?P<string>{_SURE_STRING})|(?P<escape>\\[\\\"])|{_TAG}|(?P<end>{_END})", re.I)
_ENDS = re.compile(rf"(?:\s*(?:{_END}))*\s*\Z", re.I)  # matches from one place only: it reads to the end of the text
_THINK_END = re.compile(r"</\s*think(?:ing)?\s*>", re.I)
_FENCE = re.compile(r"\s*[`'‘’~]{3,}\w*\s*\Z")
_FENCED_JSON = re.compile(r"\s*[`~]{3,}(?:json)?\s*[\[{\"]")
_OBJECT = re.compile(rf"""\{{\s*["'“]?(?:{"|".join(BLOCKS)})\b""")
_CONTENT_BEGUN = re.compile(r'\s*\{\s*"content"\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*)', re.S)
_HALF_ESCAPE = re.compile(r"\\u(?:[0-9a-fA-F]{0,3}|[dD][89abAB][0-9a-fA-F]{2})\Z")
_MOST_TAGS: Final = 1_000  # what repeats them is a model that got stuck
_NOTHING: Final = ("", "null", "none", "n/a", "{}")
_EXPECTED: Final = (
    f"write the four blocks <{'>, <'.join(BLOCKS)}>, or one JSON object with these keys, as you were asked"
)


@dataclass(frozen=True, slots=True)
class Block:
    """The JSON value of a block; `rest` is the text of the entry in which the output ended, if it did. `in_object`: it
    is of an output that is one JSON object.
    """

    value: object
    rest: str = ""
    in_object: bool = False


def read_blocks(text: str, repairs: Repairs) -> dict[str, Block]:
    """The value of each of the four blocks; one that was left out is empty.

    Raises:
        UnreadableError: no block was found, or one of them cannot be read.
    """
    looks = _Looks(8 * len(text) + 1_000_000)
    text = _without_reasoning(text, repairs, looks)
    bodies = _Scanner(text, repairs, looks).scan()
    blocks = {body.name: _read(body, repairs) for body in bodies} or _whole_object(text, repairs)
    for name in BLOCKS:
        if name not in blocks:
            repairs.note(f"{name} was left out and was read as empty")
            blocks[name] = _empty(name)
    return blocks


def _empty(name: str) -> Block:
    return Block({"content": None} if name == MESSAGE else [])


@dataclass(slots=True)
class _Looks:
    """How many characters may still be read ahead. Four blocks are read twice each, but tags inside of texts may have
    the same text read once for each of them.
    """

    left: int

    def spend(self, characters: int) -> None:
        """Pay for a look.

        Raises:
            UnreadableError: too much was read.
        """
        self.left -= characters
        if self.left < 0:
            raise UnreadableError("the tags of blocks stand inside one another; write each block once")


def _without_reasoning(text: str, repairs: Repairs, looks: _Looks) -> str:
    """What follows the last `</think>` that is not text of a block: reasoning may hold drafts of blocks."""
    ends = [found.end() for found in _THINK_END.finditer(text)]
    spans = list(_quoted_spans(text, looks)) if ends else []
    for end in reversed(ends):
        while spans and spans[-1][0] >= end:
            spans.pop()
        if not spans or end > spans[-1][1]:
            repairs.note("reasoning before </think> was ignored")
            return text[end:]
    return text


def _quoted_spans(text: str, looks: _Looks) -> Iterator[tuple[int, int]]:
    """Where a tag is text: in a valid block, and in the strings of one that is only nearly valid."""
    position, opened = 0, 0
    while tag := _TOP.search(text, position):
        position = tag.end()
        if tag["end"] or tag["close"]:
            continue
        opened = _one_more(opened)
        end, reached = json_end(text, position)
        looks.spend(reached - position)
        closing = None if end is None else _TOP.match(text, blank_end(text, end))
        if closing and closing["close"]:
            yield tag.start(), closing.end()
            position = closing.end()
        elif text.startswith(("[", "{"), blank_end(text, position)):
            started = position
            for found in _TOP_OR_STRING.finditer(text, position):
                if found["string"]:
                    yield found.span()
                elif not found["escape"]:
                    position = found.start()
                    break
            else:
                position = len(text)
            looks.spend(position - started)


def _one_more(opened: int) -> int:
    if opened == _MOST_TAGS:
        raise UnreadableError(f"more than {_MOST_TAGS:,} tags of blocks stand there; write each block once")
    return opened + 1


@dataclass(frozen=True, slots=True)
class _Body:
    """The text between the tags of a block. `closing` is None when its closing tag is missing, `cut` says that the
    output ended there.
    """

    name: str
    text: str
    end: int
    closing: re.Match[str] | None = None
    cut: bool = False


class _Scanner:
    """Finds the bodies of the blocks in a text."""

    def __init__(self, text: str, repairs: Repairs, looks: _Looks) -> None:
        self.text = text
        self.repairs = repairs
        self.looks = looks
        self.outside: list[str] = []
        self.bodies: dict[str, _Body] = {}

    def scan(self) -> list[_Body]:
        """The bodies in the order of the text, the last one of each name."""
        position, outside, opened = 0, 0, 0
        while tag := _TOP.search(self.text, position):
            position = tag.end()
            if tag["end"] and self.bodies:
                self._note_end(tag)
                self.outside.append(self.text[outside : tag.start()])
                outside = len(self.text)
                break
            if tag["end"] or tag["close"]:
                continue
            opened = _one_more(opened)
            body = self._body(tag)
            if body is not None:
                self._take(tag, body)
                self.outside.append(self.text[outside : tag.start()])
                outside = position = body.end
        self.outside.append(self.text[outside:])
        if self.bodies:
            self._note_surroundings()
        return list(self.bodies.values())

    def _take(self, tag: re.Match[str], body: _Body) -> None:
        if tag["empty"] or tag.group() != f"<{body.name}>":
            self.repairs.note(f"the tag of {body.name} was spelled {short_name(tag.group())!r}")
        elif body.closing is None:
            self.repairs.note(f"the closing tag of {body.name} was missing")
        elif body.closing.group() != f"</{body.name}>":
            spelled = short_name(body.closing.group())
            self.repairs.note(f"the closing tag of {body.name} was spelled {spelled!r}")
        if self.bodies.pop(body.name, None) is not None:
            # A second one corrects the first or follows a draft of it; both together could run a call twice.
            self.repairs.note(f"{body.name} stood there more than once; the last one counts")
        self.bodies[body.name] = body

    def _note_end(self, tag: re.Match[str]) -> None:
        tail = "" if _ENDS.match(self.text, tag.end()) else " and all that followed it"
        self.repairs.note(f"{short_name(tag.group())!r}{tail} was ignored")

    def _note_surroundings(self) -> None:
        _note_outside(self.outside, "blocks", self.repairs)
        if list(self.bodies) != [name for name in BLOCKS if name in self.bodies]:
            self.repairs.note(f"the blocks stood in another order: {', '.join(self.bodies)}")

    def _body(self, tag: re.Match[str]) -> _Body | None:
        """The body that `tag` opens; None when the tag is only a mention of the block."""
        name, start = tag["name"].lower(), tag.end()
        if tag["empty"]:
            return _Body(name, "", start)
        following = self._after_json(start) or self._next_tag(start)
        end = following.start() if following else len(self.text)
        text = self.text[start:end]
        if following and following["close"]:
            return _Body(name, text, following.end(), following)
        if _is_mention(name, text, following):
            return None
        return _Body(name, text, end, cut=following is None or bool(following["end"]))

    def _after_json(self, start: int) -> re.Match[str] | None:
        """The tag after the valid JSON that begins at `start`."""
        end, reached = json_end(self.text, start)
        self.looks.spend(reached - start)
        return None if end is None else _TOP.match(self.text, blank_end(self.text, end))

    def _next_tag(self, start: int) -> re.Match[str] | None:
        for found in _TOP_OR_STRING.finditer(self.text, start):
            if not found["string"] and not found["escape"]:
                self.looks.spend(found.end() - start)
                return found
        self.looks.spend(len(self.text) - start)
        return None


def _is_mention(name: str, text: str, following: re.Match[str] | None) -> bool:
    """Whether a tag without a closing one stands in prose about the block."""
    if text.strip().lower() in _NOTHING:
        return False
    if name == MESSAGE:
        return following is not None and not following["end"] and text.lstrip()[:1] not in ("{", '"')
    return re.search(r"[\[{]", text) is None


def _read(body: _Body, repairs: Repairs) -> Block:
    name, text = body.name, body.text
    if text.strip().lower() in _NOTHING:
        repairs.note(f"{name} was {text.strip() or 'blank'!r} and was read as empty")
        return _empty(name)
    if name == MESSAGE and _is_plain(text):
        repairs.note(f"{name} was plain text instead of JSON")
        return Block({"content": text.strip()})
    if not body.cut or not _is_cut(text):
        return Block(read_json(name, text, repairs, allow_unknown=name != CALLS))
    repairs.note(f"the output ended inside {name}")
    if name == MESSAGE:
        return _cut_message(text)
    end = Shape.of(text).entry_end
    return Block(read_json(name, text[:end] + "]", repairs, allow_unknown=name != CALLS) if end else [], text[end:])


def _is_plain(text: str) -> bool:
    """Whether the body of a message is the message itself."""
    if text.lstrip().startswith("{") or _FENCED_JSON.match(text):
        return False
    try:
        return isinstance(json.loads(text, strict=False), int | float)
    except (ValueError, RecursionError):
        return True


def _cut_message(text: str) -> Block:
    """What had been written of a message when the output ended; nothing when its content had not begun."""
    begun = _CONTENT_BEGUN.match(text)
    content = None
    if begun:
        try:
            content = json.loads(_HALF_ESCAPE.sub("", begun.group(1)) + '"', strict=False)
        except ValueError:
            content = None
    return Block({"content": content})


def _is_cut(text: str) -> bool:
    """Whether the text ends inside an entry of its list, or inside its one object. Brackets alone may be missing."""
    shape = Shape.of(text)
    if shape.in_string or not shape.open:
        return shape.in_string
    last, entry = text.rstrip()[-1:], 2 if shape.open[0] == "[" else 1
    only_brackets = (last in "]}" and len(shape.open) <= entry) or (last in ",[" and len(shape.open) < entry)
    return not only_brackets


def _whole_object(text: str, repairs: Repairs) -> dict[str, Block]:
    """The blocks of an output that is one JSON object with their names as keys (`schema`)."""
    found = _OBJECT.search(text)
    start = found.start() if found else text.find("{")
    if start < 0:
        raise UnreadableError(f"no block was found; {_EXPECTED}")
    if repairs.strict:
        repairs.note("the output was one JSON object instead of four blocks")
    end, _ = json_end(text, start)
    body = text[start:end] if end else _without_fence_end(text[start : _ends_start(text)].rstrip())
    _note_outside((text[:start], text[start + len(body) :]), "object", repairs)
    shape = Shape.of(body)
    if shape.in_string or len(shape.open) > 1:
        raise UnreadableError("the output ended inside its JSON object; write it again, shorter")
    value = read_json("the output", body, repairs, allow_unknown=False)
    if not isinstance(value, dict) or not value.keys() & set(BLOCKS):
        raise UnreadableError(f"no block was found; {_EXPECTED}")
    for key in value:
        if key not in BLOCKS:
            repairs.note(f"the key {short_name(str(key))!r} is not part of the protocol and was ignored")
    return {name: Block(value[name], in_object=True) for name in BLOCKS if name in value}


def _note_outside(texts: Iterable[str], whole: str, repairs: Repairs) -> None:
    for text in texts:
        if text.strip(" \t\r\n"):
            what = "a code fence" if _FENCE.match(text) else repr(short_name(text))
            repairs.note(f"text outside the {whole} was ignored: {what}")


def _without_fence_end(text: str) -> str:
    without = text.rstrip("`~")
    return without if len(text) - len(without) >= 3 else text


def _ends_start(text: str) -> int:
    """Where the special tokens at the end of a text begin."""
    start = end = 0
    for found in _TOP.finditer(text):
        if found["end"]:
            start = start if end and not text[end : found.start()].strip() else found.start()
            end = found.end()
    return start if end and not text[end:].strip() else len(text)
