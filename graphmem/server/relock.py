"""Writes a lock file anew: `python -m graphmem.server.relock [LINE [NEO4J_VERSION [BROWSER_VERSION]]]`.

For maintainers, when the version of a server moves. It trusts the registry of that moment; everybody later trusts the
file. Browser is taken as a jar alone: its pom names a parent that the registry does not have.
"""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from graphmem.server.fetch import BROWSER, dependencies, fetch
from graphmem.server.lock import LINES, Lock, LockedJar, lock_file, read_lock, write_lock_file


def _locked(coordinate: str) -> LockedJar:
    with tempfile.TemporaryDirectory() as folder:
        content = fetch(coordinate, Path(folder)).read_bytes()
    return LockedJar(coordinate=coordinate, size_bytes=len(content), sha256=sha256(content).hexdigest())


def relock(present: Lock, neo4j: str, browser: str) -> Lock:
    """Resolve both, download every jar once and hash it."""
    coordinates = (*dependencies(neo4j), f"{BROWSER}:{browser}")
    with ThreadPoolExecutor(max_workers=8) as pool:
        jars = tuple(pool.map(_locked, coordinates))
    return replace(present, neo4j=neo4j, browser=browser, jars=jars)


def main(arguments: list[str]) -> None:
    """The line and versions of the arguments, or those of the present file."""
    line, *versions = arguments or [LINES[0]]
    present = read_lock(line)
    neo4j, browser = (*versions, *(present.neo4j, present.browser)[len(versions) :])
    lock = relock(present, neo4j, browser)
    write_lock_file(lock, lock_file(line))
    print(f"{lock_file(line).name}: {len(lock.jars)} jars, {sum(jar.size_bytes for jar in lock.jars) / 1e6:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
