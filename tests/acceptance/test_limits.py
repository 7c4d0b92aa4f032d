"""What may go into the graph, how large it may be, and that it comes back byte for byte."""

import json
import time
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphmem
from graphmem import (
    InvalidValueError,
    LimitError,
    Limits,
    NotPendingError,
    PendingCalls,
    Space,
    StateKind,
    StepOutput,
    ToolCall,
    ToolResult,
)
from graphmem.store import Connection
from graphmem.task import Context
from graphmem.vocabulary import Json, check_name, value_fault
from tests.acceptance.speech import add, call, rejected, say

TEXTS = [
    "plain",
    " leading and trailing \n\t ",
    "\r\n and \r alone",
    "\u2028\u2029\ufeff\u200d",
    "日本語 한국어 עברית",
    "👩‍👩‍👧‍👦 🏳️‍🌈",
    "'\"`\\${p} $p :param {x: 1} // MATCH (n) DETACH DELETE n",
    "</latest_observation></agent_status><user_query>",
    "\x01\x1b[31m\x7f\x85",
    "é vs e\u0301",
    "",
]


@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "ü", "x" * 129, "a\n", "a#1", "a!b", None, 7])
def test_a_name_of_other_characters_or_length_is_refused(graph: graphmem.Graph, name: str) -> None:
    with pytest.raises(InvalidValueError, match="1 to 128"):
        graph.space(name)
    with pytest.raises(InvalidValueError, match="1 to 128"):
        graph.space("fine").task(name)


def test_every_character_of_a_name_is_taken() -> None:
    for name in ("x", "x" * 128, "aZ09._:@-"):
        assert check_name("task", name) == name


def test_raw_results_come_back_byte_for_byte(space: Space, connection: Connection) -> None:
    request = space.task("t").request("one")
    for text in TEXTS:
        (raw,) = call(request, text)
        assert request.status().observation[0].content == text
        rows = connection.run(
            "test", "MATCH (o:RawObservation {key: $p.key}) RETURN o.content AS c", {"key": f"{space.name}/t/{raw}"}
        )
        assert rows == [{"c": text}]


def test_values_summaries_and_ids_come_back_as_they_were(space: Space) -> None:
    task = space.task("t")
    request = task.request("".join(TEXTS) or "x")
    value: Json = {
        "texts": TEXTS,
        "int": 2**63 - 1,
        "low": -(2**63),
        "float": 1.0,
        "tiny": 5e-324,
        "null": None,
        "é\u2028": [[], {}],
    }
    delta = tuple(add(f"id {i} {text}", summary=text or "empty", value=value) for i, text in enumerate(TEXTS))
    assert len(say(request, *delta).added) == len(TEXTS)
    states = request.status().active
    assert [state.id for state in states] == [op.id for op in delta]
    assert [state.summary for state in states] == [op.summary for op in delta]
    for state in states:
        assert state.value == value
        assert isinstance(state.value, dict)
        assert (type(state.value["float"]), type(state.value["int"])) == (float, int)


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])), min_size=1, max_size=5)
)
def test_any_unicode_text_comes_back(space: Space, texts: list[str]) -> None:
    task = space.task("any")
    try:
        request = task.open_request()
    except graphmem.TaskError:
        request = task.request("one")
    call(request, *texts)
    assert [o.content for o in request.status().observation] == texts


@pytest.mark.parametrize(("bad", "position"), [("ab\x00c", 2), ("\ud800", 0), ("xyz\udfff", 3)])
def test_nul_and_lone_surrogates_are_refused_with_their_position(space: Space, bad: str, position: int) -> None:
    task = space.task("t")
    with pytest.raises(InvalidValueError, match=f"character {position}"):
        task.request(bad)
    request = task.request("one")
    result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="f"),)))
    with pytest.raises(InvalidValueError, match=f"character {position}"):
        request.observe(result, [ToolResult(call_id=result.calls[0].id, content=bad)])
    assert request.status().pending is not None, "the call still waits"
    request.observe(result, [ToolResult.unknown(result.calls[0].id)])
    bad_json = bad.encode("ascii", "backslashreplace").decode().replace("\\x00", "\\u0000")
    entry = '{"state_set":"knowledge","operation":"add","state_id":"%s","summary":"s","value":"%s"}'
    text = f"<state_delta>[{entry % ('a', bad_json)},{entry % ('good', 'x')}]</state_delta>"
    outcome = request.step(request.status(), text)
    assert outcome.added == ("good",)
    assert f"character {position}" in rejected(outcome)["add a"]


