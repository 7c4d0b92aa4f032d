"""All that a space holds, read without any of the code under test: every node and relation with every property."""

import json
from collections.abc import Iterator
from typing import Any

from graphmem.store import Connection


def nodes(connection: Connection, space: str) -> list[dict[str, Any]]:
    """Labels and properties of every node, but for the mark of whoever locked the task last."""
    rows = connection.run(
        "tests/nodes", "MATCH (n {space: $p.space}) RETURN labels(n) AS labels, properties(n) AS own", {"space": space}
    )
    return [
        {"labels": sorted(row["labels"]), "own": {k: v for k, v in row["own"].items() if k != "lock"}} for row in rows
    ]


def whole(connection: Connection, space: str) -> list[str]:
    """Every node and every relation that leads from one, as sorted lines."""
    relations = connection.run(
        "tests/relations",
        "MATCH (n {space: $p.space})-[r]->(m) RETURN labels(n) AS a, n.key AS from, type(r) AS type, properties(r) AS own, "
        "labels(m) AS b, m.key AS to",
        {"space": space},
    )
    lines = [json.dumps(row, sort_keys=True) for row in nodes(connection, space)]
    return sorted(
        lines + [json.dumps({**row, "a": sorted(row["a"]), "b": sorted(row["b"])}, sort_keys=True) for row in relations]
    )


def texts(connection: Connection) -> Iterator[str]:
    """Every text in every property of every node and relation of the whole database."""
    for statement in (
        "MATCH (n) RETURN properties(n) AS own",
        "MATCH ()-[r]->() WITH r WHERE size(keys(r)) > 0 RETURN properties(r) AS own",
    ):
        for row in connection.run("tests/texts", statement):  # type: ignore[arg-type]  # one of the two above
            yield json.dumps(row["own"], ensure_ascii=False, default=str)
