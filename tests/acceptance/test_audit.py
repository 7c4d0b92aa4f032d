"""Every rule of the graph is held by an audit that finds planted damage, and a healthy run gives no finding.

Damage is planted with raw Cypher in a transaction that is rolled back, so one run serves all of it.
"""

import threading
from collections.abc import Iterator, Mapping
from typing import Any, LiteralString
from uuid import uuid4

import pytest

import graphmem
from graphmem import Access, Operation, Ref, Relation, StateKind, StepOutput, ToolCall, ToolResult, inspect
from graphmem.store import Connection, Query, query, query_names

ERASE: LiteralString = "MATCH (n {space: $p.space}) DETACH DELETE n"


def add(id: str, kind: StateKind, *refs: tuple[Relation, str]) -> Operation:
    return Operation(
        operation="add",
        id=id,
        kind=kind,
        summary=f"about {id}",
        value={},
        has_value=True,
        refs=tuple(Ref(relation=relation, target=target) for relation, target in refs),
    )


def update(id: str, **more: Any) -> Operation:
    return Operation(operation="update", id=id, summary="newer", **more)


def call(request: graphmem.Request, tool: str, *contents: str, delta: tuple[Operation, ...] = ()) -> None:
    calls = tuple(ToolCall(name=tool, arguments={"n": i}) for i in range(len(contents)))
    result = request.step(request.status(), StepOutput(delta=delta, tool_calls=calls))
    request.observe(
        result, [ToolResult(call_id=c.id, content=text) for c, text in zip(result.calls, contents, strict=True)]
    )


def healthy_run(task: graphmem.Task) -> None:
    """Two finished requests and an open one: updates with and without refs, a removal, a disclosure, a refused output."""
    with task.request("first") as request:
        call(request, "search", "A and B", "C", delta=(add("wish", StateKind.PREFERENCE),))
        delta = (
            add("fact", StateKind.KNOWLEDGE, (Relation.DERIVES, "obs:1.1")),
            add("gone", StateKind.ATTRIBUTE, (Relation.SUPPORTS, "wish")),
        )
        call(request, "price", "80", delta=delta)
        delta = (
            update("fact"),
            Operation(operation="remove", id="gone"),
            add("choice", StateKind.JUDGEMENT, (Relation.DERIVES, "fact")),
        )
        request.step(request.status(), StepOutput(delta=delta))
        request.step(
            request.status(), StepOutput(delta=(update("fact", refs=(Ref(relation=Relation.FOLLOWS, target="wish"),)),))
        )
        request.step(request.status(), StepOutput(message="done"))
    with task.request("second") as request:
        request.step(request.status(), StepOutput(access=(Access(target="fact"),)))
        request.step(request.status(), StepOutput())
        call(request, "book", "booked", delta=(add("gone", StateKind.ARTIFACT, (Relation.SUPERSEDES, "choice")),))
        request.step(request.status(), StepOutput(message="booked it", delta=(update("gone"),)))
    request = task.request("third")
    call(request, "look", "nothing")
    request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="wait"),)))


@pytest.fixture(scope="module")
def run(graph: graphmem.Graph, connection: Connection) -> Iterator[str]:
    """A space with one healthy task `t`, and a smaller one `u`."""
    name = f"test-{uuid4().hex[:12]}"
    healthy_run(graph.space(name).task("t"))
    with graph.space(name).task("u").request("other") as request:
        call(request, "search", "X", delta=(add("x", StateKind.KNOWLEDGE),))
    yield name
    connection.run("tests/erase", ERASE, {"space": name})


class _RollBackError(Exception):
    pass


def findings_after(connection: Connection, space: str, damage: LiteralString) -> set[tuple[str, str]]:
    """What the audit of the space says after the damage; the damage is undone."""
    found: set[tuple[str, str]] = set()
    try:
        with connection.transaction() as run:

            class Inside:
                def read(self, query: Query, p: Mapping[str, Any]) -> list[dict[str, Any]]:
                    return run(query.text, p)

            assert run(damage + " RETURN count(*) AS planted", {"t": f"{space}/t", "u": f"{space}/u", "space": space})[
                0
            ]["planted"]
            found = {(finding.audit.removeprefix("audit_"), finding.what) for finding in inspect.audit(Inside(), space)}
            raise _RollBackError
    except _RollBackError:
        return found


