"""What is true of a server of an older line: `pytest tests/lines --neo4j=5.26`, on a machine with Java 17 or 21.

Invariant: with any other server nothing in this folder is collected.
"""

import pytest

from graphmem.server.lock import LINES


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if config.getoption("--neo4j") in LINES[1:] else True
