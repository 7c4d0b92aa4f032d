"""A database that graphmem wrote with its first schema is migrated, reads as it did, and is worked on.

`schema_1.jsonl` is all that this version wrote for a task of twelve steps: a node a line, then a relation a line, whose
ends are numbers of lines.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphmem
from graphmem import NotFoundError, SchemaError, StepOutput, World, server
from graphmem.inspect import audit, why
from graphmem.store import Connection, init, migrations, schema_version
from graphmem.store.queries import literal
from tests.acceptance.speech import add
from tests.acceptance.tree_speech import fails, grow

WRITTEN = Path(__file__).with_name("schema_1.jsonl")
KEPT_NO_CURSOR = "step 5 of trip was written by a graphmem that kept no cursor"


@pytest.fixture
def up(tmp_path: Path) -> Iterator[server.Server]:
    with server.running(home=tmp_path) as up:
        yield up


@pytest.fixture
def old(up: server.Server) -> Iterator[Connection]:
    """The database of that time, of which nothing else has been made."""
    connection = Connection(up.uri, user=up.user, password=up.password)
    for statement in migrations.migrations()[0].read_text(encoding="utf-8").split(";\n"):
        if statement.strip():
            connection.run("test", literal(statement))
    with connection.transaction() as run:
        for number, text in enumerate(WRITTEN.read_text(encoding="utf-8").splitlines()):
            line = {**json.loads(text), "line": number}
            if "labels" in line:
                run("CREATE (n:$($p.labels)) SET n = $p.properties, n.line = $p.line", line)
            else:
                run(
                    "MATCH (a {line: $p.from}), (b {line: $p.to}) CREATE (a)-[r:$($p.type)]->(b) SET r = $p.properties",
                    line,
                )
        run("MATCH (n) REMOVE n.line", {})
    yield connection
    connection.close()


def test_it_is_refused_until_it_is_migrated_and_then_read_and_worked_on(old: Connection, up: server.Server) -> None:
    with pytest.raises(SchemaError, match=r"has schema 1, this graphmem needs .*graphmem init"):
        graphmem.connect(up.uri, up.user, up.password)
    assert init(old) == init(old) == schema_version(old) == len(migrations.migrations())
    assert audit(old, "old") == ()
    with graphmem.connect(up.uri, up.user, up.password) as graph:
        task = graph.space("old").task("trip")
        request = task.open_request()
        assert request.text == "And what did it cost?"
        assert {state.id for state in request.status().active} == {"hotel-a"}
        assert [summary.text for summary in task.path().summaries] == ["Booked: R-17"]
        assert all(behind in str(why(old, "old", "trip", "booked")) for behind in ("'hotel-a'", "'obs:1.1'"))
        with pytest.raises(NotFoundError, match=KEPT_NO_CURSOR):
            task.at(5).status()
        with pytest.raises(NotFoundError, match=KEPT_NO_CURSOR):
            task.fork("early", at=5)
        task.maintain(task.path().summaries[0], fails("which room?"))
        grow(request, "another bill", delta=(add("cost"),))
        summary = task.compress("asked for the bill")
        assert task.at(task.now().step).path().text() == task.path().text()
        task.revise(summary, feedback="ask again", world=World.RESTORED)
        task.fork("later")
        request.step(request.status(), StepOutput(message="It cost 140 USD"))
        assert audit(old, "old") == ()
