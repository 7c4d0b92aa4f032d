"""The demo: FlowState's Figure 1 grown to a believable size, run by a scripted agent against a real graph.

Owns the running, what is printed and the report; the world is `travel`, the story is `script`. Each run makes a task of
its own and deletes nothing; one that was interrupted stays there as a task with an open request. Invariant: a run that
returns went exactly as the story tells.
"""

import json
import shutil
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from graphmem.agent import loop
from graphmem.agent.history import History
from graphmem.agent.loop import Invocation
from graphmem.agent.prompts import full_context_message, system_message
from graphmem.agent.script import POLICY, SCENES, Scene
from graphmem.agent.story import Story
from graphmem.agent.tools import Tool
from graphmem.agent.travel import Travel
from graphmem.errors import NoOpenRequestError, NotFoundError, RequestOpenError
from graphmem.task import Task
from graphmem.vocabulary import short_name

_REVISITED: Final = "d8-keep-hotel-a"
_DISCLOSED: Final = "d7-book-hotel-a"
UNANSWERED: Final = "Thanks. Is anything left to do before I fly?"
_RUNS: Final = 10_000
_COLUMNS: Final = 100
_BESIDE_THE_CALL: Final = 38
_LEGEND: Final = (
    "A line a step of the ledger: its number; what was decided; states added (+), updated (~), removed (-), parts "
    "rejected (!); the tokens of the prompt / those of the full history of calls, results and messages. Below it: what "
    "was disclosed of earlier requests (sees), why parts were rejected (!), what was repaired."
)


class Tasks(Protocol):
    """A space, as far as the demo needs it."""

    def task(self, name: str) -> Task:
        """A handle on a task."""
        ...


class Spaces(Protocol):
    """A graph, as far as the demo needs it."""

    def space(self, name: str) -> Tasks:
        """A handle on a space."""
        ...


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
    seconds: float
    commands: tuple[str, ...]
    queries: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def run(
    graph: Spaces,
    space: str = "demo",
    task: str = "oslo-trip",
    *,
    write: Callable[[str], object] = print,
    as_json: bool = False,
    columns: int | None = None,
) -> DemoReport:
    """Play the story in a fresh task, named `task` or `task-2`, `task-3` …, and say a line a step through `write`.

    Lines have at most `columns`, by default those of the terminal. With `as_json` the report is written as JSON at the
    end, and nothing else.

    Raises:
        StoryError: the store answered otherwise than the story needs.
    """
    started = time.monotonic()
    made = _fresh(graph.space(space), task, SCENES[0].text)
    columns = columns or shutil.get_terminal_size((_COLUMNS, 24)).columns
    telling = _Telling(write=(lambda _line: None) if as_json else write, columns=columns)
    telling.play(made)
    made.request(UNANSWERED)
    report = telling.report(made, seconds=time.monotonic() - started)
    if as_json:
        write(json.dumps(report.to_dict(), ensure_ascii=False, indent=2))
    else:
        for line in summary(report, columns=columns):
            write(line)
    return report


def _fresh(space: Tasks, name: str, text: str) -> Task:
    """The first task of that name, with a number where needed, that does not exist; its first request is opened.

    Opening it is what claims the name: of two runs at the same moment, one goes on to the next number.
    """
    for number in range(1, _RUNS):
        task = space.task(name if number == 1 else f"{name}-{number}")
        try:
            task.open_request()
        except NoOpenRequestError:
            continue
        except NotFoundError:
            with suppress(RequestOpenError):
                task.request(text)
                return task
    raise NotFoundError(f"{name} to {name}-{_RUNS - 1} are all taken; give the demo's task another name")


