"""Commands that start, stop and prepare: up, down, server, init, demo.

The embedded server's packages are imported when a command runs, so that `graphmem --help` needs none of them.
"""

import shlex
from pathlib import Path
from typing import Final

import click
from click.core import ParameterSource

from graphmem.graph import Graph, initialize
from graphmem.server.lock import LINES
from graphmem.store import init as apply_schema
from graphmem_cli.browser_command import browser
from graphmem_cli.options import (
    Reach,
    connection_options,
    home_option,
    json_option,
    path_hint,
    print_json,
    print_table,
    say,
    typed,
)

_DEMO_SPACE: Final = "demo"


@click.command()
@click.option(
    "--neo4j",
    type=click.Choice(LINES),
    help="Version of the server; by default the one that served the home last, else the first. 5.26 needs Java 17 "
    "or 21 on this machine.",
)
@home_option
@json_option
def up(neo4j: str | None, home: Path | None, as_json: bool) -> None:
    """Start the embedded Neo4j server, and prepare its database.

    Harmless when it is up already. The first start resolves the server's jars, which takes a minute or two.
    """
    from graphmem import server

    found = server.up(home, neo4j=neo4j, progress=say)
    say("preparing the database")
    version = initialize(found.uri, found.user, found.password)
    if as_json:
        print_json({**found.to_dict(), "schema": version})
        return
    print_table(
        ("SERVER", found.uri), (("BROWSER", found.browser), ("HOME", found.home), ("SCHEMA", f"version {version}"))
    )
    named = click.get_current_context().get_parameter_source("home") is ParameterSource.COMMANDLINE
    where = f" --home {shlex.quote(str(found.home))}" if named else ""
    say(f"Next: graphmem demo{where}, or graphmem browser{where}. `graphmem down{where}` stops the server.")
    _say_path_hint()


@click.command()
@home_option
@json_option
def down(home: Path | None, as_json: bool) -> None:
    """Stop the embedded server, and wait until it is gone."""
    from graphmem import server

    if server.status(home).state != "stopped":
        say("stopping …")
    stopped = server.down(home)
    if as_json:
        print_json({"stopped": stopped})
    else:
        click.echo("stopped" if stopped else "nothing was up")


@click.group()
def server() -> None:
    """Look at the embedded server."""


@server.command("status")
@home_option
@json_option
def server_status(home: Path | None, as_json: bool) -> None:
    """How the embedded server is: running, unresponsive or stopped."""
    from graphmem import server as room

    found = room.status(home)
    if as_json:
        print_json(found.to_dict())
        return
    rows: list[tuple[str, object]] = [("HOME", found.home), ("LOG", found.log), ("DATA", f"{found.data_bytes:,} bytes")]
    if found.server is not None:
        up_for = "" if found.uptime_seconds is None else f"{found.uptime_seconds:,.0f} seconds"
        rows += [("URI", found.server.uri), ("BROWSER", found.server.browser), ("NEO4J", found.server.version)]
        rows += [("JAVA", found.java), ("PROCESS", str(found.server.pid)), ("UP FOR", up_for)]
    print_table(("STATE", found.state), rows)
    if found.state == "stopped":
        where = "" if home is None else f" --home {shlex.quote(str(home))}"
        say(f"try: {typed(f'graphmem up{where}')}")


@server.command("logs")
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=1, max=1_000_000),
    default=40,
    show_default=True,
    help="How many lines, from the end.",
)
@home_option
@json_option
def server_logs(lines: int, home: Path | None, as_json: bool) -> None:
    """The last lines that the embedded server printed."""
    from graphmem import server as room
    from graphmem_cli.tables import visible

    found = room.logs(home, lines=lines)
    if as_json:
        print_json({"lines": found})
        return
    for line in found:
        click.echo(visible(line))


@server.command("dump")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@home_option
@json_option
def server_dump(file: Path, home: Path | None, as_json: bool) -> None:
    """Back up its database to one file, while it is down.

    By Neo4j's own `neo4j-admin database dump`; any Neo4j of the same version or a later one can load the file.
    """
    from graphmem import server

    size = server.dump(file, home, progress=say)
    if as_json:
        print_json({"file": str(file), "bytes": size})
    else:
        click.echo(f"{size:,} bytes in {file}")


@server.command("load")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--overwrite", is_flag=True, help="In the place of the database that is there.")
@home_option
@json_option
def server_load(file: Path, overwrite: bool, home: Path | None, as_json: bool) -> None:
    """Bring back what `dump` wrote, while it is down."""
    from graphmem import server

    server.load(file, home, overwrite=overwrite, progress=say)
    if as_json:
        print_json({"file": str(file)})
    else:
        click.echo(f"loaded {file}; `{typed('graphmem up')}` starts the server")


@click.command()
@connection_options
@json_option
def init(reach: Reach, as_json: bool) -> None:
    """Bring the database to the schema of this graphmem.

    Waits for its indexes. Harmless twice; nothing else ever changes a schema.
    """
    connection = reach.connection(timeout_seconds=600.0)
    try:
        version = apply_schema(connection, say)
    finally:
        connection.close()
    if as_json:
        print_json({"uri": connection.uri, "database": connection.database, "schema": version})
    else:
        click.echo(f"{connection.uri}, database {connection.database}: schema {version}")


@click.command()
@click.option("--space", default=_DEMO_SPACE, show_default=True, help="The space to write the run into.")
@connection_options
@json_option
def demo(reach: Reach, space: str, as_json: bool) -> None:
    """Run a scripted agent, and say what to look at.

    It starts the embedded server where no other one is named and none is up.
    """
    from graphmem.agent import demo as story

    where = "" if reach.home is None else f" --home {shlex.quote(str(reach.home))}"
    named = where if reach.home_named else ""

    def write(line: str) -> None:
        click.echo(line + named if line.lstrip().startswith("graphmem ") else line)

    with _prepared(reach) as graph:
        report = story.run(graph, space, write=(lambda _json: None) if as_json else write, as_json=as_json)
    if as_json:
        print_json({**report.to_dict(), "commands": [command + named for command in report.commands]})
        return
    if reach.embedded:
        say(
            f"To start over: `graphmem down{where}`, then remove the folder that `graphmem server status{where}` names."
        )
    _say_path_hint()


def _say_path_hint() -> None:
    hint = path_hint()
    if hint is not None:
        say(hint)


def _prepared(reach: Reach) -> Graph:
    """A graph with its schema in place; the embedded server is started where no other one is meant."""
    if reach.embedded:
        from graphmem import server

        if server.find(reach.home) is None:
            server.up(reach.home, progress=say)
    connection = reach.connection()
    try:
        apply_schema(connection, say)
    finally:
        connection.close()
    return reach.graph()


commands: Final[tuple[click.Command, ...]] = (up, demo, browser, down, server, init)