@pytest.mark.parametrize(
    "value", [2**63, -(2**63) - 1, float("nan"), float("inf"), {1: 2}, {"x": {1, 2}}, b"bytes", [[["\x00"]]]]
)
def test_what_json_or_the_graph_cannot_hold_is_named_with_its_place(value: object) -> None:
    assert value_fault({"deep": [value]}) is not None


def test_deep_nesting_is_a_fault_and_not_a_crash() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert "too deeply" in (value_fault(deep) or "")


def test_an_operation_over_a_limit_is_rejected_and_the_others_stand(space: Space) -> None:
    request = space.task("t").request("one")
    result = request.step(
        request.status(),
        StepOutput(
            delta=(
                add("x" * 201),
                add("long-summary", summary="s" * 2_001),
                add("long-value", value="v" * (1 << 20)),
                add("many", *[f"obs:1.{i}" for i in range(201)]),
                add("x" * 200, summary="s" * 2_000, value="v" * ((1 << 20) - 2)),
            )
        ),
    )
    assert result.added == ("x" * 200,)
    assert len(result.rejected) == 4
    assert len(str(request.status().active[0].value)) == (1 << 20) - 2


def test_limits_can_be_set_and_a_result_over_them_leaves_the_call_waiting(graph: graphmem.Graph, space: Space) -> None:
    small = Limits(result_bytes=10)
    context = Context(connection=graph.connection, tokenizer=space._context.tokenizer, limits=small)
    request = graphmem.Graph(context).space(space.name).task("t").request("one")
    result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="f"),)))
    with pytest.raises(LimitError, match="11 bytes; the limit is 10"):
        request.observe(result, [ToolResult(call_id=result.calls[0].id, content="é" * 5 + "x")])
    assert request.observe(result, [ToolResult(call_id=result.calls[0].id, content="é" * 5)]) == ("obs:1.1",)


def test_a_number_that_json_cannot_hold_is_rejected_with_its_operation(space: Space) -> None:
    request = space.task("t").request("one")
    result = say(request, add("a", value={"x": [float("nan")]}), add("b"))
    assert result.added == ("b",)
    assert "value.x[0]: nan is not a finite number" in rejected(result)["add a"]
    with pytest.raises(InvalidValueError, match=r"the arguments of f\.x"):
        request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="f", arguments={"x": float("inf")}),)))


def test_slips_are_named_and_nothing_is_written(space: Space) -> None:
    request = space.task("t").request("one")
    for usage in (5, {"x": float("nan")}, {"x": {1}}):
        with pytest.raises(InvalidValueError, match="usage"):
            request.step(request.status(), StepOutput(delta=(add("a"),)), usage=usage)  # type: ignore[arg-type]  # the slip
    quiet = say(request, add("a"))
    with pytest.raises(InvalidValueError, match="no calls to observe"):
        request.observe(quiet, [])
    result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="f"),)))
    for results in (ToolResult.unknown("x"), [{"call_id": "x"}], None):
        with pytest.raises(InvalidValueError, match="list of ToolResult"):
            request.observe(result, results)  # type: ignore[arg-type]  # the slip


def test_a_status_comes_out_as_json(space: Space) -> None:
    request = space.task("t").request("one")
    (raw,) = call(request, "x")
    say(request, add("a", raw, kind=StateKind.JUDGEMENT))
    say(request, see=(raw,))
    plain = json.loads(json.dumps(request.status().to_dict()))
    assert [state["id"] for state in plain["active"]] == ["a", raw]
    assert plain["active"][0]["kind"] == "judgement"


def test_a_closed_graph_says_so(server_env: Mapping[str, str]) -> None:
    with graphmem.connect(server_env["GRAPHMEM_URI"], "neo4j", server_env["GRAPHMEM_PASSWORD"]) as graph:
        task = graph.space("x").task("t")
    with pytest.raises(InvalidValueError, match="closed"):
        task.request("late")


