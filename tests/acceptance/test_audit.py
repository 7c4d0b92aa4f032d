"""Every rule of the graph is held by an audit that finds planted damage, and a healthy run gives no finding.

Damage is planted with raw Cypher in a transaction that is rolled back, so one run serves all of it.
"""

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, LiteralString
from uuid import uuid4

import pytest

import graphmem
from graphmem import Access, Operation, Ref, Relation, StateKind, StepOutput, ToolCall, ToolResult, inspect
from graphmem.store import Connection, Query

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
    """Two finished requests and an open one with pending calls.

    Steps 2 search, 4 price, 6 and 7 updates of `fact`, 8 done; 9 to 14 the second request; 15 to 18 the third.
    """
    with task.request("first") as request:
        call(request, "search", "A and B", "C", delta=(add("wish", StateKind.PREFERENCE),))
        delta = (
            add("fact", StateKind.KNOWLEDGE, (Relation.DERIVES, "obs:1.1")),
            add("gone", StateKind.ATTRIBUTE, (Relation.SUPPORTS, "wish")),
        )
        call(request, "price", "80", delta=delta)
        changes = (
            update("fact"),
            Operation(operation="remove", id="gone"),
            add("choice", StateKind.JUDGEMENT, (Relation.DERIVES, "fact")),
        )
        request.step(request.status(), StepOutput(delta=changes))
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


def branched_run(task: graphmem.Task) -> None:
    """A request with a compressed subgoal, a branch that is left, a disclosure on it, and a fork with R of then.

    Steps 6 compress, 7 to 9 the branch, 10 the revise, 12 the one that is forked.
    """
    with task.request("first") as request:
        call(request, "search", "A")
        call(request, "price", "80", delta=(add("fact", StateKind.KNOWLEDGE, (Relation.DERIVES, "obs:1.1")),))
    task.compress("looked")
    call(request, "book", "wrong", delta=(add("choice", StateKind.JUDGEMENT, (Relation.DERIVES, "fact")),))
    request.step(request.status(), StepOutput(access=(Access(target="obs:1.1"),), delta=(update("fact"),)))
    task.revise(feedback="wrong one")
    call(request, "book", "right")
    fork = task.fork("w-fork", at=12)
    forked = fork.open_request()
    call(forked, "book", "another", delta=(update("fact"),))


@pytest.fixture(scope="module")
def run(graph: graphmem.Graph, connection: Connection) -> Iterator[str]:
    """A space with one healthy task `t`, and a smaller one `u`."""
    name = f"test-{uuid4().hex[:12]}"
    healthy_run(graph.space(name).task("t"))
    with graph.space(name).task("u").request("other") as request:
        call(request, "search", "X", delta=(add("x", StateKind.KNOWLEDGE),))
    branched_run(graph.space(name).task("w"))
    yield name
    connection.run("tests/erase", ERASE, {"space": name})


def without_key(what: str) -> str:
    """A finding on a ref names the arrow first."""
    position = what.find(" leads ")
    return what if position < 0 else what[position + 1 :]


class _RollBackError(Exception):
    pass


def findings_after(connection: Connection, space: str, damage: str) -> set[str]:
    """What the audit of the space says after the damage, without the keys; the damage is undone."""
    found: set[str] = set()
    try:
        with connection.transaction() as run:

            class Inside:
                def read(self, query: Query, p: Mapping[str, Any]) -> list[dict[str, Any]]:
                    return run(query.text, p)

            p = {"t": f"{space}/t", "u": f"{space}/u", "w": f"{space}/w", "f": f"{space}/w-fork", "space": space}
            assert run(damage + " RETURN count(*) AS planted", p)[0]["planted"]
            found = {f"{f.audit.removeprefix('audit_')}: {without_key(f.what)}" for f in inspect.audit(Inside(), space)}
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


def planted() -> list[tuple[str, frozenset[str]]]:
    """The blocks of planted_damage.cypher: a statement, and what the audits must say of it."""
    text = (Path(__file__).parent / "planted_damage.cypher").read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in text.split("\n\n")[1:]]
    return [
        (
            "\n".join(line for line in lines if not line.startswith("//")),
            frozenset(line.removeprefix("// ") for line in lines if line.startswith("//")),
        )
        for lines in blocks
    ]


@pytest.mark.parametrize(
    ("damage", "expected"), planted(), ids=lambda value: min(value) if isinstance(value, frozenset) else ""
)
def test_planted_damage_is_found_and_nothing_else(
    connection: Connection, run: str, damage: str, expected: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmem.inspect.audits._AGAIN_SECONDS", 0.0)
    assert findings_after(connection, run, damage) == expected


def test_every_audit_has_damage_that_it_finds() -> None:
    found = {f"audit_{what.partition(':')[0]}" for _, expected in planted() for what in expected}
    assert found == set(inspect.audit_names())
    assert len(found) <= 14


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
