"""`record`: the messages of a chat loop as a task, whenever and however often they are given."""

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

import graphmem
from graphmem import Recorded, record
from graphmem.exchange import Round, Run, Turn, record_run
from graphmem.exchange.writer import NO_ANSWER
from tests.acceptance.recorded import booking, long_conversation, picture, result, says, user

pytestmark = pytest.mark.usefixtures("sound")


def test_a_conversation_becomes_requests_trace_nodes_raw_results_and_states(
    graph: graphmem.Graph, space: graphmem.Space
) -> None:
    task = space.task("t")
    new = record(task, booking())
    assert (new.requests, new.turns, new.results, new.awaited, new.states > 0) == (6, 8, 5, 1, True)
    seen = picture(graph, task)
    assert [(r["text"], r["finished_step"] is not None) for r in seen["requests"]] == [
        ("I am mia_li_3668; change my flight.", True),
        ("The 24th", True),
        ("of May, I mean.", True),
        ("(the assistant went on)", True),
        ("Cancel it all.", True),
        ("Stop!", False),
    ]
    contents = [m["content"] for m in booking() if m["role"] == "tool"]
    assert [raw["content"] for raw in seen["raw"]] == [contents[1], contents[0], contents[2], None, contents[3]]
    assert [s["message"] for s in seen["steps"] if s["kind"] == "step" and s["message"]] == [
        "Which day?",
        NO_ANSWER,
        "It is done.",
        "Anything else?",
        NO_ANSWER,
    ]
    pending = task.open_request().status().pending
    assert pending is not None
    assert [(call.name, call.arguments) for call in pending.calls] == [("think", {"thought": "hm"})]


def test_status_path_and_why_work_on_what_was_recorded(graph: graphmem.Graph, space: graphmem.Space) -> None:
    from graphmem.inspect import why

    task = space.task("t")
    record(task, [*booking()[:7], says(None, ("x", "get_price", {"id": "H9ZU1C"})), result("x", '{"price": 174}')])
    status = task.open_request().status()
    assert status.query == "The 24th"
    assert status.observation[0].content == '{"price": 174}'
    assert [entry.text for entry in status.index] == ["I am mia_li_3668; change my flight."]
    path = task.path()
    assert ([s.text for s in path.summaries], len(path.recent)) == (["Which day?"], 1)
    reasons = [why(graph.connection, space.name, "t", state.id).to_dict() for state in task.now().states()]
    assert any('"obs:1.2"' in json.dumps(reason) for reason in reasons)


def test_a_conversation_recorded_as_it_grows_is_the_one_recorded_whole(
    graph: graphmem.Graph, space: graphmem.Space
) -> None:
    whole, grown = space.task("whole"), space.task("grown")
    messages = booking()
    total = record(whole, messages)
    parts = [record(grown, messages[:end]) for end in range(len(messages) + 1)]
    assert sum(parts, Recorded()).results == total.results
    assert sum(part.turns for part in parts) == total.turns
    assert picture(graph, grown) == picture(graph, whole)


@pytest.mark.parametrize("seed", range(4))
def test_a_conversation_cut_anywhere_and_given_to_new_processes_is_the_same(
    graph: graphmem.Graph, server_env: Mapping[str, str], space: graphmem.Space, seed: int
) -> None:
    drawn = random.Random(seed)
    messages = long_conversation(30, seed=seed)
    whole, cut = space.task("whole"), space.task("cut")
    record(whole, messages)
    ends = sorted(drawn.randrange(len(messages)) for _ in range(4))
    for end in (*ends, len(messages)):
        with graphmem.connect(
            server_env["GRAPHMEM_URI"], server_env["GRAPHMEM_USER"], server_env["GRAPHMEM_PASSWORD"]
        ) as other:  # a connection of its own remembers nothing
            record(other.space(space.name).task("cut"), messages[:end])
    assert picture(graph, cut) == picture(graph, whole)


def test_what_is_recorded_is_not_written_again(graph: graphmem.Graph, space: graphmem.Space) -> None:
    task = space.task("t")
    record(task, booking())
    before = picture(graph, task)
    for end in (0, 2, 9, len(booking())):
        assert not record(task, booking()[:end])
    assert picture(graph, task) == before


def test_what_is_known_in_one_process_is_not_looked_for(server_env: Mapping[str, str], space: graphmem.Space) -> None:
    names: list[str] = []
    with graphmem.connect(
        server_env["GRAPHMEM_URI"],
        server_env["GRAPHMEM_USER"],
        server_env["GRAPHMEM_PASSWORD"],
        trace=lambda name, _rows, _milliseconds: names.append(name),
    ) as other:
        task = other.space(space.name).task("t")
        messages = long_conversation(20)
        record(task, messages)
        names.clear()
        record(task, messages)
        assert names == []
        record(task, [*messages, user("more"), says(None, ("z", "find", {})), result("z", "found")])
        assert [name for name in names if name != "task/step"][-3:] == [
            "task/open_request",
            "task/status",
            "task/observe",
        ]
        assert "exchange/find_recorded" not in names


