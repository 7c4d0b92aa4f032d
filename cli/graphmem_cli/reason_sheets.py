"""How `why`, `impact` and `blame` are written for people: trees and tables of what rests on what.

Pure: values of `graphmem.inspect` in, lines out. Invariant: every text out of the graph goes through `visible`.
"""

from collections.abc import Iterator
from typing import Final

from graphmem.inspect import (
    Affected,
    Blame,
    BlamedPart,
    Evidence,
    Impact,
    RawReason,
    Reason,
    Reasoned,
    StepReason,
    Subgoal,
    SummaryReason,
    Told,
    WrittenBy,
)
from graphmem.vocabulary import json_text, short_name
from graphmem_cli.excerpts import excerpt
from graphmem_cli.sheets import UNKNOWN, arrow, judged_text, show_lines
from graphmem_cli.tables import block, visible, wrapped

_CHARACTERS: Final = 300
_GLUE: Final = "\u00a0"


def reason_lines(found: Reason, *, columns: int) -> Iterator[str]:
    """What was asked for with what it rests on."""
    match found:
        case Reasoned():
            yield from why_lines(found, columns=columns)
        case RawReason():
            yield from show_lines(found.result)
            yield from _author_lines(found.called, "called", columns=columns)
        case SummaryReason():
            yield from _summary_lines(found, columns=columns)
        case StepReason():
            yield from _step_lines(found, columns=columns)


def why_lines(top: Reasoned, *, columns: int) -> Iterator[str]:
    """A state and below it, as a tree, what it rests on; each raw result once; then who wrote it."""
    yield from _Reasons(columns).lines(top, first="", rest="")
    yield from _author_lines(top.written, "written", columns=columns)


def _author_lines(by: WrittenBy | None, verb: str, *, columns: int) -> Iterator[str]:
    if by is None:
        return
    text = f"{verb} in step {by.number} ({by.kind}) by {by.author}, {_request(by)}{_origin(by.origin)}"
    yield from wrapped(text, columns=columns, rest="    ")
    if by.summary is not None:
        yield from wrapped(f"    below {_subgoal(by.summary)}", columns=columns, rest="      ")
    if by.abandoned_step is not None:
        yield from wrapped(f"    {_left(by)}", columns=columns, rest="      ")


def _request(by: WrittenBy) -> str:
    asked = f" ({short_name(by.asked, characters=120)})" if by.asked else ""
    return f"request {by.request}{asked}"


def _origin(origin: str | None) -> str:
    return "" if origin is None else f", in {origin}"


def _left(by: WrittenBy) -> str:
    why = f": {by.feedback}" if by.feedback else ""
    return f"left behind by the revise of step {by.abandoned_step}{why}"


def _subgoal(summary: Subgoal) -> str:
    path = "" if summary.on_path else ", off the path"
    note = f" ({summary.note})" if summary.note else ""
    text = short_name(summary.text, characters=_CHARACTERS)
    return f"summary:{summary.boundary} [{summary.verdict}{path}]: {text}{note}"


def _summary_lines(found: SummaryReason, *, columns: int) -> Iterator[str]:
    path = "on the path" if found.on_path else "off the path"
    yield from wrapped(f"summary:{found.boundary}, {found.verdict}, {path} [{found.key}]", columns=columns)
    yield from block(found.text, indent="  ")
    if found.note:
        yield from wrapped(f"note: {found.note}", columns=columns, first="  ", rest="    ")
    for node in found.covers:
        yield from wrapped(f"covers node {node.name} (step {node.step})", columns=columns, first="  ", rest="    ")
        for raw in node.results:
            call = short_name(f"{raw.id}: {raw.tool} {raw.arguments}", characters=_CHARACTERS)
            yield from wrapped(call, columns=columns, first="    ", rest="      ")
    for told in found.told:
        yield from wrapped(_told(told), columns=columns, first="  ", rest="    ")
    for key in found.siblings:
        yield f"  another that starts at the same node: {visible(key)}"
    yield from _author_lines(found.written, "written", columns=columns)