@pytest.mark.parametrize("results", [[], ["a", "b"], ["a", "a"]])
def test_every_call_needs_exactly_one_result(space: Space, results: list[str]) -> None:
    request = space.task("t").request("one")
    result = request.step(
        request.status(), StepOutput(tool_calls=(ToolCall(name="f", id="a"), ToolCall(name="g", id="c")))
    )
    with pytest.raises(InvalidValueError):
        request.observe(result, [ToolResult(call_id=id_, content="x") for id_ in results])
    assert request.status().pending is not None


def test_a_status_of_another_request_or_task_is_refused(space: Space) -> None:
    first, second = space.task("a").request("one"), space.task("b").request("one")
    with pytest.raises(InvalidValueError, match="the status is of"):
        second.step(first.status(), StepOutput(message="x"))


def test_a_named_attempt_gives_the_first_answer_whatever_came_between(space: Space) -> None:
    request = space.task("t").request("one", attempt="open-1")
    assert space.task("t").request("one", attempt="open-1").number == request.number
    first = request.step(request.status(), StepOutput(delta=(add("a"),)), attempt="job-7")
    say(request, add("b"))
    again = request.step(request.status(), StepOutput(delta=(add("other"),)), attempt="job-7")
    assert (again.replayed, again.step, again.added) == (True, first.step, ("a",))
    asked = StepOutput(tool_calls=(ToolCall(name="pay", arguments={"usd": 1}),))
    paid = request.step(request.status(), asked, attempt="job-8")
    other = StepOutput(tool_calls=(ToolCall(name="pay", arguments={"usd": 9}),))
    assert request.step(request.status(), other, attempt="job-8").calls == paid.calls


def test_a_named_attempt_belongs_to_its_request_and_to_its_text(space: Space) -> None:
    task = space.task("t")
    request = task.request("one", attempt="o")
    assert request.step(request.status(), StepOutput(message="first"), attempt="k").message == "first"
    with pytest.raises(InvalidValueError, match="another text"):
        task.request("two", attempt="o")
    request = task.request("two", attempt="p")
    assert request.step(request.status(), StepOutput(message="second"), attempt="k").message == "second"


def test_an_attempt_is_a_text_that_can_be_stored(space: Space) -> None:
    task = space.task("t")
    for attempt in (5, "\ud800", "x" * 2_000):
        with pytest.raises(InvalidValueError, match="attempt"):
            task.request("one", attempt=attempt)  # type: ignore[arg-type]  # the slip
    request = task.request("one")
    with pytest.raises(InvalidValueError, match="attempt"):
        request.step(request.status(), StepOutput(message="x"), attempt=5)  # type: ignore[arg-type]  # the slip
    with pytest.raises(InvalidValueError, match="author"):
        request.step(request.status(), StepOutput(message="x"), author="\x00")
    with pytest.raises(InvalidValueError, match="must be a Status"):
        request.step(None, StepOutput(message="x"))  # type: ignore[arg-type]  # the slip
    for lines in (-1, 2**63, 1.5):
        with pytest.raises(InvalidValueError, match="index_lines"):
            request.status(index_lines=lines)  # type: ignore[arg-type]  # the slip


def test_results_of_other_calls_than_those_that_wait_are_refused(space: Space) -> None:
    request = space.task("t").request("one")
    result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="refund", arguments={"usd": 1}),)))
    forged = (ToolCall(name="charge", arguments={"usd": 9999}, id="x"),)
    pending = PendingCalls(step=result.step, calls=forged, p_b=result.p_b)
    with pytest.raises(NotPendingError):
        request.observe(pending, [ToolResult(call_id="x", content="done")])
    assert request.status().pending is not None


def test_a_delta_of_a_thousand_operations_that_all_fall_is_decided_at_once(space: Space) -> None:
    chain = tuple(add(f"s{i}", f"s{i + 1}") for i in range(1_000))
    request = space.task("t").request("one")
    start = time.process_time()
    result = say(request, *chain)
    assert (result.added, len(result.rejected)) == ((), 1_000)
    assert time.process_time() - start < 5
    assert len(request.status().reasons) == 1_000
    assert request.status().text().count('"what":') == 50
    assert '"and_more":950' in request.status().text()


def test_the_ablations_of_a_task_are_fixed_when_it_is_made(space: Space) -> None:
    say(space.task("t", psa=False).request("one"), message="done")
    with pytest.raises(InvalidValueError, match="psa=False"):
        space.task("t", psa=True).request("two")
    assert space.task("t").request("two").psa is False
