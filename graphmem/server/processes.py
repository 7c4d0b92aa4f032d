"""Processes of this machine: the lock between them, who a pid is, and how one is ended.

Knows nothing of Neo4j. A pid alone names nobody, since the system gives it again: a process is its pid and its start
time, and whoever ends one also says which words must stand in its command line.
Invariant: no signal goes to a process whose start time or command line differs from what was recorded.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from graphmem.errors import StartError

POLL_SECONDS: Final = 0.05

# A shell starts the process and leaves: it is no child of ours then, needs no reaping and outlives us silently.
_DETACH: Final = 'log=$1; shift; "$@" </dev/null >"$log" 2>&1 & echo $!'


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process that was started: its pid and its start time, in whatever unit the system gives."""

    pid: int
    started: str


@contextlib.contextmanager
def exclusive(path: Path, *, waiting: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold a file lock; whoever comes second waits. The system frees it when its holder dies."""
    try:
        import fcntl
    except ImportError as missing:  # Windows: importing this module must not fail there, since connect() does it
        raise StartError(
            "The embedded server runs on Linux and macOS. Elsewhere: your own Neo4j, GRAPHMEM_URI."
        ) from missing
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        opened = path.open("a")
    with opened as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting:
                waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """What hinders writing there (a full disk, a folder of somebody else) becomes a sentence."""
    try:
        yield
    except OSError as refused:
        reason = refused.strerror or refused
        raise StartError(
            f"{folder} cannot be written ({reason}); make room there, or choose another folder."
        ) from refused


def detach(command: Sequence[str], *, log: Path, folder: Path, environment: Mapping[str, str]) -> Process:
    """Start a process that outlives this one; its output goes to a new log file."""
    done = subprocess.run(
        ("/bin/sh", "-c", _DETACH, "sh", str(log), *command),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    return identify(int(done.stdout))


def identify(pid: int) -> Process:
    """The process that has this pid now; one that never counts as alive when there is none."""
    return Process(pid=pid, started=_look(pid)[0])


def alive(process: Process, *, words: str) -> bool:
    """Whether this very process runs and has these words in its command line."""
    started, command = _look(process.pid)
    return bool(started) and started == process.started and words in command


def running_with(words: str) -> Iterator[Process]:
    """The processes that have these words in their command line, this one excepted."""
    if Path("/proc/self/stat").exists():
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    else:
        listed = subprocess.run(("ps", "-axo", "pid="), capture_output=True, text=True, check=False).stdout
        pids = [int(pid) for pid in listed.split()]
    for pid in pids:
        started, command = _look(pid)
        if started and words in command and pid != os.getpid():
            yield Process(pid=pid, started=started)


def end(process: Process, *, words: str, grace_seconds: float) -> bool:
    """Ask it to stop, insist after the grace, and wait until it is gone. False: it was not running."""
    if not alive(process, words=words):
        return False
    for number, seconds in ((signal.SIGTERM, grace_seconds), (signal.SIGKILL, 30.0)):
        if seconds > 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)
            if _gone(process, seconds=seconds):
                return True
    raise StartError(f"Process {process.pid} did not end, though it was killed; look at it with `ps -p {process.pid}`.")


def _gone(process: Process, *, seconds: float) -> bool:
    # By its start time alone: a process that is ending has no command line any more, and still holds its files.
    deadline = time.monotonic() + seconds
    while alive(process, words=""):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _look(pid: int) -> tuple[str, str]:
    """Start time and command line; two empty texts for a process that is not there or only waits to be reaped."""
    if not Path("/proc/self/stat").exists():
        return _look_with_ps(pid)
    try:
        # the name in the second field may hold spaces and brackets: count from the last bracket
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return "", ""
    return ("", "") if fields[0] in "ZX" else (fields[19], command)


def _look_with_ps(pid: int) -> tuple[str, str]:
    done = subprocess.run(
        ("ps", "-ww", "-o", "stat=,lstart=,command=", "-p", str(pid)),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )
    status, *rest = done.stdout.split(maxsplit=6) or [""]
    if len(rest) < 6 or status.startswith("Z"):
        return "", ""
    return " ".join(rest[:5]), rest[5]
