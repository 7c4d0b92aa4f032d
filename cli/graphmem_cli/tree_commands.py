"""Commands that look at the path of a task: path, prompt, diff, grep.

Each calls one function of the package and prints its answer. Invariant: every text out of the graph goes through
`visible`.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import unified_diff
from typing import Final

import click

from graphmem import compare, inspect
from graphmem.errors import InvalidValueError, NoOpenRequestError, NotFoundError, QueryTimeoutError
from graphmem.graph import Graph
from graphmem.task import Comparison, Past, Side
from graphmem.trace import Path, Summary
from graphmem.vocabulary import Json, json_text, short_name
from graphmem_cli.options import (
    Command,
    Reach,
    connection_options,
    json_option,
    limit_option,
    number_option,
    print_json,
    say,
    space_option,
)
from graphmem_cli.tables import page_width, visible, wrapped

_task = click.argument("task")
_CHARACTERS: Final = 200
_SECONDS: Final = 60


def _options(function: Command) -> Command:
    return space_option(connection_options(json_option(function)))


def _echo(lines: Iterator[str]) -> None:
    for line in lines:
        for part in wrapped(line, columns=page_width(), rest="    "):
            click.echo(part)


@click.command()
@_task
@number_option("--at", "As it was after this step.")
@_options
def path(reach: Reach, space: str, task: str, at: int | None, as_json: bool) -> None:
    """The active path: finished subgoals, recent actions, and what was tried from here before."""
    with reach.graph() as graph, _advised(task, space):
        on = graph.space(space).task(task)
        found = on.path() if at is None else on.at(at).path()
    if as_json:
        print_json(found.to_dict())
    else:
        _echo(_path_lines(found))


@contextmanager
def _advised(task: str, space: str) -> Iterator[None]:
    """What does not exist is said with the command that lists what does."""
    try:
        yield
    except NoOpenRequestError as error:
        error.command = inspect.command("requests", task, space=space)
        raise
    except NotFoundError as error:
        of_task = "no step" in str(error) or "begins with step" in str(error)
        error.command = inspect.command("log", task, space=space) if of_task else inspect.command("tasks", space=space)
        raise


def _path_lines(found: Path) -> Iterator[str]:
    if not (found.summaries or found.recent):
        yield "nothing was done yet"
    for summary in found.summaries:
        yield f"C {summary.boundary:>5}  {_summary(summary)}"
    for node in found.recent:
        for i, seen in enumerate(node.results):
            result = "(outcome unknown)" if seen.content is None else short_name(seen.content, characters=_CHARACTERS)
            number = node.number if i == 0 else ""
            yield f"R {number:>5}  {seen.tool} {json_text(seen.arguments)} -> {result}"
        if node.wrote:
            yield f"         an attempt that was left wrote here: {', '.join(node.wrote)}"
    hints = found.hints
    if hints.feedback:
        yield f"H        {hints.feedback}"
    for tried in hints.subgoals:
        yield f"H {tried.boundary:>5}  tried: {_summary(tried)}"
    for action in hints.tried:
        calls = ", ".join(f"{seen.tool} {json_text(seen.arguments)}" for seen in action.results)
        yield f"H {action.number:>5}  tried: {calls}"
    more = hints.more_subgoals + hints.more_tried
    if more:
        yield f"H        and {more} more that were tried"


def _summary(summary: Summary) -> str:
    note = f": {summary.note}" if summary.note else ""
    verdict = "" if summary.verdict == "passed" else f" [{summary.verdict}{note}]"
    return f"{short_name(summary.text, characters=_CHARACTERS)}{verdict}"


@click.command()
@_task
@number_option("--at", "What the model saw when it gave this step.")
@click.option("--budget-tokens", type=click.IntRange(min=0), help="Limit of the path's part.")
@_options
def prompt(reach: Reach, space: str, task: str, at: int | None, budget_tokens: int | None, as_json: bool) -> None:
    """Path and status as one prompt, word for word; with --at as a model saw it."""
    with reach.graph() as graph, _advised(task, space):
        found = graph.space(space).task(task).prompt(at=at, budget_tokens=budget_tokens)
        text, tokens = found.text(), found.tokens
    if as_json:
        print_json({"task": task, "at": at, "tokens": tokens, "joined": found.path is not None, "text": text})
        return
    click.echo(visible(text, newlines=True))
    by = found.status.tokenizer.name if found.status.tokenizer.exact else "an estimate"
    say(f"{tokens:,} tokens ({by})")


@click.command()
@_task
@click.argument("a")
@click.argument("b")
@_options
def diff(reach: Reach, space: str, task: str, a: str, b: str, as_json: bool) -> None:
    """Where two moments or two tasks part, and what differs.

    A and B are steps of TASK, or other tasks: NAME, or NAME@STEP. `.` is TASK as it is now.
    """
    with reach.graph() as graph, _advised(task, space):
        found = compare(_moment(graph, space, task, a), _moment(graph, space, task, b))
    if as_json:
        print_json(found.to_dict() | {"same": found.same})
    else:
        _echo(_diff_lines(found))


def _moment(graph: Graph, space: str, task: str, text: str) -> Past:
    name, _, step = text.rpartition("@")
    if text == ".":
        return graph.space(space).task(task).now()
    if text.isdecimal():
        name, step = task, text
    elif not name:
        return graph.space(space).task(text).now()
    if not step.isdecimal() or len(step) > 18:
        raise InvalidValueError(f"{text!r} is neither a step, a task, nor TASK@STEP")
    return graph.space(space).task(name).at(int(step))


def _diff_lines(found: Comparison) -> Iterator[str]:
    if found.same:
        yield "nothing differs"
        return
    at = "the beginning" if not found.parted_at else f"node {found.parted_at}, after {found.common} common actions"
    yield f"they part at {at}"
    for sign, side in (("-", found.a), ("+", found.b)):
        yield from _side_lines(sign, side)
    for state in found.differing:
        yield f"~ {state.id}"
        lines = unified_diff(_told(state.a), _told(state.b), lineterm="", n=0)
        yield from (f"    {line}" for line in list(lines)[2:] if not line.startswith("@@"))


def _side_lines(sign: str, side: Side) -> Iterator[str]:
    yield f"{sign}{sign}{sign} {side.task} at step {side.step}"
    yield from (f"{sign} action {number}: {name}" for number, name in side.actions)
    yield from (f"{sign} subgoal {s.boundary}: {_summary(s)}" for s in side.summaries)
    yield from (f"{sign} state {id_}: {summary}" for id_, summary in side.states)


def _told(state: tuple[str, Json]) -> list[str]:
    return [state[0], *json_text(state[1], sort_keys=True).replace(',"', ',\n"').split("\n")]


@contextmanager
def _limited_seconds() -> Iterator[None]:
    """A pattern that runs away inside one line is stopped, where the system can."""

    def stop(_signal: int, _frame: object) -> None:
        raise QueryTimeoutError(f"the search took more than {_SECONDS} seconds; give a simpler pattern")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@click.command()
@_task
@click.argument("pattern")
@click.option("-i", "--ignore-case", is_flag=True)
@click.option("--all", "everything", is_flag=True, help="What is out of view and off the path, too.")
@limit_option(200)
@_options
def grep(
    reach: Reach, space: str, task: str, pattern: str, ignore_case: bool, everything: bool, limit: int, as_json: bool
) -> None:
    """Lines that match a regular expression: states, raw results, summaries, requests, messages.

    PATTERN is one of Python's `re`. Only what is in view or on the path is searched, unless --all.
    """
    with reach.graph() as graph, _limited_seconds():
        found = inspect.search(
            graph.connection, space, task, pattern, ignore_case=ignore_case, everything=everything, limit=limit + 1
        )
    if len(found) > limit:
        say(f"the first {limit:,}; --limit shows more")
    hits = found[:limit]
    if as_json:
        print_json([hit.to_dict() for hit in hits])
    elif not hits:
        say("nothing matches" if everything else "nothing in view matches; --all looks at the rest, too")
    else:
        _echo(
            f"{hit.what} {hit.id} (step {hit.step}{'' if hit.in_view else ', out of view'}): {hit.line}" for hit in hits
        )


commands: Final[tuple[click.Command, ...]] = (path, prompt, diff, grep)
