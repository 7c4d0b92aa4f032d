"""How versions, disclosures, steps and reasons are written for people.

Pure: values of `graphmem.inspect` in, lines out. Invariant: every text out of the graph goes through `visible`.
"""

from collections.abc import Iterator, Sequence

from graphmem.inspect import Disclosure, Evidence, LogLine, RawResult, Reasoned, ShownVersion
from graphmem.vocabulary import Json, json_text, short_name
from graphmem_cli.tables import block, cut, terminal_width, visible

_UNKNOWN = "(outcome unknown: the call may or may not have run)"


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
        return f"results of step {line.of_step}"
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


def why_lines(top: Reasoned) -> Iterator[str]:
    """A state and below it, as a tree, what it rests on."""
    yield from _why_lines(top, first="", rest="")


def _why_lines(node: Reasoned, *, first: str, rest: str) -> Iterator[str]:
    by = "" if node.by is None else f"{_arrow(node.by, incoming=node.incoming)} "
    marks = [mark for mark, is_set in (("out of view", not node.in_view), ("shown elsewhere", node.again)) if is_set]
    note = f" ({', '.join(marks)})" if marks else ""
    yield _line(
        f"{first}{by}{node.id} [{node.kind}, request {node.request}, step {node.from_step}]{note}: {node.summary}"
    )
    count = len(node.evidence) + len(node.below) + node.more
    for i, raw in enumerate(node.evidence, start=1):
        branch, below = _branches(is_last=i == count)
        yield from _evidence_lines(raw, first=rest + branch, rest=rest + below)
    for i, child in enumerate(node.below, start=1 + len(node.evidence)):
        branch, below = _branches(is_last=i == count)
        yield from _why_lines(child, first=rest + branch, rest=rest + below)
    if node.more:
        yield f"{rest}└─ … more below; --depth shows it"


def _branches(*, is_last: bool) -> tuple[str, str]:
    return ("└─ ", "   ") if is_last else ("├─ ", "│  ")


def _evidence_lines(raw: Evidence, *, first: str, rest: str) -> Iterator[str]:
    where = f"raw result, request {raw.request}, step {raw.step}, node {raw.node}"
    yield _line(f"{first}{_arrow(raw.by, incoming=False)} {raw.id} [{where}]: {raw.tool} {json_text(raw.arguments)}")
    content = _UNKNOWN if raw.content is None else raw.content
    lines = content.split("\n")
    for line in lines[:3]:
        yield _line(f"{rest}   {short_name(line, characters=300)}")
    if len(lines) > 3 or (raw.characters or 0) > len(content):
        yield f"{rest}   … {raw.characters or 0:,} characters; `graphmem show` has all of them"


def _arrow(relation: str, *, incoming: bool) -> str:
    """`supports` of the state above reads outwards; the one that was declared by the other end is marked."""
    return f"<{relation}" if incoming else str(relation)


def _line(text: str) -> str:
    columns = terminal_width()
    shown = visible(text).rstrip()
    return shown if columns is None else cut(shown, columns)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)
