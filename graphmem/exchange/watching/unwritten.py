"""What waits in local buffers, of all tasks: for `graphmem doctor`, and for whoever brings it in or has it forgotten.

Invariant: no text of a message is told, only how many there are and since when.
"""

import shlex
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from graphmem.errors import GraphmemError, ServerError
from graphmem.exchange.watching.buffer import Buffer, buffer_folder, head_of, lines_of
from graphmem.inspect import Check
from graphmem.state.values import Value
from graphmem.store import Connection

_BEING_WRITTEN_SECONDS: Final = 60.0
_TOLD: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting(Value):
    """A buffer that is not empty: whose it is, how many exchanges wait in it, since and until when (unix time).

    `is_refused`: they do not wait; the graph has refused them.
    """

    path: str
    uri: str
    database: str
    space: str
    task: str
    run: str
    exchanges: int
    bytes: int
    since: float
    until: float
    is_refused: bool = False


def all_waiting(folder: Path | None = None) -> tuple[Waiting, ...]:
    """Every buffer in which something waits, the oldest first."""
    found = (waiting_in(path) for path in (folder or buffer_folder()).glob("*.jsonl"))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.since))


def waiting_in(path: Path) -> Waiting | None:
    """What waits in a file; None when nothing does, or it is no buffer."""
    try:
        address, _ = head_of(path)
        is_refused = Buffer(address, path).is_set_aside
        times = [line.at for line in lines_of(path)]
        size = path.stat().st_size
    except (GraphmemError, OSError):
        return None
    if not times:
        return None
    return Waiting(
        path=str(path),
        uri=address.uri,
        database=address.database,
        space=address.space,
        task=address.task,
        run=address.run,
        exchanges=len(times),
        bytes=size,
        since=min(times),
        until=max(times),
        is_refused=is_refused,
    )


def discard(
    connection: Connection, space: str, tasks: Collection[str] | None = None, *, folder: Path | None = None
) -> int:
    """Delete what waits for tasks of a graph, or for all of a space, when they are forgotten; how many exchanges."""
    where = (connection.uri, connection.database, space)
    try:
        waiting = all_waiting(folder)
    except ServerError:  # no package that knows where the user's folders are: nothing was ever kept there
        return 0
    found = [o for o in waiting if (o.uri, o.database, o.space) == where and (tasks is None or o.task in tasks)]
    for one in found:
        path = Path(one.path)
        Buffer(head_of(path)[0], path).remove()
    return sum(one.exchanges for one in found)


def examine_buffers(folder: Path | None = None) -> Check:
    """Whether messages of watched clients wait for a graph, or were refused, and how they get there."""
    try:
        found = all_waiting(folder)
    except (GraphmemError, OSError) as error:
        return Check(name="buffers", verdict="skipped", what=str(error))
    waiting = [one for one in found if not one.is_refused]
    if waiting and time.time() - waiting[0].since >= _BEING_WRITTEN_SECONDS:
        what = f"{_exchanges(waiting)} of watched clients wait to be written: {_told(waiting)}"
        return Check(name="buffers", verdict="wrong", what=what, command="graphmem catch-up")
    if refused := [one for one in found if one.is_refused]:
        return Check(
            name="buffers",
            verdict="wrong",
            what=f"{_exchanges(refused)} go on with none of what their tasks have, and were refused: {_told(refused)}. "
            "Bring them in as a conversation of its own, or delete the file",
            command=f"graphmem catch-up --run NAME {shlex.quote(refused[0].path)}",
        )
    if not waiting:
        return Check(name="buffers", verdict="ok", what="nothing waits to be written")
    what = f"{_exchanges(waiting)} were said a moment ago: they are being written, or wait where the graph is away"
    return Check(name="buffers", verdict="ok", what=what, command="graphmem catch-up")


def _exchanges(found: Sequence[Waiting]) -> str:
    return f"{sum(one.exchanges for one in found)} exchanges"


def _told(found: Sequence[Waiting]) -> str:
    told = "; ".join(
        f"{one.exchanges} of {one.space}/{one.task} for {one.uri}, since {_when(one.since)}, in {one.path}"
        for one in found[:_TOLD]
    )
    more = f"; and {len(found) - _TOLD} more files beside it" if len(found) > _TOLD else ""
    return told + more


def _when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
