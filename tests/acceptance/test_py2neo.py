"""The py2neo extra on a real server: what py2neo reads there and what `subgraph` gives are the same."""

import gc
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import graphmem
from graphmem import Space
from graphmem.integrations.py2neo import subgraph
from graphmem.store import Connection
from tests.acceptance.speech import add
from tests.acceptance.tree_speech import grow
from tests.acceptance.whole_space import whole


@pytest.fixture
def old(server_env: Mapping[str, str]) -> Iterator[Any]:
    """A connection of py2neo's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import py2neo

        login = (server_env["GRAPHMEM_USER"], server_env["GRAPHMEM_PASSWORD"])
        opened = py2neo.Graph(server_env["GRAPHMEM_URI"], auth=login)
        yield opened
        opened.service.connector.close()
        del opened
        gc.collect()  # it leaves sockets to be closed by whoever finds them


@pytest.mark.filterwarnings("ignore")
def test_a_task_is_a_subgraph_of_all_its_nodes_and_relations(space: Space, old: Any, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("go")
    grow(request, "a", delta=(add("s"),))
    task.compress("did a")
    grow(request, "b", delta=(add("u", "derives>s"),))
    fork = task.fork("f")
    made = subgraph(task)
    there = {
        node["key"]: node for node in old.nodes.match(space=space.name) if node["task"] in (None, f"{space.name}/t")
    }
    del there[f"{space.name}/f"]
    mine = {node["key"]: node for node in made.nodes}
    assert set(mine) == set(there)
    for key, node in there.items():
        assert set(mine[key].labels) == set(node.labels)
        assert dict(mine[key]) == {name: value for name, value in dict(node).items() if name != "lock"}
    between = "MATCH (a {space: $space})-[r]->(b) WHERE a.key IN $keys AND b.key IN $keys RETURN a.key, type(r), b.key"
    rows = old.run(between, space=space.name, keys=list(mine)).data()
    expected = sorted(tuple(row.values()) for row in rows)
    assert sorted((r.start_node["key"], type(r).__name__, r.end_node["key"]) for r in made.relationships) == expected
    # A merge of it into where it came from finds everything and changes nothing.
    before = whole(connection, space.name)
    old.merge(made)
    assert whole(connection, space.name) == before
    # Of a fork: what is its own.
    assert {node["task"] for node in subgraph(fork).nodes} == {None, f"{space.name}/f"}
    with pytest.raises(graphmem.NotFoundError):
        subgraph(space.task("none"))
