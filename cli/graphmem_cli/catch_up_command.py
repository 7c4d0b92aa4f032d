"""`graphmem catch-up`: what watched clients said while the graph was away is brought in."""

from pathlib import Path

import click

from graphmem.exchange import all_waiting
from graphmem_cli.options import (
    Reach,
    connection_options,
    json_option,
    optional_space_option,
    print_json,
    print_table,
    say,
)
from graphmem_cli.tables import visible


@click.command("catch-up")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--run", help="Another name for the conversation, where a task has several.")
@optional_space_option
@connection_options
@json_option
def catch_up(reach: Reach, files: tuple[Path, ...], run: str | None, space: str | None, as_json: bool) -> None:
    """Bring in what watched clients said while the graph was away.

    Without FILES: all that waits on this machine for this graph, as `graphmem doctor` lists it. With FILES: these,
    wherever the graph was when they were written. A file goes when what it holds is in the graph; what the graph
    refuses is kept in a file beside it, and makes the exit code 1.
    """
    with reach.graph() as graph:
        done = graph.catch_up(files, space=space, run=run)
    refused = [(one, why) for one in done for why in one.refused]
    if as_json:
        print_json({"caught_up": [one.to_dict() for one in done]})
    elif done:
        print_table(("SPACE", "TASK", "RUN", "EXCHANGES"), [(o.space, o.task, o.run, o.exchanges) for o in done])
    else:
        say("Nothing waits for this graph.")
        if any(one.is_refused for one in all_waiting()):
            say("Some messages were refused before; `graphmem doctor` says where they are and how they are brought in.")
    for one, why in refused:
        say(f"refused: {one.space}/{one.task}: {visible(why)}")
    if refused:
        click.get_current_context().exit(1)
