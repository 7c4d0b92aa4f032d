"""The jars in the cache: there, and the right ones.

`class_path` gives the jars in the order of the lock file and fetches what is missing or altered; with a full cache it
needs no network. One cache serves all homes. The registry is spoken to in `fetch`.
Invariant: a file stands under its final name only after its sha256 was compared with the lock file. A stamp of size
and mtime then saves the hashing at later starts; a jar whose stamp differs is hashed again.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

from graphmem.errors import ResolveError
from graphmem.server.fetch import fetch
from graphmem.server.lock import Lock, LockedJar
from graphmem.server.processes import exclusive

Progress: TypeAlias = Callable[[str], None]
Stamps: TypeAlias = dict[str, list[object]]

DOWNLOADS_AT_ONCE: Final = 16


def class_path(lock: Lock, cache: Path, *, progress: Progress) -> tuple[Path, ...]:
    """Every jar of the lock file, checked.

    Raises: ResolveError, when one cannot be had or is not the right one.
    """
    folder = cache / f"neo4j-{lock.neo4j}"
    if _unsettled(lock, folder):
        with exclusive(cache / "lock", waiting=lambda: progress("Another process is downloading; waiting for it.")):
            _settle(lock, folder, progress=progress)
    return jar_paths(lock, cache)


def jar_paths(lock: Lock, cache: Path) -> tuple[Path, ...]:
    """Where the jars lie, or will, in the order of the class path; nothing is checked."""
    return tuple(cache / f"neo4j-{lock.neo4j}" / jar.file for jar in lock.jars)


def _settle(lock: Lock, folder: Path, *, progress: Progress) -> None:
    unsettled = _unsettled(lock, folder)
    wanted = [jar for jar in unsettled if not _is_right(folder / jar.file, jar)]
    right = [jar for jar in lock.jars if jar not in wanted]
    try:
        if wanted:
            _download(wanted, right, folder, server=f"Neo4j {lock.neo4j}", progress=progress)
    finally:
        _write_stamps(right, folder)


def _download(
    jars: Sequence[LockedJar], right: list[LockedJar], folder: Path, *, server: str, progress: Progress
) -> None:
    """Bring these jars; each that came is added to those that are right, so that a failure keeps what there is."""
    megabytes = sum(jar.size_bytes for jar in jars) / 1e6
    progress(f"Downloading {server}: {len(jars)} jars, {megabytes:.0f} MB.")
    folder.mkdir(parents=True, exist_ok=True)
    for left_behind in folder.glob("partial-*"):  # by a process that was killed: we hold the lock
        shutil.rmtree(left_behind)
    for jar in jars:
        (folder / jar.file).unlink(missing_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="partial-", dir=folder) as partial,
        ThreadPoolExecutor(max_workers=DOWNLOADS_AT_ONCE) as pool,
    ):
        running = [pool.submit(_bring, jar, Path(partial), folder) for jar in jars]
        try:
            for count, done in enumerate(as_completed(running), start=1):
                right.append(done.result())
                if count % 40 == 0 or count == len(jars):
                    progress(f"Downloaded {count} of {len(jars)} jars.")
        finally:
            pool.shutdown(cancel_futures=True)


def _bring(jar: LockedJar, partial: Path, folder: Path) -> LockedJar:
    came = fetch(jar.coordinate, partial)
    digest = _sha256(came)
    if digest != jar.sha256:
        raise ResolveError(
            f"{jar.coordinate} came with sha256 {digest}, but the lock file says {jar.sha256}: not the jar that "
            "graphmem was tested with, so it was not kept. Run it again; if it stays so, the registry serves another.",
            command="graphmem up",
        )
    os.replace(came, folder / jar.file)
    return jar


def _unsettled(lock: Lock, folder: Path) -> list[LockedJar]:
    """The jars whose stamp does not say that they were checked against this lock file."""
    stamps = _read_stamps(folder)
    return [jar for jar in lock.jars if stamps.get(jar.file) != _stamp(folder / jar.file, jar)]


def _stamp(path: Path, jar: LockedJar) -> list[object] | str:
    try:
        facts = path.stat()
    except OSError:
        return "missing"
    return [facts.st_size, facts.st_mtime_ns, jar.sha256]


def _is_right(path: Path, jar: LockedJar) -> bool:
    return path.is_file() and path.stat().st_size == jar.size_bytes and _sha256(path) == jar.sha256


def _read_stamps(folder: Path) -> Stamps:
    try:
        stamps: Stamps = json.loads((folder / "stamps.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamps


def _write_stamps(jars: Sequence[LockedJar], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({jar.file: _stamp(folder / jar.file, jar) for jar in jars})
    draft = folder / f"stamps.{os.getpid()}"
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, folder / "stamps.json")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        digest = sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