def test_a_place_among_many_is_found_by_few_reads(server_env: Mapping[str, str], space: graphmem.Space) -> None:
    messages = long_conversation(80)
    names: list[str] = []
    record(space.task("t"), messages)
    with graphmem.connect(
        server_env["GRAPHMEM_URI"],
        server_env["GRAPHMEM_USER"],
        server_env["GRAPHMEM_PASSWORD"],
        trace=lambda name, _rows, _milliseconds: names.append(name),
    ) as other:
        assert not record(other.space(space.name).task("t"), messages)
    assert names.count("exchange/find_recorded") <= 5
    assert {name for name in names if name.startswith("task/")} == set()


@pytest.mark.parametrize(
    ("change", "position"),
    [
        (lambda m: [user("Somebody else"), *m[2:]], 0),
        (lambda m: [*m[:2], says("Let me see."), *m[5:]], 2),
        (lambda m: [*m[:3], result("b", "{}"), *m[4:]], 2),
        (lambda m: [*m[:5], says("Which year?"), *m[6:]], 5),
        (lambda m: [*m[:6], user("The 25th"), *m[7:]], 6),
        (lambda m: [*m[:8], says("No."), *m[8:]], 8),
    ],
    ids=["request", "turn", "result", "answer", "next-request", "inserted"],
)
def test_messages_that_differ_are_refused_from_where_they_do(
    graph: graphmem.Graph, space: graphmem.Space, change: Any, position: int
) -> None:
    task = space.task("t")
    record(task, booking())
    before = picture(graph, task)
    with pytest.raises(graphmem.RunDiffersError, match=f"from message {position} on") as caught:
        record(task, change(booking()))
    assert caught.value.position == position
    assert "name it by run=" in str(caught.value)
    assert picture(graph, task) == before


def test_other_results_for_the_last_calls_are_refused(space: graphmem.Space) -> None:
    task = space.task("t")
    asked = [user("q"), says(None, ("a", "get", {}))]
    record(task, [*asked, result("a", "1")])
    with pytest.raises(graphmem.RunDiffersError, match="from message 1 on"):
        record(task, [*asked, result("a", "2")])


def test_a_task_that_holds_something_else_is_not_taken(space: graphmem.Space) -> None:
    task = space.task("t")
    with task.request("by hand") as request:
        request.step(request.status(), graphmem.StepOutput(message="done"))
    with pytest.raises(graphmem.RunDiffersError, match="the task holds something else"):
        record(task, [user("q")])
    assert record(task, [user("q"), says("a")], run="chat").requests == 1


def test_conversations_with_names_follow_one_another(graph: graphmem.Graph, space: graphmem.Space) -> None:
    task = space.task("t")
    record(task, [user("one"), says("a")], run="monday")
    record(task, [user("one"), says("a")], run="tuesday")
    assert not record(task, [user("one"), says("a")], run="monday")
    assert [r["text"] for r in picture(graph, task)["requests"]] == ["one", "one"]
    record(task, [user("one"), says("a"), user("open")], run="tuesday")
    with pytest.raises(graphmem.RequestOpenError):
        record(task, [user("three")], run="wednesday")


def test_nothing_is_written_of_messages_that_cannot_be_read(graph: graphmem.Graph, space: graphmem.Space) -> None:
    task = space.task("t")
    with pytest.raises(graphmem.UnreadableRunError, match="message 2"):
        record(task, [user("q"), says("a"), {"role": "critic"}])
    with pytest.raises(graphmem.LimitError, match="message 1: a result"):
        record(task, [user("q"), says(None, ("a", "get", {})), result("a", "x" * (1 << 20) + "x")])
    assert picture(graph, task)["steps"] == []


