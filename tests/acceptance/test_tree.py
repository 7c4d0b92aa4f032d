"""`graphmem tree` against the real server: what stands on the path, what failed and why, what is folded, the page."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem import StateKind, inspect
from graphmem.inspect import tree_page
from graphmem.inspect.tree import PAGE, tree
from graphmem.store import Connection
from graphmem.trace import Ruling
from graphmem_cli.group import cli
from tests.acceptance.speech import add, call, remove, say, update
from tests.acceptance.story import ERASE

ODD = "costs 80 USD\x1b[2J\u202e </script><b>"


@pytest.fixture(scope="module")
def story(graph: graphmem.Graph, connection: Connection) -> Iterator[str]:
    """A task with a failed tail, a failed summary over a node that was walked twice, a finished and an open request."""
    name = f"test-{uuid4().hex[:12]}"
    task = graph.space(name).task("trip")
    request = task.request("Find a flight to Oslo")
    found = call(request, ODD, tool="search")
    say(request, add("fee", found[0]), add("guess", kind=StateKind.JUDGEMENT))
    passed = task.compress("read the fee")
    task.maintain(passed, lambda _: Ruling(passed=True))
    call(request, "booked", tool="book")
    say(request, add("booking", "obs:2.1"), update("guess", summary="changed"), remove("fee"))
    call(request, "more")
    task.revise(feedback="booked before asking")
    call(request, "booked", tool="book")
    call(request, "other")
    failed = task.compress("booked again")
    task.maintain(failed, lambda _: Ruling(passed=False, feedback="no consent"))
    task.revise(failed)
    call(request, "asked", tool="ask")
    say(request, add("consent"), message="Booked.")
    call(task.request("And a hotel?"), "hotel", tool="hotels")
    yield name
    connection.run("tests/erase", ERASE, {"space": name})


@pytest.fixture
def env(server_env: Mapping[str, str], story: str) -> dict[str, str | None]:
    unset = dict.fromkeys(("GRAPHMEM_HOME", "GRAPHMEM_DATABASE", "COLUMNS"))
    return {**unset, **server_env, "GRAPHMEM_SPACE": story}


def run(env: Mapping[str, str | None], *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["tree", *arguments], env=dict(env), prog_name="graphmem")


BY_RULE = "book(n=0, of=booked) -> booked; look(n=0, of=more) -> more"

TREE = f"""\
* 0 root
* request 1 (finished): Find a flight to Oslo
* summary 0, passed: read the fee [1 node: 1]  +fee +guess
├─ x summary 1, failed: booked again [2 nodes: 2 to 4]  +booking ~guess -fee
│    note: no consent
│  └─ from 2:
│     x summary 1, failed: {BY_RULE} [2 nodes: 2 to 3, 1 of them shown above]
│       note: booked before asking
* summary 1, unchecked: Booked. [1 node: 5]  +consent
* request 2 (open): And a hotel?
* 6 hotels 0 hotel  <- cursor
"""

UNFOLDED = f"""\
├─ x summary 1, failed: booked again [2 nodes: 2 to 4]
│    note: no consent
│  o 2 book 0 booked  +booking ~guess -fee  (walked 2 times)
│  ├─ x summary 1, failed: {BY_RULE} [2 nodes: 2 to 3, 1 of them shown above]
│  │    note: booked before asking
│  │  o 3 look 0 more
│  o 4 look 0 other
"""


def test_the_path_is_marked_and_failed_branches_tell_why(env: dict[str, str | None]) -> None:
    answer = run(env, "trip")
    assert answer.exit_code == 0, answer.output
    assert answer.stdout == TREE
    assert "7 nodes, 4 on the path (*); 2 failed branches (x)" in answer.stderr


def test_all_shows_the_nodes_below_their_summaries(env: dict[str, str | None]) -> None:
    answer = run(env, "trip", "--all").stdout
    assert UNFOLDED in answer
    assert {f"{n}" for n in range(7)} <= set(answer.split())
    assert "\x1b" not in answer
    assert "\u202e" not in answer


def test_depth_and_limit_say_what_they_leave_out(env: dict[str, str | None], graph: graphmem.Graph, story: str) -> None:
    assert run(env, "trip", "--depth", "1").stdout.splitlines()[0] == "  … 6 nodes more above; --depth shows them"
    short = run(env, "trip", "--limit", "2").stdout.splitlines()
    assert short == ["… 9 lines before; --limit shows more", *TREE.splitlines()[-2:]]
    task = graph.space(story).task("left")
    request = task.request("go")
    for i in range(12):
        call(request, f"n{i}")
    task.revise(feedback="all wrong")
    call(request, "right")
    lines = run(env, "left", "--all", "--depth", "4").stdout
    assert "… 8 nodes more below; --depth shows them" in lines
    assert "note: all wrong" in lines


def test_a_narrow_terminal_gets_narrow_lines(env: dict[str, str | None]) -> None:
    lines = run({**env, "COLUMNS": "50"}, "trip", "--all").stdout.splitlines()
    assert max(map(len, lines)) <= 50


def test_json_has_every_node_of_both_layers_flat(env: dict[str, str | None]) -> None:
    found = json.loads(run(env, "trip", "--json").stdout)
    nodes = found["nodes"]
    assert found["left_out"] == 0
    assert [node["number"] for node in nodes if node["layer"] == "trace"] == [0, 1, 2, 3, 4, 5, 6]
    assert {node["number"] for node in nodes if node["layer"] == "trace" and node["on_path"]} == {0, 1, 5, 6}
    keys = {node["key"]: node for node in nodes}
    below = [node for node in nodes if node["layer"] == "trace" and node["parent"] is not None]
    assert len(below) == 6
    assert all(keys[node["parent"]]["number"] < node["number"] for node in below)
    assert keys[found["cursor"]]["number"] == 6
    again = next(node for node in nodes if node["layer"] == "trace" and node["number"] == 2)
    assert len(again["visits"]) == 2
    assert again["requests"] == [1]
    assert [written["added"] for written in again["written"]] == [["booking"]]
    assert again["written"][0]["abandoned_step"] is not None
    notes = [node["note"] for node in nodes if node["verdict"] == "failed"]
    assert sorted(notes) == ["booked before asking", "no consent"]
    assert [(r["number"], r["standing"]) for r in found["requests"]] == [(1, "finished"), (2, "open")]
    short = run(env, "trip", "--json", "--limit", "2")
    assert json.loads(short.stdout)["left_out"] == 9
    assert "9 left out, --limit shows more" in short.stderr


def test_a_request_that_goes_on_at_an_earlier_boundary_stands_on_the_path(
    env: dict[str, str | None], graph: graphmem.Graph
) -> None:
    task = graph.space(str(env["GRAPHMEM_SPACE"])).task("back")
    for text in ("first", "second"):
        request = task.request(text)
        call(request, text)
        say(request, message="done")
    task.request("third")
    task.revise(0, feedback="all wrong")
    lines = run(env, "back").stdout.split("\n")
    assert [line for line in lines if "third" in line] == ["└─ * request 3 (open): third"]
    assert "│  o request 2 (abandoned): second" in lines


def test_the_page_is_written_once_more_but_over_nothing_else(env: dict[str, str | None], tmp_path: Path) -> None:
    file = tmp_path / "tree.html"
    assert run(env, "trip", "--html", str(file)).stdout == f"{file}\n"
    first = file.read_bytes()
    answer = json.loads(run(env, "trip", "--html", str(file), "--json").stdout)
    assert answer == {"file": str(file), "bytes": len(first), "nodes": 7}
    assert file.read_bytes() == first
    other = tmp_path / "mine.html"
    other.write_text("mine")
    refused = run(env, "trip", "--html", str(other))
    assert (refused.exit_code, other.read_text()) == (1, "mine")
    assert "it stays" in refused.stderr
    assert run(env, "trip", "--html", str(tmp_path)).exit_code == 2
    assert run(env, "trip", "--html", str(tmp_path / "no" / "where.html")).exit_code == 1
    assert run(env, "trip", "--html", str(file), "--all").exit_code == 2


def test_the_page_holds_calls_results_states_and_evidence(connection: Connection, story: str) -> None:
    found = tree(connection, story, "trip")
    page = tree_page.tree_page(found, tree_page.contents(connection, found))
    (block,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    data: dict[str, Any] = json.loads(block)
    one = data["nodes"][1]
    (seen,) = one["calls"]
    assert (seen["id"], seen["tool"], seen["text"], seen["length"]) == ("obs:1.1", "search", ODD, len(ODD))
    fee = next(state for state in one["wrote"][0]["states"] if state["id"] == "fee")
    assert (fee["kind"], fee["refs"], fee["value"]) == ("knowledge", ["derives obs:1.1"], '{"of":"fee"}')
    assert [state["in_view"] for state in data["nodes"][5]["wrote"][0]["states"] if state["id"] == "consent"] == [True]
    assert data["nodes"][data["cursor"]]["n"] == 6


def test_a_fork_shows_what_it_brought_and_reads_results_of_its_origin(
    env: dict[str, str | None], graph: graphmem.Graph, connection: Connection, story: str
) -> None:
    task = graph.space(story).task("trip")
    fork = task.fork("plan-b")
    call(fork.open_request(), "of the fork")
    nested = fork.fork("plan-c")
    call(nested.open_request(), "of the nested fork")
    answer = run(env, "plan-c").stdout
    assert answer.splitlines()[0].startswith("* request 1 (finished, in the origin)")
    assert "* summary 1, unchecked: Booked. [in the origin]" in answer
    assert answer.splitlines()[-1].endswith("<- cursor")
    found = tree(connection, story, "plan-c")
    calls = tree_page.contents(connection, found)["calls"]
    texts = [calls[node.key][0]["text"] for node in found.nodes]
    assert texts == ["asked", "hotel", "of the fork", "of the nested fork"]


GROWN = """
MATCH (t:Task {key: $p.task}), (above:TraceNode {key: t.p_b})
UNWIND range(1, $p.count) AS i
CREATE (x:TraceNode:OnPath {key: $p.task + '-' + toString(i), space: t.space, task: t.key, number: i,
  name: toString(i) + ' look', depth: above.depth + i, from_step: t.next_step + i - 1, hash: 'x'})