def test_a_healthy_run_has_no_finding(connection: Connection, run: str) -> None:
    assert inspect.audit(connection, run) == ()


def test_a_run_that_is_being_written_has_no_finding(
    connection: Connection, graph: graphmem.Graph, space: graphmem.Space
) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for name in ("a", "b", "c"):
                healthy_run(space.task(name))
        except BaseException as error:  # noqa: BLE001  # told to the test below
            failures.append(error)

    writer = threading.Thread(target=work)
    writer.start()
    while writer.is_alive():
        assert inspect.audit(connection, space.name) == ()
    writer.join()
    assert not failures
    assert graph.connection.uri == connection.uri


# State and version keys end in @step; the run's steps: 2 search, 4 price, 6 and 7 updates, 8 done; 9-14 second; 15-18 third.
FACT: LiteralString = "MATCH (s:State {task: $p.t, id: 'fact'}) "
LIVE: LiteralString = "MATCH (s:Live {task: $p.t, id: 'fact'}) "
FIRST: LiteralString = "MATCH (s:State {task: $p.t, id: 'fact', from_step: 4}) "
TASK: LiteralString = "MATCH (t:Task {key: $p.t}) "
TOP: LiteralString = "MATCH (t:Task {key: $p.t}) MATCH (s:SummaryNode {key: t.p_t}) "
BOTTOM: LiteralString = "MATCH (t:Task {key: $p.t}) MATCH (b:TraceNode {key: t.p_b}) "
STEP: LiteralString = "MATCH (s:Step {task: $p.t, number: 6}) "
RAW: LiteralString = "MATCH (o:RawObservation {task: $p.t, id: 'obs:1.2'}) "
REQUEST: LiteralString = "MATCH (r:Request {task: $p.t, number: 2}) "

