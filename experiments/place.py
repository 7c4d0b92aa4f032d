"""Where an experiment runs: on the server that GRAPHMEM_URI names, else on one of its own that ends with it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import graphmem
from graphmem import server


@contextmanager
def open_graph() -> Iterator[graphmem.Graph]:
    """An open graph with the schema in place."""
    if os.environ.get("GRAPHMEM_URI"):
        graphmem.initialize()
        with graphmem.connect() as graph:
            yield graph
        return
    with tempfile.TemporaryDirectory() as home, server.running(home=Path(home) / "server", durable=False) as up:
        graphmem.initialize(up.uri, up.user, up.password)
        with graphmem.connect(up.uri, up.user, up.password) as graph:
            yield graph
