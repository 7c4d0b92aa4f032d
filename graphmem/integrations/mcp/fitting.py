"""A reply within a budget of tokens, which says what it left out and how to get that.

Pure. Over the budget, long texts are cut first, ever shorter; then lines are left out, in the order in which the
tool names its lists, then texts once more, and at last lists within what is left. Invariant: what is in a reply is as
it was recorded, or it is cut, ends in `…`, and stands in `left_out` together with the call that gives the rest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from graphmem.vocabulary import Json, json_text

_CUTS: Final = tuple(256_000 >> i for i in range(10))
_SHORTEST: Final = 120
_TIGHT: Final = ((10, 120), (3, 60), (1, 20), (0, 20))  # items of any list, and characters of a text
_MARK: Final = 24  # characters that it takes to say that some are left out
_WHOLE: Final = ("value", "arguments")  # JSON of the model's own: cut as one text
_NOTED: Final = 8
_PER_TOKEN: Final = 40  # no text has more characters to a token, but for runs of blanks


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A list of a reply that may be shortened, and how to get what is left out of it. `newest`: the last ones stay."""

    name: str
    how: str
    newest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a tool answers, whole; `lists` are what may be shortened, the least important first."""

    data: Mapping[str, Any]
    lists: tuple[Lines, ...] = ()


@dataclass(slots=True)
class _Cuts:
    """The texts that were cut, on the way through a reply."""

    characters: int
    items: int | None = None  # of a list that the tool does not name
    named: frozenset[str] = frozenset()
    shortened: list[dict[str, Json]] = field(default_factory=list)  # lists: nothing at their end tells of it
    found: list[dict[str, Json]] = field(default_factory=list)

    def text(self, text: str, where: str, id_: str | None) -> str:
        left = len(text) - self.characters
        if left <= _MARK:
            return text
        how = f"show with id {id_}" if id_ else "the command line of graphmem shows it whole"
        self.found.append({"what": where, "left_out": f"{left:,} characters", "how": how})
        return text[: self.characters] + "…"

    def lines(self, value: Sequence[Any], where: str, id_: str | None) -> Sequence[Any]:
        if self.items is None or len(value) <= self.items or where in self.named:
            return value
        left = len(value) - self.items
        how = f"show with id {id_}" if id_ else "the command line of graphmem shows it whole"
        self.shortened.append({"what": where, "left_out": f"{left:,} further items", "how": how})
        return value[: self.items]


def fitted(reply: Reply, *, budget_tokens: int, count: Callable[[str], int]) -> dict[str, Any]:
    """The reply within the budget, with `left_out` where something is."""

    def fits(data: Mapping[str, Any]) -> bool:
        text = json_text(data)
        return len(text) <= budget_tokens * _PER_TOKEN and count(text) <= budget_tokens

    whole = dict(reply.data)
    if fits(whole):
        return whole
    smallest = whole
    for smallest in _smaller(reply, fits):
        if fits(smallest):
            break
    return smallest


def page(
    data: Mapping[str, Any], text: str, offset: int, *, budget_tokens: int, count: Callable[[str], int]
) -> dict[str, Any]:
    """`data` with as much of a text from `offset` on as the budget allows, and where to go on."""

    def formed(end: int) -> dict[str, Any]:
        following = end if end < len(text) else None
        return {**data, "text": text[offset:end], "offset": offset, "characters": len(text), "next_offset": following}

    def fits(end: int) -> bool:
        return count(json_text(formed(end))) <= budget_tokens

    low, high = offset, min(len(text), offset + budget_tokens * _PER_TOKEN)
    if high > low and fits(high):
        return formed(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return formed(low if low > offset else min(len(text), offset + 1))


def _smaller(reply: Reply, fits: Callable[[Mapping[str, Any]], bool]) -> Iterator[dict[str, Any]]:
    """Ever smaller forms of a reply; the last one is as small as it gets."""
    dropped: dict[str, int] = {}
    for characters in _CUTS:
        yield _formed(reply, characters, dropped)
    for characters in (_CUTS[-1], _SHORTEST):
        for lines in reply.lists:
            held = len(reply.data.get(lines.name) or ())
            low, high = dropped.get(lines.name, 0), held
            while low < high:  # the fewest lines left out with which it fits, or all
                middle = (low + high) // 2
                if fits(_formed(reply, characters, {**dropped, lines.name: middle})):
                    high = middle
                else:
                    low = middle + 1
            dropped[lines.name] = high
            yield _formed(reply, characters, dropped)
    for items, characters in _TIGHT:
        yield _formed(reply, characters, dropped, items)


def _formed(reply: Reply, characters: int, dropped: Mapping[str, int], items: int | None = None) -> dict[str, Any]:
    """One form of a reply: lines left out, then texts cut."""
    data = dict(reply.data)
    gone = []
    for lines in reply.lists:
        number = dropped.get(lines.name, 0)
        if number:
            held = data[lines.name]
            data[lines.name] = held[number:] if lines.newest else held[: len(held) - number]
            gone.append({"what": lines.name, "left_out": _lines_left(number, lines), "how": lines.how})
    cuts = _Cuts(characters, items, frozenset(lines.name for lines in reply.lists))
    formed = {name: _cut(value, cuts, name, None) for name, value in data.items()}
    return formed | {"left_out": [*gone, *_noted([*cuts.shortened, *cuts.found])]}


def _lines_left(number: int, lines: Lines) -> str:
    return f"{number:,} {'older' if lines.newest else 'further'} lines"


def _noted(found: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    rest = len(found) - _NOTED
    noted = list(found[:_NOTED])
    if rest > 0:
        noted.append({"what": f"{rest:,} more texts and lists", "left_out": "their ends", "how": "show with their id"})
    return noted


def _cut(value: Any, cuts: _Cuts, where: str, id_: str | None) -> Any:
    match value:
        case str():
            return cuts.text(value, where, id_)
        case Mapping():
            own = value.get("id")
            own = own if isinstance(own, str) else id_
            return {name: _cut_field(item, cuts, f"{where}.{name}", name, own) for name, item in value.items()}
        case list() | tuple():
            kept = cuts.lines(value, where, id_)
            return [_cut(item, cuts, f"{where}[{i}]", id_) for i, item in enumerate(kept)]
        case _:
            return value


def _cut_field(value: Any, cuts: _Cuts, where: str, name: str, id_: str | None) -> Any:
    if name == "id":
        return value
    if name in _WHOLE and not isinstance(value, str):
        text = json_text(value)
        return value if len(text) <= cuts.characters + _MARK else cuts.text(text, where, id_)
    return _cut(value, cuts, where, id_)