def _told(told: Told) -> str:
    says = {
        "maintain": f"{told.verdict}, about {judged_text(told.of_step)}",
        "revise": "gone back on" if told.text is None else f"closed as failed: {told.text}",
    }.get(told.kind, f"text: {told.text}")
    note = f": {told.note}" if told.note else ""
    left = "" if told.abandoned_step is None else f" (left in step {told.abandoned_step})"
    return f"step {told.number} by {told.author}: {says}{note}{left}"


def _step_lines(found: StepReason, *, columns: int) -> Iterator[str]:
    by = found.step
    yield from wrapped(
        f"step {by.number} ({by.kind}) by {by.author}, {_request(by)}{_origin(by.origin)}", columns=columns
    )
    for line in _said(found):
        yield from wrapped(line, columns=columns, first="  ", rest="    ")
    for state in found.wrote:
        view = "" if state.in_view else " (out of view)"
        text = f"wrote {state.id} [{state.kind}]: {short_name(state.summary, characters=_CHARACTERS)}{view}"
        yield from wrapped(text, columns=columns, first="  ", rest="    ")
    for raw in found.results:
        text = short_name(f"got back {raw.id}: {raw.tool} {raw.arguments}", characters=_CHARACTERS)
        yield from wrapped(text, columns=columns, first="  ", rest="    ")
    if by.summary is not None and found.about is None:
        yield from wrapped(f"below {_subgoal(by.summary)}", columns=columns, first="  ", rest="    ")
    if by.abandoned_step is not None:
        yield from wrapped(_left(by), columns=columns, first="  ", rest="    ")


def _said(found: StepReason) -> Iterator[str]:
    if found.refused:
        yield f"refused: {found.refused}"
    for call in found.calls:
        yield short_name(f"called {call.name} {json_text(call.arguments)}", characters=_CHARACTERS)
    if found.message:
        yield f"message: {found.message}"
    if found.text:
        yield f"text: {found.text}"
    if found.about is not None:
        yield f"about {_subgoal(found.about)}"
    if found.verdict:
        judged = "the trace" if found.about is None else judged_text(found.of_step)
        yield f"verdict: {found.verdict}, about {judged}"
    if found.boundary_step is not None:
        yield f"back to step {found.boundary_step}, world {found.world}"
    for verb, ids in (("left", found.left), ("returned", found.returned), ("removed", found.removed)):
        if ids:
            yield f"{verb} {', '.join(ids)}"
    if found.note:
        yield f"note: {found.note}"
    if found.observed_step is not None and found.observed_step != found.step.number:
        again = ", walked again" if found.merged else ""
        yield f"its results came in step {found.observed_step}: node {found.observed_node}{again}"


