"""What is seen of a run: tasks, requests, states, versions, raw results, the ledger, disclosures, reasons, queries."""

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest

import graphmem
from graphmem import (
    InvalidValueError,
    NotFoundError,
    Operation,
    Relation,
    StateKind,
    inspect,
)
from graphmem.inspect.values import LogLine, RawResult, Reasoned
from graphmem.store import Connection
from tests.acceptance.story import CONTENT, ERASE, act, add, call, update


@pytest.fixture(scope="module")
def story(graph: graphmem.Graph, connection: Connection) -> Iterator[str]:
    """A space with one task `trip`: fact <- choice <- plan, evidence obs:1.1, one request finished and one open."""
    name = f"test-{uuid4().hex[:12]}"
    task = graph.space(name).task("trip")
    with task.request("Book hotel A if it can be cancelled") as request:
        call(request, CONTENT, add("wish", kind=StateKind.PREFERENCE))
        act(
            request,
            add("fact", (Relation.DERIVES, "obs:1.1"), value={"fee": 80}),
            add("why not", (Relation.SUPPORTS, "wish")),
        )
        act(request, update("fact", "80 USD"), add("choice", (Relation.DERIVES, "fact"), (Relation.FOLLOWS, "wish")))
        act(request, add("plan", (Relation.DERIVES, "choice"), kind=StateKind.ARTIFACT), update("nothing", "x"))
        act(request, Operation(operation="remove", id="why not"), message="Booked.")
    request = task.request("And now?")
    act(request, access=("choice",))
    yield name
    connection.run("tests/erase", ERASE, {"space": name})


def test_a_space_shows_its_tasks_and_no_others(connection: Connection, story: str, space: graphmem.Space) -> None:
    assert inspect.tasks(connection, space.name) == ()
    spaces = {line.space: line.tasks for line in inspect.spaces(connection, limit=1_000_000)}
    assert (spaces[story], spaces.get(space.name)) == (1, None)
    (line,) = inspect.tasks(connection, story)
    assert (line.task, line.open, line.requests, line.steps, line.nodes, line.pending) == ("trip", 2, 2, 9, 1, None)
    assert line.text == "And now?"


def test_requests_stand_with_their_steps(connection: Connection, story: str) -> None:
    first, second = inspect.requests(connection, story, "trip")
    assert (first.number, first.standing, first.opened_step, first.finished_step) == (1, "finished", 1, 7)
    assert (second.number, second.standing, second.opened_step, second.finished_step) == (2, "open", 8, None)


def test_states_in_view_come_in_order_of_appearance(connection: Connection, story: str) -> None:
    lines = inspect.states(connection, story, "trip")
    assert [(line.id, line.born, line.from_step) for line in lines] == [
        ("wish", 2, 2),
        ("fact", 4, 5),
        ("choice", 5, 5),
        ("plan", 6, 6),
    ]
    assert inspect.states(connection, story, "trip", request=2) == ()
    assert len(inspect.states(connection, story, "trip", limit=2)) == 2


def test_every_version_is_shown_with_the_refs_that_it_carries(connection: Connection, story: str) -> None:
    shown = inspect.show(connection, story, "trip", "fact")
    assert not isinstance(shown, RawResult)
    assert [(v.from_step, v.to_step, v.in_view, v.summary) for v in shown] == [
        (4, 5, False, "about fact"),
        (5, None, True, "80 USD"),
    ]
    assert [(v.refs[0].relation, v.refs[0].id, v.refs_step) for v in shown] == [(Relation.DERIVES, "obs:1.1", 4)] * 2
    assert shown[1].value == {"fee": 80}


def test_a_removed_state_is_still_shown(connection: Connection, story: str) -> None:
    shown = inspect.show(connection, story, "trip", "why not")
    assert not isinstance(shown, RawResult)
    assert [(v.in_view, v.to_step) for v in shown] == [(False, 7)]


def test_a_raw_result_is_shown_byte_for_byte_with_its_call(connection: Connection, story: str) -> None:
    raw = inspect.show(connection, story, "trip", "obs:1.1")
    assert isinstance(raw, RawResult)
    assert raw.content == CONTENT
    assert (raw.tool, raw.arguments, raw.node, raw.asked_step, raw.from_step) == ("policy", {"hotel": "A"}, 1, 2, 3)
    assert raw.cited_by == ("fact",)


def test_the_log_has_one_line_a_step(connection: Connection, story: str) -> None:
    lines = inspect.log(connection, story, "trip")
    assert [line.number for line in lines] == list(range(1, 10))
    kinds = ["open", "step", "observe", "step", "step", "step", "step", "open", "step"]
    assert [line.kind for line in lines] == kinds
    assert lines[2].node == 1
    assert lines[1].calls[0].arguments == {"hotel": "A"}
    assert [line.answered for line in lines] == [(), (), ("policy",), *[()] * 6]
    assert lines[4].updated == ("fact",)
    assert [reason.what for reason in lines[5].rejected] == ["update nothing"]
    assert lines[6].removed == ("why not",)
    assert lines[6].message == "Booked."
    assert lines[8].disclosed == ("choice",)


