"""Forget: a task, or a space, is deleted with every relation to it, and nothing of its text is left in the database.

The task is held first, so nobody writes to it; then its ledger is followed a page at a time, so that an interrupted
forget is run again and goes on; the task's own node is the last to go. Forks hold copies of texts of their origin and
show its raw results, so a task with forks is forgotten only with them. Invariant: no other task is touched.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from graphmem.errors import HasForksError, NotFoundError, StoreError
from graphmem.exchange.sizes import sizes
from graphmem.state.values import Value
from graphmem.store import Connection, query
from graphmem.vocabulary import check_name

Progress = Callable[[str], None]

_PAGE: Final = 300
_REST: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten(Value):
    """What was deleted, or would be: tasks in their order, and nodes by kind."""

    space: str
    tasks: tuple[str, ...]
    nodes: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False


def forget(
    connection: Connection,
    space: str,
    task: str | None = None,
    *,
    with_forks: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Forgotten:
    """Delete a task, or, without one, all of a space. Repeating the call goes on where an interrupted one ended.

    Raises:
        NotFoundError: there is no such space or task.
        HasForksError: forks of the task hold copies of its texts; `with_forks` takes them, too.
    """
    say = progress or (lambda _line: None)
    names = _chosen(connection, space, task, with_forks=with_forks)
    nodes: Counter[str] = Counter()
    for name in names:
        if dry_run:
            nodes.update({kind.kind: kind.nodes for of in sizes(connection, space, name) for kind in of.kinds})
        else:
            nodes += _pages(connection, {"space": space, "task": name, "op": "forget"}, say)
    if not dry_run:
        keys = [f"{space}/{name}" for name in names]
        nodes += _repeated(connection, "exchange/forget_rest", {"space": space, "keys": keys})
        for name in names:
            _end(connection, {"space": space, "task": name, "op": "forget"})
        nodes["Task"] += len(names)
        if task is None:
            nodes += _repeated(connection, "exchange/forget_memory", {"space": space})
    return Forgotten(space=space, tasks=tuple(names), nodes=dict(sorted(nodes.items())), dry_run=dry_run)


def _chosen(connection: Connection, space: str, task: str | None, *, with_forks: bool) -> list[str]:
    """The tasks to forget, forks before what they were made of."""
    there = connection.read(query("exchange/names"), {"space": check_name("space", space)})
    names = [row["name"] for row in reversed(there)]
    if task is None:
        if not names:
            raise NotFoundError(f"there is nothing in space {space!r}")
        return names
    if task not in names:
        raise NotFoundError(f"there is no task {task!r} in space {space!r}")
    forks = [row["name"] for row in reversed(there) if f"{space}/{task}" in row["origins"]]
    if forks and not with_forks:
        raise HasForksError(
            f"{', '.join(forks)} went on from {task} and hold copies of its texts: nothing was deleted. Forget them "
            "first, or with it (--with-forks).",
            forks=tuple(forks),
        )
    return [*forks, task]


def _pages(connection: Connection, p: Mapping[str, Any], say: Progress) -> Counter[str]:
    held = connection.write(query("exchange/forget_hold"), p)
    nodes: Counter[str] = Counter()
    for after in range(held["first"] - 1, held["last"], _PAGE):
        row = connection.write(query("exchange/forget_page"), {**p, "after": after, "until": after + _PAGE})
        if row["verdict"] == "lost":
            raise StoreError(f"{p['task']} is not being forgotten any more: an import has begun. Run it again.")
        nodes.update(row["kinds"])
        say(f"{p['task']}: {nodes.total()} nodes")
    return nodes


def _end(connection: Connection, p: Mapping[str, Any]) -> None:
    if not connection.write(query("exchange/forget_end"), p)["deleted"]:
        raise StoreError(f"{p['task']} was written to while it was being forgotten; run it again.")


def _repeated(connection: Connection, name: str, p: Mapping[str, Any]) -> Counter[str]:
    nodes: Counter[str] = Counter()
    while kinds := connection.write(query(name), {**p, "limit": _REST})["kinds"]:
        nodes.update(kinds)
    return nodes
