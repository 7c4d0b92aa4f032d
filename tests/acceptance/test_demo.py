"""The demo from end to end, on a real server: the story happens, what it says can be typed, no run touches another."""

import json
from typing import LiteralString

import pytest

import graphmem
from graphmem import inspect
from graphmem.agent import demo, run
from graphmem.agent.script import SCENES
from graphmem.agent.story import Story, say
from graphmem.agent.telling import DemoReport
from graphmem.errors import StoryError
from graphmem.llm.chat import ScriptedModel
from graphmem.state.values import StepResult
from graphmem.store import Connection
from graphmem.store.queries import literal


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def report(graph: graphmem.Graph, space: graphmem.Space, told: list[str]) -> DemoReport:
    return demo.run(graph, space.name, write=told.append)


def rows(connection: Connection, text: LiteralString, space: str = "", task: str = "") -> list[dict[str, object]]:
    return connection.run("tests/demo", text, {"space": space, "task": f"{space}/{task}"})


def test_the_demo_has_the_size_that_was_promised(report: DemoReport) -> None:
    assert 6 <= report.requests <= 8
    assert 30 <= len(report.steps) <= 50
    assert {step.request for step in report.steps} == set(range(1, report.requests + 1))
    assert report.tokens_shown < report.tokens_full


def test_the_demo_says_one_line_a_step_and_what_to_type_next(report: DemoReport, told: list[str]) -> None:
    for step in report.steps:
        assert sum(line.startswith(f"{step.step:>4}  ") for line in told) == 1
    assert len(report.commands) == 7
    assert len(report.queries) == 2
    assert {line.strip() for line in told} >= {*report.commands}
    words = " ".join(" ".join(told).split())
    assert all(query in words for query in report.queries)


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_what_the_demo_says_fits_the_terminal(graph: graphmem.Graph, space: graphmem.Space, columns: int) -> None:
    told: list[str] = []
    report = demo.run(graph, space.name, "t", write=told.append, columns=columns)
    whole = {*report.commands}
    lines = [line for text in told for line in text.split("\n") if line.strip() not in whole]
    # A word of a query that is longer than the terminal is not broken.
    assert [line for line in lines if len(line) > columns and " " in line.strip()] == []


def test_the_demo_first_says_what_its_signs_mean_and_that_no_model_is_called(
    report: DemoReport, told: list[str]
) -> None:
    beginning = " ".join(told[: told.index(next(line for line in told if "request 1" in line))])
    for part in ("no model is called", "(+)", "(~)", "(-)", "(!)", "tokens of the prompt", report.task):
        assert part in beginning


def test_a_step_is_told_by_its_number_in_the_ledger(report: DemoReport, connection: Connection) -> None:
    ledger = {line.number: line for line in inspect.log(connection, report.space, report.task)}
    assert [(step.step, step.request) for step in report.steps] == [
        (line.number, line.request) for line in ledger.values() if line.kind in ("step", "refused")
    ]
    assert all(step.added == len(ledger[step.step].added) for step in report.steps)


def test_the_numbers_of_the_report_are_those_of_the_graph(
    report: DemoReport, connection: Connection, space: graphmem.Space
) -> None:
    counted = rows(
        connection,
        "RETURN COUNT { MATCH (:Live {space: $p.space, task: $p.task}) } AS states, "
        "COUNT { MATCH (:RawObservation {space: $p.space, task: $p.task}) } AS results, "
        "COUNT { MATCH (s:Step {space: $p.space, task: $p.task}) WHERE s.kind IN ['step', 'refused'] } AS steps, "
        "COUNT { MATCH (:Request {space: $p.space, task: $p.task}) } AS requests",
        space.name,
        report.task,
    )[0]
    assert counted == {
        "states": report.states,
        "results": report.raw_results,
        "steps": len(report.steps),
        "requests": report.requests + 1,  # one is left open
    }


def test_the_revisited_decision_reaches_the_raw_text_of_the_policy(
    report: DemoReport, connection: Connection, space: graphmem.Space
) -> None:
    found = rows(
        connection,
        "MATCH (d8:Judgement {live_key: $p.task + '/state:d8-keep-hotel-a'})-[:SUPERSEDES]->"
        "(d7:Judgement {id: 'd7-book-hotel-a'})-[:DERIVES]->(e4:Knowledge)-[:DERIVES]->(raw:RawObservation) "
        "WHERE raw.tool = 'read_policy' RETURN d8.value AS value, raw.content AS policy, e4.id AS id",
        space.name,
        report.task,
    )
    assert [row["id"] for row in found] == ["e4-cancellation-a"]
    value = json.loads(str(found[0]["value"]))
    assert (value["keeping_usd"], value["switching_usd"]) == (200, 240)
    assert "a fee of 80 USD is kept" in str(found[0]["policy"])


