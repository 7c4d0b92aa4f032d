"""The lock file: which jars make the server, and the checksum of each.

Owns `neo4j.lock.json` and its reading. It knows neither where jars lie nor how they are fetched; `relock` writes it
anew.
Invariant: the order of the jars in the file is that of the class path, so that two homes start with equal class
paths.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LOCK_FILE: Final = Path(__file__).with_name("neo4j.lock.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedJar:
    """One jar: its Maven coordinate `group:artifact:version[:classifier]`, its size in bytes and its checksum."""

    coordinate: str
    size_bytes: int
    sha256: str

    @property
    def file(self) -> str:
        """The file name, as the registry has it."""
        _, artifact, version, *classifier = self.coordinate.split(":")
        return "-".join((artifact, version, *classifier)) + ".jar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """A server, jar by jar."""

    neo4j: str
    browser: str
    jars: tuple[LockedJar, ...]


def read_lock(path: Path = LOCK_FILE) -> Lock:
    """What the lock file says."""
    document = json.loads(path.read_text(encoding="utf-8"))
    jars = (LockedJar(coordinate=c, size_bytes=size, sha256=digest) for c, (size, digest) in document["jars"].items())
    return Lock(neo4j=document["neo4j"], browser=document["browser"], jars=tuple(jars))


def write_lock(lock: Lock, path: Path = LOCK_FILE) -> None:
    """Write the file, a line a jar, so that a new version can be read as a diff."""
    lines = ",\n".join(
        f"    {json.dumps(jar.coordinate)}: {json.dumps([jar.size_bytes, jar.sha256])}" for jar in lock.jars
    )
    head = f'  "neo4j": {json.dumps(lock.neo4j)},\n  "browser": {json.dumps(lock.browser)},\n'
    path.write_text("{\n" + head + '  "jars": {\n' + lines + "\n  }\n}\n", encoding="utf-8")
