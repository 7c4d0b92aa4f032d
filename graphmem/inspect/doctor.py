"""The examination behind `graphmem doctor`: server, Java, schema, indexes, audit; what is wrong, and what mends it.

Nothing is changed, and one thing that is wrong does not hide the next, unless it cannot be looked at without it.
Invariant: each check that failed says what to do about it.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from graphmem.errors import GraphmemError, ServerUnreachableError
from graphmem.inspect.audits import audit, audit_names
from graphmem.inspect.reads import tasks
from graphmem.inspect.values import Finding
from graphmem.state.values import Value
from graphmem.store import Connection, query, schema_version
from graphmem.store.queries import folder

Verdict = Literal["ok", "wrong", "skipped"]

_CREATED: Final = re.compile(r"^CREATE (?:CONSTRAINT|(?:\w+ )?INDEX) (\w+) IF NOT EXISTS.*?;", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Value):
    """One thing looked at: how it is, and the command or statement that mends it."""

    name: str
    verdict: Verdict
    what: str
    command: str | None = None
    findings: tuple[Finding, ...] = ()


def examine(
    connect: Callable[[], Connection],
    *,
    embedded: bool = True,
    home: Path | None = None,
    space: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Iterator[Check]:
    """The checks as they are done: a server, its schema, its indexes, the audit of one space or of all.

    `connect` opens a connection; `embedded` says that it is the embedded server's, so that its Java matters too.
    """
    if embedded:
        yield _java()
        up = _embedded(home)
        yield up
        if up.verdict == "wrong":
            yield _skipped("the server is not up", "schema, indexes, audit")
            return
    try:
        connection = connect()
    except GraphmemError as error:
        yield _wrong("server", error)
        yield _skipped("the server cannot be reached", "schema, indexes, audit")
        return
    try:
        yield from _database(connection, space, progress)
    finally:
        connection.close()


def _database(connection: Connection, space: str | None, progress: Callable[[str], None] | None) -> Iterator[Check]:
    try:
        found = connection.read(query("schema/read_schema"), {})[0]
    except GraphmemError as error:
        yield _wrong("server", error)
        why = "the server is down" if isinstance(error, ServerUnreachableError) else "the database cannot be read"
        yield _skipped(why, "schema, indexes, audit")
        return
    yield Check(
        name="server", verdict="ok", what=f"Neo4j {found['server']} at {connection.uri}, database {connection.database}"
    )
    try:
        yield Check(name="schema", verdict="ok", what=f"version {schema_version(connection)}")
    except GraphmemError as error:
        yield _wrong("schema", error)
        yield _skipped("the schema is not the one of this graphmem", "indexes, audit")
        return
    yield from _indexes(connection)
    yield _audit(connection, space, progress)


def _java() -> Check:
    from graphmem.server.java import find_java

    try:
        return Check(name="java", verdict="ok", what=str(find_java()))
    except GraphmemError as error:
        return _wrong("java", error)


def _embedded(home: Path | None) -> Check:
    from graphmem import server

    try:
        found = server.status(home)
    except GraphmemError as error:
        return _wrong("embedded server", error)
    where = "" if home is None else f" --home {shlex.quote(str(home))}"
    if found.state == "running":
        return Check(name="embedded server", verdict="ok", what=f"running in {found.home}")
    if found.state == "unresponsive":
        return Check(
            name="embedded server",
            verdict="wrong",
            what=f"its process runs in {found.home} but does not answer; its log is {found.log}",
            command=f"graphmem server logs{where}",
        )
    what = f"not up (its folder is {found.home})"
    return Check(name="embedded server", verdict="wrong", what=what, command=f"graphmem up{where}")


def _indexes(connection: Connection) -> Iterator[Check]:
    states = {row["name"]: row["state"] for row in connection.read(query("inspect/indexes"), {})}
    wanted = expected_indexes()
    missing = [name for name in wanted if name not in states]
    waiting = [name for name in wanted if states.get(name) == "POPULATING"]
    failed = [name for name in wanted if states.get(name) not in (None, "ONLINE", "POPULATING")]
    for name in missing + failed:
        what = (
            f"{name} is missing"
            if name in missing
            else f"{name} is {states[name]}; drop it first: DROP INDEX {name} IF EXISTS"
        )
        yield Check(
            name="indexes",
            verdict="wrong",
            what=f"{what}. Run the statement below in Neo4j Browser",
            command=wanted[name],
        )
    if waiting:
        what = f"{', '.join(waiting)} still being filled"
        yield Check(name="indexes", verdict="wrong", what=what, command="graphmem init")
    if not (missing or waiting or failed):
        yield Check(name="indexes", verdict="ok", what=f"{len(wanted)} online")


def expected_indexes() -> dict[str, str]:
    """The indexes and constraints that the migrations make, each with its statement."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((folder() / "schema").glob("[0-9]*.cypher")))
    return {found[1]: found[0] for text in texts for found in _CREATED.finditer(text)}


def _audit(connection: Connection, space: str | None, progress: Callable[[str], None] | None) -> Check:
    where = "all spaces" if space is None else f"space {space}"
    try:
        findings = audit(connection, space, progress=progress)
    except GraphmemError as error:
        return _wrong("audit", error)
    if not findings and space is not None and not tasks(connection, space, limit=1):
        return _skipped(f"there is nothing in space {space}", "audit")
    if not findings:
        return Check(name="audit", verdict="ok", what=f"{len(audit_names())} audits of {where}, nothing found")
    first = findings[0].audit
    given = f" -p space={space}" if space else ""
    return Check(
        name="audit",
        verdict="wrong",
        what=f"{len(findings)} in {where}: damage, or a defect of graphmem; report them. One audit alone is a query",
        command=f"graphmem cypher {first}{given}",
        findings=findings,
    )


def _wrong(name: str, error: GraphmemError) -> Check:
    return Check(name=name, verdict="wrong", what=str(error), command=error.command)


def _skipped(why: str, name: str) -> Check:
    return Check(name=name, verdict="skipped", what=why)
