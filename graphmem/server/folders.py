"""Where things lie: the cache that all homes share, and the home when none was named.

Reads `GRAPHMEM_CACHE` and `GRAPHMEM_HOME` when it is asked, never at import. Creates nothing.
"""

import os
from pathlib import Path
from typing import Any

from graphmem.errors import ServerError
from graphmem.server.fetch import INSTALL


def cache_folder() -> Path:
    """Where jars and class archives are kept."""
    if chosen := os.environ.get("GRAPHMEM_CACHE"):
        return _absolute(chosen)
    return _absolute(_platformdirs().user_cache_dir("graphmem", appauthor=False))


def home_folder(home: str | os.PathLike[str] | None = None) -> Path:
    """The folder of one server: the argument, `GRAPHMEM_HOME`, else the user's data folder."""
    if chosen := home or os.environ.get("GRAPHMEM_HOME"):
        return _absolute(chosen)
    return _absolute(_platformdirs().user_data_dir("graphmem", appauthor=False))


def _absolute(folder: str | os.PathLike[str]) -> Path:
    # links resolved: a running server is known by the path of its home, which must have one spelling
    return Path(folder).expanduser().resolve()


def _platformdirs() -> Any:
    try:
        import platformdirs
    except ImportError as missing:
        raise ServerError(
            "Your data folder is found by the package platformdirs, of the extras 'embedded' and 'agent'; or name one "
            "by GRAPHMEM_HOME.",
            command=INSTALL,
        ) from missing
    return platformdirs
