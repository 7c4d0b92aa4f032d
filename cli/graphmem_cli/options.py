"""The options that commands share, and how a command reaches the graph and answers.

Owns where the password comes from (a file, `GRAPHMEM_PASSWORD`, the embedded server; never the command line), and what
goes where: answers to stdout, everything else to stderr, so that `--json` leaves JSON and nothing else on stdout.
Invariant: the embedded server's own password goes to no other server.
"""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import click
from click.core import ParameterSource

from graphmem.errors import InvalidValueError, ServerUnreachableError
from graphmem.graph import Graph, open_connection
from graphmem.inspect import paste
from graphmem.llm.tokens import WhenUsed
from graphmem.store import Connection, schema_version
from graphmem.task import Context
from graphmem.task.context import Redact
from graphmem_cli.tables import json_escape, table, terminal_width, visible

_SPECIAL: Final = re.compile(r"[^\n\x20-\x7e]")

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Where the graph is, as the options and the environment say, and what to tell of the way."""

    uri: str | None
    user: str | None
    database: str | None
    password_file: Path | None
    home: Path | None
    home_named: bool
    trace: bool
    show_cypher: bool

    @property
    def embedded(self) -> bool:
        """Whether the embedded server is meant."""
        return self.uri is None

    def connection(self, *, timeout_seconds: float = 30.0, read_only: bool = False) -> Connection:
        """A connection; the schema is not looked at."""
        uri, user, password = self._login()
        trace = _say_trace if self.trace else None
        show = (lambda query, p: say(paste(query, p))) if self.show_cypher else None
        return open_connection(
            uri,
            user,
            password,
            self.database,
            timeout_seconds=timeout_seconds,
            trace=trace,
            show=show,
            read_only=read_only,
        )

    def graph(self, *, timeout_seconds: float = 30.0, read_only: bool = False, redact: Redact | None = None) -> Graph:
        """An open graph whose schema is the one of this graphmem."""
        connection = self.connection(timeout_seconds=timeout_seconds, read_only=read_only)
        try:
            schema_version(connection)
        except BaseException:
            connection.close()
            raise
        return Graph(Context(connection=connection, tokenizer=WhenUsed(), redact=redact))

    def _login(self) -> tuple[str, str | None, str]:
        given = self._given_password()
        if self.uri is not None and given is not None:
            return self.uri, self.user, given
        found = embedded_server(self.home) if self.uri is None else _found(self.home)
        if found is not None and self.uri in (None, found.uri):
            return (found.uri, found.user, found.password) if given is None else (found.uri, self.user, given)
        uri = str(self.uri)
        open_connection(uri, password="").close()  # what is no URI is said to be none first; nothing is sent
        raise InvalidValueError(f"no password for {uri}: give --password-file FILE, or set GRAPHMEM_PASSWORD.")

    def _given_password(self) -> str | None:
        if self.password_file is not None:
            return _password_in(self.password_file)
        return None if self.home_named else os.environ.get("GRAPHMEM_PASSWORD")


def _password_in(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidValueError(
            f"{file} is not a text in UTF-8; it must hold the password and nothing else."
        ) from error
    except OSError as error:
        raise InvalidValueError(f"{file} cannot be read: {error.strerror}") from error


def embedded_server(home: Path | None) -> Any:
    """The embedded server that is up.

    Raises:
        ServerUnreachableError: it is not.
    """
    found = _found(home)
    if found is None:
        if home is not None:
            command = f"graphmem up --home {shlex.quote(str(home))}"
            raise ServerUnreachableError(f"no server: the one of {home} is not up.", command=command)
        raise ServerUnreachableError(
            "no server: the embedded one is not up, and neither --uri nor GRAPHMEM_URI names another.",
            command="graphmem up",
        )
    return found


def _found(home: Path | None) -> Any:
    from graphmem import server

    return server.find(home)


def _say_trace(name: str, rows: int, milliseconds: float) -> None:
    say(f"{name}: {rows} rows, {milliseconds:.1f} ms")


def home_option(command: Command) -> Command:
    """`--home`, the folder of the embedded server."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option(
        "--home", type=kind, envvar="GRAPHMEM_HOME", show_envvar=True, help="Folder of the embedded server."
    )(command)


