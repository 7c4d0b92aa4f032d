"""Looking at a home without touching it: `find`, `last_login`, `status`, `logs`.

Takes no lock and writes nothing, so that it answers while a server starts or stops.
"""

import os
import time
from collections import deque
from pathlib import Path
from typing import Final, TypeAlias

from graphmem.errors import ServerError
from graphmem.server.folders import home_folder
from graphmem.server.home import LOOPBACK, USER, Home, Record
from graphmem.server.processes import alive
from graphmem.server.ready import version_at
from graphmem.server.values import Server, ServerStatus, server_of

PathLike: TypeAlias = str | os.PathLike[str]

_TELLING: Final = ("ERROR", "Caused by", "Exception", "error:", "Error:")
_LINE_LENGTH: Final = 400


def find(home: PathLike | None = None) -> Server | None:
    """The server that is up in this home and answers, or None; for `graphmem.connect()`, which starts nothing."""
    try:
        place = Home(home_folder(home))
    except ServerError:  # no platformdirs, hence no default home and no server in it
        return None
    record = _live(place)
    return server_of(place, record) if record and version_at(record.ports) else None


def last_login(home: PathLike | None = None) -> tuple[str, str, str] | None:
    """URI, user and password of the server of this home as it was last, up or not; None where there never was one."""
    try:
        place = Home(home_folder(home))
        bolt = place.remembered_ports().get("bolt")
        return (f"bolt://{LOOPBACK}:{bolt}", USER, place.password()) if isinstance(bolt, int) else None
    except ServerError:
        return None


def status(home: PathLike | None = None) -> ServerStatus:
    """What can be said of this home."""
    place = Home(home_folder(home))
    size = sum(_size(file) for file in (place.path / "data").rglob("*"))
    record = _live(place)
    if record is None:
        return ServerStatus(state="stopped", home=place.path, log=place.console, data_bytes=size)
    return ServerStatus(
        state="running" if version_at(record.ports) else "unresponsive",
        home=place.path,
        log=place.console,
        data_bytes=size,
        server=server_of(place, record),
        uptime_seconds=time.time() - record.since,
        java=record.java,
    )


def logs(home: PathLike | None = None, *, lines: int = 40) -> tuple[str, ...]:
    """The last lines of what the server printed since it was started; none when it never was."""
    return _last(Home(home_folder(home)).console, lines)


def log_tail(log: Path) -> tuple[str, ...]:
    """The lines that say why a start failed: the errors, else the last ones."""
    said = [line[:_LINE_LENGTH] for line in _last(log, 2_000) if line.strip() and not line.lstrip().startswith("at ")]
    telling = [line for line in said if any(word in line for word in _TELLING)]
    return tuple(telling[:10] or said[-10:])


def _live(home: Home) -> Record | None:
    record = home.read_record()
    return record if record and alive(record.process, words=home.mark) else None


def _last(log: Path, lines: int) -> tuple[str, ...]:
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            return tuple(line.rstrip("\n") for line in deque(file, maxlen=lines))
    except OSError:
        return ()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # a file of a running server that was there a moment ago
        return 0
