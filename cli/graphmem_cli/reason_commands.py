"""Commands that ask for reasons: why, impact, blame.

Each calls one function of `graphmem.inspect` and prints its answer.
"""

from collections.abc import Iterator
from typing import Final

import click

from graphmem import inspect
from graphmem_cli.options import Command, Reach, connection_options, json_option, print_json, space_option, typed
from graphmem_cli.reason_sheets import blame_lines, first_evidence, impact_lines, reason_lines
from graphmem_cli.tables import page_width

_task = click.argument("task")
_id = click.argument("id")
_depth = click.option(
    "--depth", type=click.IntRange(min=1, max=100), default=12, show_default=True, help="At most so many levels."
)


def _options(command: Command) -> Command:
    return space_option(connection_options(json_option(command)))


def _echo(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line)


@click.command()
@_task
@_id
@_depth
@_options
def why(reach: Reach, space: str, task: str, id: str, depth: int, as_json: bool) -> None:
    """What a state, result, summary or step rests on.

    Below a state stands what it derives from, follows, supersedes or supports; `<supports` marks a state that declared
    that it supports the one above. [knowledge, r6 s50]: of request 6, as step 50 left it. Of a raw result the lines are
    shown that share words with the state above it. ID may also be a raw result (obs:1.1), a summary (summary:0, where
    it starts, or its key) or a step (step:4).
    """
    with reach.graph() as graph:
        found = inspect.why(graph.connection, space, task, id, depth=depth)
    if as_json:
        print_json(found.to_dict())
        return
    _echo(reason_lines(found, columns=page_width()))
    raw = first_evidence(found) if isinstance(found, inspect.Reasoned) else None
    if raw is not None:
        click.echo(f"\nA raw result in full: {typed(inspect.command('show', task, raw, space=space))}")


@click.command()
@_task
@_id
@_depth
@_options
def impact(reach: Reach, space: str, task: str, id: str, depth: int, as_json: bool) -> None:
    """What rests on a state, a result or a step.

    ID is that of a state, of a raw result (obs:1.1) or of a step (step:4). Below it stands what refers to it, or what
    it supports, level by level; then what of that is in view now, the summaries over it, and its requests.
    """
    with reach.graph() as graph:
        found = inspect.impact(graph.connection, space, task, id, depth=depth)
    if as_json:
        print_json(found.to_dict())
    else:
        _echo(impact_lines(found, columns=page_width()))


@click.command()
@_task
@_id
@_options
def blame(reach: Reach, space: str, task: str, id: str, as_json: bool) -> None:
    """Which step and words wrote each part of a state.

    For every part (kind, summary, value, each key of the value, each ref): the step that last changed it, its author
    and request, and the line of the model's output where it stands.
    """
    with reach.graph() as graph:
        found = inspect.blame(graph.connection, space, task, id)
    if as_json:
        print_json(found.to_dict())
    else:
        _echo(blame_lines(found, columns=page_width()))


commands: Final[tuple[click.Command, ...]] = (why, impact, blame)
