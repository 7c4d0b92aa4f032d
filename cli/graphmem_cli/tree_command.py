"""`graphmem tree`: the execution tree in the terminal, as JSON, or as one page for a browser."""

from collections import deque
from pathlib import Path

import click

from graphmem import inspect
from graphmem.graph import Graph
from graphmem_cli.options import (
    Reach,
    connection_options,
    json_option,
    limit_option,
    print_json,
    say,
    space_option,
)
from graphmem_cli.tables import terminal_width
from graphmem_cli.tree_lines import tree_lines

_DEPTH, _BRANCH_DEPTH, _EVERYTHING = 20, 3, 2**63


@click.command()
@click.argument("task")
@click.option(
    "--depth",
    type=click.IntRange(min=1, max=10_000_000),
    help="Levels shown: so many of the active path up from the cursor, and of each branch down from where it left. "
    f"Default: {_DEPTH} and {_BRANCH_DEPTH}.",
)
@click.option("--all", "shows_all", is_flag=True, help="Every level, and the nodes below the summaries over them.")
@click.option(
    "--html",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the whole tree as one page for a browser, which needs no network. A file that is there is replaced "
    "only if it is such a page.",
)
@limit_option(1_000)
@space_option
@connection_options
@json_option
def tree(
    reach: Reach,
    space: str,
    task: str,
    depth: int | None,
    shows_all: bool,
    file: Path | None,
    limit: int,
    as_json: bool,
) -> None:
    """Everything a task tried, as a tree, oldest first.

    `*` stands on the active path, `x` is a branch that failed, with the note that says why, `o` one that was left. A
    number is the ℓ of a node; +added ~updated -removed are states written there. A summary stands for its nodes.
    --limit counts lines, of --json nodes; the newest are kept.
    """
    if file is not None and (depth is not None or shows_all):
        raise click.UsageError("--html writes the whole tree; --depth and --all are for the terminal")
    with reach.graph() as graph:
        found = inspect.tree(graph.connection, space, task)
        if file is not None:
            _write(graph, found, file, as_json=as_json)
            return
    if as_json:
        _print_json(found, limit)
        return
    _print_lines(found, depth, shows_all, limit)


def _write(graph: Graph, found: inspect.Tree, file: Path, *, as_json: bool) -> None:
    written = inspect.write_tree_page(graph.connection, found, file)
    if as_json:
        print_json({"file": str(written), "bytes": written.stat().st_size, "nodes": len(found.nodes)})
    else:
        click.echo(str(written))
        say(f"{len(found.nodes):,} nodes, {written.stat().st_size:,} bytes; open it in a browser")


def _print_json(found: inspect.Tree, limit: int) -> None:
    plain = found.to_dict()
    nodes = sorted(plain["nodes"], key=lambda node: (node["from_step"], node["layer"], node["number"]))
    left_out = max(0, len(nodes) - limit)
    if left_out:
        say(f"the newest {limit:,} nodes; {left_out:,} left out, --limit shows more")
    print_json(plain | {"nodes": nodes[left_out:], "left_out": left_out})


def _print_lines(found: inspect.Tree, depth: int | None, shows_all: bool, limit: int) -> None:
    levels = _EVERYTHING if shows_all and depth is None else depth
    lines = tree_lines(
        found,
        depth=levels or _DEPTH,
        branch_depth=levels or _BRANCH_DEPTH,
        unfold=shows_all,
        columns=terminal_width(),
    )
    kept: deque[str] = deque(maxlen=limit)
    count = 0
    for line in lines:
        kept.append(line)
        count += 1
    if count > limit:
        click.echo(f"… {count - limit:,} lines before; --limit shows more")
    for line in kept:
        click.echo(line)
    failed = sum(1 for summary in found.summaries if summary.verdict == "failed" and not summary.on_path)
    on_path = sum(1 for node in found.nodes if node.on_path)
    say(f"{len(found.nodes):,} nodes, {on_path:,} on the path (*); {failed:,} failed branches (x); o was left")
