"""A real server for every test that touches the graph, and a space of its own for each.

`--neo4j=embedded` (the default) starts one in a folder of this run and ends it, `--neo4j=5.26` the one of that line;
`--neo4j=container` takes one from a Docker engine, `--neo4j=URI` uses a server that is up, with GRAPHMEM_PASSWORD. A
server that cannot be had, also for want of Docker, is an error, never a skip. Tests that run side by side (`-n`) share
it: a statement is planned once for all of them, and their spaces keep them apart.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest

import graphmem
from graphmem import server
from graphmem.exchange.watching.catching_up import settle
from graphmem.server.lock import LINES
from graphmem.store import Connection, init
from tests.container import in_container

_SHARED = pytest.StashKey[Mapping[str, str]]()
_ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--neo4j",
        default="embedded",
        help=f"embedded, {', '.join(LINES)}, container, or the URI of a server (GRAPHMEM_PASSWORD)",
    )


def _line(where: str) -> str | None:
    return where if where in LINES else None


@contextmanager
def _server(where: str) -> Iterator[Mapping[str, str]]:
    """The GRAPHMEM_* variables of the server that `--neo4j` says."""
    if where == "container":
        with in_container() as found:
            yield found
    elif where == "embedded" or where in LINES:
        with (
            TemporaryDirectory() as home,
            server.running(home=Path(home) / "server", neo4j=_line(where), durable=True) as up,
        ):
            yield {"GRAPHMEM_URI": up.uri, "GRAPHMEM_USER": up.user, "GRAPHMEM_PASSWORD": up.password}
    else:
        yield {"GRAPHMEM_URI": where, "GRAPHMEM_USER": "neo4j", "GRAPHMEM_PASSWORD": os.environ["GRAPHMEM_PASSWORD"]}


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """One server for all workers, which the process that started them ends."""
    if _SHARED not in node.config.stash:
        opened = ExitStack()
        node.config.stash[_SHARED] = opened.enter_context(_server(str(node.config.getoption("--neo4j"))))
        node.config.add_cleanup(opened.close)
    node.workerinput["server_env"] = dict(node.config.stash[_SHARED])


@pytest.fixture(scope="session")
def server_env(request: pytest.FixtureRequest) -> Iterator[Mapping[str, str]]:
    """The GRAPHMEM_* variables of the server under test, for this process and others."""
    shared = getattr(request.config, "workerinput", None)
    if shared is not None:
        yield shared["server_env"]
    else:
        with _server(str(request.config.getoption("--neo4j"))) as found:
            yield found


@pytest.fixture(scope="session")
def line(request: pytest.FixtureRequest) -> str | None:
    """The line of Neo4j under test, for a server of a test's own; None: the newest."""
    return _line(str(request.config.getoption("--neo4j")))


@pytest.fixture(scope="session")
def connection(server_env: Mapping[str, str]) -> Iterator[Connection]:
    """A connection to the server under test, with the schema in place."""
    opened = Connection(
        server_env["GRAPHMEM_URI"], user=server_env["GRAPHMEM_USER"], password=server_env["GRAPHMEM_PASSWORD"]
    )
    init(opened)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def graph(connection: Connection, server_env: Mapping[str, str]) -> Iterator[graphmem.Graph]:
    """An open graph on the server under test."""
    with graphmem.connect(
        connection.uri, server_env["GRAPHMEM_USER"], server_env["GRAPHMEM_PASSWORD"], connection.database
    ) as opened:
        yield opened


@pytest.fixture
def space(graph: graphmem.Graph, connection: Connection) -> Iterator[graphmem.Space]:
    """A space of this test's own; erased afterwards, and nothing else is."""
    name = f"test-{uuid4().hex[:12]}"
    yield graph.space(name)
    settle(graph.connection, seconds=60.0)  # what is being written while it is erased would stay
    connection.run("tests/erase", _ERASE, {"space": name})


@pytest.fixture(autouse=True)
def _no_warnings_of_our_own_statements() -> Iterator[None]:
    """A notification of the server about one of our statements fails the test that ran it."""
    records: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]  # a collecting handler
    logging.getLogger("graphmem").addHandler(handler)
    yield
    logging.getLogger("graphmem").removeHandler(handler)
    assert not records
