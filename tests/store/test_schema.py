"""Migrations: immutable, chained, applied once, side by side, and only when asked."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import LiteralString

import pytest

import graphmem
from graphmem import SchemaError, server
from graphmem.inspect import Check, examine
from graphmem.store import Connection, init, migrations, schema_version

CHECKSUMS = [
    "cc4768186322e24a5df16a3335c6a8310e74677bf88a89818f2a160c14fb049b",
    "8bb4e5e1e3d6ad79c7b1e33a2748bdc62ae2dab528742ea664b4255505c1d953",
    "606f22b68d6446ff405099b35df5c0dbe045996d3e48b5e3f746252f6eca024e",
]

_SET = "MATCH (s:Schema {key: 'graphmem'}) SET s.checksums = $p.checksums"


def test_no_migration_was_changed_after_it_was_published() -> None:
    assert migrations.chain(migrations.migrations()) == CHECKSUMS


def test_an_edited_migration_changes_its_checksum_and_every_later_one(tmp_path: Path) -> None:
    files = [tmp_path / f"000{i}_x.cypher" for i in (1, 2, 3)]
    for path in files:
        path.write_text("RETURN 1;\n")
    before = migrations.chain(files)
    files[1].write_text("RETURN 2;\n")
    after = migrations.chain(files)
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, False]


@pytest.fixture(scope="module")
def empty_server(tmp_path_factory: pytest.TempPathFactory, line: str | None) -> Iterator[server.Server]:
    """A server of this module's own, with nothing in it."""
    with server.running(home=tmp_path_factory.mktemp("empty"), neo4j=line) as up:
        yield up


@pytest.fixture
def opened(empty_server: server.Server) -> Iterator[Connection]:
    connection = Connection(empty_server.uri, user=empty_server.user, password=empty_server.password)
    yield connection
    connection.close()


def test_connecting_to_an_empty_database_changes_nothing_and_names_init(
    empty_server: server.Server, opened: Connection
) -> None:
    with pytest.raises(SchemaError, match="graphmem init") as caught:
        graphmem.connect(empty_server.uri, empty_server.user, empty_server.password)
    assert caught.value.command == "graphmem init"
    assert opened.run("test", "MATCH (n) RETURN count(n) AS n") == [{"n": 0}]
    assert opened.run("test", "SHOW CONSTRAINTS YIELD name RETURN count(*) AS n") == [{"n": 0}]


def test_eight_inits_side_by_side_apply_each_migration_once(empty_server: server.Server, opened: Connection) -> None:
    def one(_: int) -> int:
        connection = Connection(empty_server.uri, user=empty_server.user, password=empty_server.password)
        try:
            return init(connection)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(8))) == {len(CHECKSUMS)}
    assert schema_version(opened) == len(CHECKSUMS)
    assert opened.run("test", "MATCH (s:Schema) RETURN count(s) AS n, collect(s.checksums)[0] AS c") == [
        {"n": 1, "c": CHECKSUMS}
    ]
    assert opened.run("test", "SHOW INDEXES YIELD state WHERE state <> 'ONLINE' RETURN count(*) AS n") == [{"n": 0}]


def test_a_newer_schema_and_a_foreign_one_are_refused(opened: Connection) -> None:
    init(opened)
    for checksums, reason in (([*CHECKSUMS, "of-the-future"], "Upgrade"), (["another"], "not the one")):
        opened.run("test", _SET, {"checksums": checksums})
        with pytest.raises(SchemaError, match=reason):
            schema_version(opened)
        with pytest.raises(SchemaError, match=reason):
            init(opened)
    opened.run("test", _SET, {"checksums": CHECKSUMS})
    assert schema_version(opened) == len(CHECKSUMS)


@pytest.mark.parametrize("recorded", [False, True])
def test_an_interrupted_init_or_a_dropped_index_is_mended_by_init(opened: Connection, recorded: bool) -> None:
    init(opened)
    if not recorded:
        opened.run("test", "MATCH (s:Schema) DELETE s")
    opened.run("test", "DROP INDEX live_order")
    assert init(opened) == len(CHECKSUMS)
    assert opened.run("test", "SHOW INDEXES YIELD name WHERE name = 'live_order' RETURN count(*) AS n") == [{"n": 1}]


