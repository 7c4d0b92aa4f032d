"""How versions, disclosures, steps, reasons and records are written for people.

Pure: values of `graphmem.inspect` in, lines out. Invariant: every text out of the graph goes through `visible`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from graphmem.inspect import Disclosure, Evidence, LogLine, Named, RawResult, Reasoned, ShownVersion
from graphmem.vocabulary import Json, json_text, short_name
from graphmem_cli.excerpts import excerpt
from graphmem_cli.tables import block, visible, wrapped

_UNKNOWN: Final = "(outcome unknown: the call may or may not have run)"
_CHARACTERS: Final = 300
_GLUE: Final = "\u00a0"


def change_words(line: LogLine) -> str:
    """What a step changed: +added ~updated -removed >disclosed !rejected."""
    words = [f"{sign}{id_}" for sign, ids in _changes(line) for id_ in ids]
    words += [f"!{len(line.rejected)}"] if line.rejected else []
    return " ".join(words)


def _changes(line: LogLine) -> tuple[tuple[str, Sequence[str]], ...]:
    return ("+", line.added), ("~", line.updated), ("-", line.removed), (">", line.disclosed)


def result_words(line: LogLine) -> str:
    """What a step decided: its calls, its message, or why it was refused."""
    if line.refused is not None:
        return f"refused: {line.refused}"
    if line.calls:
        return ", ".join(f"{call.name} {json_text(call.arguments)}" for call in line.calls)
    if line.of_step is not None:
        return f"results of {', '.join(line.answered)}"
    return short_name(line.message or "", characters=200)


def show_lines(shown: RawResult | Sequence[ShownVersion]) -> Iterator[str]:
    """A raw result, or the versions of a state."""
    if isinstance(shown, RawResult):
        yield from _raw_lines(shown)
        return
    for version in shown:
        until = "on" if version.to_step is None else f"to step {version.to_step}"
        view = ", in view" if version.in_view else ""
        yield visible(
            f"{version.id} ({version.kind}), from step {version.from_step} {until}, request {version.request}{view}"
        )
        yield from block(version.summary, indent="  ")
        yield from block(_text(version.value), indent="  value ")
        for ref in version.refs:
            yield visible(f"  {ref.relation} {ref.id} (given in step {version.refs_step})")


def _raw_lines(raw: RawResult) -> Iterator[str]:
    path = "on the path" if raw.on_path else "off the path"
    yield visible(
        f"{raw.id}, trace node {raw.node_name} ({path}), observed in step {raw.from_step}, request {raw.request}"
    )
    yield visible(f"  {raw.tool} {json_text(raw.arguments)} (called in step {raw.asked_step})")
    if raw.cited_by:
        yield visible(f"  cited by {', '.join(raw.cited_by)}")
    yield ""
    yield from block(_UNKNOWN if raw.content is None else raw.content, indent="")


def record_lines(columns: Sequence[str], rows: Sequence[Sequence[Json]], *, width: int) -> Iterator[str]:
    """The rows of a query one below the other, a line for each of their values and a blank one between."""
    for i, row in enumerate(rows):
        if i:
            yield ""
        for name, value in zip(columns, row, strict=True):
            lines = ("" if value is None else _text(value)).split("\n")
            yield from wrapped(f"{name}: {lines[0]}", columns=width, rest="  ")
            for line in lines[1:]:
                yield from wrapped(line, columns=width, first="  ", rest="  ")


def query_lines(found: Sequence[Named], *, columns: int) -> Iterator[str]:
    """Named queries with their parameters and what each tells: those to read with first, then the audits."""
    for about in sorted(found, key=lambda named: (named.name.startswith("audit_"), named.name)):
        keys = (f"[{key}]" if key in about.optional else key for key in about.params)
        yield from wrapped(" ".join((about.name, *keys)), columns=columns, rest="    ")
        yield from wrapped(about.summary, columns=columns, first="    ", rest="    ")


def disclosure_lines(found: Sequence[Disclosure]) -> Iterator[str]:
    """What each access would show, or why it would be rejected."""
    for disclosure in found:
        yield from _disclosure_lines(disclosure)


def _disclosure_lines(found: Disclosure) -> Iterator[str]:
    if not found.accepted:
        yield visible(f"{found.target}: rejected: {found.reason}")
        return
    already = " (in the Active State already)" if found.already else ""
    yield visible(f"{found.target}: accepted in request {found.request}{already}")
    for line in found.lines:
        yield visible(f"  {line.id}  {line.summary}")
    if found.state is None:
        return
    yield from block(f"{found.state.kind or 'raw result'}: {found.state.summary}", indent="  ")
    yield from block(_text(found.state.value), indent="  value " if found.state.kind else "  ")
    for related in found.state.related:
        yield visible(f"  {_arrow(related.relation, incoming=related.incoming)} {related.id}")
    for name, count in found.state.more.items():
        yield f"  and {count} more {visible(name)}"


def why_lines(top: Reasoned, *, columns: int) -> Iterator[str]:
    """A state and below it, as a tree, what it rests on; each raw result once."""
    yield from _Reasons(columns).lines(top, first="", rest="")


class _Reasons:
    """One tree being written."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._shown: set[str] = set()

    def lines(self, node: Reasoned, *, first: str, rest: str) -> Iterator[str]:
        marks = (("out of view", not node.in_view), ("shown elsewhere", node.again))
        notes = "".join(f" ({mark})" for mark, is_set in marks if is_set)
        by = "" if node.by is None else f"{_arrow(node.by, incoming=node.incoming)} "
        summary = node.summary if node.by is None else short_name(node.summary, characters=_CHARACTERS)
        count = len(node.evidence) + len(node.below) + node.more
        where = _glued(f"[{node.kind}, r{node.request} s{node.from_step}]")
        text = f"{by}{node.id}: {summary} {where}{notes}"
        yield from self._wrapped(text, first=first, rest=rest + ("│  " if count else "   "))
        for i, raw in enumerate(node.evidence, start=1):
            branch, below = _branches(is_last=i == count)
            yield from self._evidence(raw, node, first=rest + branch, rest=rest + below)
        for i, child in enumerate(node.below, start=1 + len(node.evidence)):
            branch, below = _branches(is_last=i == count)
            yield from self.lines(child, first=rest + branch, rest=rest + below)
        if node.more:
            yield from self._wrapped("… more below; --depth shows it", first=f"{rest}└─ ", rest=rest)

    def _evidence(self, raw: Evidence, node: Reasoned, *, first: str, rest: str) -> Iterator[str]:
        again = " (shown above)" if raw.id in self._shown else ""
        call = short_name(f"{raw.tool} {json_text(raw.arguments)}", characters=_CHARACTERS)
        where = _glued(f"[raw result, r{raw.request} s{raw.step}]")
        arrow = _arrow(raw.by, incoming=False)
        yield from self._wrapped(f"{arrow} {raw.id}: {call} {where}{again}", first=first, rest=f"{rest}   ")
        if again:
            return
        self._shown.add(raw.id)
        for line in _excerpt(raw, node):
            yield from self._wrapped(line, first=f"{rest}   ", rest=f"{rest}     ")

    def _wrapped(self, text: str, *, first: str, rest: str) -> Iterator[str]:
        for line in wrapped(text, columns=self._columns, first=first, rest=rest):
            yield line.replace(_GLUE, " ")


def _glued(text: str) -> str:
    """A text that is not broken into lines."""
    return text.replace(" ", _GLUE)


def _branches(*, is_last: bool) -> tuple[str, str]:
    return ("└─ ", "   ") if is_last else ("├─ ", "│  ")


def _excerpt(raw: Evidence, node: Reasoned) -> list[str]:
    if raw.content is None:
        return [_UNKNOWN]
    about = f"{node.summary} {json_text(node.value)}"
    return excerpt(raw.content, about, is_whole=(raw.characters or 0) <= len(raw.content))


def first_evidence(node: Reasoned) -> str | None:
    """The id of the first raw result in the tree."""
    if node.evidence:
        return node.evidence[0].id
    return next((found for child in node.below if (found := first_evidence(child)) is not None), None)


def _arrow(relation: str, *, incoming: bool) -> str:
    """`supports` of the state above reads outwards; the one that was declared by the other end is marked."""
    return f"<{relation}" if incoming else str(relation)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)
