"""The demo: FlowState's Figure 1 grown to a believable size, run by a scripted agent against a real graph.

Owns the running, what is printed and the report; the world is `travel`, the story is `script`. Each run makes a task of
its own and deletes nothing; one that was interrupted stays there as a task with an open request. Invariant: a run that
returns went exactly as the story tells.
"""

import json
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from graphmem.agent import loop
from graphmem.agent.events import Invocation
from graphmem.agent.history import History
from graphmem.agent.prompts import full_context_message, system_message
from graphmem.agent.script import POLICY, SCENES, Scene
from graphmem.agent.story import Story
from graphmem.agent.telling import DemoReport, DemoStep, legend, lines, summary, wrapped
from graphmem.agent.tools import Tool
from graphmem.agent.travel import Travel
from graphmem.agent.wrong_turn import Branches, second_part, told
from graphmem.errors import NoOpenRequestError, NotFoundError, RequestOpenError
from graphmem.task import Task
from graphmem.vocabulary import short_name

_REVISITED: Final = "d8-keep-hotel-a"
_DISCLOSED: Final = "d7-book-hotel-a"
UNANSWERED: Final = "Thanks. Is anything left to do before I fly?"
_RUNS: Final = 10_000
_COLUMNS: Final = 100


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
    branches = second_part(graph.space(space).task, made.name)
    for line in told(branches):
        telling.say(line)
    report = telling.report(made, branches, seconds=time.monotonic() - started)
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

    def say(self, line: str) -> None:
        """A line of the second part, folded to the terminal."""
        blank = "" if line.startswith(" ") else "\n"
        self._write(
            blank + "\n".join(wrapped(line.strip(), self._columns, indent=line[: len(line) - len(line.lstrip())]))
        )

    def report(self, task: Task, branches: Branches, *, seconds: float) -> DemoReport:
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
            branches=branches,
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


def commands(task: Task) -> tuple[str, ...]:
    """Commands to type next: the picture, the run, its reasons, and the wrong turn with its fork."""
    where = f"--space {task.space}"
    return (
        "graphmem browser",
        f"graphmem status {task.name} {where}",
        f"graphmem log {task.name} {where}",
        f"graphmem why {task.name} {_REVISITED} {where}",
        f"graphmem disclose {task.name} {_DISCLOSED} {where}",
        f"graphmem tree {task.name}-guests {where}",
        f"graphmem diff {task.name}-guests . {task.name}-plan-b {where}",
    )


def queries(task: Task) -> tuple[str, ...]:
    """Two queries to paste: the picture of the task, and the evidence below the revisited decision.

    Browser asks for no parameters, so the names stand in them; a name holds nothing that would end a string.
    """
    key = f"{task.space}/{task.name}"
    return (
        f"MATCH (n) WHERE (n:Live OR n:OnPath OR n:Request OR n:Task) AND n.space = '{task.space}' "
        f"AND coalesce(n.task, n.key) = '{key}' OPTIONAL MATCH (n)-[r]->(m) "
        "WHERE m:Live OR m:OnPath OR m:Request OR m:Task RETURN n, r, m",
        f"MATCH p = (:State {{live_key: '{key}/state:{_REVISITED}'}})"
        "-[:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES*1..4]->() RETURN p",
    )
