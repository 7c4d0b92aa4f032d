"""The audit: the rules of the graph (README), each held by a query that finds what breaks it.

Every `cypher/inspect/audit_*.cypher` answers with keys and what is wrong with them, for one space or for all. They look
at every node of the labels that they check, also for one space, since what is wrong may be its key; they walk no path
from the root. A commit that falls between two parts of such a read looks like damage; it is gone when the audit reads
again, and only what stays is a finding.
"""

import time
from collections.abc import Callable
from typing import Final

from graphmem.inspect.values import Finding, Reader
from graphmem.store import query, query_names
from graphmem.vocabulary import check_name

_AGAIN_SECONDS: Final = 0.2


def audit_names() -> tuple[str, ...]:
    """The audits, by name."""
    names = (name.removeprefix("inspect/") for name in query_names("inspect"))
    return tuple(name for name in names if name.startswith("audit_"))


def audit(
    reader: Reader, space: str | None = None, *, limit: int = 100, progress: Callable[[str], None] | None = None
) -> tuple[Finding, ...]:
    """What breaks a rule, in one space or in all; at most `limit` findings of each audit. None is as it should be.

    `progress` takes a sentence before each audit.
    """
    if space is not None:
        check_name("space", space)
    findings: list[Finding] = []
    names = audit_names()
    for number, name in enumerate(names, start=1):
        if progress is not None:
            progress(f"auditing {number} of {len(names)}: {name}")
        found = _run(reader, name, space, limit)
        if found:
            time.sleep(_AGAIN_SECONDS)
            found &= _run(reader, name, space, limit)
        findings += sorted(found, key=lambda finding: (finding.key, finding.what))
    return tuple(findings)


def _run(reader: Reader, name: str, space: str | None, limit: int) -> set[Finding]:
    rows = reader.read(query(f"inspect/{name}"), {"space": space, "limit": limit})
    return {Finding(audit=name, key=_text(row["key"]), what=_text(row["what"])) for row in rows}


def _text(value: object) -> str:
    """A key of whatever type: labels are free for everybody, so a node with one of ours may be somebody else's."""
    return "(no key)" if value is None else str(value)
