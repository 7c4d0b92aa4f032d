"""Commands that look: tasks, requests, status, states, show, disclose, log.

Each calls one function of `graphmem.inspect` (status: of the task itself, as an agent would) and prints the answer.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click

from graphmem import inspect
from graphmem.errors import NoOpenRequestError, NotFoundError
from graphmem.graph import Graph
from graphmem_cli.options import (
    Command,
    Reach,
    connection_options,
    json_option,
    limit_option,
    number_option,
    optional_space_option,
    print_json,
    print_table,
    say,
    space_option,
)
from graphmem_cli.sheets import (
    change_words,
    disclosure_lines,
    result_words,
    show_lines,
)
from graphmem_cli.tables import visible


def _read(command: Command) -> Command:
    """The options of every read."""
    return space_option(connection_options(json_option(command)))


_task = click.argument("task")

_SPACES: Final = 20


@contextmanager
def _open(reach: Reach) -> Iterator[Graph]:
    with reach.graph() as graph:
        yield graph


def _limited(rows: Sequence[Any], limit: int, *, newest: bool) -> Sequence[Any]:
    """The rows that were asked for; one more was read to know whether there are more."""
    if len(rows) <= limit:
        return rows
    say(f"{'the newest' if newest else 'the first'} {limit:,}; --limit shows more")
    return rows[-limit:] if newest else rows[:limit]


def _answer(
    rows: Sequence[Any], as_json: bool, headers: Sequence[str], cells: Callable[[Any], Sequence[object]], none: str
) -> None:
    if as_json:
        print_json([row.to_dict() for row in rows])
    elif rows:
        print_table(headers, [cells(row) for row in rows])
    else:
        say(none)


@click.command()
@limit_option(1_000)
@optional_space_option
@connection_options
@json_option
def tasks(reach: Reach, space: str | None, limit: int, as_json: bool) -> None:
    """The tasks of a space. Without --space: an error that names the spaces there are."""
    with _open(reach) as graph:
        if space is None:
            raise click.UsageError(_spaces_to_choose(graph))
        rows = _limited(inspect.tasks(graph.connection, space, limit=limit + 1), limit, newest=False)
    headers = ("TASK", "OPEN", "WAITS", "REQUESTS", "STEPS", "NODES", "LAST REQUEST")
    _answer(rows, as_json, headers, _task_cells, f"space {space} has no task yet; task.request(text) makes one")


def _spaces_to_choose(graph: Graph) -> str:
    found = [line.space for line in inspect.spaces(graph.connection, limit=_SPACES + 1)]
    if not found:
        return "Missing option '--space'. There is no space yet: the first request of a task makes one."
    more = ", … (`graphmem cypher spaces` lists all)" if len(found) > _SPACES else ""
    return f"Missing option '--space'. There is {', '.join(found[:_SPACES])}{more}"


def _task_cells(line: inspect.TaskLine) -> Sequence[object]:
    waits = None if line.pending is None else f"results of step {line.pending}"
    return line.task, line.open, waits, line.requests, line.steps, line.nodes, line.text


@click.command()
@_task
@limit_option(1_000)
@_read
def requests(reach: Reach, space: str, task: str, limit: int, as_json: bool) -> None:
    """The requests of a task, and the steps that answered."""
    with _open(reach) as graph:
        rows = _limited(inspect.requests(graph.connection, space, task, limit=limit + 1), limit, newest=True)
    _answer(rows, as_json, ("REQUEST", "STANDING", "STEPS", "TEXT"), _request_cells, f"{task} has no request")


def _request_cells(line: inspect.RequestLine) -> Sequence[object]:
    return (
        line.number,
        line.standing,
        f"{line.opened_step}-{line.finished_step or line.abandoned_step or line.cut_step or ''}",
        line.text,
    )


@click.command()
@_task
@_read
def status(reach: Reach, space: str, task: str, as_json: bool) -> None:
    """What the open request shows its model, word for word."""
    with _open(reach) as graph:
        try:
            found = graph.space(space).task(task).open_request().status()
        except NoOpenRequestError as error:
            error.command = inspect.command("requests", task, space=space)
            raise
        except NotFoundError as error:
            error.command = inspect.command("tasks", space=space)
            raise
    if as_json:
        print_json(found.to_dict())
        return
    click.echo(visible(found.text(), newlines=True))
    by = found.tokenizer.name if found.tokenizer.exact else "an estimate"
    say(f"request {found.request}, version {found.version}: {found.tokens:,} tokens ({by})")
    if found.pending is not None:
        say(f"step {found.pending.step} waits for results: {', '.join(call.id for call in found.pending.calls)}")


@click.command()
@_task
@number_option("--request", "Only the states of this request.")
@limit_option(1_000)
@_read
def states(reach: Reach, space: str, task: str, request: int | None, limit: int, as_json: bool) -> None:
    """The states in view, in order of appearance."""
    with _open(reach) as graph:
        found = inspect.states(graph.connection, space, task, request=request, limit=limit + 1)
    rows = _limited(found, limit, newest=False)
    _answer(rows, as_json, ("REQUEST", "ID", "KIND", "STEP", "SUMMARY"), _state_cells, "no state is in view")


def _state_cells(line: inspect.StateLine) -> Sequence[object]:
    return line.request, line.id, line.kind, line.from_step, line.summary


@click.command()
@_task
@click.argument("id")
@limit_option(50)
@_read
def show(reach: Reach, space: str, task: str, id: str, limit: int, as_json: bool) -> None:
    """Every version of a state, or a raw result (obs:1.1) verbatim."""
    with _open(reach) as graph:
        found = inspect.show(graph.connection, space, task, id, limit=limit + 1)
    shown = found if isinstance(found, inspect.RawResult) else _limited(found, limit, newest=True)
    if as_json:
        print_json(
            shown.to_dict() if isinstance(shown, inspect.RawResult) else [version.to_dict() for version in shown]
        )
    else:
        _echo(show_lines(shown))


@click.command()
@_task
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@_read
def disclose(reach: Reach, space: str, task: str, ids: tuple[str, ...], as_json: bool) -> None:
    """What an access to these ids would show, or why not.

    The answer is that of Progressive State Access in the open request, or in the next one. Writes nothing. An ID is
    that of a state, of a raw result (obs:1.1) or of a request (request:1).
    """
    with _open(reach) as graph:
        found = inspect.disclose(graph.connection, space, task, ids)
    if as_json:
        print_json([disclosure.to_dict() for disclosure in found])
    else:
        _echo(disclosure_lines(found))


@click.command()
@_task
@number_option("--request", "Only the steps of this request.")
@number_option("--first", "From this step on.")
@number_option("--last", "Up to this step.")
@limit_option(200)
@_read
def log(
    reach: Reach,
    space: str,
    task: str,
    request: int | None,
    first: int | None,
    last: int | None,
    limit: int,
    as_json: bool,
) -> None:
    """The ledger, one line a step, oldest first.

    NODE is the trace node that an observation grew (= for one that was there). CHANGES: +added ~updated -removed
    states, >disclosed ids, !number of parts that were rejected. LEFT is the revise that left the step behind.
    """
    with _open(reach) as graph:
        found = inspect.log(graph.connection, space, task, request=request, first=first, last=last, limit=limit + 1)
    rows = _limited(found, limit, newest=True)
    left = any(line.abandoned_step is not None for line in rows)
    headers = ("STEP", "REQUEST", "KIND", *(("LEFT",) if left else ()), "NODE", "CHANGES", "CALLS OR TEXT")
    _answer(rows, as_json, headers, lambda line: _log_cells(line, left=left), "no step in that range")


def _log_cells(line: inspect.LogLine, *, left: bool) -> Sequence[object]:
    node = None if line.node is None else f"{'=' if line.merged else ''}{line.node}"
    abandoned = (line.abandoned_step,) if left else ()
    return line.number, line.request, line.kind, *abandoned, node, change_words(line), result_words(line)


def _echo(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line)


commands: Final[tuple[click.Command, ...]] = (tasks, requests, status, states, show, disclose, log)
