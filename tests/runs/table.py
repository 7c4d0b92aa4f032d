"""The table of the recorded runs: what each conversation came to, and all of them together."""

from collections.abc import Sequence
from dataclasses import fields

from graphmem.llm.tokens import o200k

from .player import Figures

_HEADINGS = (
    "conversation", "messages", "requests", "outputs", "recalls", "results", "states", "disclosed",
    "shown", "history", "ratio", "no recalls", "ratio", "literals", "said", "visible",
)  # fmt: skip


def render(figures: Sequence[Figures]) -> str:
    """The table, with what its columns mean."""
    rows = [_HEADINGS, *(_row(item) for item in figures), _row(total(figures))]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADINGS))]
    lines = [
        " ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join((*lines, _legend()))


def _legend() -> str:
    tokenizer = o200k()
    exact = "" if tokenizer.exact else ", an estimate"
    return (
        f"shown, history: tokens ({tokenizer.name}{exact}) of statuses and full history, over outputs and recalls\n"
        "no recalls: the full history over the outputs alone, as who has it asks for nothing; policy in neither\n"
        "literals: values in the arguments of calls; said: in the history; visible: in the status at the call"
    )


def total(figures: Sequence[Figures]) -> Figures:
    """The sums."""
    names = [field.name for field in fields(Figures) if field.name != "name"]
    return Figures(name=f"all {len(figures)}", **{name: sum(getattr(item, name) for item in figures) for name in names})


def _row(item: Figures) -> tuple[str, ...]:
    counts = (item.messages, item.requests, item.outputs, item.recalls, item.results, item.states, item.disclosed)
    return (
        item.name,
        *(str(count) for count in counts),
        f"{item.shown:,}",
        f"{item.history:,}",
        _ratio(item.shown, item.history),
        f"{item.recorded:,}",
        _ratio(item.shown, item.recorded),
        str(item.literals),
        _percent(item.said, item.literals),
        _percent(item.visible, item.literals),
    )


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"
