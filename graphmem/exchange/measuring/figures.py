"""The figures of tokens against recall: what each way of showing a run to a model came to, as numbers and as a table.

Invariant: figures of parts of a set of runs add up to those of the set.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

FULL: Final = "full history"


@dataclass(slots=True, kw_only=True)
class Figure:
    """What a way came to, summed over moments: `tokens` of the prompts before calls, `found` of the `literals`.

    `stable`: tokens with which the prompt before began, too (a provider's prefix cache may know them); `asked`: steps
    that only asked for history, and the tokens of their prompts; `misses`: by where the literal was said last.
    """

    way: str
    moments: int = 0
    literals: int = 0
    found: int = 0
    tokens: int = 0
    stable: int = 0
    asked: int = 0
    asked_tokens: int = 0
    misses: Counter[str] = field(default_factory=Counter)
    missed_parameters: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Figure") -> "Figure":
        names = (
            "moments",
            "literals",
            "found",
            "tokens",
            "stable",
            "asked",
            "asked_tokens",
            "misses",
            "missed_parameters",
        )
        return Figure(way=self.way, **{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def recall(self) -> float:
        """Of the literals, the part that was shown; 1 where there were none."""
        return self.found / self.literals if self.literals else 1.0

    @property
    def tokens_per_moment(self) -> float:
        """The mean length of a prompt before calls."""
        return self.tokens / self.moments if self.moments else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "way": self.way,
            "recall": round(self.recall, 4),
            "tokens_per_moment": round(self.tokens_per_moment, 1),
            "stable_per_moment": round(self.stable / self.moments, 1) if self.moments else 0.0,
            "asked_per_moment": round(self.asked / self.moments, 3) if self.moments else 0.0,
            "asked_tokens_per_moment": round(self.asked_tokens / self.moments, 1) if self.moments else 0.0,
            "moments": self.moments,
            "literals": self.literals,
            "found": self.found,
            "misses": dict(self.misses.most_common()),
            "missed_parameters": dict(self.missed_parameters.most_common()),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The figures of a set of runs, one a way; `tokenizer` counted, `exact` unless it estimates."""

    runs: int
    calls: int
    tokenizer: str
    exact: bool
    figures: tuple[Figure, ...]

    def of(self, way: str) -> Figure:
        """The figure of a way by its name; an empty one where no run had a call."""
        return next((figure for figure in self.figures if figure.way == way), Figure(way=way))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "runs": self.runs,
            "calls": self.calls,
            "tokenizer": self.tokenizer,
            "tokens_exact": self.exact,
            "figures": [figure.to_dict() for figure in self.figures],
        }


def table(measured: Measured) -> str:
    """The figures for people, with what was missed."""
    full = measured.of(FULL).tokens_per_moment or 1.0
    width = max((len(figure.way) for figure in measured.figures), default=0)
    exact = "" if measured.exact else ", an estimate"
    lines = [
        f"{measured.runs} runs, {measured.calls} calls, {measured.of(FULL).literals} arguments that were said before; "
        f"tokens before a call ({measured.tokenizer}{exact})",
        f"{'':{width}}  recall  tokens  of full  stable  asked  asked tokens",
    ]
    for figure in measured.figures:
        moments = figure.moments or 1
        lines.append(
            f"{figure.way:{width}}  {figure.recall:6.3f}  {figure.tokens_per_moment:6,.0f}"
            f"  {figure.tokens_per_moment / full:7.0%}  {figure.stable / moments:6,.0f}"
            f"  {figure.asked / moments:5.2f}  {figure.asked_tokens / moments:12,.0f}"
        )
    missed = [figure for figure in measured.figures if figure.misses]
    if missed:
        lines += ["", "missed, by where it was said last"]
    for figure in missed:
        lines.append(f"{figure.way:{width}}  {'; '.join(f'{n} {kind}' for kind, n in figure.misses.most_common())}")
    return "\n".join(lines)
