"""Back-up of the embedded server: its database to one file and back, by Neo4j's own `neo4j-admin database`.

The tool is a class of the jars that are there anyway; it works on a database that is at rest. Invariant: a file takes
its name when it is whole, and a home whose server is up, or that has a database, is not loaded into unasked.
"""

import contextlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from graphmem.errors import StartError
from graphmem.server.folders import cache_folder, home_folder
from graphmem.server.home import DATABASE, Home
from graphmem.server.jars import class_path
from graphmem.server.java import find_java
from graphmem.server.lifecycle import PathLike, Progress
from graphmem.server.processes import alive, exclusive

_TOOL: Final = "org.neo4j.cli.AdminTool"


def dump(file: PathLike, home: PathLike | None = None, *, progress: Progress | None = None) -> int:
    """Write the database of a home to a file; its bytes. The server must be down.

    Raises: JavaError, ResolveError, StartError.
    """
    place, target = Home(home_folder(home)), Path(file)
    if not place.has_database:
        raise StartError(f"{place.path} has no database; nothing was written.")
    if target.exists():
        raise StartError(f"{target} exists; give another name.")
    with exclusive(place.lock), tempfile.TemporaryDirectory(dir=target.absolute().parent) as folder:
        _check_down(place)
        place.put_back()
        _admin(place, progress, "database", "dump", DATABASE, f"--to-path={folder}")
        made = Path(folder) / f"{DATABASE}.dump"
        made.replace(target)
    return target.stat().st_size


def load(
    file: PathLike, home: PathLike | None = None, *, overwrite: bool = False, progress: Progress | None = None
) -> None:
    """Bring a dump into a home, in the place of its database where `overwrite` says so. The server must be down.

    What was there stays until the dump has been read to its end, and comes back where that fails.

    Raises: JavaError, ResolveError, StartError.
    """
    place, source = Home(home_folder(home)), Path(file).absolute()
    if not source.is_file():
        raise StartError(f"{source} is no file.")
    with exclusive(place.lock), tempfile.TemporaryDirectory() as folder:
        _check_down(place)
        if place.has_database and not overwrite:
            raise StartError(f"{place.path} has a database. Choose another home, or --overwrite what is there.")
        place.prepare()
        (Path(folder) / f"{DATABASE}.dump").symlink_to(source)
        with _kept(place):
            _admin(
                place, progress, "database", "load", DATABASE, f"--from-path={folder}", "--overwrite-destination=true"
            )


@contextlib.contextmanager
def _kept(home: Home) -> Iterator[None]:
    """Keep the database aside while another one takes its place, and put it back where that fails."""
    home.keep_aside()
    try:
        yield
    except BaseException:
        home.put_back(drop=True)
        raise
    home.forget_kept()


def _check_down(home: Home) -> None:
    record = home.read_record()
    if record is not None and alive(record.process, words=""):
        raise StartError(
            f"the server of {home.path} is up; its database must be at rest.",
            command=f"graphmem down --home {shlex.quote(str(home.path))}",
        )


def _admin(home: Home, progress: Progress | None, *arguments: str) -> None:
    lock = home.choose_version(None)
    java, jars = find_java(lock.java), class_path(lock, cache_folder(), progress=progress or (lambda _line: None))
    flags = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
    command = (str(java.path), *flags, "-classpath", ":".join(map(str, jars)), _TOOL, *arguments)
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    folders = {"NEO4J_HOME": str(home.path), "NEO4J_CONF": str(home.path / "conf")}
    done = subprocess.run(command, env=kept | folders, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join(f"  {line}" for line in (done.stderr or done.stdout).splitlines()[-8:])
        raise StartError(f"neo4j-admin {' '.join(arguments[:2])} failed:\n{said}")
    home.write_version(lock.neo4j)
