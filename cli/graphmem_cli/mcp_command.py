"""`graphmem mcp`: one task served to assistants over the Model Context Protocol.

Everything that a model may not decide is decided here, by options and environment. The packages of the extra are
imported when the command runs. Over stdio nothing but the protocol goes to stdout.
"""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from graphmem_cli.options import (
    Command,
    Reach,
    connection_options,
    json_option,
    print_json,
    print_table,
    say,
    space_option,
)

if TYPE_CHECKING:
    from graphmem.integrations.mcp import Scope

_HOST: Final = "127.0.0.1"
_PORT: Final = 8765


def _http_options(command: Command) -> Command:
    file = click.Path(path_type=Path, exists=True, dir_okay=False)
    options = (
        click.option("--http", is_flag=True, help="Streamable HTTP instead of stdio."),
        click.option("--host", default=_HOST, show_default=True, help="With --http: where to listen."),
        click.option("--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="With --http."),
        click.option(
            "--host-name",
            "names",
            multiple=True,
            help="With --http: a further name by which clients call this host (checked against DNS rebinding).",
        ),
        click.option(
            "--token-file",
            type=file,
            help="With --http: a file with the bearer token. Without it GRAPHMEM_MCP_TOKEN. Needed beyond loopback.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.option("--task", required=True, envvar="GRAPHMEM_TASK", show_envvar=True, help="The task that is served.")
@space_option
@click.option("--read-only", is_flag=True, help="Offer only tools that read; the database is opened to read only.")
@click.option("--without", metavar="TOOL", multiple=True, help="Do not offer this tool.")
@click.option(
    "--reply-tokens", type=click.IntRange(1_000, 1_000_000), default=8_000, show_default=True, help="At most."
)
@click.option(
    "--timeout", type=click.IntRange(1, 3_600), default=30, show_default=True, help="Of a statement, seconds."
)
@_http_options
@click.option("--describe", is_flag=True, help="Print the tools that would be offered, and end.")
@connection_options
@json_option
def mcp(reach: Reach, describe: bool, as_json: bool, http: bool, **given: Any) -> None:
    """Serve one task to an assistant over MCP: stdio, or HTTP.

    Space, task and permissions are those given here; a model cannot choose others. README has the configuration blocks.
    """
    unknown = sorted(set(given["without"]) - set(_names()))
    if unknown:
        raise click.UsageError(f"--without {unknown[0]}: there is no such tool; there are {', '.join(_names())}")
    if describe:
        _describe(given, as_json=as_json)
        return
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    if http:
        _over_http(reach, given)
        return
    from graphmem.integrations.mcp import serve_stdio

    with _scope(reach, given) as scope:
        serve_stdio(scope)


def _over_http(reach: Reach, given: Mapping[str, Any]) -> None:
    from graphmem.integrations.mcp import Gate, serve_http, token_from

    gate = Gate(
        host=given["host"], port=given["port"], token=token_from(given["token_file"]), names=tuple(given["names"])
    )

    def listening(url: str) -> None:
        say(f"task {given['task']} of space {given['space']} at {url}")
        if gate.token is None:
            say("without a bearer token: every program on this machine can use it. --token-file or GRAPHMEM_MCP_TOKEN")

    with _scope(reach, given) as scope:
        serve_http(scope, gate, listening=listening)


@contextmanager
def _scope(reach: Reach, given: Mapping[str, Any]) -> Iterator["Scope"]:
    from graphmem.integrations.mcp import Scope

    with reach.graph(timeout_seconds=given["timeout"], read_only=given["read_only"]) as graph:
        yield Scope(
            graph=graph,
            space=given["space"],
            name=given["task"],
            read_only=given["read_only"],
            without=frozenset(given["without"]),
            reply_tokens=given["reply_tokens"],
        )


def _names() -> tuple[str, ...]:
    from graphmem.integrations.mcp import TOOLS

    return tuple(tool.name for tool in TOOLS)


def _describe(given: Mapping[str, Any], *, as_json: bool) -> None:
    from graphmem.integrations.mcp import definition, offered

    tools = offered(read_only=given["read_only"], without=given["without"])
    if as_json:
        print_json([definition(tool).model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
        return
    print_table(("TOOL", "EFFECT", "WHAT IT IS FOR"), ((tool.name, tool.effect, tool.description) for tool in tools))