def test_a_result_of_a_mebibyte_comes_back_byte_for_byte(graph: graphmem.Graph, space: graphmem.Space) -> None:
    task = space.task("t")
    large = ("é\r\n" * (1 << 18))[: (1 << 20) // 4 * 3]
    assert len(large.encode()) == 1 << 20
    record(task, [user("q"), says(None, ("a", "get", {})), result("a", large), says("done")])
    assert [raw["content"] for raw in picture(graph, task)["raw"]] == [large]


def test_calls_named_like_our_own_are_calls_of_tools(graph: graphmem.Graph, space: graphmem.Space) -> None:
    task = space.task("t")
    record(task, [user("q"), says(None, ("a", "revise", {"to": 1}), ("b", "compress", {}))])
    record(
        task,
        [user("q"), says(None, ("a", "revise", {"to": 1}), ("b", "compress", {})), result("a", "1"), result("b", "2")],
    )
    assert [raw["tool"] for raw in picture(graph, task)["raw"]] == ["revise", "compress"]


def test_a_run_goes_on_after_a_revise_of_its_own(space: graphmem.Space, graph: graphmem.Graph) -> None:
    task = space.task("t")
    messages = [user("q"), says(None, ("a", "get", {})), result("a", "1")]
    record(task, messages)
    task.revise(feedback="look elsewhere")
    messages += [says(None, ("b", "get", {"where": "there"})), result("b", "2"), says("done")]
    new = record(task, messages)
    assert (new.requests, new.turns, new.results, new.awaited) == (0, 2, 1, 0)
    assert [(n["number"], n["parent"]) for n in picture(graph, task)["tree"]] == [(0, None), (1, 0), (2, 0)]


def test_a_fork_of_a_recorded_task_goes_on_with_messages_of_its_own(
    graph: graphmem.Graph, space: graphmem.Space
) -> None:
    task = space.task("t")
    shared = [user("q"), says(None, ("a", "get", {})), result("a", "1"), says("one"), user("more")]
    record(task, [*shared, says(None, ("b", "get", {"b": 1})), result("b", "2"), says("two")])
    before = picture(graph, task)
    at = next(s["number"] for s in before["steps"] if s["kind"] == "open" and s["message"] == "more")
    fork = task.fork("fork", at=at)
    other = [*shared, says(None, ("c", "get", {"c": 1})), result("c", "3"), says("three")]
    new = record(fork, other)
    assert (new.requests, new.turns, new.results) == (0, 2, 1)
    assert not record(fork, other)
    assert [s["message"] for s in picture(graph, fork)["steps"] if s["message"]] == ["three"]
    assert picture(graph, task) == before
    for messages, position in (([*shared[:3], says("1"), *other[4:]], 3), ([*other[:5], says("no")], 5)):
        with pytest.raises(graphmem.RunDiffersError, match=f"from message {position} on"):
            record(fork, messages)


def test_a_redactor_sees_everything_before_it_is_hashed_or_written(
    server_env: Mapping[str, str], graph: graphmem.Graph, space: graphmem.Space
) -> None:
    def connect() -> graphmem.Graph:
        return graphmem.connect(
            server_env["GRAPHMEM_URI"],
            server_env["GRAPHMEM_USER"],
            server_env["GRAPHMEM_PASSWORD"],
            redact=lambda text: text.replace("hunter2", "***"),
        )

    messages = [user("I am hunter2"), says("so", ("a", "get", {"pass": "hunter2"})), result("a", "hunter2!")]
    for end in (2, 3, 3):
        with connect() as other:
            record(other.space(space.name).task("t"), messages[:end])
    clean = json.loads(json.dumps(messages).replace("hunter2", "***"))
    assert not record(space.task("t"), clean)
    assert "hunter2" not in json.dumps(picture(graph, space.task("t")))


@pytest.mark.parametrize("off", ["isu", "psa", "compress", "maintain", "revise", "isolate_states"])
def test_a_task_without_a_mechanism_records_the_same_run(
    graph: graphmem.Graph, space: graphmem.Space, off: str
) -> None:
    mechanisms: dict[str, Any] = {off: False}
    whole, grown = space.task("whole", **mechanisms), space.task("grown", **mechanisms)
    total = record(whole, booking())
    for end in range(len(booking()) + 1):
        record(grown, booking()[:end])
    assert (total.requests, total.turns, total.results) == (6, 8, 5)
    assert picture(graph, grown) == picture(graph, whole)


@pytest.mark.parametrize("isu", [True, False])
def test_turns_of_several_agents_that_call_nothing_are_kept_with_who_spoke(
    graph: graphmem.Graph, space: graphmem.Space, isu: bool
) -> None:
    turns = (
        Turn(text="Plan it.", author="lead"),
        Turn(text="Done.", author="coder"),
        Turn(text="Good.", author="lead"),
    )
    run = Run(task="t", rounds=(Round(text="q", turns=turns, is_answered=True),))
    new = record_run(space.task("t", isu=isu), run)
    assert (new.requests, new.turns, new.results) == (1, 3, 0)
    steps = picture(graph, space.task("t"))["steps"]
    assert [(s["author"], s["message"]) for s in steps[1:]] == [("lead", None), ("coder", None), ("lead", "Good.")]
    assert [text in step["output"] for text, step in zip(("Plan it.", "Done."), steps[1:], strict=False)] == [True] * 2
    assert not record_run(space.task("t"), run)


def test_long_words_are_in_the_ledger_and_not_in_a_state_as_well(graph: graphmem.Graph, space: graphmem.Space) -> None:
    task = space.task("t")
    asked, answered = "please " * 430_000, "so it is; " * 320_000
    new = record(task, [user(asked), says(answered)])
    assert (new.requests, new.turns, new.states) == (1, 1, 2)
    seen = picture(graph, task)
    assert [request["text"] for request in seen["requests"]] == [asked]
    assert [step["message"] for step in seen["steps"] if step["kind"] == "step"] == [answered]
    assert [state.value for state in task.now().states()] == [None, None]
