"""Steps and requests on a real server (FlowState, §2.3, Algorithm 1): taken, refused, written once, finished."""

from collections.abc import Mapping

import pytest

from graphmem import (
    Graph,
    NoOpenRequestError,
    NotFoundError,
    PendingCallsError,
    RequestClosedError,
    RequestOpenError,
    Space,
    StaleStatusError,
    StepOutput,
    ToolCall,
    ToolResult,
    connect,
)
from graphmem.errors import InvalidValueError, NotPendingError
from graphmem.store import Connection
from tests.acceptance.speech import access, active_ids, add, call, index_ids, say, update


def test_two_calls_of_one_output_cannot_share_an_id(space: Space) -> None:
    request = space.task("t").request("one")
    for ids in (("x", "x"), ("call:1.1", "")):
        calls = tuple(ToolCall(name="f", id=id_) for id_ in ids)
        with pytest.raises(InvalidValueError, match="not one call's own"):
            request.step(request.status(), StepOutput(tool_calls=calls))
    assert request.status().pending is None


def test_the_ledger_keeps_what_a_prompt_and_a_boundary_are_rebuilt_from(space: Space, connection: Connection) -> None:
    task = space.task("t")
    for number in range(1, 5):
        say(task.request(f"request {number}"), *([add("only")] if number == 1 else []), message=f"answer {number}")
    request = task.request("now")
    text = "<assistant_message>{'content': 'the answer'}</assistant_message>"
    call(request, "seen")
    request.step(request.status(index_lines=1), text, usage={"prompt_tokens": 7}, author="model-x")
    rows = connection.run(
        "test",
        "MATCH (s:Step {space: $p.space, kind: 'step'}) WITH s ORDER BY s.number DESC LIMIT 1 "
        "MATCH (top:SummaryNode {key: s.top}) "
        "RETURN s.fold AS fold, s.usage AS usage, s.author AS author, s.output AS output, "
        "s.about = top.key AS about, top.text AS text, top.verdict AS verdict, top.boundary AS boundary, "
        "s.p_t = top.key AS p_t",
        {"space": space.name},
    )
    assert rows == [
        {
            "fold": [1, 2, 3], "usage": '{"prompt_tokens":7}', "author": "model-x", "output": text, "about": True,
            "text": "the answer", "verdict": "unchecked", "boundary": 0, "p_t": True,
        }
    ]  # fmt: skip


def test_the_final_step_commits_its_delta_and_access_before_the_request_is_persisted(space: Space) -> None:
    task = space.task("t")
    say(task.request("one"), add("h"), message="done")
    request = task.request("two")
    status = request.status()
    output = StepOutput(delta=(add("last", "supports>h"),), access=access("h"), message="bye")
    result = request.step(status, output)
    assert (result.added, result.disclosed, result.finished) == (("last",), ("h",), True)
    again = request.step(status, output)
    assert (again.replayed, again.step, again.added) == (True, result.step, result.added)
    with pytest.raises(RequestClosedError):
        request.status()
    assert index_ids(task.request("three").status()) == {1: ["h"], 2: ["last"]}


def test_the_final_step_and_the_end_of_its_request_are_one_statement(
    server_env: Mapping[str, str], space: Space
) -> None:
    say(space.task("t").request("one"), add("h"), message="done")
    ran: list[str] = []
    login = (server_env["GRAPHMEM_URI"], server_env["GRAPHMEM_USER"], server_env["GRAPHMEM_PASSWORD"])
    with connect(*login, trace=lambda name, _rows, _ms: ran.append(name)) as graph:
        request = graph.space(space.name).task("t").request("two")
        status = request.status()
        ran.clear()
        request.step(status, StepOutput(delta=(add("last"),), access=access("h"), message="bye"))
    assert ran == ["task/step"]


def test_a_step_of_rejected_operations_is_a_step_and_an_empty_or_double_one_is_refused(space: Space) -> None:
    request = space.task("t").request("one")
    (raw,) = call(request, "seen")
    result = request.step(request.status(), StepOutput())
    assert result.refused is not None
    both = StepOutput(message="done", tool_calls=(ToolCall(name="look"),))
    assert "one decision" in (request.step(request.status(), both).refused or "")
    assert request.step(request.status(), "no block at all").refused is not None
    status = request.status()
    assert [o.id for o in status.observation] == [raw], "a refused output leaves the observation where it is"
    assert len(status.reasons) == 1
    result = say(request, update("nothing", summary="x"))
    assert (result.refused, result.committed, len(result.rejected)) == (None, (), 1)
    assert request.status().observation == ()


