"""What the demo reports, and how it is written for the eye.

Pure: values in, lines out. Invariant: a line is no wider than the columns given, but for a command or a long word.
"""

import textwrap
from dataclasses import asdict, dataclass
from typing import Any, Final

from graphmem.agent.wrong_turn import Branches
from graphmem.task import Task
from graphmem.vocabulary import short_name

_COLUMNS: Final = 100
_BESIDE_THE_CALL: Final = 38
_LEGEND: Final = (
    "A line a step of the ledger: its number; what was decided; states added (+), updated (~), removed (-), parts "
    "rejected (!); the tokens of the prompt / those of the full history of calls, results and messages. Below it: what "
    "was disclosed of earlier requests (sees), why parts were rejected (!), what was repaired."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    """One model invocation: what it decided, what became of it, and the tokens of its prompt both ways.

    `step` is its number in the ledger. `tokens_full`: the prompt of a full-context agent at the same moment. `acts` is
    False for a step that such an agent would not take, since it only looks at the history or at its own state.
    """

    request: int
    step: int
    call: str
    added: int
    updated: int
    removed: int
    rejected: tuple[str, ...]
    repairs: tuple[str, ...]
    disclosed: tuple[str, ...]
    tokens_shown: int
    tokens_full: int
    acts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoReport:
    """What the run did and what it cost.

    `tokens_shown` and `tokens_full` add up the prompts of all invocations, `total_*` the system messages and outputs as
    well; the full-context side counts only the invocations that act.
    """

    space: str
    task: str
    requests: int
    steps: tuple[DemoStep, ...]
    states: int
    raw_results: int
    spent_usd: int
    tokens_shown: int
    tokens_full: int
    total_shown: int
    total_full: int
    tokenizer: str
    tokens_exact: bool
    branches: Branches
    seconds: float
    commands: tuple[str, ...]
    queries: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def legend(task: Task, *, columns: int = _COLUMNS) -> list[str]:
    """What the lines of the steps mean."""
    first = f"task {task.name} in space {task.space}. The answers are scripted: no model is called."
    return [*wrapped(first, columns), *wrapped(_LEGEND, columns)]


def lines(step: DemoStep, *, columns: int = _COLUMNS) -> list[str]:
    """A step for the eye: one line, and below it what was disclosed, rejected or repaired."""
    counts = " ".join(
        f"{sign}{number}" if number else "  "
        for sign, number in (("+", step.added), ("~", step.updated), ("-", step.removed), ("!", len(step.rejected)))
    )
    room = max(20, columns - _BESIDE_THE_CALL)
    call = short_name(step.call, characters=room)
    below = [f"sees {', '.join(step.disclosed)}"] if step.disclosed else []
    below += [f"! {why}" for why in step.rejected] + [f"repaired: {what}" for what in step.repairs]
    head = f"{step.step:>4}  {call:<{room}}  {counts}  {step.tokens_shown:>6,} /{step.tokens_full:>8,}"
    return [head, *(line for text in below for line in wrapped(text, columns, indent="      "))]


def summary(report: DemoReport, *, columns: int = _COLUMNS) -> list[str]:
    """What the run comes to, and what to type next."""
    size = (
        f"{report.requests} requests answered, {len(report.steps)} model steps, {report.states} states in view, "
        f"{report.raw_results} raw results, {report.seconds:.1f} s"
    )
    return [
        "",
        *wrapped(size, columns),
        "",
        *(line for text in _costs(report) for line in wrapped(text, columns)),
        "",
        *wrapped("One more request is open and unanswered. What a model would be shown now:", columns),
        f"  {report.commands[1]}",
        "",
        "Look at it:",
        *(f"  {command}" for command in (report.commands[0], *report.commands[2:])),
        "",
        "In Neo4j Browser:",
        *(line for query in report.queries for line in (*wrapped(query, columns, indent="  "), "")),
        *wrapped(f"Each run makes a task of its own; this one is {report.task}.", columns),
    ]


def _costs(report: DemoReport) -> tuple[str, str, str]:
    """The prompts alone, everything that a model reads and writes, and why the second saving is smaller."""
    kind = report.tokenizer if report.tokens_exact else "estimated: graphmem-neo4j[agent] counts them"
    return (
        f"prompts {report.tokens_shown:,} against {report.tokens_full:,} tokens with the full history "
        f"({_change(report.tokens_shown, report.tokens_full)}; {kind})",
        f"with the system message of every step and the outputs {report.total_shown:,} against "
        f"{report.total_full:,} ({_change(report.total_shown, report.total_full)})",
        "The second saves less: graphmem's system message explains its protocol in every step, its outputs hold the "
        "states too, and it takes steps that only look, which are not counted for the full history.",
    )


def _change(shown: int, full: int) -> str:
    return f"{shown / full - 1:+.0%}".replace("%", " %")


def wrapped(text: str, columns: int, *, indent: str = "") -> list[str]:
    """The text in lines that fit."""
    return textwrap.wrap(
        text, columns, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )
