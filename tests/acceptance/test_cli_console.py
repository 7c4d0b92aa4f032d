"""`graphmem cypher -e`: a statement of one's own, from the command line."""

import json
from collections.abc import Mapping

import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem_cli.group import cli


@pytest.fixture
def env(server_env: Mapping[str, str], space: graphmem.Space) -> dict[str, str | None]:
    space.task("t").request("Look")
    unset = dict.fromkeys(("GRAPHMEM_HOME", "GRAPHMEM_DATABASE", "COLUMNS"))
    return {**unset, **server_env, "GRAPHMEM_SPACE": space.name}


def run(env: Mapping[str, str | None], *arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["cypher", *arguments], env=dict(env), input=text, prog_name="graphmem")


def test_a_statement_answers_people_and_machines(env: dict[str, str | None]) -> None:
    statement = "MATCH (t:Task {space: $p.space}) WHERE t.name <> $p.not RETURN t.name AS name, $p.not AS other"
    shown = run(env, "-e", statement, "-p", "not=SET the table")
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.splitlines() == ["NAME  OTHER", "t     SET the table"]
    assert json.loads(run(env, "-e", "-", "-p", "not=x", "--json", text=statement).stdout) == [
        {"name": "t", "other": "x"}
    ]
    pasted = run(env, "-e", statement, "-p", "not=x", "--show-cypher", "--trace").stderr
    assert f":param p => {{space: '{env['GRAPHMEM_SPACE']}', not: 'x'}};\n{statement};" in pasted
    assert "console: 1 rows" in pasted
    assert "no rows" in run(env, "-e", "MATCH (n:Nothing {space: $p.space}) RETURN n").stderr
    cut = run(env, "-e", "UNWIND range(1, 9) AS x RETURN x", "--rows", "2", "--json")
    assert json.loads(cut.stdout) == [{"x": 1}, {"x": 2}]
    assert "the first 2 rows" in cut.stderr


def test_a_statement_that_writes_is_refused_with_a_sentence(env: dict[str, str | None]) -> None:
    refused = run(env, "-e", "MATCH (t:Task {space: $p.space}) DETACH DELETE t")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "Nothing was run: this console only reads." in refused.stderr
    assert run(env, "-e", "MATCH (t").exit_code == 1
    assert run(env, "-e", "").exit_code == 1
    assert run(env, "log", "-e", "RETURN 1").exit_code == 2
    assert json.loads(run(env, "-e", "MATCH (t:Task {space: $p.space}) RETURN count(t) AS n", "--json").stdout) == [
        {"n": 1}
    ]
