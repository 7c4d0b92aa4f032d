"""The named queries against the real server: plain answers, both languages, what Browser takes, what they cost."""

import json
from collections.abc import Iterator
from typing import Any, LiteralString
from uuid import uuid4

import pytest

import graphmem
from graphmem import (
    Operation,
    Relation,
    inspect,
)
from graphmem.store import Connection, query, query_names
from tests.acceptance.story import CONTENT, ERASE, act, add, call, update


@pytest.fixture(scope="module")
def story(graph: graphmem.Graph, connection: Connection) -> Iterator[str]:
    """A space with a task `trip`: a state with two versions, one that was removed, one open request."""
    name = f"test-{uuid4().hex[:12]}"
    request = graph.space(name).task("trip").request("Book hotel A")
    call(request, CONTENT, add("wish"), add("it's gone"))
    act(request, update("wish", "newer"), Operation(operation="remove", id="it's gone"))
    act(request, add("fact", (Relation.DERIVES, "obs:1.1")))
    yield name
    connection.run("tests/erase", ERASE, {"space": name})


def test_a_named_query_answers_in_plain_values(connection: Connection, story: str) -> None:
    found = inspect.run_named(connection, "states", {"space": story, "task": "trip", "request": "1", "limit": 1})
    assert found.rows == ((1, "wish", "knowledge", "newer", 2, 4),)
    assert found.columns[:2] == ("request", "id")
    nodes = inspect.run_named(connection, "live_graph", {"space": story, "task": "trip"}).rows
    assert json.loads(json.dumps(nodes))
    assert ["Task"] in [row[0]["labels"] for row in nodes if isinstance(row[0], dict)]


def test_a_pasted_statement_answers_the_same(connection: Connection, story: str) -> None:
    """Browser takes `:param p => …` as a Cypher expression: the same text as a literal gives the same rows."""
    p = {"space": story, "task": "trip", "id": "it's gone", "limit": None}
    first, _, statement = inspect.paste(query("inspect/show"), p).partition("\n")
    literal = first.removeprefix(":param p => ").removesuffix(";")
    assert literal == f"{{space: '{story}', task: 'trip', id: 'it\\'s gone', limit: null}}"
    pasted = connection.run(
        "tests/paste",
        f"WITH {literal} AS p {statement.replace('$p.', 'p.').removesuffix(';')}".replace(
            "LIMIT coalesce(p.limit, 50)", "LIMIT 50"
        ),
    )
    assert pasted == connection.read(query("inspect/show"), p)


@pytest.mark.parametrize(
    "text", ["it's", 'say "x"', "a\\b", "line\nline\r\t", "\x1b[31m", "取消 🙂", "\u202e\u2028", "$p.x"]
)
def test_a_pasted_text_means_itself(connection: Connection, text: str) -> None:
    first = inspect.paste(query("inspect/tasks"), {"space": text, "n": [1, True, None, 2.5]}).split("\n")[0]
    assert first.isprintable()
    literal = first.removeprefix(":param p => ").removesuffix(";")
    (row,) = connection.run("tests/literal", f"WITH {literal} AS p RETURN p.space AS text, p.n AS n")
    assert row == {"text": text, "n": [1, True, None, 2.5]}


def grow(task: graphmem.Task, requests: int) -> None:
    for k in range(requests):
        with task.request(f"request {k}") as request:
            call(request, "x", *(add(f"s{k}.{i}") for i in range(5)))
            act(
                request,
                add(f"top{k}", (Relation.DERIVES, f"s{k}.0"), (Relation.DERIVES, f"obs:{k + 1}.1")),
                message="done",
            )
    act(task.request("last"), add("a", (Relation.DERIVES, "top0")), access=("top0",))


def test_a_look_costs_what_it_answers_and_not_what_the_task_holds(
    connection: Connection, space: graphmem.Space
) -> None:
    """`path`, `why_summary`, `counts` answer for path and view, audits for the space; pictures draw all."""
    looks: dict[str, dict[str, Any]] = {
        "requests": {"limit": 2},
        "states": {"request": 2},
        "show": {"id": "top0"},
        "show_raw": {"id": "obs:1.1"},
        "why": {"id": "a"},
        "impact": {"id": "s0.0"},
        "blame": {"id": "top0"},
        "step": {"step": 2},
        "steps": {"numbers": [2, 3, 4]},
        "outputs": {"numbers": [2, 4]},
        "disclose": {"ids": ["top0", "s0.1", "obs:1.1", "request:1", "never"]},
        "log": {"limit": 3},
    }
    hits: dict[str, list[int]] = {name: [] for name in looks}
    for size in (5, 50):
        grow(space.task(f"t{size}"), size)
        for name, given in looks.items():
            found = query(f"inspect/{name}")
            p = dict.fromkeys(found.params) | {"space": space.name, "task": f"t{size}"} | given
            hits[name].append(connection.profile(found, p))
    assert {name: counts[0] for name, counts in hits.items()} == {name: counts[1] for name, counts in hits.items()}
    assert {name.removeprefix("inspect/") for name in query_names("inspect")} >= set(looks)


@pytest.mark.parametrize("version", ["CYPHER 5 ", "CYPHER 25 "])
def test_every_inspect_query_runs_in_both_languages(connection: Connection, story: str, version: LiteralString) -> None:
    given = {"space": story, "task": "trip", "id": "fact", "ids": ["fact"], "numbers": [2, 3]}
    nothing = ("inspect/show_raw", "inspect/why_summary", "inspect/failed_branches", "inspect/trail")
    for name in query_names("inspect"):
        found = query(name)
        p = {key: given.get(key) for key in found.params}
        rows = connection.run(name, version + found.text, p)
        assert all(tuple(row) == found.returns for row in rows)
        assert rows or name.startswith("inspect/audit_") or name in nothing
