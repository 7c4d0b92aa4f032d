"""Bringing what waits in a buffer into the graph: at once by `catch_up`, or behind an agent's back by a courier.

Order is that of the file, one process at a time; recording knows what it has written, so an interruption costs nothing
and doubles nothing. A courier works in a thread of its own, which lives while there is something to do. A graph that is
away is tried again after 1, 2, 4, 8, 10, 10, … seconds, and nobody waits for it. Invariant: what the graph refuses for
good is said and set aside, and does not keep what follows from being written.
"""

import atexit
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from graphmem.errors import GraphmemError, InvalidValueError, LimitError, StaleStatusError, StoreError, TaskHeldError
from graphmem.exchange.recording import record
from graphmem.exchange.watching.buffer import Address, Buffer, Messages, buffer_folder, head_of
from graphmem.exchange.watching.unwritten import all_waiting
from graphmem.state.values import Value
from graphmem.store import Connection, schema_version
from graphmem.task import Context, Task
from graphmem.vocabulary import Json

SETTLE_SECONDS: Final = 10.0  # a server that has just started plans each kind of statement for a second

_IDLE_SECONDS: Final = 2.0
_LONGEST_PAUSE_SECONDS: Final = 10.0
_OTHERS_SECONDS: Final = 60.0

Written = Callable[[Messages], None]
Refuse = Callable[[GraphmemError], None]

logger = logging.getLogger("graphmem")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUp(Value):
    """How many exchanges of a task were brought into the graph, and why others were refused."""

    space: str
    task: str
    run: str = ""
    exchanges: int = 0
    refused: tuple[str, ...] = ()


def catch_up(task: Task, *, run: str = "", folder: Path | None = None) -> CaughtUp:
    """Bring what waits in the local buffer of a task into the graph; `run` as it was given to `watch`.

    Raises:
        StoreError: the graph is still away; what waits goes on waiting.
    """
    return deliver(task, buffer_of(task, run=run, folder=folder))


def catch_up_files(
    context: Context,
    files: Iterable[Path] = (),
    *,
    space: str | None = None,
    run: str | None = None,
    folder: Path | None = None,
) -> tuple[CaughtUp, ...]:
    """Bring files into the graph, whatever address they were written for; without any, all that wait for this one.

    `run`: another name for the conversation than the one it was watched with.

    Raises:
        InvalidValueError: a file is no buffer.
        StoreError: the graph is away; what was not brought in goes on waiting.
    """
    ours = (context.connection.uri, context.connection.database)
    waiting = (one for one in all_waiting(folder) if (one.uri, one.database) == ours and not one.is_refused)
    chosen = tuple(files) or [Path(one.path) for one in waiting]
    done = []
    for path in chosen:
        address, handle = head_of(path)
        if space in (None, address.space):
            task = _task(context, address, handle)
            done.append(deliver(task, Buffer(address, path, handle=handle), run=run))
    return tuple(done)


def _task(context: Context, address: Address, handle: Mapping[str, Any]) -> Task:
    try:
        return Task(context, address.space, address.task, **handle)
    except TypeError as error:
        raise InvalidValueError(f"the file of {address.space}/{address.task} is damaged: {error}") from error


def buffer_of(task: Task, *, run: str = "", folder: Path | None = None) -> Buffer:
    """The buffer of a task, which need not exist."""
    connection = task.context.connection
    where = Address(uri=connection.uri, database=connection.database, space=task.space, task=task.name, run=run)
    handle: dict[str, Json] = {**task.mechanisms, "irreversible": sorted(task.irreversible)}
    return Buffer(where, (folder or buffer_folder()) / where.file_name, handle=handle)


def deliver(
    task: Task,
    buffer: Buffer,
    *,
    run: str | None = None,
    written: Written = lambda _: None,
    refuse: Refuse = lambda _: None,
) -> CaughtUp:
    """Bring what waits in a buffer into a task, and delete the file. What the graph refuses is set aside.

    `written` is called with each conversation that is in the graph, `refuse` with why one is not.

    Raises:
        StoreError: the graph is away.
    """
    name = buffer.address.run if run is None else run
    exchanges, refused = 0, list[str]()
    with buffer.reading(timeout_seconds=_OTHERS_SECONDS) as is_ours:
        end, size = 0, buffer.size() if is_ours else 0  # else another process brings it in
        while size:
            for read in buffer.conversations(after=end):
                error = _refusal(task, read.messages, run=name)
                if error is None:
                    written(read.messages)
                    exchanges += read.exchanges
                else:
                    if not buffer.is_set_aside:
                        buffer.set_aside().append(read.messages)
                    refused.append(str(error))
                    refuse(error)
                end = read.end
            is_over = (buffer.is_set_aside and refused) or buffer.remove(max(end, size))
            size = 0 if is_over else buffer.size()
    return CaughtUp(space=task.space, task=task.name, run=name, exchanges=exchanges, refused=tuple(refused))


