"""`graphmem browser`: Neo4j Browser by one link, and what to do where no browser can be opened."""

import os
import shlex
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphmem import inspect
from graphmem.errors import ServerUnreachableError
from graphmem.graph import open_connection
from graphmem.inspect.browser import BrowserPages, other_browser
from graphmem.inspect.pages import first_query
from graphmem_cli.options import embedded_server, home_option, json_option, optional_space_option, print_json, say

if TYPE_CHECKING:
    from graphmem.server import Server


@click.command()
@click.option("--query", help="For the editor; by default the live graph of the task, else all tasks.")
@optional_space_option
@click.option("--task", help="The task that the guide speaks of; needs --space.")
@click.option("--open/--no-open", "opens", default=True, help="Open the link here, or only print it.")
@home_option
@json_option
def browser(
    query: str | None, space: str | None, task: str | None, opens: bool, home: Path | None, as_json: bool
) -> None:
    """Neo4j Browser by one link that arrives signed in.

    The link works once and for ten minutes. Guide and colours are served until Ctrl-C; Browser then stays connected.
    With GRAPHMEM_URI it is the plain link of that server's Browser, which asks for the password.
    """
    if task is not None and space is None:
        raise click.UsageError("--task needs --space, or GRAPHMEM_SPACE")
    uri = os.environ.get("GRAPHMEM_URI")
    if uri is not None and home is None:
        if "GRAPHMEM_PASSWORD" in os.environ:
            _check(uri, None, None, space=space, task=task)
        _other(uri, query or first_query(space, task), as_json=as_json)
        return
    found: Server = embedded_server(home)
    _check(found.uri, found.user, found.password, space=space, task=task)
    with BrowserPages.of(found, query=query, space=space, task=task) as pages:
        if as_json:
            print_json({"link": pages.link, "short_link": pages.short_link, "hint": pages.paste_hint})
        else:
            click.echo(pages.short_link)
        if opens and not (_has_desktop() and webbrowser.open(pages.short_link)):
            say(_elsewhere(found))
        if not as_json:
            say(pages.paste_hint)
        say("Ctrl-C ends the pages of guide and colours.")
        _wait_for_interrupt()


def _check(uri: str, user: str | None, password: str | None, *, space: str | None, task: str | None) -> None:
    """Raises: NotFoundError, for a space or task that is not there."""
    if space is None:
        return
    connection = open_connection(uri, user, password)
    try:
        if task is not None:
            inspect.require_task(connection, space, task)
        else:
            inspect.require_space(connection, space)
    finally:
        connection.close()


def _other(uri: str, query: str, *, as_json: bool) -> None:
    other = other_browser(uri, query)
    if other.link is None:
        raise ServerUnreachableError(other.notice)
    if as_json:
        print_json({"link": other.link, "hint": other.notice})
        return
    click.echo(other.link)
    say(other.notice)


def _elsewhere(server: "Server") -> str:
    """What to do where no browser can be opened; from afar, with the ports that the link needs."""
    if "SSH_CONNECTION" not in os.environ:
        return "No browser could be opened here: open the link in one on this machine."
    ports = (server.uri.rpartition(":")[2], server.http.rpartition(":")[2], str(server.pages_port))
    forwards = shlex.join(word for port in ports for word in ("-L", f"{port}:127.0.0.1:{port}"))
    return (
        f"No browser could be opened here. To open the link on your own machine, forward three ports from there:\n"
        f"  ssh {forwards} THIS-HOST"
    )


def _has_desktop() -> bool:
    """Whether a browser would open in a window; without one, Python would start a text browser in this terminal."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY"))


def _wait_for_interrupt() -> None:
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
