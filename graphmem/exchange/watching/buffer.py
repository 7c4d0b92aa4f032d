"""The local file in which messages wait for the graph: one for each database, space, task and run.

JSON Lines, private to the user (0600 in a folder of 0700), appended and synced before the caller goes on. The first
line names the task, each further one is a conversation as it stood: how many messages of the line before it (which ends
at the byte `on`) it keeps, and those that follow. A line that a crash tore is no line. The file goes when everything in
it is in the graph.
Owns no graph and knows nothing of what messages mean. Invariant: what `append` returned from is read back, in order, by
whichever process reads next; of headers, keys and passwords nothing is ever in it.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeAlias

from graphmem.errors import InvalidValueError, LimitError
from graphmem.vocabulary import Json, digest, json_text

LIMIT_BYTES: Final = 64 << 20
FORMAT: Final = 1
_POLL_SECONDS: Final = 0.02
_SET_ASIDE: Final = ".refused.jsonl"

Messages: TypeAlias = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Whose messages they are: a run of a task of a space, in the database that is reached at a URI."""

    uri: str
    database: str
    space: str
    task: str
    run: str = ""

    @property
    def file_name(self) -> str:
        """Readable, and unlike that of every other address."""
        whole = digest(self.uri, self.database, self.space, self.task, self.run)
        return f"{self.space[:60]}.{self.task[:60]}-{whole[:16]}.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A conversation that was read, how many exchanges it stands for, and where in the file the next one begins."""

    messages: tuple[Mapping[str, Any], ...]
    exchanges: int
    end: int


def buffer_folder() -> Path:
    """Where buffers are kept: in `GRAPHMEM_HOME`, else in the user's data folder."""
    from graphmem.server.folders import home_folder

    return home_folder() / "unwritten"