def test_the_schema_is_what_the_design_names(opened: Connection) -> None:
    init(opened)
    rows = opened.run(
        "test",
        "SHOW CONSTRAINTS YIELD labelsOrTypes, properties, type RETURN labelsOrTypes[0] AS l, properties AS p, type",
    )
    keyed = {row["l"] for row in rows if row["p"] == ["key"]}
    assert keyed == {
        "Task", "Request", "Step", "TraceNode", "SummaryNode", "RawObservation", "State", "Entry", "Topic", "Hook",
        "Schema",
    }  # fmt: skip
    assert {(row["l"], *row["p"]) for row in rows if row["p"] != ["key"]} == {
        ("State", "live_key"),
        ("Step", "attempt"),
    }


def test_a_version_that_is_too_old_is_named(opened: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "_OLDEST", (9999, 1))
    with pytest.raises(graphmem.ServerVersionError, match="Upgrade the server"):
        schema_version(opened)


def test_another_writer_waits_for_the_lock(opened: Connection) -> None:
    init(opened)
    with ThreadPoolExecutor(1) as pool:
        with opened.transaction() as run:
            run("MATCH (s:Schema {key: 'graphmem'}) SET s.lock = true", {})
            other = pool.submit(init, opened)
            with pytest.raises(TimeoutError):
                other.result(timeout=0.5)
        assert other.result(timeout=20) == len(CHECKSUMS)


CLASHES: tuple[tuple[LiteralString, LiteralString, str], ...] = (
    ("CREATE CONSTRAINT task_key FOR (n:Other) REQUIRE n.key IS UNIQUE", "DROP CONSTRAINT task_key", "Other.key"),
    ("CREATE INDEX task_key FOR (n:Other) ON (n.a)", "DROP INDEX task_key", "Other.a"),
    ("CREATE INDEX others FOR (n:Task) ON (n.key)", "DROP INDEX others", "Task"),
)


@pytest.mark.parametrize(("clash", "mend", "named"), CLASHES)
def test_a_name_or_place_that_is_taken_is_named_by_init_and_doctor(
    opened: Connection, empty_server: server.Server, clash: LiteralString, mend: LiteralString, named: str
) -> None:
    init(opened)
    opened.run("test", "DROP CONSTRAINT task_key")
    opened.run("test", clash)
    try:
        with pytest.raises(SchemaError, match=r"task_key \(uniqueness of Task\.key\)") as caught:
            init(opened)
        commands = [check.command for check in indexes(empty_server)]
    finally:
        opened.run("test", mend)
        init(opened)
    assert named in str(caught.value)
    assert commands == ["CREATE CONSTRAINT task_key IF NOT EXISTS FOR (n:Task) REQUIRE n.key IS UNIQUE;"]


def indexes(up: server.Server) -> list[Check]:
    """What doctor says of them."""
    checks = examine(lambda: Connection(up.uri, user=up.user, password=up.password), embedded=False)
    return [check for check in checks if check.name == "indexes"]


def test_an_index_by_another_name_serves_as_well(opened: Connection, empty_server: server.Server) -> None:
    init(opened)
    opened.run("test", "DROP CONSTRAINT task_key")
    opened.run("test", "CREATE CONSTRAINT mine FOR (n:Task) REQUIRE n.key IS UNIQUE")
    try:
        assert init(opened) == len(CHECKSUMS)
        verdicts = [check.verdict for check in indexes(empty_server)]
    finally:
        opened.run("test", "DROP CONSTRAINT mine")
        init(opened)
    assert verdicts == ["ok"]


@pytest.mark.parametrize("checksums", [5, "abc", [1, 2], True])
def test_a_schema_node_of_somebody_else_is_said_to_be_none(opened: Connection, checksums: object) -> None:
    init(opened)
    opened.run("test", _SET, {"checksums": checksums})
    try:
        for look in (schema_version, init):
            with pytest.raises(SchemaError, match="not a schema of graphmem"):
                look(opened)
    finally:
        opened.run("test", _SET, {"checksums": CHECKSUMS})


def test_every_statement_of_the_migrations_is_understood() -> None:
    statements = sum(path.read_text().count("CREATE ") for path in migrations.migrations())
    made = migrations.declared()
    assert len(made) == statements + 1
    assert len({(one.label, one.properties) for one in made}) == len(made)
