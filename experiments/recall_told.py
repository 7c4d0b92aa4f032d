"""The README's table of tokens against recall, from the figures: `python -m experiments.recall_told FILE`."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

_COLUMNS: Final = (
    "runs (calls)",
    "full history",
    "FlowState, rule-based access",
    "with the steps that ask",
    "BM25",
    "last messages",
    "oracle access",
)
_SETS: Final = {
    "airline": ("tau-bench airline", (300, 150)),
    "chained": ("all of one user as one task", (600, 300, 150)),
    "retail": ("tau2-bench retail, gold calls", ()),
    "retail chained": ("the same, chained", ()),
    "base": ("BFCL multi-turn `base`", ()),
    "miss_param": ("BFCL `miss_param`", ()),
}

Way = Mapping[str, Any]


def rows(figures: Mapping[str, Any]) -> Iterator[str]:
    """The table's lines: each set with its whole index, then with folded ones; what shows most stands bold."""
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"|{'---|' * len(_COLUMNS)}"
    for name, (told, budgets) in _SETS.items():
        found = figures[name]
        ways = {way["way"]: way for way in found["figures"]}
        full = ways["full history"]["tokens_per_moment"]
        for tokens in (None, *budgets):
            way = "FlowState" if tokens is None else f"FlowState, index of {tokens}"
            own, others = ways[way], [ways[f"{other} at the budget of {way}"] for other in ("BM25", "last messages")]
            asks = own["tokens_per_moment"] + own["asked_tokens_per_moment"]
            is_most = own["recall"] > max(other["recall"] for other in others)
            cells = [
                f"{told}, {found['runs']} ({found['calls']:,})"
                if tokens is None
                else f"… index folded to {tokens} tokens",
                f"{full:,.0f}",
                f"{_recall(own, bold=is_most)} {_share(own['tokens_per_moment'], full)}",
                _share(asks, full).removeprefix("at "),
                *(f"{_recall(other)} at {other['tokens_per_moment']:,.0f}" for other in others),
                _oracle(ways["FlowState, oracle access"], full) if tokens is None else "",
            ]
            yield f"| {' | '.join(cells)} |"


def _recall(way: Way, *, bold: bool = False) -> str:
    text = f"{way['recall']:.3f}".removeprefix("0")
    return f"**{text}**" if bold else text


def _share(tokens: float, full: float) -> str:
    return f"at {tokens:,.0f} ({tokens / full:.0%})".replace("%", " %")


def _oracle(way: Way, full: float) -> str:
    return f"{_recall(way)} {_share(way['tokens_per_moment'], full)}"


if __name__ == "__main__":
    print("\n".join(rows(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