def json_option(command: Command) -> Command:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="JSON to stdout, and nothing else there.")(command)


def space_option(command: Command) -> Command:
    """`--space`, which has no default: a read of no space cannot be written."""
    return _space_option(required=True)(command)


def optional_space_option(command: Command) -> Command:
    """`--space`, for a command that can do without."""
    return _space_option(required=False)(command)


def _space_option(*, required: bool) -> Callable[[Command], Command]:
    about = "The space (tenant) to look into."
    return click.option("--space", required=required, envvar="GRAPHMEM_SPACE", show_envvar=True, help=about)


def number_option(flag: str, about: str) -> Callable[[Command], Command]:
    """A number of the graph: a request or a step."""
    return click.option(flag, type=click.IntRange(min=1, max=2**63 - 1), help=about)


def limit_option(default: int) -> Callable[[Command], Command]:
    """`--limit`."""
    kind = click.IntRange(min=1, max=1_000_000)
    return click.option("--limit", type=kind, default=default, show_default=True, help="At most so many.")


def connection_options(command: Command) -> Command:
    """Everything that says where the graph is; the command gets it as `reach`."""
    file = click.Path(path_type=Path, exists=True, dir_okay=False)
    options = (
        click.option(
            "--uri",
            envvar="GRAPHMEM_URI",
            show_envvar=True,
            help="Of the server; by default the embedded one that is up.",
        ),
        click.option("--user", envvar="GRAPHMEM_USER", show_envvar=True, help="Default: neo4j."),
        click.option("--database", envvar="GRAPHMEM_DATABASE", show_envvar=True, help="Default: neo4j."),
        click.option(
            "--password-file",
            type=file,
            help="A file with the password. Without it GRAPHMEM_PASSWORD, then, for the embedded server, its own.",
        ),
        home_option,
        click.option("--trace", is_flag=True, help="Query names, rows and milliseconds to stderr."),
        click.option(
            "--show-cypher", is_flag=True, help="The statements to stderr, ready to paste into Neo4j Browser."
        ),
    )

    def gathered(**given: Any) -> Any:
        names = ("uri", "user", "database", "password_file", "home", "trace", "show_cypher")
        values = {name: given.pop(name) for name in names}
        return command(**given, reach=Reach(**_chosen(values)))

    gathered.__name__, gathered.__doc__ = command.__name__, command.__doc__
    gathered.__dict__.update(vars(command))
    decorated: Any = gathered
    for option in reversed(options):
        decorated = option(decorated)
    return cast(Command, decorated)


def _chosen(values: dict[str, Any]) -> dict[str, Any]:
    """`--home` on the command line is meant, whatever GRAPHMEM_URI says; with `--uri` beside it nobody knows.

    GRAPHMEM_PASSWORD is then the other server's.
    """
    source = click.get_current_context().get_parameter_source
    values["home_named"] = source("home") is ParameterSource.COMMANDLINE
    if values["home_named"]:
        if source("uri") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--uri and --home name two servers; give one of them")
        values["uri"] = None
    return values


def say(text: str) -> None:
    """A line beside the answer, to stderr."""
    click.echo(visible(text, newlines=True), err=True)


def typed(command: str) -> str:
    """A command as it can be typed here: with the path of this program, where it is not on the PATH."""
    name, _, rest = command.partition(" ")
    program = Path(sys.argv[0])
    if name != "graphmem" or program.name != name or shutil.which(name) is not None:
        return command
    return f"{shlex.quote(str(program))} {rest}"


def path_hint() -> str | None:
    """What to do first where `graphmem` cannot be typed as it stands."""
    program, activate = typed("graphmem ").rstrip(), Path(sys.argv[0]).parent / "activate"
    if program == "graphmem":
        return None
    first = f"source {shlex.quote(str(activate))}" if activate.is_file() else f"alias graphmem={program}"
    return f"`graphmem` is not on your PATH. First: {first}"


def print_json(value: object) -> None:
    """The answer as JSON. What could drive a terminal, or hide in it, is an escape there, so the value is the same."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8, indent=2, default=str)
    click.echo(_SPECIAL.sub(lambda found: json_escape(found[0]), text))


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """The answer as a table."""
    for line in table(headers, rows, columns=terminal_width()):
        click.echo(line)
