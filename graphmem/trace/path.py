"""S = (C, R, H) of MAGE (3.2) and how it is told to a model, within a budget of tokens.

Pure. C and R stand in the order of the path, so that a provider's prefix cache keeps working while R grows. What a
budget leaves out is said where it was. Invariant: what stands in a text can neither close a block nor open another.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from graphmem.llm.tokens import Tokenizer
from graphmem.state.render import UNKNOWN_OUTCOME
from graphmem.state.values import Observation, Value
from graphmem.trace.values import Hints, Summary, TraceNode, Tried
from graphmem.vocabulary import Json, json_text, short_name, whole_number

_CUTS: Final = (4_000, 1_000, 250, 0)
_MARK: Final = 32  # characters that it takes to say that some are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Path(Value):
    """The path of a task. `summaries`: C from the root; `recent`: R in order; `hints`: H.

    `at`: the step as of which it is, None for now; `unseen`: ids of raw results of R that the next status shows as
    the latest observation; `options`: which of the mechanisms the task has (§4.4); `boundary`: the ℓ where R begins.
    """

    space: str
    task: str
    version: int
    summaries: tuple[Summary, ...]
    recent: tuple[TraceNode, ...]
    hints: Hints
    at: int | None = None
    unseen: tuple[str, ...] = ()
    p_b: str = ""
    p_t: str = ""
    boundary: int = 0
    options: tuple[str, ...] = ()
    tokenizer: Tokenizer = field(repr=False, compare=False)

    def text(self, *, budget_tokens: int | None = None) -> str:
        """C, R and H as text. Over the budget, excerpts of H go first, then results of R from the oldest on, then its
        oldest nodes, then C, then what H lists; the newest node and H's feedback stay.

        Raises:
            InvalidValueError: the budget is not a whole number of at least 0.
        """
        return "\n\n".join(part for part in self.parts(budget_tokens=budget_tokens) if part)

    def parts(
        self,
        *,
        budget_tokens: int | None = None,
        shown: frozenset[str] = frozenset(),
        told: frozenset[str] = frozenset(),
    ) -> tuple[str, str, str]:
        """The three blocks apart. Raw results in `shown` and summaries with a text in `told` are only named."""
        if budget_tokens is None:
            return _Shape(self).parts(shown, told)
        whole_number("budget_tokens", budget_tokens)

        def size(shape: _Shape) -> int:
            return self.tokenizer.count("\n\n".join(part for part in shape.parts(shown, told) if part))

        whole, *smaller = self._shapes()
        if size(whole) <= budget_tokens:
            return whole.parts(shown, told)
        first = bisect_left(smaller, True, key=lambda shape: size(shape) <= budget_tokens)
        if first < len(smaller):
            return smaller[first].parts(shown, told)
        # To say that one short line is left out can take more than the line, so the last shape may not be the least.
        least = (shape for shape in smaller if shape.cut == len(self.recent) and shape.characters == 0)
        ends = (s for s in least if s.dropped in _ends(self.recent[1:]) and s.folded in _ends(self.summaries))
        return min(ends, key=size).parts(shown, told)

    @property
    def tokens(self) -> int:
        """The length of `text()`, counted by `tokenizer`."""
        return self.tokenizer.count(self.text())

    def _shapes(self) -> Iterator["_Shape"]:
        """Ever smaller ways to tell the path; the last one is as small as it gets."""
        yield _Shape(self)
        yield _Shape(self, excerpts=False)
        for characters in _CUTS:
            for cut in range(1, len(self.recent) + 1) if characters == _CUTS[0] else (len(self.recent),):
                yield _Shape(self, excerpts=False, cut=cut, characters=characters)
        whole = len(self.recent)
        for dropped in range(1, whole):
            yield _Shape(self, excerpts=False, cut=whole, dropped=dropped)
        for folded in range(1, len(self.summaries) + 1):
            yield _Shape(self, excerpts=False, cut=whole, dropped=max(0, whole - 1), folded=folded)
        for kept in reversed(range(max(len(self.hints.tried), len(self.hints.subgoals)))):
            yield _Shape(
                self,
                excerpts=False,
                cut=whole,
                dropped=max(0, whole - 1),
                folded=len(self.summaries),
                kept=kept,
            )


@dataclass(frozen=True, slots=True)
class _Shape:
    """One way to tell a path: the oldest `cut` nodes with `characters` of each result, or `dropped` altogether.

    `folded`: the oldest summaries left out; `kept`: how many of what was tried H lists, None for all.
    """

    path: Path
    excerpts: bool = True
    cut: int = 0
    characters: int = 0
    dropped: int = 0
    folded: int = 0
    kept: int | None = None

    def parts(self, shown: frozenset[str], told: frozenset[str]) -> tuple[str, str, str]:
        path, hints = self.path, _fewer(self.path.hints, self.kept)
        gone, left = path.summaries[: self.folded], path.recent[: self.dropped]
        c = [_left_out(len(gone), gone[0].boundary, gone[-1].boundary)] if gone else []
        c += [_summary(summary, told) for summary in path.summaries[self.folded :]]
        r = [_left_out(len(left), left[0].number, left[-1].number)] if left else []
        r += [
            _node(node, shown, self.characters if i < self.cut else None)
            for i, node in enumerate(path.recent)
            if i >= self.dropped
        ]
        h = list(_hints(hints, excerpts=self.excerpts))
        return (
            _block("Completed Subgoals", c),
            _block("Recent Trace", r),
            _block("Hints From Earlier Attempts", h),
        )


def _block(title: str, lines: Iterable[dict[str, Json]]) -> str:
    text = ",\n".join(map(json_text, lines))
    return f"{title}:\n[\n{text}\n]" if text else ""


def _ends(parts: Sequence[object]) -> tuple[int, int]:
    """None of the parts left out, or all."""
    return 0, len(parts)


def _left_out(count: int, first: int, last: int) -> dict[str, Json]:
    return {"left_out": count, "from_step": first, "to_step": last}


def _summary(summary: Summary, told: frozenset[str]) -> dict[str, Json]:
    text = "(the final response: it stands in the Active State)" if summary.text in told else summary.text
    line: dict[str, Json] = {"step": summary.boundary, "summary": text}
    if summary.verdict != "passed":
        line["verdict"] = summary.verdict
    return line | ({"note": summary.note} if summary.note else {})


def _node(node: TraceNode, shown: frozenset[str], characters: int | None) -> dict[str, Json]:
    line: dict[str, Json] = {"step": node.number, "results": [_result(o, shown, characters) for o in node.results]}
    return line | ({"states_written_here_by_an_abandoned_attempt": list(node.wrote)} if node.wrote else {})


def _result(seen: Observation, shown: frozenset[str], characters: int | None) -> dict[str, Json]:
    line: dict[str, Json] = {"id": seen.id, "tool": seen.tool, "arguments": dict(seen.arguments)}
    if seen.id in shown:
        return line | {"result": "(shown in full elsewhere in this prompt)"}
    if seen.content is None:
        return line | {"result": UNKNOWN_OUTCOME}
    if characters is None or len(seen.content) <= characters + _MARK:
        return line | {"result": seen.content}
    left = len(seen.content) - characters
    return line | {"result": seen.content[:characters], "characters_left_out": left}


def _fewer(hints: Hints, kept: int | None) -> Hints:
    """What H lists, the oldest only counted."""
    if kept is None:
        return hints
    return replace(
        hints,
        tried=hints.tried[:kept],
        more_tried=hints.more_tried + len(hints.tried[kept:]),
        subgoals=hints.subgoals[:kept],
        more_subgoals=hints.more_subgoals + len(hints.subgoals[kept:]),
    )


def _hints(hints: Hints, *, excerpts: bool) -> Iterator[dict[str, Json]]:
    if hints.feedback:
        yield {"feedback": hints.feedback}
    said = {hints.feedback}
    for subgoal in hints.subgoals:
        line: dict[str, Json] = {"tried_subgoal_from_step": subgoal.boundary, "verdict": subgoal.verdict}
        if excerpts:
            line["summary"] = short_name(subgoal.text, characters=400)
        if subgoal.note and subgoal.note not in said:
            line["note"] = subgoal.note
            said.add(subgoal.note)
        yield line
    if hints.more_subgoals:
        yield {"more_subgoals_tried": hints.more_subgoals}
    for tried in hints.tried:
        yield _tried(tried, said, excerpts=excerpts)
    if hints.more_tried:
        yield {"more_actions_tried": hints.more_tried}


def _tried(tried: Tried, said: set[str | None], *, excerpts: bool) -> dict[str, Json]:
    calls = [_tried_call(o, excerpts=excerpts) for o in tried.results]
    line: dict[str, Json] = {"tried_step": tried.number, "calls": list(calls)}
    notes = [note for note in dict.fromkeys(tried.notes) if note not in said]
    said.update(notes)
    if notes:
        line["notes"] = list(notes)
    return line | ({"states_written_there": list(tried.wrote)} if tried.wrote else {})


def _tried_call(seen: Observation, *, excerpts: bool) -> dict[str, Json]:
    line: dict[str, Json] = {"tool": seen.tool, "arguments": dict(seen.arguments)}
    begins = short_name(seen.content or UNKNOWN_OUTCOME, characters=200)
    return line | {"result_begins": begins} if excerpts else line
