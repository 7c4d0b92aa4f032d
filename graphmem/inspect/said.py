"""Where in the output of a model a part of a state was said.

Pure, and by the text alone: an output may be whatever a model wrote, so that what cannot be found has no line. Fields
are those of the protocol and the spellings that models use instead. Invariant: nothing raises for what a text says.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from graphmem.vocabulary import short_name

_CHARACTERS: Final = 160
_BLOCK: Final = re.compile(r"<state_delta>(.*?)(?:</state_delta>|\Z)", re.DOTALL)
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
_KEY: Final = re.compile(r'("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_FIELDS: Final = {
    "id": ("state_id", "id", "target_id"),
    "kind": ("state_set", "type", "state_type", "kind"),
    "summary": ("summary",),
    "value": ("value",),
}
_OPERATION: Final = ("operation", "op", "action")
_REFS: Final = ("refs", "ref", "references", "relations")

Span = tuple[int, int]


def said_at(
    output: str, id: str, part: str, *, key: str | None = None, ref: str | None = None
) -> tuple[int, str] | None:
    """The line, from 1, and what stands there; None where the id is not in the text.

    `part` is id, kind, summary, value (of an object with `key`, one of its keys) or ref (the one to `ref`).
    """
    block = _BLOCK.search(output)
    start, end = block.span(1) if block else (0, len(output))
    spans = _objects(output, start, end)
    operations = _operations(output, spans, id, start, end)
    for operation in reversed(operations):
        at = _position(output, operation, spans, part, key, ref)
        if at is not None:
            return _line(output, at)
    named = [at for span in operations if (at := _field(output, span, spans, _FIELDS["id"], id)) is not None]
    at = named[-1] if named else output.find(id, start, end)
    return None if at < 0 else _line(output, at)


def _operations(output: str, spans: list[Span], id: str, start: int, end: int) -> list[Span]:
    """The operations on that state, in order: objects that name it and are no ref to it."""
    named = (found.start() for found in re.compile(_quoted(id)).finditer(output, start, end))
    around = sorted({max(over) for at in named if (over := [span for span in spans if span[0] < at < span[1]])})
    return [
        span
        for span in around
        if _field(output, span, spans, _FIELDS["id"], id) is not None
        and _field(output, span, spans, _OPERATION) is not None
    ]


def _position(
    output: str, operation: Span, spans: list[Span], part: str, key: str | None, ref: str | None
) -> int | None:
    if part == "ref":
        refs = _field(output, operation, spans, _REFS)
        found = None if refs is None else re.compile(_quoted(ref or "")).search(output, refs, operation[1])
        around = [span for span in spans if found and refs and refs < span[0] <= found.start() < span[1]]
        return None if found is None else (max(around)[0] if around else found.start())
    at = _field(output, operation, spans, _FIELDS[part])
    if key is None or at is None:
        return at
    inner = next((span for span in sorted(spans) if at < span[0] and span[1] <= operation[1]), None)
    within = None if inner is None else _field(output, inner, spans, (key,))
    return at if within is None else within


def _objects(output: str, start: int, end: int) -> list[Span]:
    """The JSON objects of the text; one that is not closed ends with it."""
    found: list[Span] = []
    opened: list[int] = []
    for token in _TOKEN.finditer(output, start, end):
        if token[0] == "{":
            opened.append(token.start())
        elif token[0] == "}" and opened:
            found.append((opened.pop(), token.end()))
    return sorted([*found, *((at, end) for at in opened)])


def _field(
    output: str, span: Span, spans: list[Span], names: tuple[str, ...], content: str | None = None
) -> int | None:
    """Where one of the fields stands in an object itself, not in one within it; with that text as its content."""
    inner = [other for other in spans if span[0] < other[0] and other[1] <= span[1]]
    for at, name, rest in _keys(output, span):
        if name not in names or any(a <= at < b for a, b in inner):
            continue
        if content is None or re.compile(_quoted(content)).match(output, rest):
            return at
    return None


def _keys(output: str, span: Span) -> Iterator[tuple[int, str, int]]:
    for found in _KEY.finditer(output, *span):
        try:
            yield found.start(), json.loads(found[1], strict=False), found.end()
        except ValueError:
            continue


def _quoted(text: str) -> str:
    """A pattern for the text as JSON writes it, with escapes or without."""
    return "(?:" + "|".join({re.escape(json.dumps(text, ensure_ascii=is_ascii)) for is_ascii in (True, False)}) + ")"


def _line(output: str, at: int) -> tuple[int, str]:
    """The line of a position, and what begins there: a field with its content, an object, or the rest of the line."""
    key = _KEY.match(output, at)
    try:
        _, end = json.JSONDecoder(strict=False).raw_decode(output, key.end() if key else at)
    except (ValueError, RecursionError):
        end = at + len(output[at:].partition("\n")[0])
    return output.count("\n", 0, at) + 1, short_name(output[at:end][: _CHARACTERS * 4], characters=_CHARACTERS)