def test_the_log_can_be_narrowed(connection: Connection, story: str) -> None:
    def numbers(**given: int) -> list[int]:
        return [line.number for line in inspect.log(connection, story, "trip", **given)]

    assert numbers(limit=2) == [8, 9]
    assert numbers(request=2) == [8, 9]
    assert numbers(request=1, first=6) == [6, 7]
    assert numbers(first=3, last=5) == [3, 4, 5]
    assert numbers(first=3, last=5, limit=1) == [5]
    assert numbers(request=1, last=100, limit=1) == [7]


def test_what_does_not_exist_is_an_error_that_names_the_command(connection: Connection, story: str) -> None:
    with pytest.raises(NotFoundError, match="no task 'other'") as task:
        inspect.log(connection, story, "other")
    assert task.value.command == f"graphmem tasks --space {story}"
    for read in (inspect.requests, inspect.states):
        with pytest.raises(NotFoundError):
            read(connection, f"{story}x", "trip")
    with pytest.raises(NotFoundError, match="has no request 3"):
        inspect.log(connection, story, "trip", request=3)
    for read_id in (inspect.show, inspect.why, inspect.impact, inspect.blame):
        with pytest.raises(NotFoundError, match="never"):
            read_id(connection, story, "trip", "never")
        with pytest.raises(NotFoundError) as of_request:
            read_id(connection, story, "trip", "request:1")
        assert of_request.value.command == f"graphmem log trip --request 1 --space {story}"
    with pytest.raises(NotFoundError) as absent:
        inspect.show(connection, story, "trip", "obs:99.1")
    assert absent.value.command == f"graphmem log trip --space {story}"
    with pytest.raises(NotFoundError, match="no task 'other'"):
        inspect.run_named(connection, "log", {"space": story, "task": "other"})
    with pytest.raises(NotFoundError, match="nothing in space"):
        inspect.require_space(connection, f"{story}x")
    with pytest.raises(NotFoundError):
        inspect.disclose(connection, story, "other", ["fact"])
    with pytest.raises(InvalidValueError):
        inspect.tasks(connection, "a/b")


def test_a_disclosure_answers_what_an_access_then_gets(connection: Connection, space: graphmem.Space) -> None:
    task = space.task("t")
    with task.request("one") as request:
        call(request, "evidence", add("wish"))
        act(request, add("fact", (Relation.DERIVES, "obs:1.1")), add("other", (Relation.SUPPORTS, "fact")))
        act(request, add("late", (Relation.FOLLOWS, "fact")), Operation(operation="remove", id="wish"))
        act(request, message="done")
    request = task.request("two")
    act(request, add("mine"), access=("other",))
    targets = ("fact", "other", "mine", "wish", "late", "obs:1.1", "obs:7.1", "request:1", "request:2", "nowhere")
    for _ in range(2):
        before = {found.target: found for found in inspect.disclose(connection, space.name, "t", targets)}
        result = act(request, access=targets)
        rejected = {reason.what.removeprefix("access "): reason.why for reason in result.rejected}
        assert {target for target, found in before.items() if not found.accepted} == set(rejected)
        assert all(before[target].reason == why for target, why in rejected.items())
        assert {target for target, found in before.items() if found.accepted and not found.already} == set(
            result.disclosed
        )
        after = {state.id: state for state in request.status().active}
        for target in result.disclosed:
            state = before[target].state
            if state is not None:
                shown = after[target]
                assert (state.kind, state.summary, state.value, state.related) == (
                    shown.kind,
                    shown.summary,
                    shown.value,
                    shown.related,
                )
    (heading,) = inspect.disclose(connection, space.name, "t", ["request:1"])
    assert [line.id for line in heading.lines] == ["fact", "other", "late"]


def test_without_an_open_request_the_next_one_is_asked_about(connection: Connection, space: graphmem.Space) -> None:
    with space.task("t").request("one") as request:
        call(request, "evidence", add("fact"))
        act(request, add("more", (Relation.DERIVES, "obs:1.1")), message="done")
    fact, raw = inspect.disclose(connection, space.name, "t", ["fact", "obs:1.1"])
    assert (fact.request, fact.accepted, raw.accepted) == (2, True, False)
    assert raw.reason is not None
    assert "disclose one that does first" in raw.reason


def test_looking_at_a_disclosure_writes_nothing(connection: Connection, story: str) -> None:
    before = inspect.log(connection, story, "trip")
    inspect.disclose(connection, story, "trip", ["fact", "obs:1.1", "request:1"])
    assert inspect.log(connection, story, "trip") == before
    with pytest.raises(InvalidValueError):
        inspect.disclose(connection, story, "trip", [])


def why(connection: Connection, space: str, task: str, id_: str, **more: int) -> Reasoned:
    found = inspect.why(connection, space, task, id_, **more)
    assert isinstance(found, Reasoned)
    return found


def reasons(connection: Connection, space: str, task: str, id_: str, *, depth: int = 12) -> Reasoned:
    found = inspect.why(connection, space, task, id_, depth=depth)
    assert isinstance(found, Reasoned)
    return found


