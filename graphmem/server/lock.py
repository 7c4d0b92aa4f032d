"""The lock files: which jars make a server, the checksum of each, and what runs them.

Owns `neo4j-*.lock.json`, one for each version line that is kept, and their reading. It knows neither where jars lie nor
how they are fetched; `relock` writes them anew.
Invariant: the order of the jars in the file is that of the class path, so that two homes start with equal class
paths.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from graphmem.errors import StartError

LINES: Final = ("2026.09", "5.26")
"""The version lines that the embedded server comes in; the first is the default."""


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
    """A server, jar by jar: the class that starts it, and the major versions of Java that it supports."""

    neo4j: str
    browser: str
    main: str
    java: tuple[int, ...]
    jars: tuple[LockedJar, ...]


def lock_file(line: str) -> Path:
    """Where the lock of a version line stands."""
    return Path(__file__).with_name(f"neo4j-{line}.lock.json")


def line_of(version: str) -> str:
    """The line of a version: 5.26 of 5.26.31."""
    return ".".join(version.split(".")[:2])


def read_lock(line: str = LINES[0]) -> Lock:
    """The lock of a version line.

    Raises: StartError, when the line is not one of `LINES`.
    """
    if line not in LINES:
        raise StartError(f"The embedded server comes as Neo4j {' or '.join(LINES)}, not as {line!r}.")
    return read_lock_file(lock_file(line))


def read_lock_file(path: Path) -> Lock:
    """What a lock file says."""
    document = json.loads(path.read_text(encoding="utf-8"))
    jars = (LockedJar(coordinate=c, size_bytes=size, sha256=digest) for c, (size, digest) in document["jars"].items())
    return Lock(
        neo4j=document["neo4j"],
        browser=document["browser"],
        main=document["main"],
        java=tuple(document["java"]),
        jars=tuple(jars),
    )


def write_lock_file(lock: Lock, path: Path) -> None:
    """Write the file, a line a jar, so that a new version can be read as a diff."""
    lines = ",\n".join(
        f"    {json.dumps(jar.coordinate)}: {json.dumps([jar.size_bytes, jar.sha256])}" for jar in lock.jars
    )
    facts = {"neo4j": lock.neo4j, "browser": lock.browser, "main": lock.main, "java": list(lock.java)}
    head = "".join(f"  {json.dumps(name)}: {json.dumps(value)},\n" for name, value in facts.items())
    path.write_text("{\n" + head + '  "jars": {\n' + lines + "\n  }\n}\n", encoding="utf-8")