def test_strict_mode_takes_the_text_of_b3_and_nothing_else(space: Space) -> None:
    request = space.task("t").request("one")
    text = (
        "<state_focus>\n[]\n</state_focus>\n<state_delta>\n"
        '[{"state_set": "artifacts", "operation": "add", "state_id": "plan", "summary": "a plan", '
        '"value": {}, "refs": []}]\n'
        '</state_delta>\n<tool_calls>\n[]\n</tool_calls>\n<assistant_message>\n{"content": null}\n</assistant_message>'
    )
    assert request.step(request.status(), text, strict=True).added == ("plan",)
    fenced = f"```text\n{text.replace('plan', 'other')}\n```"
    assert request.step(request.status(), fenced, strict=True).refused is not None
    lenient = request.step(request.status(), fenced)
    assert (lenient.added, bool(lenient.repairs)) == (("other",), True)


def test_a_status_read_before_another_writers_step_cannot_be_answered(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    stale = request.status()
    say(task.open_request(), add("theirs"))
    with pytest.raises(StaleStatusError):
        request.step(stale, StepOutput(delta=(add("mine"),)))
    assert active_ids(request.status()) == ["theirs"]


def test_the_order_of_keys_in_arguments_does_not_count_and_a_number_and_its_float_differ() -> None:
    from graphmem.trace import content_hash

    def hashed(arguments: dict[str, object], content: str = "r") -> str:
        return content_hash([ToolCall(name="f", arguments=arguments)], [content])  # type: ignore[arg-type]  # JSON all the same

    assert hashed({"a": 1, "b": {"x": 1, "y": 2}}) == hashed({"b": {"y": 2, "x": 1}, "a": 1})
    assert hashed({"a": 1}) != hashed({"a": 1.0})
    assert hashed({"a": 1}) != hashed({"a": "1"})
    assert hashed({}, "r") != hashed({}, "r ")


def test_two_identical_consecutive_actions_make_two_nodes(space: Space) -> None:
    request = space.task("t").request("one")
    assert call(request, "same") == ("obs:1.1",)
    assert call(request, "same") == ("obs:2.1",)


def test_a_step_while_calls_are_pending_is_refused_and_a_crash_leaves_them_pending(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="pay", arguments={"usd": 80}),)))
    with pytest.raises(PendingCallsError):
        request.step(request.status(), StepOutput(message="done"))
    resumed = task.open_request()
    pending = resumed.status().pending
    assert pending is not None
    assert pending.calls == result.calls
    assert "pay" in resumed.status().text()
    (raw,) = resumed.observe(pending, [ToolResult.unknown(pending.calls[0].id)])
    status = resumed.status()
    assert (status.pending, status.observation[0].content) == (None, None)
    assert "outcome unknown" in status.text()
    assert resumed.observe(pending, [ToolResult.unknown(pending.calls[0].id)]) == (raw,)
    with pytest.raises(NotPendingError):
        resumed.observe(pending, [ToolResult(call_id=pending.calls[0].id, content="paid")])


def test_a_second_request_while_one_is_open_names_the_way_to_resume_it(space: Space) -> None:
    task = space.task("t")
    with pytest.raises(NotFoundError):
        task.open_request()
    task.request("one")
    with pytest.raises(RequestOpenError, match="open_request"):
        task.request("two")
    assert task.open_request().text == "one"


def test_the_same_task_name_and_ids_in_another_space_are_not_seen(space: Space, connection: Connection) -> None:
    other = Space(space._context, f"{space.name}-other")
    try:
        for where in (space, other):
            request = where.task("t").request(f"in {where.name}")
            (raw,) = call(request, f"result of {where.name}")
            say(request, add("a", raw, value={"in": where.name}), message="done")
        say(space.task("t").request("more"), add("only-here"), message="done")
        request = other.task("t").request("two")
        assert index_ids(request.status()) == {1: ["a"]}
        say(request, see=("a",))
        assert "result of" not in request.status().text()
        assert space.name + '"' not in request.status().text()
    finally:
        connection.run("test", "MATCH (n {space: $p.space}) DETACH DELETE n", {"space": other.name})


def test_a_request_that_was_finished_is_not_reopened_by_whoever_comes_back_after_a_crash(
    graph: Graph, space: Space
) -> None:
    request = space.task("t").request("one")
    status = request.status()
    output = StepOutput(message="done")
    first = request.step(status, output)
    again = graph.space(space.name).task("t")  # a new process has names alone
    with pytest.raises(NoOpenRequestError):
        again.open_request()
    repeated = request.step(status, output)
    assert (repeated.replayed, repeated.step) == (True, first.step)
    with pytest.raises(NoOpenRequestError):
        again.open_request()
    assert again.request("two").number == 2
