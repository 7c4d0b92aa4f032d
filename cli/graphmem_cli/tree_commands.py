"""Commands that look at the path of a task: path, prompt, diff, grep.

Each calls one function of the package and prints its answer. Invariant: every text out of the graph goes through
`visible`.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import unified_diff
from typing import Final

import click

from graphmem import compare, inspect
from graphmem.errors import (
    InvalidValueError,
    NoOpenRequestError,
    NotFoundError,
    PendingCallsError,
    TaskError,
    TaskExistsError,
)
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
_DIGITS: Final = 19


def _options(function: Command) -> Command:
    return space_option(connection_options(json_option(function)))


@contextmanager
def advised(graph: Graph, space: str, task: str, *, lists: str = "log") -> Iterator[None]:
    """What is refused is said with the command that helps on; `lists` is the one that lists what can be named."""
    try:
        yield
    except NotFoundError as error:
        inspect.require_task(graph.connection, space, task)
        error.command = error.command or inspect.command(lists, task, space=space)
        raise
    except TaskExistsError as error:
        error.command = inspect.command("tasks", space=space)
        raise
    except TaskError as error:
        helps: Mapping[type[TaskError], str] = {NoOpenRequestError: "requests", PendingCallsError: "status"}
        error.command = error.command or inspect.command(helps.get(type(error), "path"), task, space=space)
        raise
    except InvalidValueError as error:
        error.command = error.command or f"graphmem {click.get_current_context().info_name} --help"
        raise


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
    with reach.graph() as graph, advised(graph, space, task):
        on = graph.space(space).task(task)
        found = on.path() if at is None else on.at(at).path()
    if as_json:
        print_json(found.to_dict())
    else:
        _echo(_path_lines(found))


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
        yield from _wrote_lines(node.wrote)
    hints = found.hints
    if hints.feedback:
        yield f"H        {hints.feedback}"
    for tried in hints.subgoals:
        yield f"H {tried.boundary:>5}  tried: {_summary(tried)}"
    for action in hints.tried:
        calls = ", ".join(f"{seen.tool} {json_text(seen.arguments)}" for seen in action.results)
        notes = "".join(f" [failed: {note}]" for note in dict.fromkeys(action.notes))
        yield f"H {action.number:>5}  tried: {calls}{notes}"
        yield from _wrote_lines(action.wrote)
    more = hints.more_subgoals + hints.more_tried
    if more:
        yield f"H        and {more} more that were tried"


def _wrote_lines(ids: tuple[str, ...]) -> Iterator[str]:
    if ids:
        yield f"         an attempt that was left wrote here: {', '.join(ids)}"


def _summary(summary: Summary) -> str:
    note = f": {summary.note}" if summary.note else ""
    return f"{short_name(summary.text, characters=_CHARACTERS)} [{summary.verdict}{note}]"


@click.command()
@_task
@number_option("--at", "What the model saw when it gave this step.")
@click.option("--budget-tokens", type=click.IntRange(min=0), help="Limit of the path's part; not with --at.")
@_options
def prompt(reach: Reach, space: str, task: str, at: int | None, budget_tokens: int | None, as_json: bool) -> None:
    """Path and status as one prompt, word for word; with --at as a model saw it."""
    if at is not None and budget_tokens is not None:
        raise click.UsageError("--at shows a prompt as it was; --budget-tokens is for the present one")
    with reach.graph() as graph, advised(graph, space, task):
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

    A and B are steps of TASK, or other tasks: NAME, or NAME@STEP. `.` is TASK as it is now, and `NAME@` a task whose
    name reads like one of these.
    """
    with reach.graph() as graph:
        sides = [_moment(graph, space, task, text) for text in (a, b)]
        try:
            found = compare(*(moment for _, moment in sides))
        except NotFoundError:
            for name, moment in sides:
                with advised(graph, space, name):
                    moment.path()
            raise
    if as_json:
        print_json(found.to_dict() | {"same": found.same})
    else:
        _echo(_diff_lines(found))


def _moment(graph: Graph, space: str, task: str, text: str) -> tuple[str, Past]:
    """The task that a side names, and the moment of it."""
    name, sign, step = text.rpartition("@")
    if text == ".":
        name, step = task, ""
    elif text.isdecimal():
        name, step = task, text
    elif not sign or (step and not step.isdecimal()):
        name, step = text, ""
    with advised(graph, space, name):
        on = graph.space(space).task(name)
        return name, on.at(_step(step)) if step else on.now()


def _step(text: str) -> int:
    if len(text) > _DIGITS:
        raise InvalidValueError(f"{text[:_DIGITS]}… is no number of a step")
    return int(text)


def _diff_lines(found: Comparison) -> Iterator[str]:
    if found.same:
        yield "nothing differs"
        return
    at = "the beginning" if not found.parted_at else f"node {found.parted_at}, after {found.common} common actions"
    yield f"they part at {at}" if found.a.actions or found.b.actions else "the same actions on both sides"
    for sign, side in (("-", found.a), ("+", found.b)):
        yield from _side_lines(sign, side)
    for state in found.differing:
        yield f"~ {state.id}"
        lines = list(unified_diff(_told(*state.a), _told(*state.b), lineterm="", n=0))
        yield from (f"    {line}" for line in lines[2:] if not line.startswith("@@"))
        if not lines:
            yield "    of another kind"


def _side_lines(sign: str, side: Side) -> Iterator[str]:
    yield f"{sign}{sign}{sign} {side.task} at step {side.step}"
    yield from (f"{sign} action {name}" for _, name in side.actions)
    yield from (f"{sign} subgoal {s.boundary}: {_summary(s)}" for s in side.summaries)
    for id_, summary in side.states:
        yield f"{sign} state {id_}: {summary}"
        yield f"    {json_text(side.values[id_])}"


def _told(summary: str, value: Json, refs: tuple[str, ...]) -> list[str]:
    return [summary, *json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2).split("\n"), *refs]


@click.command()
@_task
@click.argument("pattern")
@click.option("-i", "--ignore-case", is_flag=True, help="Capitals and small letters alike.")
@click.option("--all", "everything", is_flag=True, help="What is out of view and off the path, too.")
@limit_option(200)
@_options
def grep(
    reach: Reach, space: str, task: str, pattern: str, ignore_case: bool, everything: bool, limit: int, as_json: bool
) -> None:
    """Lines that match a regular expression, in the order of the ledger.

    Searched are requests, calls with their arguments, messages, raw results, states (id, summary, value), summaries and
    feedback; with --all also what is out of view, off the path or was refused. PATTERN is one of Python's `re`; `^` and
    `$` stand for the ends of lines.
    """
    with reach.graph() as graph, advised(graph, space, task):
        found = inspect.search(
            graph.connection, space, task, pattern, ignore_case=ignore_case, everything=everything, limit=limit + 1
        )
        origin = graph.space(space).task(task).origin()
    if origin is not None:
        before = inspect.command("grep", origin.task, pattern, space=space)
        say(f"a fork: what came before step {origin.step + 1} and is below its summaries is found by `{before}`")
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
