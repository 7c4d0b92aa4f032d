"""`graphmem measure`: tokens against recall for recorded runs of one's own."""

from pathlib import Path

import click

from graphmem.exchange.formats import FORMATS
from graphmem.exchange.measuring import baselines
from graphmem.exchange.measuring.figures import table
from graphmem.exchange.measuring.measure import measure_files
from graphmem_cli.options import Reach, connection_options, json_option, print_json, say
from graphmem_cli.tables import visible


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(FORMATS), help="What the files are; by default their content says.")
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    type=click.IntRange(min=0, max=1_000_000),
    help="Also with an index folded to so many tokens; may be given several times.",
)
@click.option("--limit", type=click.IntRange(min=0), default=0, help="So many runs of each file; 0: all.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Runs played at once.")
@click.option("--keep-going", is_flag=True, help="Tell of runs that cannot be read, and measure the others.")
@connection_options
@json_option
def measure(
    reach: Reach,
    files: tuple[Path, ...],
    form: str | None,
    budgets: tuple[int, ...],
    limit: int,
    workers: int,
    keep_going: bool,
    as_json: bool,
) -> None:
    """Measure what graphmem would show of recorded runs.

    Before each call: how many of its arguments that were said before are in the prompt, and how long that is, against
    the whole history, its last messages and BM25. Each run is played several times through tasks of a new space, which
    is forgotten afterwards; no model is called. Exit code 1 when a run could not be read.
    """
    unread: list[str] = []
    with reach.graph() as graph:
        done = measure_files(
            graph,
            files,
            form=form,
            budgets=budgets,
            limit=limit,
            workers=workers,
            on_fault=(lambda error: unread.append(str(error))) if keep_going else None,
        )
    if as_json:
        print_json(done.to_dict() | {"unread": unread})
    else:
        click.echo(visible(table(done), newlines=True))
    if not baselines.has_bm25():
        say("BM25 was left out; to have it: pip install 'graphmem-neo4j[measure]'")
    for one in unread:
        say(f"not read: {visible(one)}")
    if unread:
        click.get_current_context().exit(1)