def test_the_way_to_the_policy_leads_through_index_relation_and_evidence(report: DemoReport) -> None:
    steps = [step for step in report.steps if step.request == 6]
    assert [step.disclosed[0] for step in steps if step.disclosed] == [
        "d7-book-hotel-a",
        "e4-cancellation-a",
        "obs:2.1",
    ]
    assert any(why.startswith("access obs:2.1: ") for why in steps[0].rejected)
    assert any(not step.acts and step.disclosed and not step.added for step in steps)


def test_every_kind_of_refusal_and_repair_occurs(report: DemoReport) -> None:
    rejected = [why for step in report.steps for why in step.rejected]
    for beginning in ("add d2-flights: ", "update p1-trip: ", "access obs:2.1: ", "the whole output: "):
        assert sum(why.startswith(beginning) for why in rejected) == 1
    assert len(rejected) == 4
    repairs = " ".join(repair for step in report.steps for repair in step.repairs)
    assert "code fence" in repairs
    assert "trailing comma" in repairs


def test_the_retimed_flight_supersedes_what_was_booked(
    report: DemoReport, connection: Connection, space: graphmem.Space
) -> None:
    found = rows(
        connection,
        "MATCH (new {live_key: $p.task + '/state:e19-flight-out-retimed'})-[:SUPERSEDES]->(old) "
        "RETURN old.id AS id, old.value AS old, new.value AS new",
        space.name,
        report.task,
    )
    assert [row["id"] for row in found] == ["e11-flight-out"]
    assert json.loads(str(found[0]["old"]))["departs"] != json.loads(str(found[0]["new"]))["departs"]


def test_the_queries_to_paste_run_as_they_stand_and_find_the_run(report: DemoReport, connection: Connection) -> None:
    picture, evidence = (rows(connection, literal(query)) for query in report.queries)
    assert len(picture) > report.states
    assert len(evidence) > 4


def test_a_second_run_makes_a_task_of_its_own_and_leaves_the_first_alone(
    graph: graphmem.Graph, space: graphmem.Space, connection: Connection, report: DemoReport
) -> None:
    first: LiteralString = "MATCH (n {space: $p.space, task: $p.task}) RETURN count(n) AS nodes"
    before = rows(connection, first, space.name, report.task)
    again = demo.run(graph, space.name, write=lambda _line: None)
    assert (report.task, again.task) == ("oslo-trip", "oslo-trip-2")
    assert rows(connection, first, space.name, report.task) == before
    assert [step.call for step in again.steps] == [step.call for step in report.steps]
    assert [step.tokens_shown for step in again.steps] == [step.tokens_shown for step in report.steps]


def test_a_run_that_was_interrupted_is_left_open_and_the_next_takes_another_task(
    graph: graphmem.Graph, space: graphmem.Space
) -> None:
    def interrupt(line: str) -> None:
        if line.startswith("  13  "):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        demo.run(graph, space.name, write=interrupt)
    assert demo.run(graph, space.name, write=lambda _line: None).task == "oslo-trip-2"
    assert space.task("oslo-trip").open_request().number == 2


def test_as_json_the_report_is_all_that_is_written(graph: graphmem.Graph, space: graphmem.Space) -> None:
    written: list[str] = []
    report = demo.run(graph, space.name, "json", write=written.append, as_json=True)
    assert len(written) == 1
    assert json.loads(written[0]) == json.loads(json.dumps(report.to_dict()))
    assert report.task == "json"


def test_the_story_does_not_go_on_where_the_store_answers_otherwise() -> None:
    said = say(access={"d7": "why"}, rejects=["access obs:2.1"])
    with pytest.raises(StoryError, match="rejected"):
        said.check(StepResult(step=1, version=1, disclosed=("d7",)))


def test_the_story_ends_where_the_prompt_lacks_what_it_needs(space: graphmem.Space) -> None:
    task = space.task("empty")
    run(task, "nothing happens", ScriptedModel(['<assistant_message>{"content": "done"}</assistant_message>']), {})
    with pytest.raises(StoryError, match="d7-"):
        run(task, SCENES[5].text, Story([SCENES[5].part]), {})


def test_the_wrong_turn_is_caught_and_its_booking_stays_where_the_world_stands(report: DemoReport) -> None:
    unchanged, restored = report.branches.turns
    assert "conditions were not read" in unchanged.feedback
    assert (unchanged.left, unchanged.kept) == (("j1-choice",), ("b1-booking",))
    assert unchanged.irreversible[0].startswith("book_hotel")
    assert set(restored.left) == {"k1-offers", "j1-choice", "b1-booking"}
    assert unchanged.spent_usd - restored.spent_usd == 190


def test_the_fork_goes_its_own_way(report: DemoReport, space: graphmem.Space) -> None:
    fork = space.task(report.branches.fork)
    origin = fork.origin()
    assert origin is not None
    assert (origin.task, origin.step) == (report.branches.turns[0].task, report.branches.forked_at)
    assert "hotel-d" in fork.path().summaries[-1].text
    assert "hotel-d" not in space.task(origin.task).path().text()