def _refusal(task: Task, messages: Messages, *, run: str) -> GraphmemError | None:
    """Record, or why that will never do."""
    try:
        record(task, messages, run=run)
    except (StoreError, StaleStatusError, TaskHeldError):
        raise
    except GraphmemError as error:
        if task.context.connection in _closed:
            raise
        return error
    return None


class Courier:
    """Brings the exchanges of one conversation into the graph, in the order in which they are given.

    `written` and `refuse` as for `deliver`; they are called in the courier's thread.
    """

    def __init__(self, task: Task, buffer: Buffer, *, written: Written, refuse: Refuse) -> None:
        self._task = task
        self._buffer = buffer
        self._written = written
        self._refuse = refuse
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._given = self._done = self._failures = 0
        self._unkept: Messages | None = None
        self._is_said = False
        with _registry:
            _couriers.add(self)
        _prepare_process()

    @property
    def connection(self) -> Connection:
        """The connection that it writes through."""
        return self._task.context.connection

    def take(self, messages: Messages) -> None:
        """Keep a conversation as it stands now, and have it written. It is on the disk when this returns."""
        try:
            self._buffer.append(messages)
        except (OSError, LimitError) as error:
            self._unkept = messages  # in memory: the newest alone, which is the whole conversation
            self._say_once(
                "%r: messages cannot be kept on the disk (%s): what is not in the graph when this process ends is lost",
                self._task,
                error,
            )
        self.wake()

    def wake(self) -> None:
        """Have what waits brought in."""
        with self._changed:
            self._given += 1
            is_working = self._thread is not None and self._thread.is_alive()  # it is not in a process that was forked
            if not is_working and not self._ended.is_set():
                self._thread = threading.Thread(target=self._work, name=f"graphmem {self._task.name}", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def settle(self, seconds: float) -> bool:
        """Wait until everything is written; False when it is not. Nobody waits for a graph that is known to be away."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._done < self._given and self._thread is not None and not self._failures:
                if not self._changed.wait(max(0.0, deadline - time.monotonic())) and time.monotonic() >= deadline:
                    break
            return self._done >= self._given

    def end(self) -> None:
        """Try no more; what comes is kept in the buffer."""
        self._ended.set()
        with self._changed:
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._given > self._done or self._ended.is_set(), _IDLE_SECONDS)
                if self._given == self._done or self._ended.is_set():
                    self._thread = None
                    self._changed.notify_all()
                    return
                goal = self._given
            is_done = self._is_brought_in()
            with self._changed:
                self._done = goal if is_done else self._done
                self._failures = 0 if is_done else self._failures + 1
                self._changed.notify_all()
            if not is_done:
                self._ended.wait(min(_LONGEST_PAUSE_SECONDS, 2.0 ** (self._failures - 1)))

    def _is_brought_in(self) -> bool:
        try:
            schema_version(self.connection)  # one read, that fails at once; and it may be another database by now
            deliver(self._task, self._buffer, written=self._written, refuse=self._refuse)
            if (unkept := self._unkept) is not None:
                error = _refusal(self._task, unkept, run=self._buffer.address.run)
                if error is not None:
                    self._refuse(error)
                self._unkept = None if self._unkept is unkept else self._unkept
        except Exception as error:  # noqa: BLE001  # a defect must not end the thread: what waits is tried again
            self._say_away(error)
            return False
        if self._failures:
            logger.info("%r: the graph is back, and has what waited for it", self._task)
        return True

    def _say_away(self, error: Exception) -> None:
        if self._failures or self._ended.is_set():
            return
        logger.warning(
            "%r: %s Messages wait in %s; they are written when the graph is back, or by `graphmem catch-up`.",
            self._task,
            error,
            self._buffer.path,
            exc_info=None if isinstance(error, GraphmemError) else error,
        )

    def _say_once(self, text: str, *about: object) -> None:
        if not self._is_said:
            self._is_said = True
            logger.warning(text, *about)


_registry = threading.Lock()
_couriers: WeakSet[Courier] = WeakSet()
_closed: WeakSet[Connection] = WeakSet()
_prepared = threading.Event()


def settle(connection: Connection | None = None, *, seconds: float = SETTLE_SECONDS) -> bool:
    """Wait until all couriers, or those of a connection, have written what they have; False when they have not."""
    deadline = time.monotonic() + seconds
    settled = [one.settle(deadline - time.monotonic()) for one in _of(connection)]
    return all(settled)


def close(connection: Connection) -> None:
    """The connection is about to be closed: what can be written is, what cannot stays in the buffer."""
    settle(connection)
    _closed.add(connection)
    for one in _of(connection):
        one.end()


def _of(connection: Connection | None) -> list[Courier]:
    with _registry:
        return [one for one in _couriers if connection is None or one.connection is connection]


def _prepare_process() -> None:
    if not _prepared.is_set():
        _prepared.set()
        atexit.register(settle)
        # Where nobody set up logging, an outage is told in our words, once, and not in the driver's at each attempt.
        logging.getLogger("neo4j").addHandler(logging.NullHandler())