CREATE (s:Step {key: t.key + '/step:' + toString(t.next_step + i - 1), space: t.space,
  task: t.key, number: t.next_step + i - 1, kind: 'observe', request: 1, node: x.key,
  visited: i, merged: false, p_b: x.key, p_t: t.p_t, boundary: t.boundary})
WITH t, above, collect(x) AS nodes
CALL (above, nodes) {
  UNWIND range(0, size(nodes) - 1) AS i
  WITH nodes[i] AS low, CASE i WHEN 0 THEN above ELSE nodes[i - 1] END AS high
  CREATE (low)-[:CHILD_OF]->(high)
}
SET t.next_step = t.next_step + size(nodes), t.next_node = size(nodes) + 1, t.p_b = nodes[-1].key
RETURN size(nodes) AS made
"""


def test_a_chain_of_thousands_is_read_in_pages_and_folded(
    env: dict[str, str | None], space: graphmem.Space, connection: Connection
) -> None:
    space.task("long").request("go")
    count = 3 * PAGE + 7
    connection.run("tests/grow", GROWN, {"task": f"{space.name}/long", "count": count})
    asked: list[tuple[str, Any]] = []

    class Counting:
        def read(self, query: Any, p: Mapping[str, Any]) -> list[dict[str, Any]]:
            asked.append((query.name, p.get("limit")))
            return connection.read(query, p)

    found = inspect.tree(Counting(), space.name, "long")
    assert [node.number for node in found.nodes if node.on_path] == list(range(count + 1))
    assert [limit for name, limit in asked if name == "inspect/tree"] == [PAGE, PAGE, PAGE, 8]
    answer = run({**env, "GRAPHMEM_SPACE": space.name}, "long").stdout.splitlines()
    assert len(answer) == 21
    assert answer[0].strip() == f"… {count + 1 - 20:,} nodes more above; --depth shows them"
    everything = run({**env, "GRAPHMEM_SPACE": space.name}, "long", "--all", "--limit", "100000").stdout
    assert len(everything.splitlines()) == count + 2


def test_a_task_without_a_root_is_said_to_be_damaged(env: dict[str, str | None], connection: Connection) -> None:
    name = str(env["GRAPHMEM_SPACE"])
    connection.run(
        "tests/hollow", "CREATE (:Task {key: $p.space + '/hollow', space: $p.space, name: 'hollow'})", {"space": name}
    )
    answer = run(env, "hollow")
    assert answer.exit_code == 1
    assert "graphmem doctor" in answer.stderr


def test_a_task_that_is_not_there_is_named(env: dict[str, str | None]) -> None:
    answer = run(env, "nowhere")
    assert answer.exit_code == 1
    assert "try: graphmem tasks" in answer.stderr