def head_of(path: Path) -> tuple[Address, Mapping[str, Any]]:
    """Whose messages a file holds, and the arguments of the handle on the task.

    Raises:
        InvalidValueError: it is no buffer, or one of a newer graphmem.
    """
    try:
        with path.open("rb") as file:
            head = json.loads(file.readline())
        address = Address(**{field.name: str(head[field.name]) for field in fields(Address)})
        handle = dict(head["handle"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InvalidValueError(f"{path} is not a file in which messages wait for the graph") from error
    if head["graphmem"] != FORMAT:
        raise InvalidValueError(f"{path} was written by another graphmem; use that one to bring it in")
    return address, handle


class Buffer:
    """The buffer of one address. Safe to share between threads and with other processes.

    `handle`: the arguments by which another process makes the same handle on the task.
    """

    def __init__(
        self,
        address: Address,
        path: Path,
        *,
        handle: Mapping[str, Json] | None = None,
        limit_bytes: int = LIMIT_BYTES,
    ) -> None:
        self.address = address
        self.path = path
        self._handle = handle or {}
        self._limit = limit_bytes
        self._last: tuple[int, int, int] | None = None
        self._messages: Messages = ()

    @property
    def is_set_aside(self) -> bool:
        """Whether it holds what the graph has refused."""
        return self.path.name.endswith(_SET_ASIDE)

    def set_aside(self) -> "Buffer":
        """The buffer beside it, for what the graph refuses."""
        path = self.path.with_name(self.path.name.removesuffix(".jsonl") + _SET_ASIDE)
        return Buffer(self.address, path, handle=self._handle, limit_bytes=self._limit)

    def append(self, messages: Messages) -> None:
        """Keep a conversation as it stands now; it is on the disk when this returns.

        Raises:
            OSError: it cannot be kept.
            LimitError: the file would become larger than the limit.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _locked(self.path) as file:
            status = os.fstat(file)
            is_ours = self._last == _state(status)
            keep = _common(self._messages, messages) if is_ours and status.st_size else 0
            at = round(time.time(), 3)
            line = _text_line({"at": at, "on": status.st_size, "keep": keep, "messages": messages[keep:]})
            if status.st_size == 0:
                line = self._head() + line
            elif not is_ours and os.pread(file, 1, status.st_size - 1) != b"\n":
                line = "\n" + line  # somebody died while writing
            data = line.encode("utf-8", "surrogatepass")
            if status.st_size + len(data) > self._limit:
                raise LimitError(f"{self.path} would become larger than {self._limit:,} bytes")
            self._write(file, data, status.st_size)
            self._last, self._messages = _state(os.fstat(file)), messages

    def _write(self, file: int, data: bytes, size: int) -> None:
        try:
            written = 0
            while written < len(data):
                written += os.write(file, data[written:])
            os.fsync(file)
        except OSError:
            self._last = None
            with contextlib.suppress(OSError):
                os.ftruncate(file, size)
            raise
        if size == 0:
            _sync_folder(self.path.parent)

    def _head(self) -> str:
        return _text_line({"graphmem": FORMAT, **asdict(self.address), "handle": self._handle})

    def conversations(self, *, after: int = 0) -> Iterator[Read]:
        """What waits beyond that byte, oldest first.

        Of conversations that only grow from line to line the last one stands for all.
        """
        found: Read | None = None
        for line in lines_of(self.path):
            if line.keep and (found is None or found.end != line.on):
                continue  # what it goes on from is damaged
            before = () if found is None else found.messages
            messages = before[: line.keep] + line.messages
            grows = messages[: len(before)] == before
            if found is not None and not grows and found.end > after:
                yield found
            exchanges = found.exchanges if found is not None and grows else 0
            found = Read(
                messages=messages,
                exchanges=exchanges + (line.end > after),
                end=line.end,
            )
        if found is not None and found.end > after:
            yield found

    @contextlib.contextmanager
    def reading(self, *, timeout_seconds: float) -> Iterator[bool]:
        """Be the only one who brings this buffer into the graph; False when another still does after the timeout."""
        if not self.path.exists():
            yield True
            return
        with _locked_within(self.path.with_suffix(".lock"), timeout_seconds) as held:
            yield held

    def remove(self, end: int | None = None) -> bool:
        """Delete the file, if it has nothing beyond `end`, or whatever it has."""
        with contextlib.suppress(FileNotFoundError), _locked(self.path, create=False) as file:
            if end is not None and os.fstat(file).st_size > end:
                return False
            self.path.unlink(missing_ok=True)
        return True

    def size(self) -> int:
        """How many bytes the file has; 0 when there is none."""
        try:
            return self.path.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return 0


@dataclass(frozen=True, slots=True)
class Line:
    """A conversation as it stood at a time: `keep` messages of the line before, which ends at `on`, and these."""

    at: float
    on: int
    keep: int
    messages: tuple[Mapping[str, Any], ...]
    end: int


def lines_of(path: Path) -> Iterator[Line]:
    """The lines that hold messages, without one that is torn or damaged."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        end = 0
        for data in file:
            end += len(data)
            if not data.endswith(b"\n"):
                return
            try:
                found = json.loads(data.decode("utf-8", "surrogatepass"))
                line = Line(float(found["at"]), int(found["on"]), int(found["keep"]), tuple(found["messages"]), end)
            except (ValueError, TypeError, KeyError):
                continue  # the first line, or what a crash left of one
            yield line


def _state(status: os.stat_result) -> tuple[int, int, int]:
    """By which a file is known as it was left: the number of one that was deleted is given again."""
    return status.st_ino, status.st_size, status.st_mtime_ns


def _common(before: Messages, after: Messages) -> int:
    """How many messages at the beginning are the same."""
    count = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        count += 1
    return count


@contextlib.contextmanager
def _locked(path: Path, *, create: bool = True) -> Iterator[int]:
    """The file, open and locked; a lock on a file that was deleted meanwhile is none."""
    fcntl = _fcntl()
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
    while True:
        file = os.open(path, flags, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.fstat(file).st_nlink:
                yield file
                return
        finally:
            os.close(file)


@contextlib.contextmanager
def _locked_within(path: Path, seconds: float) -> Iterator[bool]:
    """Hold the lock file for the length of the block, if it can be had in time; it is gone afterwards."""
    fcntl = _fcntl()
    deadline = time.monotonic() + seconds
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(file).st_nlink:
                    try:
                        yield True
                    finally:
                        path.unlink(missing_ok=True)
                    return
        finally:
            os.close(file)
        if time.monotonic() >= deadline:
            break
        time.sleep(_POLL_SECONDS)
    yield False


def _fcntl() -> Any:
    try:
        import fcntl
    except ImportError as missing:
        raise OSError("files cannot be locked on this system") from missing
    return fcntl


def _text_line(line: Mapping[str, Any]) -> str:
    return json_text(line) + "\n"


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
