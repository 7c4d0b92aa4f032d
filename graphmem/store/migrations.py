"""Migrations: numbered, immutable, chained by checksum, applied one at a time under a lock, only when asked.

A migration is a file `cypher/schema/NNNN_name.cypher` of schema statements that are harmless twice (IF NOT EXISTS), so
that an interrupted `init` is run again. The Schema node holds the chain; a database whose chain is not a prefix of
ours, or the other way round, is refused with the reason.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, LiteralString

from graphmem.errors import SchemaError, ServerVersionError
from graphmem.store.connection import Connection
from graphmem.store.queries import folder, literal, query
from graphmem.vocabulary import digest

_OLDEST: Final = (5, 26)
_LOCK_SCHEMA: Final = """
MERGE (s:Schema {key: 'graphmem'}) ON CREATE SET s.space = '', s.name = 'graphmem'
SET s.lock = true RETURN coalesce(s.checksums, []) AS checksums
"""
_RECORD: Final = """
MATCH (s:Schema {key: 'graphmem'}) SET s.checksums = $p.checksums, s.version = size($p.checksums), s.lock = null
"""
_AWAIT: Final = "CALL db.awaitIndexes(300)"


def migrations() -> list[Path]:
    """The migration files in their order."""
    return sorted(path for path in (folder() / "schema").glob("*.cypher") if re.match(r"\d{4}_", path.name))


def chain(files: list[Path]) -> list[str]:
    """One checksum a migration; each covers the one before it."""
    checksums: list[str] = []
    for path in files:
        text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
        checksums.append(digest(checksums[-1] if checksums else "", text))
    return checksums


def schema_version(connection: Connection) -> int:
    """The version of the database's schema, when this graphmem can use it; writes nothing.

    Raises:
        ServerVersionError: the server is older than 5.26.
        SchemaError: the schema is absent, older, newer, or its migrations are not ours.
    """
    checksums = _recorded(connection)
    ours = chain(migrations())
    _check_chain(connection, checksums, ours)
    if len(checksums) < len(ours):
        what = (
            "has no graphmem schema yet"
            if not checksums
            else f"has schema {len(checksums)}, this graphmem needs {len(ours)}"
        )
        raise SchemaError(
            f"{connection.uri} (database {connection.database}) {what}. Run `graphmem init`.", command="graphmem init"
        )
    return len(checksums)


def init(connection: Connection, progress: Callable[[str], None] | None = None) -> int:
    """Bring the schema up to date and wait for its indexes; the version reached. Harmless twice and side by side.

    Every migration runs, those that are recorded too: an index that somebody dropped is made again.

    Raises:
        SchemaError: as `schema_version`, but for a schema that is absent or older.
    """
    say = progress or (lambda _line: None)
    _recorded(connection)
    connection.run("schema/lock", "CREATE CONSTRAINT schema_key IF NOT EXISTS FOR (n:Schema) REQUIRE n.key IS UNIQUE")
    files = migrations()
    ours = chain(files)
    with connection.transaction() as run:
        recorded = list(run(_LOCK_SCHEMA, {})[0]["checksums"])
        _check_chain(connection, recorded, ours)
        for path, checksum in zip(files, ours, strict=True):
            if checksum not in recorded:
                say(f"migration {path.stem}")
            for statement in _statements(path):
                connection.run(f"schema/{path.stem}", statement)
        if recorded != ours:
            say("waiting for the indexes")
        connection.run("schema/await", _AWAIT)
        run(_RECORD, {"checksums": ours})
    return len(ours)


def _statements(path: Path) -> list[LiteralString]:
    parts = path.read_text(encoding="utf-8").split(";\n")
    return [literal(part.strip()) for part in parts if part.strip()]


def _recorded(connection: Connection) -> list[str]:
    row: dict[str, Any] = connection.read(query("schema/read_schema"), {})[0]
    version = tuple(int(part) for part in re.findall(r"\d+", row["server"])[:2])
    if version < _OLDEST:
        raise ServerVersionError(
            f"{connection.uri} runs Neo4j {row['server']}; graphmem needs 5.26 or later. Upgrade the server."
        )
    return list(row["checksums"] or [])


def _check_chain(connection: Connection, recorded: list[str], ours: list[str]) -> None:
    if len(recorded) > len(ours):
        raise SchemaError(
            f"{connection.uri} (database {connection.database}) has schema {len(recorded)}; "
            f"this graphmem knows {len(ours)}. Upgrade graphmem-neo4j.",
            command="pip install --upgrade graphmem-neo4j",
        )
    for number, (theirs, our) in enumerate(zip(recorded, ours, strict=False), start=1):
        if theirs != our:
            raise SchemaError(
                f"{connection.uri} (database {connection.database}): migration {number} is not "
                "the one of this graphmem. Use the version that made this database, or another database."
            )