def below(node: Reasoned, *ids: str) -> Reasoned:
    for id_ in ids:
        node = next(child for child in node.below if child.id == id_)
    return node


def test_why_goes_down_to_the_raw_evidence(connection: Connection, story: str) -> None:
    top = why(connection, story, "trip", "plan")
    fact = below(top, "choice", "fact")
    assert (fact.by, fact.from_step, fact.given_step) == (Relation.DERIVES, 5, 4)
    (raw,) = fact.evidence
    assert (raw.id, raw.tool, raw.arguments, raw.node, raw.step, raw.request) == (
        "obs:1.1",
        "policy",
        {"hotel": "A"},
        1,
        3,
        1,
    )
    assert raw.content == CONTENT


def test_why_follows_support_against_its_arrow_and_only_while_it_is_in_view(
    connection: Connection, story: str, space: graphmem.Space
) -> None:
    assert why(connection, story, "trip", "wish").below == ()
    with space.task("t").request("one") as request:
        act(request, add("wish"), add("ground", (Relation.SUPPORTS, "wish")))
        top = why(connection, space.name, "t", "wish")
    assert [(child.id, child.by, child.incoming, child.below) for child in top.below] == [
        ("ground", Relation.SUPPORTS, True, ())
    ]


def test_why_ends_at_cycles_and_shows_shared_ground_once(connection: Connection, space: graphmem.Space) -> None:
    with space.task("t").request("one") as request:
        call(request, "seen")
        act(
            request,
            add("a", (Relation.FOLLOWS, "b")),
            add("b", (Relation.FOLLOWS, "c"), (Relation.DERIVES, "obs:1.1")),
            add("c", (Relation.FOLLOWS, "a"), (Relation.DERIVES, "b")),
        )
    top = why(connection, space.name, "t", "a")
    assert below(top, "b").evidence[0].id == "obs:1.1"
    assert below(top, "b", "c", "a").again
    assert below(top, "b", "c", "b").again
    assert below(top, "b", "c", "b").evidence == ()


def test_why_follows_the_lineage_that_was_named_and_not_its_id(connection: Connection, space: graphmem.Space) -> None:
    with space.task("t").request("one") as request:
        act(request, add("old"), add("user", (Relation.DERIVES, "old")))
        act(request, Operation(operation="remove", id="old"))
        act(request, add("old", (Relation.FOLLOWS, "user")))
        act(request, update("old", "the second"))
    ended = below(why(connection, space.name, "t", "user"), "old")
    assert (ended.summary, ended.in_view, ended.to_step, ended.below) == ("about old", False, 3, ())


def test_why_says_where_it_stopped(connection: Connection, space: graphmem.Space) -> None:
    with space.task("t").request("one") as request:
        act(request, add("s0"), *(add(f"s{i}", (Relation.DERIVES, f"s{i - 1}")) for i in range(1, 40)))
    top = why(connection, space.name, "t", "s39", depth=3)
    assert below(top, "s38", "s37").more
    assert below(top, "s38", "s37").below == ()
    whole = why(connection, space.name, "t", "s39", depth=100)
    assert not below(whole, *(f"s{i}" for i in reversed(range(39)))).more
    for depth in (0, 101):
        with pytest.raises(InvalidValueError):
            reasons(connection, space.name, "t", "s39", depth=depth)


def test_an_answer_is_plain_json(connection: Connection, story: str) -> None:
    answers = (
        inspect.tasks(connection, story),
        inspect.requests(connection, story, "trip"),
        inspect.states(connection, story, "trip"),
        inspect.log(connection, story, "trip"),
        inspect.disclose(connection, story, "trip", ["fact", "nope"]),
        (reasons(connection, story, "trip", "plan"),),
    )
    for answer in answers:
        assert json.loads(json.dumps([line.to_dict() for line in answer]))
    assert LogLine(number=1, kind="open", author="x", request=1).to_dict()["calls"] == []


def test_no_reading_of_a_task_shows_another_of_the_same_name_and_ids(
    graph: graphmem.Graph, connection: Connection, space: graphmem.Space
) -> None:
    other = graph.space(f"{space.name}-other")
    try:
        for where in (space, other):
            with where.task("t").request(f"asked in {where.name}!") as request:
                call(request, f"raw of {where.name}!", add("a"))
                act(request, add("b", (Relation.DERIVES, "obs:1.1"), value={"in": f"{where.name}!"}), message="done")
        told = [str(read(connection, space.name, "t")) for read in (inspect.states, inspect.requests, inspect.tree)]
        for id_ in ("b", "obs:1.1"):
            told += [
                str(read(connection, space.name, "t", id_)) for read in (inspect.show, inspect.why, inspect.impact)
            ]
        told += [str(inspect.blame(connection, space.name, "t", "b")), str(space.task("t").at(3).path())]
        told += [str(inspect.search(connection, space.name, "t", other.name))]
        log = inspect.log(connection, space.name, "t")
        assert len(log) == 4
        assert f"{other.name}!" not in f"{told}{log}"
        assert all(f"{space.name}!" in text for text in told[1:4])
    finally:
        other.forget()
