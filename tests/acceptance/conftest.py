"""What tests of the tree check when they are over."""

from collections.abc import Iterator

import pytest

import graphmem
from graphmem.inspect import audit
from graphmem.store import Connection


@pytest.fixture
def sound(space: graphmem.Space, connection: Connection) -> Iterator[None]:
    """The audit finds nothing wrong with what the test left in its space."""
    yield
    assert audit(connection, space.name) == ()
