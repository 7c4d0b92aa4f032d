"""Writes the lock file anew: `python -m graphmem.server.relock [NEO4J_VERSION [BROWSER_VERSION]]`.

For maintainers, when the server's version moves. It trusts the registry of that moment; everybody later trusts the
file. Browser is taken as a jar alone: its pom names a parent that the registry does not have.
"""

import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

from graphmem.server.fetch import BROWSER, dependencies, fetch
from graphmem.server.lock import LOCK_FILE, Lock, LockedJar, read_lock, write_lock


def _locked(coordinate: str) -> LockedJar:
    with tempfile.TemporaryDirectory() as folder:
        content = fetch(coordinate, Path(folder)).read_bytes()
    return LockedJar(coordinate=coordinate, size_bytes=len(content), sha256=sha256(content).hexdigest())


def relock(neo4j: str, browser: str) -> Lock:
    """Resolve both, download every jar once and hash it."""
    coordinates = (*dependencies(neo4j), f"{BROWSER}:{browser}")
    with ThreadPoolExecutor(max_workers=8) as pool:
        return Lock(neo4j=neo4j, browser=browser, jars=tuple(pool.map(_locked, coordinates)))


def main(arguments: list[str]) -> None:
    """The versions of the arguments, or those of the present file."""
    if len(arguments) == 2:
        neo4j, browser = arguments
    else:
        present = read_lock()
        neo4j, browser = (arguments or [present.neo4j])[0], present.browser
    lock = relock(neo4j, browser)
    write_lock(lock)
    print(f"{LOCK_FILE.name}: {len(lock.jars)} jars, {sum(jar.size_bytes for jar in lock.jars) / 1e6:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
