"""Commands that move, measure and erase data: export, import, size, prune, forget.

Each calls one method of a graph or space. Owns the words in which their answers are told, and the question that stands
before a forget. Progress goes to stderr; only a terminal sees it.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import click

from graphmem_cli.options import (
    Command,
    Reach,
    connection_options,
    json_option,
    print_json,
    print_table,
    say,
    space_option,
)
from graphmem_cli.tables import visible

_dry_run = click.option("--dry-run", is_flag=True, help="Say what would go; erase nothing.")


def _options(function: Command) -> Command:
    return space_option(connection_options(json_option(function)))


def _progress() -> Callable[[str], None] | None:
    return say if sys.stderr is not None and sys.stderr.isatty() else None


def _tell(text: str) -> None:
    click.echo(visible(text))


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--task", "tasks", multiple=True, help="A task of the space, or several. Default: all of them.")
@_options
def export(reach: Reach, space: str, file: Path, tasks: tuple[str, ...], as_json: bool) -> None:
    """Write tasks to a file of JSON Lines.

    `graphmem import` brings them back value for value. Writers may go on: each task is in the file as it stood
    between two of its writes.
    """
    with reach.graph() as graph:
        done = graph.space(space).export(file, tasks=tasks, progress=_progress())
    if as_json:
        print_json(done.to_dict())
        return
    names = ("task", "version", "nodes", "relations", "outside")
    print_table(names, [[getattr(task, name) for name in names] for task in done.tasks])
    _tell(f"{done.bytes:,} bytes in {done.file}")
    for task in done.tasks:
        if task.outside:
            _tell(
                f"{task.outside} relations of {task.task} lead to {', '.join(task.origins)}, which it was forked from "
                "and which is not in the file: they come back where that task is there too"
            )


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--as-space", metavar="SPACE", help="Into this space instead of the one it came from.")
@click.option("--as-task", metavar="NAME", help="Under this name; for a file of one task.")
@connection_options
@json_option
def import_(reach: Reach, file: Path, as_space: str | None, as_task: str | None, as_json: bool) -> None:
    """Bring back what `graphmem export` wrote.

    The whole file is checked before anything is written. A task that is there already is compared and never changed; an
    import that was interrupted is run again.
    """
    with reach.graph() as graph:
        done = graph.load(file, as_space=as_space, as_task=as_task, progress=_progress())
    if as_json:
        print_json(done.to_dict())
        return
    _tell(f"space {done.space}:")
    print_table(
        ("task", "nodes", "relations", ""),
        [[t.task, t.nodes, t.relations, "was there" if t.was_there else ""] for t in done.tasks],
    )
    for task in done.tasks:
        for other, count in task.waiting.items():
            _tell(
                f"{count} relations of {task.task} lead to {other}, which is not there. Import that task, then this "
                "file again"
            )


@click.command()
@click.argument("task", required=False)
@_options
def size(reach: Reach, space: str, task: str | None, as_json: bool) -> None:
    """How large a task is, by kind, or each task.

    Nodes, relations, and bytes of text in UTF-8.
    """
    with reach.graph() as graph:
        found = graph.space(space).size(task)
    if as_json:
        print_json([of.to_dict() for of in found])
        return
    if task is None:
        print_table(
            ("task", "nodes", "relations", "bytes of text", "of raw results", "pruned"),
            [[of.task, of.nodes, of.relations, of.bytes, _bytes_of(of, "RawObservation"), of.pruned] for of in found],
        )
        return
    of = found[0]
    print_table(
        ("kind", "nodes", "bytes of text", "largest"), [[k.kind, k.nodes, k.bytes, k.largest] for k in of.kinds]
    )
    _tell(f"{of.nodes:,} nodes, {of.relations:,} relations, {of.bytes:,} bytes of text, {of.pruned:,} results pruned")
    if of.forks:
        _tell(f"forks: {', '.join(of.forks)}")


def _bytes_of(of: Any, kind: str) -> int:
    return sum(k.bytes for k in of.kinds if k.kind == kind)


@click.command()
@click.argument("task")
@click.option(
    "--raw-older-than",
    metavar="AGE",
    required=True,
    help="Such as '200 steps' or '3 requests', from the last one back.",
)
@_dry_run
@_options
def prune(reach: Reach, space: str, task: str, raw_older_than: str, dry_run: bool, as_json: bool) -> None:
    """Take away the texts of old raw results.

    Their ids, calls, sizes and hashes stay. A task knows no clock but its numbers, so age is counted in steps or
    requests. Whatever shows such a text says `[pruned: …]` from then on. What states say of it stays, also those that
    record, watch and import-run made, which hold short results whole; `forget` leaves nothing.
    """
    with reach.graph() as graph:
        done = graph.space(space).prune(
            task, raw_older_than=raw_older_than, author="command line", dry_run=dry_run, progress=_progress()
        )
    if as_json:
        print_json(done.to_dict())
        return
    would = "would be pruned" if dry_run else "pruned"
    _tell(f"{done.results:,} raw results {would}, {done.bytes:,} bytes, observed until step {done.until_step}")


@click.command()
@click.argument("task", required=False)
@click.option("--whole-space", is_flag=True, help="Every task of the space, and all else in it.")
@click.option("--with-forks", is_flag=True, help="And its forks, which hold copies of its texts.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@_dry_run
@_options
def forget(
    reach: Reach,
    space: str,
    task: str | None,
    whole_space: bool,
    with_forks: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Delete a task, or a whole space, for good.

    No property in the database holds its text afterwards. It cannot be undone. Writers are refused from the start; a
    forget that was interrupted is run again.
    """
    if (task is None) != whole_space:
        raise click.UsageError("name a TASK, or give --whole-space")
    if not (yes or dry_run):
        _ask(space if task is None else task)
    with reach.graph() as graph:
        done = graph.space(space).forget(task, with_forks=with_forks, dry_run=dry_run, progress=_progress())
    if as_json:
        print_json(done.to_dict())
        return
    print_table(("kind", "nodes that would go" if dry_run else "nodes deleted"), _counts(done.nodes))
    _tell(f"{'would forget' if dry_run else 'forgot'} {', '.join(done.tasks)} of space {space}")


def _ask(name: str) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError("nobody is here to be asked: give --yes to delete, or --dry-run to see what would go")
    if click.prompt(f"This cannot be undone. Type {name} to delete it", err=True) != name:
        raise click.UsageError("that is another name; nothing was deleted")


def _counts(nodes: Mapping[str, int]) -> list[list[object]]:
    return [[kind, count] for kind, count in nodes.items()]


commands: Final[tuple[click.Command, ...]] = (export, import_, size, prune, forget)
