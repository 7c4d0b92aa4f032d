"""Every query file on a real server: it parses as Cypher 5 and 25, without a warning, and is what its header says."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import LiteralString

import neo4j
import pytest

import graphmem
from graphmem.store import Connection, Query, query, query_names
from graphmem.store.queries import folder

ROOMS = sorted(path.name for path in Path(folder()).iterdir() if path.is_dir())
NAMES = [name for room in ROOMS for name in query_names(room) if not name.startswith("schema/0")]


@pytest.fixture(scope="module")
def session(connection: Connection, server_env: dict[str, str]) -> Iterator[neo4j.Session]:
    auth = (server_env["GRAPHMEM_USER"], server_env["GRAPHMEM_PASSWORD"])
    with (
        neo4j.GraphDatabase.driver(connection.uri, auth=auth, telemetry_disabled=True) as driver,
        driver.session() as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
def languages(connection: Connection) -> tuple[LiteralString, ...]:
    """The versions of Cypher that the server under test speaks."""
    version = connection.read(query("schema/read_schema"), {})[0]["server"]
    return ("CYPHER 5",) if version.startswith("5.") else ("CYPHER 5", "CYPHER 25")


@pytest.mark.parametrize("name", NAMES)
def test_a_query_file_is_what_its_header_says(
    session: neo4j.Session, languages: tuple[LiteralString, ...], name: str
) -> None:
    for language in languages:
        _check(session, query(name), language)


def _check(session: neo4j.Session, wanted: Query, language: LiteralString) -> None:
    text = f"{language} EXPLAIN {wanted.text}"
    result = session.run(text, p=dict.fromkeys(wanted.params))
    columns = tuple(result.keys())
    summary = result.consume()
    found = [status.status_description for status in summary.gql_status_objects if status.is_notification]
    unknown = [text for text in found if "does not exist" not in text]
    assert columns == wanted.returns
    assert unknown == []
    assert (summary.query_type in ("r", "s")) == (wanted.mode == "read")  # a procedure of the system is `s`


def test_every_query_file_is_small_and_has_a_sentence() -> None:
    for name in NAMES:
        assert query(name).summary.endswith((".", "!")), name
        assert len(query(name).text.splitlines()) <= 150, name


def test_a_status_without_its_lock_is_a_read_and_reads_the_same(space: graphmem.Space, connection: Connection) -> None:
    space.task("t").request("one")
    locking = query("task/status")
    reading = replace(locking, text=locking.without_lock)
    p = {"space": space.name, "task": "t", "op": "x", "request": 1, "low": 1, "lines": 9, "heads": 9, "neighbours": 9}
    rows, locked = connection.read_locked(locking, p)
    assert locked
    assert connection.read(reading, p) == rows
    with pytest.raises(graphmem.StoreError, match="AccessMode"):
        connection.read(locking, p)
