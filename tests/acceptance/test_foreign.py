"""Labels and properties are free for everybody: what somebody else wrote under ours is a finding, and hides nothing.

Everything is planted in a transaction that is rolled back, but for what the command line has to see.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, LiteralString
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem import StoreError, inspect
from graphmem.store import Connection, Query, query
from graphmem_cli.group import cli
from tests.acceptance.test_audit import healthy_run

ERASE: LiteralString = "MATCH (n) WHERE n.planted = $p.space DETACH DELETE n"
LABELS = ("Task", "Request", "Step", "TraceNode", "SummaryNode", "RawObservation", "State")
VALUES: tuple[LiteralString, ...] = ("['a']", "true", "date()")
# What nodes are found and ordered by.
KEPT = (
    "key",
    "task",
    "number",
    "request",
    "id",
    "live_key",
    "lineage",
    "from_step",
    "born",
    "position",
    "depth",
    "rank",
)
PLACES: LiteralString = """
MATCH (n {space: $p.space}) UNWIND labels(n) AS label WITH label, n WHERE label IN $p.labels
WITH label, n ORDER BY n.key UNWIND keys(n) AS property
WITH label, property, collect(elementId(n))[0] AS id
RETURN property, collect(id) AS ids ORDER BY property
"""


class _RollBackError(Exception):
    pass


class Inside:
    """A reader inside a transaction."""

    def __init__(self, run: Any) -> None:
        self.run = run

    def read(self, query: Query, p: Mapping[str, Any]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.run(query.text, p)
        return rows


@contextmanager
def planted(connection: Connection, statement: LiteralString, p: Mapping[str, Any]) -> Iterator[Inside]:
    try:
        with connection.transaction() as run:
            run(statement, p)
            yield Inside(run)
            raise _RollBackError
    except _RollBackError:
        pass


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmem.inspect.audits._AGAIN_SECONDS", 0.0)


def keys(findings: tuple[inspect.Finding, ...]) -> set[str]:
    return {finding.key for finding in findings}


FOREIGN: LiteralString = """
CREATE (:Request {name: 'r', task: 5}), (:State {key: 17, task: ['a'], live_key: 5, space: 1.5}),
  (:Step {task: 5, number: 'x', key: 9, attempt: 3}),
  (:Task {key: $p.space + '/foreign', space: $p.space, name: 'foreign'}),
  (:Task {key: $p.space + '/odd', space: $p.space, name: 'odd', next_step: 'soon', next_request: date(), open: ['x']}),
  (:Step {space: $p.space, key: date(), task: true, request: [1], disclosed: 5}),
  (:State {space: $p.space, refs_at: [1]})
