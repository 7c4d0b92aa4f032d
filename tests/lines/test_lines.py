"""One home under two lines of the server: a database goes to the newer one and never back."""

from functools import partial
from pathlib import Path

import pytest

import graphmem
from graphmem import Operation, StateKind, StepOutput, server
from graphmem.inspect import doctor
from graphmem.server.lock import LINES, read_lock
from graphmem.store import Connection

NEW, OLD = LINES


def _told(up: server.Server) -> str:
    with graphmem.connect(up.uri, up.user, up.password) as graph:
        return graph.space("moved").task("t").at(3).prompt().text()


def test_a_database_moves_to_the_newer_line_and_not_back(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with server.running(home, neo4j=OLD) as up:
        assert up.version == read_lock(OLD).neo4j
        with pytest.raises(graphmem.StartError, match=f"served by Neo4j {OLD}"):
            server.up(home, neo4j=NEW)
        graphmem.initialize(up.uri, up.user, up.password)
        with graphmem.connect(up.uri, up.user, up.password) as graph:
            request = graph.space("moved").task("t").request("one")
            fact = Operation(operation="add", id="fact", kind=StateKind.KNOWLEDGE, summary="ä “x”", value={"n": 1})
            request.step(request.status(), StepOutput(delta=(fact,)))
            request.step(request.status(), StepOutput(message="done"))
        told = _told(up)
    with server.running(home) as up:  # without a line: the one that served it last
        assert up.version == read_lock(OLD).neo4j
    with server.running(home, neo4j=NEW) as up:
        assert up.version == read_lock(NEW).neo4j
        assert _told(up) == told
        graphmem.initialize(up.uri, up.user, up.password)
        connect = partial(Connection, up.uri, user=up.user, password=up.password)
        verdicts = {check.name: check.verdict for check in doctor.examine(connect, home=home)}
    assert set(verdicts.values()) == {"ok"}, verdicts
    with pytest.raises(graphmem.StartError, match=f"--neo4j {NEW}"):
        server.up(home, neo4j=OLD)