class _Telling:
    """One run of the story, and what there is to tell of it."""

    def __init__(self, *, write: Callable[[str], object], columns: int) -> None:
        self._write, self._columns = write, columns
        self._travel = Travel(SCENES[0].day)
        self._tools = [Tool.of(function) for function in self._travel.tools()]
        self._history = History()
        self._story = Story(scene.part for scene in SCENES)
        self._steps: list[DemoStep] = []
        self._outputs: list[tuple[int, int]] = []
        self._results = 0
        self._systems = (0, 0)
        self._tokenizer = ("", False)

    def play(self, task: Task) -> None:
        """Every request of the story; the first is open already."""
        for line in legend(task, columns=self._columns):
            self._write(line)
        for i, scene in enumerate(SCENES):
            text = self._asked(scene)
            self._history.ask(text)
            asked = f"request {i + 1}, {scene.day.day} {scene.day:%B}: {text}"
            self._write(f"\n{short_name(asked, characters=self._columns)}")
            loop.run(task, text if i else None, self._story, self._tools, policy=POLICY, on_step=self._on_step)

    def _asked(self, scene: Scene) -> str:
        """The user's words, with what the price alerts said since the last ones."""
        return "\n".join([scene.text, *self._travel.advance(scene.day)])

    def _on_step(self, invocation: Invocation) -> None:
        result, status = invocation.result, invocation.status
        self._story.check(result)
        count = status.tokenizer.count
        if not self._steps:
            self._systems = (
                count(system_message(self._tools, policy=POLICY)),
                count(full_context_message(self._tools, policy=POLICY)),
            )
            self._tokenizer = (status.tokenizer.name, status.tokenizer.exact)
        step = DemoStep(
            request=status.request,
            step=result.step,
            call=_call(invocation),
            added=len(result.added),
            updated=len(result.updated),
            removed=len(result.removed),
            rejected=tuple(f"{reason.what}: {reason.why}" for reason in result.rejected) + _refused(result.refused),
            repairs=result.repairs,
            disclosed=result.disclosed,
            tokens_shown=status.tokens,
            tokens_full=count(self._history.text()),
            acts=bool(result.calls) or result.message is not None,
        )
        self._steps.append(step)
        self._results += len(invocation.observed)
        self._history.act(result.calls, invocation.results, result.message)
        self._outputs.append((count(invocation.output), count(self._history.last) if step.acts else 0))
        for line in lines(step, columns=self._columns):
            self._write(line)

    def report(self, task: Task, *, seconds: float) -> DemoReport:
        """The whole run."""
        steps, acting = self._steps, [step for step in self._steps if step.acts]
        shown, full = sum(step.tokens_shown for step in steps), sum(step.tokens_full for step in acting)
        written, said = (sum(tokens) for tokens in zip(*self._outputs, strict=True))
        return DemoReport(
            space=task.space,
            task=task.name,
            requests=len(SCENES),
            steps=tuple(steps),
            states=sum(step.added - step.removed for step in steps),
            raw_results=self._results,
            spent_usd=sum(payment["usd"] for payment in self._travel.payments),
            tokens_shown=shown,
            tokens_full=full,
            total_shown=shown + written + self._systems[0] * len(steps),
            total_full=full + said + self._systems[1] * len(acting),
            tokenizer=self._tokenizer[0],
            tokens_exact=self._tokenizer[1],
            seconds=round(seconds, 2),
            commands=commands(task),
            queries=queries(task),
        )


def _refused(reason: str | None) -> tuple[str, ...]:
    return () if reason is None else (f"the whole output: {reason}",)


def _call(invocation: Invocation) -> str:
    """The decision, in a few words: tools with their arguments, or the message."""
    result = invocation.result
    if result.message is not None:
        return f"message: {result.message}"
    calls = [
        f"{call.name} {' '.join(str(value) for value in call.arguments.values())}".strip() for call in result.calls
    ]
    return ", ".join(calls) or ("(refused)" if result.refused else "(no action)")


def legend(task: Task, *, columns: int = _COLUMNS) -> list[str]:
    """What the lines of the steps mean."""
    first = f"task {task.name} in space {task.space}. The answers are scripted: no model is called."
    return [*_wrapped(first, columns), *_wrapped(_LEGEND, columns)]


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
    return [head, *(line for text in below for line in _wrapped(text, columns, indent="      "))]


def summary(report: DemoReport, *, columns: int = _COLUMNS) -> list[str]:
    """What the run comes to, and what to type next."""
    size = (
        f"{report.requests} requests answered, {len(report.steps)} model steps, {report.states} states in view, "
        f"{report.raw_results} raw results, {report.seconds:.1f} s"
    )
    return [
        "",
        *_wrapped(size, columns),
        "",
        *(line for text in _costs(report) for line in _wrapped(text, columns)),
        "",
        *_wrapped("One more request is open and unanswered. What a model would be shown now:", columns),
        f"  {report.commands[1]}",
        "",
        "Look at it:",
        *(f"  {command}" for command in (report.commands[0], *report.commands[2:])),
        "",
        "In Neo4j Browser:",
        *(line for query in report.queries for line in (*_wrapped(query, columns, indent="  "), "")),
        *_wrapped(f"Each run makes a task of its own; this one is {report.task}.", columns),
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


def _wrapped(text: str, columns: int, *, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, columns, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def commands(task: Task) -> tuple[str, ...]:
    """Five commands to type next."""
    where = f"--space {task.space}"
    return (
        "graphmem browser",
        f"graphmem status {task.name} {where}",
        f"graphmem log {task.name} {where}",
        f"graphmem why {task.name} {_REVISITED} {where}",
        f"graphmem disclose {task.name} {_DISCLOSED} {where}",
    )


def queries(task: Task) -> tuple[str, ...]:
    """Two queries to paste: the picture of the task, and the evidence below the revisited decision."""
    key = f"{task.space}/{task.name}"
    return (
        f"MATCH (n) WHERE (n:Live OR n:OnPath OR n:Request OR n:Task) AND n.space = '{task.space}' "
        f"AND coalesce(n.task, n.key) = '{key}' OPTIONAL MATCH (n)-[r]->(m) "
        "WHERE m:Live OR m:OnPath OR m:Request OR m:Task RETURN n, r, m",
        f"MATCH p = (:State {{live_key: '{key}/state:{_REVISITED}'}})"
        "-[:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES*1..4]->() RETURN p",
    )
