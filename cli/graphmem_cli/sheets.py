"""How versions, disclosures, steps, reasons and records are written for people.

Pure: values of `graphmem.inspect` in, lines out. Invariant: every text out of the graph goes through `visible`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from graphmem.inspect import Disclosure, LogLine, Named, RawResult, ShownVersion
from graphmem.vocabulary import Json, json_text, short_name
from graphmem_cli.tables import block, visible, wrapped

UNKNOWN: Final = "(outcome unknown: the call may or may not have run)"
_CHARACTERS: Final = 200


def change_words(line: LogLine) -> str:
    """What a step changed: +added ~updated -removed >disclosed !rejected."""
    words = [f"{sign}{id_}" for sign, ids in _changes(line) for id_ in ids]
    words += [f"!{len(line.rejected)}"] if line.rejected else []
    return " ".join(words)


def _changes(line: LogLine) -> tuple[tuple[str, Sequence[str]], ...]:
    return ("+", line.added), ("~", line.updated), ("-", line.removed), (">", line.disclosed)


def result_words(line: LogLine) -> str:
    """What a step decided: its calls, its message or text, a verdict, where it went; or why it was refused."""
    if line.refused is not None:
        return f"refused: {line.refused}"
    if line.kind in _WORDS:
        return short_name(_WORDS[line.kind](line), characters=_CHARACTERS)
    if line.calls:
        return ", ".join(f"{call.name} {json_text(call.arguments)}" for call in line.calls)
    return short_name(line.message or line.text or "", characters=_CHARACTERS)


def judged_text(of_step: int | None) -> str:
    """What a verdict is about; what came with a fork was written in the origin."""
    return "the text that came with the fork" if of_step is None else f"the text of step {of_step}"


def _maintain_words(line: LogLine) -> str:
    as_of = "as it came with the fork" if line.of_step is None else f"as of step {line.of_step}"
    judged = "the trace" if line.about is None else f"summary:{line.about} {as_of}"
    return f"{judged} {line.verdict}" + (f": {line.note}" if line.note else "")


def _revise_words(line: LogLine) -> str:
    moved = "".join(f", {sign}{id_}" for sign, ids in (("-", line.left), ("+", line.returned)) for id_ in ids)
    return f"back to step {line.boundary_step}, leaving summary:{line.about}, world {line.world}{moved}: {line.note}"


_WORDS: Final[Mapping[str, Callable[[LogLine], str]]] = {
    "observe": lambda line: f"results of {', '.join(line.answered)}",
    "compress": lambda line: f"summary:{line.about}: {line.text}",
    "maintain": _maintain_words,
    "revise": _revise_words,
    "fork": lambda line: f"from step {line.of_step} of {line.origin}",
}


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
    yield from block(UNKNOWN if raw.content is None else raw.content, indent="")


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
        yield visible(f"  {arrow(related.relation, incoming=related.incoming)} {related.id}")
    for name, count in found.state.more.items():
        yield f"  and {count} more {visible(name)}"


def arrow(relation: str, *, incoming: bool) -> str:
    """`supports` of the state above reads outwards; the one that was declared by the other end is marked."""
    return f"<{relation}" if incoming else str(relation)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)
