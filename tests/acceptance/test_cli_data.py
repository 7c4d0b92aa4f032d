"""The commands that move, measure and erase data: what they tell, what they ask, what they refuse."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem.store import Connection
from graphmem_cli.group import cli
from tests.acceptance.speech import add, call, say
from tests.acceptance.whole_space import whole


@pytest.fixture
def name(graph: graphmem.Graph, connection: Connection) -> Iterator[str]:
    """A space with a task `trip` and its fork `plan-b`."""
    made = f"test-{uuid4().hex[:12]}"
    task = graph.space(made).task("trip")
    request = task.request("Book a room")
    (raw,) = call(request, "hotel A is quiet " * 20)
    say(request, add("quiet", raw))
    task.fork("plan-b")
    yield made
    for space in (made, f"{made}-2"):
        connection.run("tests/erase", "MATCH (n {space: $p.space}) DETACH DELETE n", {"space": space})


@pytest.fixture
def env(server_env: Mapping[str, str], name: str) -> dict[str, str | None]:
    return {**dict.fromkeys(("GRAPHMEM_HOME", "GRAPHMEM_DATABASE", "COLUMNS")), **server_env, "GRAPHMEM_SPACE": name}


def run(env: Mapping[str, str | None], *arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(part) for part in arguments], env=dict(env), prog_name="graphmem")


def told(env: Mapping[str, str | None], *arguments: object) -> str:
    answer = run(env, *arguments)
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def test_a_space_goes_out_and_in(env: dict[str, str | None], name: str, connection: Connection, tmp_path: Path) -> None:
    file, one = tmp_path / "all.jsonl", tmp_path / "one.jsonl"
    before = whole(connection, name)
    assert json.loads(told(env, "export", file, "--json"))["tasks"][1]["origins"] == ["trip"]
    assert "which is not in the file" in told(env, "export", one, "--task", "plan-b")
    refused = run(env, "import", one, "--as-space", f"{name}-2")
    assert refused.exit_code == 1
    assert f"{one}, line 1: plan-b is a fork of trip" in refused.stderr
    assert "was there" in told(env, "import", file)
    told(env, "forget", "--whole-space", "--yes")
    assert whole(connection, name) == []
    assert "relations of plan-b lead to trip, which is not there" in told(env, "import", one)
    told(env, "import", file)
    assert whole(connection, name) == before
    told(env, "import", file, "--as-space", f"{name}-2")
    assert f"{name}-2/trip" in "".join(whole(connection, f"{name}-2"))


def test_a_bad_file_is_answered_with_file_line_and_reason(env: dict[str, str | None], tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    told(env, "export", file)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:5]))
    answer = run(env, "import", file)
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr.startswith(f"graphmem: {file}, line 5: its end is missing")


def test_sizes_as_a_table_and_as_json(env: dict[str, str | None]) -> None:
    table = told(env, "size")
    assert [line.split()[0] for line in table.splitlines()] == ["task", "trip", "plan-b"]
    assert "forks: plan-b" in told(env, "size", "trip")
    (found,) = json.loads(told(env, "size", "trip", "--json"))
    assert {kind["kind"]: kind["nodes"] for kind in found["kinds"]}["Step"] == 4


def test_prune_says_what_it_would_do_and_does_it(env: dict[str, str | None]) -> None:
    assert "1 raw results would be pruned, 340 bytes" in told(
        env, "prune", "trip", "--raw-older-than", "1 step", "--dry-run"
    )
    assert "hotel A" in told(env, "show", "trip", "obs:1.1")
    done = json.loads(told(env, "prune", "trip", "--raw-older-than", "1 step", "--json"))
    assert (done["results"], done["bytes"]) == (1, 340)
    for command in (
        ("show", "trip", "obs:1.1"),
        ("why", "trip", "quiet"),
        ("path", "trip"),
        ("show", "plan-b", "obs:1.1"),
    ):
        assert "[pruned: 340 bytes" in told(env, *command), command
    assert "pruned" in told(env, "log", "trip") or "prune" in told(env, "log", "trip")
    assert run(env, "prune", "trip", "--raw-older-than", "3 days").exit_code == 1


def test_forget_asks_and_says_what_stands_in_its_way(
    env: dict[str, str | None], name: str, connection: Connection
) -> None:
    before = whole(connection, name)
    for arguments in ((), ("trip", "--whole-space"), ("trip", "--with-forks")):  # the last one: nobody to be asked
        assert run(env, "forget", *arguments).exit_code == 2
    answer = run(env, "forget", "trip", "--yes")
    assert (answer.exit_code, "plan-b" in answer.stderr) == (1, True)
    assert "would forget plan-b, trip" in told(env, "forget", "trip", "--with-forks", "--dry-run")
    assert whole(connection, name) == before
    assert "forgot plan-b, trip" in told(env, "forget", "trip", "--with-forks", "--yes")
    assert run(env, "forget", "trip", "--yes").exit_code == 1
