"""`graphmem cypher`: the named queries, or a statement of the operator's own that only reads.

Owns how their answers are printed; what holds a statement to reading is the library's.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from graphmem import inspect
from graphmem.store import Caps
from graphmem.vocabulary import Json, json_text
from graphmem_cli.options import Reach, connection_options, json_option, print_json, say
from graphmem_cli.sheets import query_lines, record_lines
from graphmem_cli.tables import page_width, table, terminal_width, width

_DEFAULT: Final = Caps()
_SECONDS: Final = int(_DEFAULT.seconds)


@click.command()
@click.argument("name", required=False)
@click.option("-e", "--execute", metavar="STATEMENT", help="A statement of your own that only reads; - takes stdin.")
@click.option(
    "-p", "given", metavar="KEY=VALUE", multiple=True, help="A parameter ($p.KEY); --space gives the one called space."
)
@click.option("--space", envvar="GRAPHMEM_SPACE", show_envvar=True, help="The space to look into.")
@click.option(
    "--rows", type=click.IntRange(1, 1_000_000), default=_DEFAULT.rows, show_default=True, help="With -e: at most."
)
@click.option(
    "--bytes", type=click.IntRange(1, 1 << 30), default=_DEFAULT.bytes, show_default=True, help="With -e: at most."
)
@click.option(
    "--timeout",
    type=click.IntRange(1, 3_600),
    default=int(_DEFAULT.seconds),
    show_default=True,
    help="With -e: seconds.",
)
@connection_options
@json_option
def cypher(
    reach: Reach,
    name: str | None,
    execute: str | None,
    given: tuple[str, ...],
    space: str | None,
    as_json: bool,
    **caps: int,
) -> None:
    """Run a named query, or list them; with -e a statement of your own.

    Without NAME it lists the read-only queries of cypher/inspect/ with their parameters, optional ones in brackets. A
    statement of your own sees the whole database, and runs only when all that it does is to read.
    """
    params: dict[str, Any] = dict(_pair(text) for text in given)
    if execute is not None:
        if name is not None:
            raise click.UsageError("give the NAME of a query or -e STATEMENT, not both")
        _execute(reach, execute, params if space is None else {"space": space, **params}, as_json=as_json, caps=caps)
    elif name is None:
        _list_queries(as_json)
    else:
        _run_named(reach, name, params, space, as_json=as_json)


def _execute(reach: Reach, statement: str, params: dict[str, Any], *, as_json: bool, caps: dict[str, int]) -> None:
    text = sys.stdin.read() if statement == "-" else statement
    limits = Caps(rows=caps["rows"], bytes=caps["bytes"], seconds=caps["timeout"])
    connection = reach.connection(read_only=True)
    try:
        found = inspect.ask(connection, text, params, caps=limits)
    finally:
        connection.close()
    _print(found.columns, found.rows, as_json=as_json)
    if found.cut is not None:
        say(f"{found.cut}; --rows and --bytes show more")


def _run_named(reach: Reach, name: str, params: dict[str, Any], space: str | None, *, as_json: bool) -> None:
    about = {query.name: query for query in inspect.named_queries()}.get(name)
    if space is not None and about is not None and "space" in about.params:
        params.setdefault("space", space)
    with reach.graph() as graph:
        found = inspect.run_named(graph.connection, name, params)
    _print(found.columns, found.rows, as_json=as_json)


def _print(columns: Sequence[str], rows: Sequence[Sequence[Json]], *, as_json: bool) -> None:
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif rows:
        _print_rows(columns, rows)
    else:
        say("no rows")


def _print_rows(columns: Sequence[str], rows: Sequence[Sequence[Json]]) -> None:
    """A table where it fits, else each row as a record: nothing is cut."""
    headers = [column.upper() for column in columns]
    lines = list(table(headers, [[_plain_cell(cell) for cell in row] for row in rows], columns=None))
    room = terminal_width()
    if room is None or all(width(line) <= room for line in lines):
        _echo(iter(lines))
    else:
        _echo(record_lines(columns, rows, width=room))


def _plain_cell(cell: Json) -> object:
    return cell if cell is None or isinstance(cell, str | int | float) else json_text(cell)


def _list_queries(as_json: bool) -> None:
    found = inspect.named_queries()
    if as_json:
        print_json([about.to_dict() for about in found])
    else:
        _echo(query_lines(found, columns=page_width()))


def _pair(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise click.UsageError(f"-p {text}: write -p key=value")
    return key, value


def _echo(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line)
