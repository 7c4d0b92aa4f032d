"""`graphmem import-run`: recorded runs of other agents into a space, and which of them could not be read."""

import time
from pathlib import Path
from typing import Final

import click

from graphmem.exchange import ImportedRun, ImportedRuns
from graphmem.exchange.formats import FORMATS
from graphmem_cli.options import Reach, connection_options, json_option, print_json, say, space_option
from graphmem_cli.tables import visible

_PROGRESS_SECONDS: Final = 2.0
_NAMES: Final = 10


@click.command("import-run")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--task", help="All runs are trials of this task; else tasks are named after the files and the runs.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="What the files are; by default their content says.")
@click.option("--keep-going", is_flag=True, help="Tell of runs that cannot be read, and import the others.")
@click.option("--dry-run", is_flag=True, help="Say what would be new; write nothing.")
@space_option
@connection_options
@json_option
def import_run(
    reach: Reach,
    space: str,
    files: tuple[Path, ...],
    task: str | None,
    form: str | None,
    keep_going: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Bring in recorded runs: each request, call and result.

    Trials of the same thing become one tree, with a fork where they part; a task that is there is taken as the trials
    before. Reading a file twice adds nothing, and what was interrupted is completed by the same command. Exit code 1
    when a run could not be read.
    """
    with reach.graph() as graph:
        done = graph.space(space).import_runs(
            *files, task=task, form=form, keep_going=keep_going, dry_run=dry_run, on_run=_Progress().say
        )
    if as_json:
        print_json(done.to_dict() | {"dry_run": dry_run})
    else:
        _print(done, dry_run=dry_run)
    for unread in done.unread:
        where = ", ".join(filter(None, (unread.record, unread.place)))
        say(f"not read: {where}: {unread.reason}")
    if done.unread:
        click.get_current_context().exit(1)


class _Progress:
    """How many runs there are so far, to stderr, now and then."""

    def __init__(self) -> None:
        self._runs = 0
        self._told = time.monotonic()

    def say(self, run: ImportedRun) -> None:
        """Count one more."""
        self._runs += 1
        if time.monotonic() - self._told >= _PROGRESS_SECONDS:
            self._told = time.monotonic()
            say(f"{self._runs:,} runs; {run.source}")


def _print(done: ImportedRuns, *, dry_run: bool) -> None:
    new, would = done.new, "would be new" if dry_run else "new"
    states = "" if dry_run else f", {new.states:,} states"
    click.echo(f"{done.runs:,} runs of {len(done.tasks):,} tasks, {done.known:,} of them there already")
    click.echo(f"{would}: {new.requests:,} requests, {new.turns:,} turns, {new.results:,} results{states}")
    for name in done.tasks[:_NAMES]:
        click.echo(visible(f"  {name}"))
    if len(done.tasks) > _NAMES:
        click.echo(f"  and {len(done.tasks) - _NAMES:,} more: graphmem tasks")
