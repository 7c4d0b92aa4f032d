"""All that a space holds, read without any of the code under test: every node and relation with every property."""

import json
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
        "MATCH (n {space: $p.space})-[r]->(m) RETURN labels(n) AS a, n.key AS from, type(r) AS type, "
        "properties(r) AS own, labels(m) AS b, m.key AS to",
        {"space": space},
    )
    lines = [json.dumps(row, sort_keys=True) for row in nodes(connection, space)]
    return sorted(
        lines + [json.dumps({**row, "a": sorted(row["a"]), "b": sorted(row["b"])}, sort_keys=True) for row in relations]
    )


def holding(connection: Connection, mark: str) -> int:
    """How many nodes and relations of the whole database hold a text in any property, its name included."""
    counts = (
        connection.run(
            "tests/nodes_holding",
            "MATCH (n) WHERE any(k IN keys(n) WHERE k CONTAINS $p.mark OR "
            "any(x IN [] + n[k] WHERE toStringOrNull(x) CONTAINS $p.mark)) RETURN count(n) AS count",
            {"mark": mark},
        ),
        connection.run(
            "tests/relations_holding",
            "MATCH ()-[r]->() WHERE any(k IN keys(r) WHERE "
            "any(x IN [] + r[k] WHERE toStringOrNull(x) CONTAINS $p.mark)) RETURN count(r) AS count",
            {"mark": mark},
        ),
    )
    return sum(int(rows[0]["count"]) for rows in counts)