class _Reasons:
    """One tree being written."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._shown: set[str] = set()

    def lines(self, node: Reasoned, *, first: str, rest: str) -> Iterator[str]:
        left = None if node.written is None else node.written.abandoned_step
        marks = (
            ("out of view", not node.in_view),
            (f"left in step {left}", left is not None),
            ("shown elsewhere", node.again),
        )
        notes = "".join(f" ({mark})" for mark, is_set in marks if is_set)
        by = "" if node.by is None else f"{arrow(node.by, incoming=node.incoming)} "
        summary = node.summary if node.by is None else short_name(node.summary, characters=_CHARACTERS)
        count = len(node.evidence) + len(node.below) + node.more
        where = _glued(f"[{node.kind}, r{node.request} s{node.from_step}]")
        text = f"{by}{node.id}: {summary} {where}{notes}"
        yield from self._wrapped(text, first=first, rest=rest + ("│  " if count else "   "))
        for i, raw in enumerate(node.evidence, start=1):
            branch, below = branches(is_last=i == count)
            yield from self._evidence(raw, node, first=rest + branch, rest=rest + below)
        for i, child in enumerate(node.below, start=1 + len(node.evidence)):
            branch, below = branches(is_last=i == count)
            yield from self.lines(child, first=rest + branch, rest=rest + below)
        if node.more:
            yield from self._wrapped("… more below; --depth shows it", first=f"{rest}└─ ", rest=rest)

    def _evidence(self, raw: Evidence, node: Reasoned, *, first: str, rest: str) -> Iterator[str]:
        again = " (shown above)" if raw.id in self._shown else ""
        call = short_name(f"{raw.tool} {json_text(raw.arguments)}", characters=_CHARACTERS)
        where = _glued(f"[raw result, r{raw.request} s{raw.step}]")
        by = arrow(raw.by, incoming=False)
        yield from self._wrapped(f"{by} {raw.id}: {call} {where}{again}", first=first, rest=f"{rest}   ")
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


def branches(*, is_last: bool) -> tuple[str, str]:
    """What stands before a branch of a tree, and before the lines below it."""
    return ("└─ ", "   ") if is_last else ("├─ ", "│  ")


def _excerpt(raw: Evidence, node: Reasoned) -> list[str]:
    if raw.content is None:
        return [UNKNOWN]
    about = f"{node.summary} {json_text(node.value)}"
    return excerpt(raw.content, about, is_whole=(raw.characters or 0) <= len(raw.content))


def first_evidence(node: Reasoned) -> str | None:
    """The id of the first raw result in the tree."""
    if node.evidence:
        return node.evidence[0].id
    return next((found for child in node.below if (found := first_evidence(child)) is not None), None)


def impact_lines(found: Impact, *, columns: int) -> Iterator[str]:
    """What was asked for and, as a tree, what rests on it; then what of it is in view and what stands above it."""
    yield from _affected_lines(found.top, columns, first="", rest="")
    states = ", ".join(found.states) or "nothing"
    yield ""
    yield from wrapped(f"In view now: {states}", columns=columns, rest="    ")
    for summary in found.summaries:
        yield from wrapped(_subgoal(summary), columns=columns, rest="    ")
    for request in found.requests:
        text = f"request {request.number} [{request.standing}]: {short_name(request.text, characters=_CHARACTERS)}"
        yield from wrapped(text, columns=columns, rest="    ")


def _affected_lines(node: Affected, columns: int, *, first: str, rest: str) -> Iterator[str]:
    away = {"raw result": "off the path", "step": "abandoned"}.get(node.what, "out of view")
    marks = ((away, not node.in_view), ("shown elsewhere", node.again))
    notes = "".join(f" ({mark})" for mark, is_set in marks if is_set)
    count = len(node.below) + node.more
    where = _glued(f"[{node.what}, r{node.request} s{node.step}]")
    by = "" if node.by is None else f"{node.by} "
    text = f"{by}{node.id}: {short_name(node.summary, characters=_CHARACTERS)} {where}{notes}"
    for line in wrapped(text, columns=columns, first=first, rest=rest + ("│  " if count else "   ")):
        yield line.replace(_GLUE, " ")
    for i, child in enumerate(node.below, start=1):
        branch, below = branches(is_last=i == count)
        yield from _affected_lines(child, columns, first=rest + branch, rest=rest + below)
    if node.more:
        yield f"{rest}└─ … more; --depth shows it"


def blame_lines(found: Blame, *, columns: int) -> Iterator[str]:
    """Every part of a state, with the step, request and words that wrote it."""
    view = "in view" if found.in_view else "out of view"
    copied = "" if found.copied_step is None else f", copied by a fork as it was in step {found.copied_step}"
    yield from wrapped(f"{found.id}, the version of step {found.from_step} ({view}{copied})", columns=columns)
    for part in found.parts:
        content = short_name(part.content, characters=120)
        text = part.part if part.part == part.content else f"{part.part}: {content}"
        yield from wrapped(text, columns=columns, first="  ", rest="      ")
        yield from wrapped(_author(part), columns=columns, first="      ", rest="        ")


def _author(part: BlamedPart) -> str:
    returned = "" if part.returned_step is None else f", brought back by the revise of step {part.returned_step}"
    said = "" if part.said is None else f", line {part.line}: {part.said}"
    return f"step {part.step} by {part.author}, request {part.request}{_origin(part.origin)}{returned}{said}"
