"""`graphmem measure`: what prompts would show of recorded runs, on a real graph that is as empty as before."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, LiteralString

import pytest
from click.testing import CliRunner

import graphmem
from graphmem.exchange.formats import read
from graphmem.exchange.measuring.figures import FULL, Measured, table
from graphmem.exchange.measuring.measure import at_budgets, measure, measure_files
from graphmem.llm.tokens import o200k
from graphmem_cli.group import cli

_LEFT: LiteralString = "MATCH (n) WHERE n.space STARTS WITH 'measure-' AND $p.space = '' RETURN count(n) AS number"


def _call(id_: str, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]}


def _trip() -> list[dict[str, Any]]:
    """A long list of hotels is read, other things are done, then one that is in the list is booked for a guest."""
    hotels = [
        {"hotel_id": f"H-{i}", "text": "quiet rooms by the sea " * 10, "rate_plan": f"flex{i}x"} for i in range(8)
    ]
    profile = {"guest": {"first_name": "Ada"}, "dob": "1990-04-05", "notes": "likes a quiet room on a high floor"}
    return [
        {"role": "user", "content": "Find hotels in Oslo"},
        _call("a", "search_hotels", city="Oslo"),
        {"role": "tool", "tool_call_id": "a", "content": json.dumps(hotels)},
        {"role": "assistant", "content": "There are eight, H-0 to H-7."},
        {"role": "user", "content": "Who am I?"},
        _call("b", "get_guest", guest_id="G-17"),
        {"role": "tool", "tool_call_id": "b", "content": json.dumps(profile)},
        {"role": "assistant", "content": "You are on file."},
        {"role": "user", "content": "Thanks. Is it far from the station, and what is the weather like there?"},
        {"role": "assistant", "content": "It is near, and 12 degrees."},
        {
            "role": "user",
            "content": "Then book the third one for me, please, for the person whom you have on file there.",
        },
        _call("c", "book_hotel", hotel_id="H-2", guest_id="G-17", dob="1990-04-05", city="Bergen"),
        {"role": "tool", "tool_call_id": "c", "content": "Error: no room"},
    ]


@pytest.fixture(scope="module")
def trip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "trip.json"
    path.write_text(json.dumps(_trip()), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def measured(trip: Path, graph: graphmem.Graph) -> Measured:
    return measure_files(graph, [trip], budgets=(0,), workers=2)


def _left(graph: graphmem.Graph) -> int:
    return int(graph.connection.run("tests/left", _LEFT, {"space": ""})[0]["number"])


def test_every_way_is_asked_about_the_same_moments_and_literals(measured: Measured) -> None:
    assert (measured.runs, measured.calls) == (1, 3)
    assert {(figure.moments, figure.literals) for figure in measured.figures} == {(3, 4)}
    assert measured.of(FULL).recall == 1.0


def test_what_the_index_names_needs_no_access_and_what_it_does_not_is_asked_for(measured: Measured) -> None:
    assert measured.of("FlowState, no access").missed_parameters == {"book_hotel.dob": 1}
    assert measured.of("FlowState").found == measured.of("FlowState, oracle access").found == 4
    assert measured.of("FlowState").asked >= 1
    assert measured.of("FlowState, no access").asked == 0


def test_a_prompt_is_shorter_than_the_history_where_results_are_long(measured: Measured) -> None:
    assert measured.of("FlowState").tokens < measured.of(FULL).tokens
    assert measured.of("FlowState, no access").tokens <= measured.of("FlowState").tokens


def test_without_states_what_was_read_in_an_earlier_request_is_not_in_view(measured: Measured) -> None:
    assert measured.of("FlowState without ISU").found < measured.of("FlowState").found
    assert measured.of("MAGE path").misses["result, an earlier request"] >= 1
    assert measured.of("both").recall >= measured.of("FlowState").recall


def test_an_index_of_nothing_names_nothing(measured: Measured) -> None:
    assert measured.of("FlowState, no access, index of 0").found < measured.of("FlowState, no access").found


def test_baselines_keep_to_the_budget_of_the_way_that_they_stand_beside(measured: Measured) -> None:
    for way in ("FlowState", "FlowState, no access"):
        for name in ("last messages", "BM25"):
            beside = measured.of(f"{name} at the budget of {way}")
            assert 0 < beside.tokens <= measured.of(way).tokens


def test_nothing_is_left_in_the_graph(graph: graphmem.Graph, trip: Path) -> None:
    measure_files(graph, [trip], limit=1)
    assert _left(graph) == 0
    empty = trip.with_name("empty.json")
    empty.write_text(json.dumps([{"role": "user", "content": "hello"}]), encoding="utf-8")
    assert measure_files(graph, [empty]).of(FULL).moments == 0
    assert _left(graph) == 0


def test_a_run_measured_twice_gives_the_same_figures(space: graphmem.Space, trip: Path) -> None:
    runs = list(read(trip))
    ways = at_budgets((100,))
    first = measure(space, runs, tokenizer=o200k(), ways=ways, name="a")
    assert measure(space, runs, tokenizer=o200k(), ways=ways, name="b").to_dict() == first.to_dict()
    task = space.task("a-1-1")
    assert [o.content for o in task.open_request().status().observation] == ["Error: no room"]


def test_the_command_tells_what_the_function_gives(
    server_env: Mapping[str, str], trip: Path, measured: Measured
) -> None:
    arguments = ["measure", str(trip), "--budget", "0", "--workers", "2"]
    answer = CliRunner().invoke(cli, [*arguments, "--json"], env=dict(server_env))
    assert answer.exit_code == 0
    assert json.loads(answer.stdout) == measured.to_dict() | {"unread": []}
    answer = CliRunner().invoke(cli, arguments, env=dict(server_env))
    assert answer.stdout.rstrip("\n") == table(measured)


def test_a_run_that_cannot_be_read_is_told_and_the_others_are_measured(
    server_env: Mapping[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "two.jsonl"
    bad = [{"role": "tool", "tool_call_id": "x", "content": "of no call"}]
    path.write_text(f"{json.dumps({'messages': bad})}\n{json.dumps({'messages': _trip()[:4]})}\n", encoding="utf-8")
    answer = CliRunner().invoke(cli, ["measure", str(path)], env=dict(server_env))
    assert (answer.exit_code, answer.stdout) == (1, "")
    answer = CliRunner().invoke(cli, ["measure", str(path), "--keep-going", "--json"], env=dict(server_env))
    assert answer.exit_code == 1
    told = json.loads(answer.stdout)
    assert (told["runs"], len(told["unread"])) == (1, 1)


def test_a_run_that_cannot_be_stored_is_an_error_that_leaves_nothing_and_waits_for_no_other(
    graph: graphmem.Graph, tmp_path: Path
) -> None:
    large = [*_trip()[:2], {"role": "tool", "tool_call_id": "a", "content": "x" * (2 << 20)}]
    path = tmp_path / "large.json"
    path.write_text(json.dumps([{"messages": large}, *[{"messages": _trip()}] * 40]), encoding="utf-8")
    with pytest.raises(graphmem.LimitError):
        measure_files(graph, [path])
    assert _left(graph) == 0
    faults: list[graphmem.UnreadableRunError] = []
    measured = measure_files(graph, [path], limit=3, on_fault=faults.append)
    assert (measured.runs, [fault.record for fault in faults]) == (2, [f"{path}, record 0"])
    assert _left(graph) == 0
