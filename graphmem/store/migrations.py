"""Migrations: numbered, immutable, chained by checksum, applied one at a time under a lock, only when asked.

A migration is a file `cypher/schema/NNNN_name.cypher` of statements that are harmless twice (IF NOT EXISTS; or MATCH,
which brings what an earlier version wrote up to date), so that an interrupted `init` is run again. The Schema node
holds the chain; a database whose chain is not a prefix of ours, or the other way round, is refused with the reason.

IF NOT EXISTS is satisfied by a name as well, whatever has it. So what a migration made is known by label, properties
and type, never by its name.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, LiteralString

from graphmem.errors import SchemaError, ServerVersionError, StoreError
from graphmem.store.connection import Connection
from graphmem.store.queries import folder, literal, query
from graphmem.vocabulary import digest

_OLDEST: Final = (5, 26)
_SCHEMA_KEY: Final = "CREATE CONSTRAINT schema_key IF NOT EXISTS FOR (n:Schema) REQUIRE n.key IS UNIQUE"
_LOCK_SCHEMA: Final = """
MERGE (s:Schema {key: 'graphmem'}) ON CREATE SET s.space = '', s.name = 'graphmem'
SET s.lock = true RETURN s.checksums AS checksums
"""
_RECORD: Final = """
MATCH (s:Schema {key: 'graphmem'}) SET s.checksums = $p.checksums, s.version = size($p.checksums), s.lock = null
"""
_AWAIT: Final = "CALL db.awaitIndexes(300)"
_CREATED: Final = re.compile(
    r"CREATE (CONSTRAINT|INDEX) (\w+) IF NOT EXISTS FOR \(n:(\w+)\) (?:REQUIRE|ON) (\(?[\w., ]+\)?)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """An index or constraint that a migration makes, and its statement. Every constraint here is one of uniqueness."""

    name: str
    label: str
    properties: tuple[str, ...]
    unique: bool
    statement: LiteralString

    def is_made_by(self, row: Mapping[str, Any]) -> bool:
        """Whether a row of `inspect/indexes` is this one, by whatever name."""
        same = (row["type"], row["labels"], row["properties"]) == ("RANGE", [self.label], list(self.properties))
        return same and (row["constraint"] is not None or not self.unique)

    def __str__(self) -> str:
        properties = ", ".join(f"{self.label}.{name}" for name in self.properties)
        return f"{self.name} ({'uniqueness of' if self.unique else 'index on'} {properties})"


def migrations() -> list[Path]:
    """The migration files in their order."""
    return sorted(path for path in (folder() / "schema").glob("*.cypher") if re.match(r"\d{4}_", path.name))


def declared() -> tuple[Declared, ...]:
    """What a database has when every migration was applied, in the order of the statements."""
    return tuple(_declared())


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
        raise SchemaError(f"{_at(connection)} {what}. Run `graphmem init`.", command="graphmem init")
    return len(checksums)


def init(connection: Connection, progress: Callable[[str], None] | None = None) -> int:
    """Bring the schema up to date and wait for its indexes; the version reached. Harmless twice and side by side.

    The schema statements of every migration run, of those that are recorded too: an index that somebody dropped is made
    again. What an earlier version wrote is brought up to date once.

    Raises:
        SchemaError: as `schema_version`, but for a schema that is absent or older; or something else in the database
            is in the way of an index or constraint, or has its name.
    """
    say = progress or (lambda _line: None)
    ours = chain(migrations())
    _check_chain(connection, _recorded(connection), ours)
    refused = [_refusal(connection, "schema/lock", _SCHEMA_KEY)]
    _check_made(connection, refused, [one for one in declared() if one.label == "Schema"])
    with connection.transaction() as run:
        recorded = _checksums(connection, run(_LOCK_SCHEMA, {})[0]["checksums"])
        _check_chain(connection, recorded, ours)
        for path, checksum in zip(migrations(), ours, strict=True):
            if checksum not in recorded:
                say(f"migration {path.stem}")
            schema = filter(_is_schema, _statements(path))
            refused += [_refusal(connection, f"schema/{path.stem}", statement) for statement in schema]
        if recorded != ours:
            say("waiting for the indexes")
        connection.run("schema/await", _AWAIT)
        _check_made(connection, refused, declared())
        for path in migrations()[len(recorded) :]:  # what is up to date is not looked through at every init
            for statement in itertools.filterfalse(_is_schema, _statements(path)):
                connection.run(f"schema/{path.stem}", statement)
        run(_RECORD, {"checksums": ours})
    return len(ours)


def _refusal(connection: Connection, name: str, statement: LiteralString) -> str | None:
    """Run a statement; what the database has against it. Whether that matters is seen by what is there afterwards."""
    try:
        connection.run(name, statement)
    except StoreError as error:
        if type(error) is not StoreError:
            raise
        return str(error)
    return None


def _check_made(connection: Connection, refused: list[str | None], wanted: Sequence[Declared]) -> None:
    rows = connection.read(query("inspect/indexes"), {})
    names = {row["name"]: row for row in rows}
    missing = [one for one in wanted if not any(one.is_made_by(row) for row in rows)]
    if not missing:
        return
    first = missing[0]
    other = names.get(first.name)
    if other is not None:
        on = ", ".join(f"{'/'.join(other['labels'] or ['?'])}.{name}" for name in other["properties"] or ["?"])
        why = f"{first.name} is the name of another index or constraint there, on {on}: drop that one, or rename it"
    else:
        why = next((text for text in refused if text is not None), "the database did not make it")
    raise SchemaError(
        f"{_at(connection)} cannot have the schema of graphmem yet: {', '.join(map(str, missing))} could not be made. "
        f"{why}. Then run `graphmem init` again.",
        command="graphmem init",
    )


def _statements(path: Path) -> list[LiteralString]:
    parts = path.read_text(encoding="utf-8").split(";\n")
    return [literal(part.strip()) for part in parts if part.strip()]


def _is_schema(statement: str) -> bool:
    return not statement.startswith("MATCH ")


def _declared() -> Iterator[Declared]:
    statements: list[LiteralString] = [_SCHEMA_KEY]
    for path in migrations():
        statements += filter(_is_schema, _statements(path))
    for statement in statements:
        found = _CREATED.match(statement)
        if found is None:
            raise SchemaError(f"a migration has a statement that is not understood: {statement}")
        yield Declared(
            name=found[2],
            label=found[3],
            properties=tuple(re.findall(r"n\.(\w+)", found[4])),
            unique=found[1] == "CONSTRAINT",
            statement=statement,
        )


def _recorded(connection: Connection) -> list[str]:
    row: dict[str, Any] = connection.read(query("schema/read_schema"), {})[0]
    version = tuple(int(part) for part in re.findall(r"\d+", row["server"])[:2])
    if version < _OLDEST:
        raise ServerVersionError(
            f"{connection.uri} runs Neo4j {row['server']}; graphmem needs 5.26 or later. Upgrade the server."
        )
    return _checksums(connection, row["checksums"])


def _checksums(connection: Connection, recorded: object) -> list[str]:
    if recorded is None:
        return []
    if not isinstance(recorded, list) or not all(isinstance(checksum, str) for checksum in recorded):
        raise SchemaError(
            f"{_at(connection)} has a node (:Schema {{key: 'graphmem'}}) that is not a schema of graphmem: its "
            "checksums are no list of texts. Use another database, or remove that node if nothing needs it."
        )
    return list(recorded)


def _check_chain(connection: Connection, recorded: list[str], ours: list[str]) -> None:
    if len(recorded) > len(ours):
        raise SchemaError(
            f"{_at(connection)} has schema {len(recorded)}; this graphmem knows {len(ours)}. Upgrade graphmem-neo4j.",
            command="pip install --upgrade graphmem-neo4j",
        )
    for number, (theirs, our) in enumerate(zip(recorded, ours, strict=False), start=1):
        if theirs != our:
            raise SchemaError(
                f"{_at(connection)}: migration {number} is not "
                "the one of this graphmem. Use the version that made this database, or another database."
            )


def _at(connection: Connection) -> str:
    return f"{connection.uri} (database {connection.database})"
