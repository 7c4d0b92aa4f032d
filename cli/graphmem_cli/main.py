"""Where the program begins: it loads the commands and runs them.

Loading takes half a second, so it happens inside a function, where Ctrl-C is an exit code like any other.
"""

import sys


def cli(*, prog_name: str | None = None) -> None:
    """Run the command line of this process, and exit."""
    try:
        from graphmem_cli.group import cli as group

        group(prog_name=prog_name)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("interrupted", file=sys.stderr)
        sys.exit(130)
