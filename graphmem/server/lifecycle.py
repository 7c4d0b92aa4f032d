"""Starting and stopping: `up`, `down`, and `running` for tests and notebooks.

Whoever starts or stops holds the lock of the home, so that two of them come one after the other. The server is
recorded before it is waited for: one that was left half started is found, and ended or waited for, by the next call.
Invariant: only the process of the record is ever signalled, and only while it is the same process.
"""

import contextlib
import os
import shlex
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from graphmem.errors import ServerError, StartError
from graphmem.server.archive import archive_of
from graphmem.server.folders import cache_folder, home_folder
from graphmem.server.home import Home, Record
from graphmem.server.jars import class_path, jar_paths
from graphmem.server.java import find_java
from graphmem.server.lock import line_of, read_lock
from graphmem.server.processes import alive, detach, end, exclusive, running_with, writing
from graphmem.server.ready import version_at
from graphmem.server.settings import argument_file, configuration, java_arguments
from graphmem.server.values import Server, server_of
from graphmem.server.watch import log_tail

PathLike: TypeAlias = str | os.PathLike[str]
Progress: TypeAlias = Callable[[str], None]

START_SECONDS: Final = 180.0
STOP_SECONDS: Final = 60.0
NOTHING_SAID: Final = "  nothing: as when it is killed for want of memory, of which it takes about 1.5 GB"

# What the server needs of our environment. The rest may hold keys, and JAVA_TOOL_OPTIONS would change the JVM.
_KEPT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "TZ")


def _silent(_sentence: str) -> None:
    pass


def up(
    home: PathLike | None = None,
    *,
    neo4j: str | None = None,
    progress: Progress | None = None,
    short_lived: bool = False,
) -> Server:
    """The server of this home, started if it is not up.

    Args:
        home: its folder; by default `GRAPHMEM_HOME`, else the user's data folder.
        neo4j: a version line of `LINES`; by default the one that the home was last served by, else the newest. A
            database goes from an older line to a newer one at its first start there, and never back.
        progress: takes a short sentence at each stage.
        short_lived: small heap and a JVM that starts fast and never gets fast; for tests.

    Raises: JavaError, ResolveError, StartError.
    """
    return _up(Home(home_folder(home)), neo4j, progress or _silent, short_lived=short_lived)[0]


def down(home: PathLike | None = None) -> bool:
    """Stop what `up` started, and wait until it is gone. False: nothing was up."""
    return _down(Home(home_folder(home)), grace_seconds=STOP_SECONDS)


@contextlib.contextmanager
def running(
    home: PathLike | None = None,
    *,
    neo4j: str | None = None,
    progress: Progress | None = None,
    durable: bool = False,
) -> Iterator[Server]:
    """A server for the length of a block: started if it is not up, and then also stopped.

    Unless `durable`, it has a small heap, and at the end little patience: a stop that takes more than two seconds
    becomes a kill, which loses nothing that was committed.
    """
    place = Home(home_folder(home))
    server, started = _up(place, neo4j, progress or _silent, short_lived=not durable)
    try:
        yield server
    finally:
        if started:
            _down(place, grace_seconds=STOP_SECONDS if durable else 2.0)


def _up(home: Home, neo4j: str | None, progress: Progress, *, short_lived: bool) -> tuple[Server, bool]:
    with exclusive(home.lock, waiting=lambda: progress(f"Another process holds {home.path}; waiting for it.")):
        record = home.read_record()
        if record and alive(record.process, words=""):
            found = _wait(home, record)
            if found is not None:  # else it was just being killed: start anew
                if neo4j not in (None, line_of(found.version)):
                    raise StartError(
                        f"{home.path} is being served by Neo4j {found.version}. Stop it first, or choose another home.",
                        command=f"graphmem down --home {shlex.quote(str(home.path))}",
                    )
                return found, False
        record = _start(home, neo4j, progress, short_lived=short_lived)
        try:
            server = _wait(home, record)
            if server is None:
                raise _failure(home, "The server ended while it started.")
        except BaseException:  # Ctrl-C too: nothing half started is left behind
            end(record.process, words=home.mark, grace_seconds=0.0)
            home.forget_record()
            raise
        progress(f"Neo4j {server.version} is up: {server.uri}, Browser at {server.browser}")
        return server, True


def _down(home: Home, *, grace_seconds: float) -> bool:
    if not home.path.exists():
        return False
    with exclusive(home.lock):
        record = home.read_record()
        ended = record is not None and end(record.process, words=home.mark, grace_seconds=grace_seconds)
        ended = _end_unrecorded(home) or ended
        home.forget_record()
        if record is not None and ended and home.recording.exists():
            _archive_classes(home, line_of(record.version))
        return ended


def _end_unrecorded(home: Home) -> bool:
    """End what an `up` that was killed had started and not yet written down."""
    ended = [end(process, words=home.mark, grace_seconds=2.0) for process in running_with(home.mark)]
    return any(ended)


def _start(home: Home, neo4j: str | None, progress: Progress, *, short_lived: bool) -> Record:
    lock = home.choose_version(neo4j)
    java = find_java(lock.java)
    with writing(cache_folder()):
        jars = class_path(lock, cache_folder(), progress=progress)
    if _end_unrecorded(home):
        progress(f"Ended a server of {home.path} that nobody had written down.")
    with writing(home.path):
        home.prepare()
        home.write_version(lock.neo4j)
        ports = home.claim_ports()
        (home.path / "conf" / "neo4j.conf").write_text(
            configuration(ports, lock.neo4j, short_lived=short_lived), encoding="utf-8"
        )
        flags = archive_of(java, jars).flags(home.recording)
        arguments = java_arguments(java, home.path, jars, lock.main, more=flags, short_lived=short_lived)
        home.arguments.write_text(argument_file(arguments), encoding="utf-8")
    progress(f"Starting Neo4j {lock.neo4j} with {java} in {home.path}.")
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    process = detach((str(java.path), home.mark), log=home.console, folder=home.path, environment=environment)
    record = Record(process=process, ports=ports, version=lock.neo4j, java=str(java), since=time.time())
    with writing(home.path):
        home.write_record(record)
    return record


def _archive_classes(home: Home, line: str) -> None:
    with contextlib.suppress(ServerError, OSError):  # a help for later starts: what hinders it is no fault of this stop
        lock = read_lock(line)
        archive_of(find_java(lock.java), jar_paths(lock, cache_folder())).make(home.recording)


def _wait(home: Home, record: Record) -> Server | None:
    """The server once it answers; None when its process ends before, and has given back its files."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if version_at(record.ports):
            return server_of(home, record)
        if not alive(record.process, words=""):
            return None
        time.sleep(0.1)
    raise _failure(home, f"The server did not answer within {START_SECONDS:.0f} seconds.")


def _failure(home: Home, what: str) -> StartError:
    said = "\n".join(f"  {line}" for line in log_tail(home.console))
    return StartError(
        f"{what} Its log, {home.console}, says:\n{said or NOTHING_SAID}",
        command=f"graphmem server logs --home {shlex.quote(str(home.path))}",
    )
