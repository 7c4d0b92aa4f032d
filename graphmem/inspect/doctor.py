"""The examination behind `graphmem doctor`: server, Java, schema, indexes, audit; what is wrong, and what mends it.

Nothing is changed, and one thing that is wrong does not hide the next, unless it cannot be looked at without it.
Invariant: each check that failed says what to do about it.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from graphmem.errors import GraphmemError, ServerUnreachableError
from graphmem.inspect.audits import audit, audit_names
from graphmem.inspect.reads import tasks
from graphmem.inspect.values import Finding
from graphmem.state.values import Value
from graphmem.store import Connection, query, schema_version
from graphmem.store.migrations import Declared, declared

Verdict = Literal["ok", "wrong", "skipped"]


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
    from graphmem.server.lock import read_lock

    try:
        return Check(name="java", verdict="ok", what=str(find_java(read_lock().java)))
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
    rows = connection.read(query("inspect/indexes"), {})
    holders = {row["name"]: row for row in rows}
    found = {one: next((row for row in rows if one.is_made_by(row)), None) for one in declared()}
    waiting = [row["name"] for row in found.values() if row is not None and row["state"] == "POPULATING"]
    mends = [(one, _fault(one, row, holders)) for one, row in found.items()]
    for one, fault in mends:
        if fault is not None:
            what = f"{fault}. Run the statement below in Neo4j Browser"
            yield Check(name="indexes", verdict="wrong", what=what, command=f"{one.statement};")
    if waiting:
        what = f"{', '.join(waiting)} still being filled"
        yield Check(name="indexes", verdict="wrong", what=what, command="graphmem init")
    if not waiting and not any(fault for _, fault in mends):
        yield Check(name="indexes", verdict="ok", what=f"{len(found)} online")


def _fault(one: Declared, row: Mapping[str, Any] | None, holders: Mapping[str, Mapping[str, Any]]) -> str | None:
    """What is wrong with an index or constraint, and what to do first."""
    if row is None:
        place = ("RANGE", [one.label], list(one.properties))
        there = (other for other in holders.values() if (other["type"], other["labels"], other["properties"]) == place)
        in_the_way = holders.get(one.name) or next(there, None)
        return f"{one} is missing" + ("" if in_the_way is None else _first(in_the_way))
    if row["state"] in ("ONLINE", "POPULATING"):
        return None
    return f"{one} is {row['state']}{_first(row)}"


def _first(row: Mapping[str, Any]) -> str:
    kind = "INDEX" if row["constraint"] is None else "CONSTRAINT"
    name = str(row["constraint"] or row["name"]).replace("`", "``")
    labels, properties = ":".join(row["labels"] or ()), ", ".join(row["properties"] or ())
    return f"; first drop {name}, which is on {labels} ({properties}): DROP {kind} `{name}` IF EXISTS"


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
