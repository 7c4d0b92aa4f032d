"""`graphmem doctor`: one line a check, the damage found, and the command that mends it."""

import sys
from itertools import chain

import click

from graphmem.exchange import examine_buffers
from graphmem.inspect import Check, examine
from graphmem_cli.options import Reach, connection_options, json_option, print_json, say, typed
from graphmem_cli.tables import visible


@click.command()
@click.option("--space", envvar="GRAPHMEM_SPACE", show_envvar=True, help="Audit only this space; else all of them.")
@connection_options
@json_option
def doctor(reach: Reach, space: str | None, as_json: bool) -> None:
    """Find what is wrong, and say what mends it.

    Looks at server, Java, schema, indexes, at the graph itself by the audits of `graphmem cypher`, and at what watched
    clients said while the graph was away. Exit code 1 when anything is wrong.
    """
    checks: list[Check] = []
    progress = _Progress()
    examined = examine(
        lambda: reach.connection(timeout_seconds=600.0),
        embedded=reach.embedded,
        home=reach.home,
        space=space,
        progress=progress.say,
    )
    for check in chain([examine_buffers()], examined):
        progress.clear()
        checks.append(check)
        if not as_json:
            _print(check)
    wrong = [check for check in checks if check.verdict == "wrong"]
    if as_json:
        print_json({"ok": not wrong, "checks": [check.to_dict() for check in checks]})
    elif not wrong:
        say("Nothing is wrong.")
    if wrong:
        click.get_current_context().exit(1)


class _Progress:
    """A line on stderr that is written over, where that is a terminal; elsewhere one line after the other."""

    def __init__(self) -> None:
        self._overwrites = sys.stderr is not None and sys.stderr.isatty()
        self._is_shown = False

    def say(self, text: str) -> None:
        """Show what is being done."""
        if self._overwrites:
            self.clear()
            click.echo(f"{text} …", err=True, nl=False)
            self._is_shown = True
        else:
            say(f"{text} …")

    def clear(self) -> None:
        """Make room for the answer."""
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._is_shown = False


def _print(check: Check) -> None:
    click.echo(f"{check.verdict:<8}{check.name}: {visible(check.what)}")
    for finding in check.findings:
        click.echo(f"{'':8}- {finding.audit}: {visible(str(finding))}")
    if check.command is not None:
        click.echo(f"{'':8}try: {visible(typed(check.command))}")