"""


def test_the_audit_of_all_spaces_finds_foreign_nodes_of_no_space(connection: Connection, space: graphmem.Space) -> None:
    with planted(connection, FOREIGN, {"space": space.name}) as reader:
        found = inspect.audit(reader, limit=100_000)
    assert {"17", "9", ":Request r", f"{space.name}/foreign"} <= keys(found)
    assert ("17", "its key is no text") in {(finding.key, finding.what) for finding in found}


def test_foreign_nodes_in_a_space_are_findings_there(connection: Connection, space: graphmem.Space) -> None:
    healthy_run(space.task("t"))
    with planted(connection, FOREIGN, {"space": space.name}) as reader:
        found = inspect.audit(reader, space.name)
    assert {key for key in keys(found) if key.startswith(space.name)} == {f"{space.name}/foreign", f"{space.name}/odd"}
    assert {"(no key)", ":State (no name)"} <= keys(found)


def test_foreign_nodes_elsewhere_are_no_finding_of_a_space(connection: Connection, space: graphmem.Space) -> None:
    healthy_run(space.task("t"))
    with planted(connection, FOREIGN, {"space": f"{space.name}-other"}) as reader:
        assert inspect.audit(reader, space.name) == ()


def test_a_huge_counter_is_found_and_not_counted_to(connection: Connection, space: graphmem.Space) -> None:
    healthy_run(space.task("t"))
    huge: LiteralString = (
        "MATCH (t:Task {space: $p.space}) SET t.next_step = toInteger(9e18), t.next_request = toInteger(1e12)"
    )
    with planted(connection, huge, {"space": space.name}) as reader:
        found = inspect.audit(reader, space.name, limit=10)
    assert {"step 19 is missing from its ledger", "request 4 is missing"} <= {finding.what for finding in found}


@pytest.mark.parametrize("value", VALUES)
def test_no_audit_fails_at_a_value_of_another_type(
    connection: Connection, space: graphmem.Space, value: LiteralString
) -> None:
    healthy_run(space.task("t"))
    places = connection.run("tests/places", PLACES, {"space": space.name, "labels": LABELS})
    assert len(places) > 40
    change: LiteralString = "MATCH (n) WHERE elementId(n) IN $p.ids SET n[$p.property] = "
    for place in places:
        with planted(connection, change + value, {**place, "space": space.name}) as reader:
            found = inspect.audit(reader, space.name)
        assert found or place["property"] not in KEPT, place


def test_a_task_that_is_somebody_elses_hides_no_other(connection: Connection, space: graphmem.Space) -> None:
    healthy_run(space.task("t"))
    with planted(connection, FOREIGN, {"space": space.name}) as reader:
        assert {line.task for line in inspect.tasks(reader, space.name)} == {"t", "foreign", "odd"}
        assert inspect.requests(reader, space.name, "foreign") == ()
        assert reader.read(query("inspect/requests"), {"space": space.name, "task": "odd", "limit": 5}) == []
        assert space.name in {line.space for line in inspect.spaces(reader, limit=100_000)}


def test_what_graphmem_did_not_write_is_said_to_be_so(connection: Connection, space: graphmem.Space) -> None:
    healthy_run(space.task("t"))
    odd: LiteralString = "MATCH (n {space: $p.space}) WHERE n:State OR n:Step SET n.value = 'no', n.calls = 'no'"
    with planted(connection, odd, {"space": space.name}) as reader:
        looks = (
            lambda: inspect.log(reader, space.name, "t"),
            lambda: inspect.show(reader, space.name, "t", "fact"),
            lambda: inspect.why(reader, space.name, "t", "fact"),
        )
        for look in looks:
            with pytest.raises(StoreError, match="did not write") as caught:
                look()
            assert caught.value.command == f"graphmem doctor --space {space.name}"


def run(env: Mapping[str, str], *arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), env=dict(env), prog_name="graphmem")


def test_the_command_line_says_it_in_sentences(
    connection: Connection, server_env: Mapping[str, str], space: graphmem.Space
) -> None:
    marker = f"test-{uuid4().hex[:12]}"
    plant: LiteralString = """
    CREATE (:Request {name: 'r', task: 5, planted: $p.marker, space: $p.space}),
      (:State {task: ['a'], space: $p.space, planted: $p.marker}),
      (:Task {key: $p.space + '/foreign', space: $p.space, name: 'foreign', planted: $p.marker})"""
    connection.run("tests/plant", plant, {"space": space.name, "marker": marker})
    try:
        env = {**server_env, "GRAPHMEM_SPACE": space.name}
        doctor = run(env, "doctor", "--json")
        reads = [run(env, name, "foreign") for name in ("requests", "states", "log")] + [run(env, "tasks")]
    finally:
        connection.run("tests/erase", ERASE, {"space": marker})
    assert doctor.exit_code == 1
    (audit,) = (check for check in json.loads(doctor.stdout)["checks"] if check["name"] == "audit")
    assert {"its task is no text"} <= {finding["what"] for finding in audit["findings"]}
    assert [answer.exit_code for answer in reads] == [0, 0, 0, 0], [answer.output for answer in reads]
