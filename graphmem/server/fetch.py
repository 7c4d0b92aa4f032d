"""Maven, through jgo: the only module that speaks to a registry.

`fetch` brings one locked jar into a folder of its own; `dependencies` walks the poms of the server and names its
jars. Neither checks a checksum: whoever asks compares what came with what it wanted.
"""

import errno
from pathlib import Path
from typing import Any, Final

from graphmem.errors import ResolveError

SERVER: Final = ("org.neo4j:neo4j", "org.neo4j:neo4j-slf4j-provider")
BROWSER: Final = "org.neo4j.client:neo4j-browser"
TIMEOUT_SECONDS: Final = 30
ATTEMPTS: Final = 3
_DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS)
INSTALL: Final = "pip install 'graphmem-neo4j[embedded]'"


def _jgo() -> Any:
    try:
        import jgo
        import jgo.maven
    except ImportError as missing:
        raise ResolveError(
            f"The embedded server needs the package {missing.name}; install the extra 'embedded'.", command=INSTALL
        ) from missing
    return jgo


def fetch(coordinate: str, folder: Path) -> Path:
    """Download one jar below an empty folder.

    Raises: ResolveError, when the registry does not answer or has no such jar; OSError, when it cannot be kept.
    """
    group, artifact, version, *classifier = coordinate.split(":")
    context = _jgo().maven.MavenContext(repo_cache=folder, timeout=TIMEOUT_SECONDS)
    wanted = context.project(group, artifact).at_version(version).artifact(*classifier)
    failure: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            return Path(wanted.resolve())
        except (OSError, RuntimeError) as again:  # requests' errors are OSErrors; jgo's "not found" is a RuntimeError
            if getattr(again, "errno", None) in _DISK:
                raise
            failure = again
            Path(wanted.cached_path).unlink(missing_ok=True)  # jgo takes what it left half done for the whole
    raise ResolveError(
        f"{coordinate} could not be downloaded ({type(failure).__name__}). Check the network and run it again: "
        "what is there already is kept.",
        command="graphmem up",
    ) from failure


def dependencies(version: str) -> tuple[str, ...]:
    """Coordinates of every jar that the server of this version runs with, without Browser."""
    artifacts = _jgo().resolve("+".join(f"{name}:{version}" for name in SERVER))
    return tuple(
        ":".join(part for part in (a.groupId, a.artifactId, a.version, a.classifier) if part) for a in artifacts
    )