DAMAGE: dict[str, tuple[LiteralString, set[tuple[str, str]]]] = {
    "identity: no name": (LIVE + "REMOVE s.name", {("identity", "it has no name")}),
    "identity: no space": (RAW + "REMOVE o.space", {("identity", "it has no space")}),
    "identity: no key": (
        "CREATE (:Topic {space: $p.space, name: 'x'})",
        {("identity", "it has no key")},
    ),
    "identity: no task": (
        "CREATE (:SummaryNode {key: $p.t + 'x', space: $p.space, name: 'x', task: $p.t + 'x', rank: 0, boundary: 0, "
        "from_step: 1, verdict: 'passed'})",
        {
            ("identity", "its task does not exist"),
            ("steps", "its from_step, 1, is no step of its task"),
            ("covers", "its last node does not exist"),
            ("covers", "it covers more or fewer nodes than lie between its boundary and its last node"),
        },
    ),
    "identity: the key of a task": (
        "CREATE (t:Task {key: $p.t + 'x', space: $p.space, name: 'y', next_step: 1, next_request: 1})",
        {
            ("identity", "its key is not its space and name"),
            ("cursor", "p_b is no trace node on its path"),
            ("cursor", "p_t is no summary on its path"),
            ("cursor", "its boundary is not the last node that p_t covers"),
        },
    ),
    "identity: a marker on something else": (RAW + "SET o:Live", {("identity", "it is :Live but no state")}),
    "identity: off the tree": (
        RAW + "SET o:OnPath",
        {
            ("identity", "it is :OnPath but no node of the tree"),
            ("path", "the path forks below it"),
        },
    ),
    "states: live_key without :Live": (
        LIVE + "REMOVE s:Live",
        {
            ("states", "its live_key and its label :Live disagree"),
            ("states", "its to_step and its label :Live disagree"),
        },
    ),
    "states: :Live without live_key": (
        LIVE + "REMOVE s.live_key",
        {("states", "its live_key and its label :Live disagree")},
    ),
    "states: the live_key of another": (
        LIVE + "SET s.live_key = s.live_key + 'x'",
        {("states", "its live_key is not that of its id")},
    ),
    "states: the key of another step": (
        "MATCH (s:State {task: $p.t, id: 'choice'}) SET s.key = s.key + '9'",
        {
            ("states", "its key is not its id and from_step: one version of an id and step"),
            ("states", "first_of is not where it belongs: on first versions only"),
            ("versions", "its lineage has no first version"),
            ("versions", "the step that began it does not say so"),
            ("refs", "leads to a later version instead of the first one"),
        },
    ),
    "states: ends before it begins": (
        "MATCH (s:State {task: $p.t, id: 'gone', from_step: 4}) SET s.to_step = 4",
        {
            ("states", "it ends before it begins"),
            ("versions", "nothing follows where it ended, though that step did not remove it: a gap"),
        },
    ),
    "states: a reserved id": (
        "MATCH (s:State {task: $p.t, id: 'wish'}) SET s.id = 'obs:9.9', s.key = $p.t + '/state:obs:9.9@2', s.lineage = $p.t + '/state:obs:9.9@2', "
        "s.live_key = $p.t + '/state:obs:9.9'",
        {("states", "its id is reserved"), ("versions", "the step that began it does not say so")},
    ),
    "states: two kinds": (
        "MATCH (s:State {task: $p.t, id: 'wish'}) SET s:Artifact",
        {("states", "it is not of exactly one kind")},
    ),
    "states: first_of on a later version": (
        LIVE + "SET s.first_of = s.task",
        {("states", "first_of is not where it belongs: on first versions only")},
    ),
    "states: no value": (LIVE + "REMOVE s.value", {("states", "it lacks its summary, value, birth or position")}),
    "states: off its request": (
        LIVE + "MATCH (s)-[e:CHILD_OF]->() DELETE e",
        {("states", "it does not hang on its request alone")},
    ),
    "versions: overlap": (
        "MATCH (s:State {task: $p.t, id: 'fact', from_step: 4}) SET s.to_step = 7",
        {
            ("versions", "it is in view when its next version begins: they overlap"),
            ("versions", "nothing follows where it ended, though that step did not remove it: a gap"),
        },
    ),
    "versions: a gap": (
        FIRST + "SET s.to_step = 5",
        {("versions", "nothing follows where it ended, though that step did not remove it: a gap")},
    ),
    "versions: replaced in silence": (
        STEP + "SET s.updated = []",
        {
            ("versions", "the step that replaced it does not say so"),
            ("versions", "the step that began it does not say so"),
        },
    ),
    "versions: another position": (
        LIVE + "SET s.position = 9",
        {("versions", "it differs from its first version in task, id, birth, position, request or kind")},
    ),
    "versions: unchained": (
        LIVE + "MATCH (s)-[e:SUPERSEDES]->({id: 'fact'}) DELETE e",
        {("versions", "its next version has no arrow to it")},
    ),
    "versions: a removal that nobody made": (
        "MATCH (s:Live {task: $p.t, id: 'choice'}) REMOVE s:Live, s.live_key SET s.to_step = 7",
        {("versions", "nothing follows where it ended, though that step did not remove it: a gap")},
    ),
    "steps: a step that is not": (
        "MATCH (n:TraceNode {task: $p.u, number: 1}) SET n.from_step = 99",
        {("steps", "its from_step, 99, is no step of its task"), ("results", "it did not come with its trace node")},
    ),
    "steps: no step": (
        "MATCH (n:SummaryNode {task: $p.u}) REMOVE n.from_step",
        {("steps", "it has no from_step")},
    ),
    "refs: a later version": (
        "MATCH (g:State {task: $p.t, id: 'choice'})-[e:DERIVES]->() MATCH (m:Live {task: $p.t, id: 'wish'}) "
        "MATCH (l:State {task: $p.t, id: 'fact', from_step: 6}) CREATE (g)-[:DERIVES]->(l)",
        {("refs", "leads to a later version instead of the first one")},
    ),
    "refs: another task": (
        LIVE + "MATCH (x:State {task: $p.u, id: 'x'}) CREATE (s)-[:FOLLOWS]->(x)",
        {("refs", "leads into another task")},
    ),
    "refs: something else": (
        LIVE + "MATCH (r:Request {task: $p.t, number: 1}) CREATE (s)-[:FOLLOWS]->(r)",
        {("refs", "leads to neither a state, a raw result nor a memory")},
    ),
    "refs: itself": (
        "MATCH (s:Live {task: $p.t, id: 'wish'}) CREATE (s)-[:FOLLOWS]->(s)",
        {("refs", "leads from a state to itself")},
    ),
    "refs: what was not there yet": (
        "MATCH (s:Live {task: $p.t, id: 'wish'}) MATCH (m:Live {task: $p.t, id: 'choice'}) CREATE (s)-[:SUPPORTS]->(m)",
        {("refs", "leads to what began after it was given")},
    ),
    "refs: supersedes another lineage": (
        "MATCH (s:State {task: $p.t, id: 'gone', from_step: 4}) MATCH (m:Live {task: $p.t, id: 'gone'}) CREATE (m)-[:SUPERSEDES]->(s)",
        {("refs", "leads to no earlier version of its lineage")},
    ),
    "refs: refs_at names nothing": (
        "MATCH (s:Live {task: $p.t, id: 'gone'}) SET s.refs_at = 'nowhere'",
        {("refs", "its refs_at names no version")},
    ),
    "refs: refs_at of another lineage": (
        "MATCH (s:Live {task: $p.t, id: 'gone'}) MATCH (m:Live {task: $p.t, id: 'choice'}) SET s.refs_at = m.key",
        {("refs", "its refs_at names a version of another lineage")},
    ),
    "refs: refs_at names itself": (
        "MATCH (s:Live {task: $p.t, id: 'gone'}) SET s.refs_at = s.key",
        {
            ("refs", "its refs_at names a version that was not there yet"),
            ("refs", "its refs_at names a version that has its refs from elsewhere"),
        },
    ),
    "refs: both": (
        "MATCH (s:Live {task: $p.t, id: 'gone'}) MATCH (m:Live {task: $p.t, id: 'wish'}) CREATE (s)-[:FOLLOWS]->(m)",
        {("refs", "it has refs of its own beside its refs_at")},
    ),
    "ledger: a step is missing": (
        "MATCH (s:Step {task: $p.t, number: 11}) DETACH DELETE s",
        {("ledger", "step 11 is missing from its ledger")},
    ),
    "ledger: a number of the future": (
        STEP
        + "MATCH (t:Task {key: $p.t}) CREATE (x:Step) SET x = s {.*, attempt: null, key: 'x'}, x.number = t.next_step, "
        "x.version = t.version, x.key = $p.t + '/step:' + toString(t.next_step)",
        {("ledger", "its number was not given out yet")},
    ),
    "ledger: the attempt key of another": (
        STEP + "SET s.attempt = 'else/' + s.attempt",
        {("ledger", "its attempt key does not begin with space and task")},
    ),
    "ledger: the version goes back": (
        STEP + "SET s.version = 1",
        {("ledger", "its version does not lie between those of its neighbours")},
    ),
    "ledger: no kind": (
        "MATCH (s:Step {task: $p.t, number: 3}) REMOVE s.kind",
        {("ledger", "it does not say what it did")},
    ),
    "ledger: a cursor that is not": (
        "MATCH (s:Step {task: $p.t, number: 3}) SET s.p_b = 'x'",
        {("ledger", "its p_b, p_t or boundary is no node")},
    ),
    "ledger: a node that was not visited": (
        "MATCH (s:Step {task: $p.t, number: 3}) SET s.visited = 9",
        {("ledger", "the trace node that it visited does not exist")},
    ),
    "ledger: no request": (
        "MATCH (s:Step {task: $p.t, number: 3}) SET s.request = 9",
        {("ledger", "its request does not exist")},
    ),
    "requests: one is missing": (
        TASK + "SET t.next_request = t.next_request + 1",
        {("requests", "request 4 is missing")},
    ),
    "requests: neither finished nor open": (
        REQUEST + "REMOVE r.finished_step",
        {("requests", "it is neither open, finished nor abandoned")},
    ),
    "requests: finished and open": (
        "MATCH (r:Request {task: $p.t, number: 3}) SET r.finished_step = 14",
        {("requests", "it is open though it ended"), ("requests", "its finished_step is not the one that finished it")},
    ),
    "requests: opened by another step": (
        REQUEST + "SET r.opened_step = 10",
        {("requests", "its opened_step is not the one that opened it")},
    ),
    "requests: hangs on two": (
        REQUEST + "MATCH (t:Task {key: $p.u}) CREATE (r)-[:CHILD_OF]->(t)",
        {("requests", "it does not hang on its task alone")},
    ),
    "cursor: p_b elsewhere": (
        TASK + "SET t.p_b = 'x'",
        {
            ("cursor", "p_b is no trace node on its path"),
            ("cursor", "its cursor is not where the last step of the ledger left it"),
            ("path", "the path ends at it and the cursor is elsewhere"),
        },
    ),
    "cursor: p_t elsewhere": (
        TASK + "MATCH (s:SummaryNode {task: $p.t, rank: 0}) SET t.p_t = s.key",
        {
            ("cursor", "its boundary is not the last node that p_t covers"),
            ("cursor", "its cursor is not where the last step of the ledger left it"),
            ("path", "the path goes on below the cursor"),
            ("path", "the path ends at it and the cursor is elsewhere"),
        },
    ),
    "cursor: the boundary": (
        BOTTOM + "SET t.boundary = b.key",
        {
            ("cursor", "its boundary is not the last node that p_t covers"),
            ("cursor", "its cursor is not where the last step of the ledger left it"),
        },
    ),
    "cursor: an open request that is not": (
        "MATCH (t:Task {key: $p.u}) SET t.open = 7",
        {
            ("cursor", "its open request does not exist"),
            ("requests", "it is neither open, finished nor abandoned"),
        },
    ),
    "cursor: pending without calls": (
        TASK + "SET t.pending_step = 15",
        {("cursor", "its pending_step is no step with calls")},
    ),
    "cursor: pending and answered": (
        TASK + "SET t.pending_step = 16",
        {("cursor", "calls are pending that were answered")},
    ),
    "cursor: calls that nobody waits for": (
        TASK + "REMOVE t.pending_step",
        {("cursor", "the calls of its last step have no results and are not pending")},
    ),
    "cursor: an observation that is none": (
        TASK + "SET t.observed_step = 16",
        {("cursor", "its observed_step is no observation")},
    ),
    "path: a mark too many": (
        "MATCH (r:TraceNode {task: $p.u, number: 0}) CREATE (n:TraceNode:OnPath {key: $p.u + '?', space: $p.space, task: $p.u, "
        "name: 'x', number: 1, depth: 1, from_step: 2}) CREATE (n)-[:CHILD_OF]->(r) CREATE (n)<-[:CHILD_OF]-(:RawObservation "
        "{key: $p.u + '/obs:1.2', id: 'obs:1.2', position: 1, space: $p.space, task: $p.u, name: 'x', tool: 'x', "
        "arguments: '{}', from_step: 2})",
        {
            ("path", "the path forks below it"),
            ("path", "the path ends at it and the cursor is elsewhere"),
            ("results", "its id is not the number of its node and its position"),
        },
    ),
    "path: a mark too few": (
        "MATCH (n:TraceNode {task: $p.t, number: 2}) REMOVE n:OnPath",
        {
            ("path", "it is on the path and its parent is not"),
            ("path", "the path ends at it and the cursor is elsewhere"),
        },
    ),
    "path: a depth": (
        BOTTOM + "SET b.depth = 9",
        {("path", "its depth or rank is not that of its parent + 1")},
    ),
    "path: two parents": (
        BOTTOM + "MATCH (r:TraceNode {task: $p.t, number: 0}) CREATE (b)-[:CHILD_OF]->(r)",
        {
            ("path", "it has not exactly one parent"),
            ("path", "its depth or rank is not that of its parent + 1"),
            ("path", "the path forks below it"),
        },
    ),
    "path: a number of the future": (
        TASK + "SET t.next_node = 4",
        {("path", "its number was not given out yet")},
    ),
    "covers: one is not covered": (
        TOP + "MATCH (s)-[e:COVERS]->(:TraceNode) DELETE e",
        {
            ("covers", "it does not cover its last node"),
            ("covers", "it covers more or fewer nodes than lie between its boundary and its last node"),
        },
    ),
    "covers: one too many": (
        TOP + "MATCH (b:TraceNode {key: t.p_b}) MATCH (s)-[e:COVERS]->(x) WITH s, b, e, x CREATE (s)-[:COVERS]->(b)",
        {("covers", "it covers more or fewer nodes than lie between its boundary and its last node")},
    ),
    "covers: a stray": (
        TOP + "MATCH (x:TraceNode {task: $p.u, number: 1}) MATCH (s)-[e:COVERS]->() DELETE e CREATE (s)-[:COVERS]->(x)",
        {("covers", "it does not cover its last node"), ("covers", "it covers a node that does not hang on its chain")},
    ),
    "covers: the boundary": (
        TOP + "SET s.boundary = 1",
        {("covers", "its boundary is not the last node of its parent")},
    ),
    "covers: the verdict": (TOP + "SET s.verdict = 'fine'", {("covers", "its verdict is none")}),
    "results: a hole": (
        "MATCH (o:RawObservation {task: $p.t, id: 'obs:1.1'}) DETACH DELETE o",
        {("results", "its raw results are not numbered from 1")},
    ),
    "results: none": (
        "MATCH (o:RawObservation {task: $p.u, id: 'obs:1.1'}) DETACH DELETE o",
        {("results", "it has no raw result")},
    ),
    "results: hung elsewhere": (
        RAW + "MATCH (o)-[e:CHILD_OF]->() DELETE e",
        {("results", "it does not hang on one trace node")},
    ),
    "results: another's key": (RAW + "SET o.key = o.key + 'x'", {("results", "its key is not its task and id")}),
    "results: another step": (RAW + "SET o.from_step = 5", {("results", "it did not come with its trace node")}),
    "results: no call": (RAW + "REMOVE o.tool", {("results", "it does not say which call it answers")}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_planted_damage_is_found_and_nothing_else(
    connection: Connection, run: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmem.inspect.audits._AGAIN_SECONDS", 0.0)
    damage, expected = DAMAGE[name]
    found = findings_after(connection, run, damage)
    assert {(audit, _without_key(what)) for audit, what in found} == expected


def _without_key(what: str) -> str:
    """A finding on a ref names the arrow first."""
    position = what.find(" leads ")
    return what if position < 0 else what[position + 1 :]


def test_every_audit_has_damage_that_it_finds() -> None:
    found = {audit for _, expected in DAMAGE.values() for audit, _ in expected}
    assert found == {name.removeprefix("audit_") for name in inspect.audit_names()}
    assert len(found) <= 12


def test_a_node_in_the_wrong_space_is_found_there(connection: Connection, run: str) -> None:
    other = f"test-{uuid4().hex[:12]}"
    connection.run(
        "tests/plant",
        "MATCH (s:Step {task: $p.t, number: 1}) SET s.space = $p.other",
        {"t": f"{run}/u", "other": other},
    )
    try:
        found = inspect.audit(connection, other)
    finally:
        connection.run(
            "tests/mend",
            "MATCH (s:Step {task: $p.t, number: 1}) SET s.space = $p.space",
            {"t": f"{run}/u", "space": run},
        )
    assert {finding.what for finding in found} == {"its space is not that of its task"}
    assert {finding.key for finding in found} == {f"{run}/u/step:1"}


def test_the_audit_of_one_space_says_nothing_of_another(connection: Connection, run: str) -> None:
    assert inspect.audit(connection, f"{run}-other") == ()


@pytest.mark.parametrize("version", ["CYPHER 5 ", "CYPHER 25 "])
def test_every_inspect_query_runs_in_both_languages(connection: Connection, run: str, version: LiteralString) -> None:
    given = {"space": run, "task": "t", "id": "fact", "ids": ["fact"]}
    for name in query_names("inspect"):
        found = query(name)
        p = {key: given.get(key) for key in found.params}
        rows = connection.run(name, version + found.text, p)
        assert all(tuple(row) == found.returns for row in rows)
        assert rows or name.startswith("inspect/audit_") or name == "inspect/show_raw"
