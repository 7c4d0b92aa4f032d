"""What a redactor sees, what it cannot break, and what the caller gets all the same."""

import re
from collections.abc import Callable

import pytest

import graphmem
from graphmem import InvalidValueError, Operation, Space, StateKind, StepOutput, ToolCall, ToolResult
from graphmem.agent import Tool, run
from graphmem.llm.chat import ScriptedModel
from graphmem.state.protocol import render_output
from graphmem.store import Connection
from graphmem.task import Context
from tests.acceptance.speech import access, add, say

Redacted = Callable[[Callable[[str], str]], Space]


@pytest.fixture
def redacted(graph: graphmem.Graph, space: Space) -> Redacted:
    """This test's space, through a graph with a redactor."""

    def through(redact: Callable[[str], str]) -> Space:
        context = Context(connection=graph.connection, tokenizer=space._context.tokenizer, redact=redact)
        return graphmem.Graph(context).space(space.name)

    return through


def stored(connection: Connection, space: Space, text: str) -> list[dict[str, object]]:
    """Every property of the space that holds the text."""
    query = (
        "MATCH (n {space: $p.space}) UNWIND keys(n) AS k WITH n, k WHERE toStringOrNull(n[k]) CONTAINS $p.text "
        "OR (valueType(n[k]) STARTS WITH 'LIST' AND any(x IN n[k] WHERE toStringOrNull(x) CONTAINS $p.text)) "
        "RETURN labels(n) AS labels, k AS key"
    )
    return connection.run("test", query, {"space": space.name, "text": text})


def test_a_redactor_sees_everything_before_it_is_written_and_tools_get_what_the_model_said(
    redacted: Redacted, space: Space, connection: Connection
) -> None:
    task = redacted(lambda text: text.replace("s3cret", "[redacted]")).task("t")
    request = task.request("my key is s3cret", author="s3cret")
    calls = (ToolCall(name="pay s3cret", arguments={"key s3cret": ["s3cret"]}, id="s3cret"),)
    delta = (
        add("s3cret", summary="s3cret", value={"s3cret": "s3cret"}, kind=StateKind.PREFERENCE),
        add("b", "supports>s3cret"),
        Operation(operation="remove", id="x", fault="s3cret"),
    )
    output = StepOutput(delta=delta, access=access("s3cret no"), tool_calls=calls, repairs=("s3cret",))
    result = request.step(request.status(), output, author="s3cret", usage={"s3cret": "s3cret"})
    assert (result.calls[0].name, result.calls[0].arguments) == ("pay s3cret", {"key s3cret": ["s3cret"]})
    request.observe(result, [ToolResult(call_id=result.calls[0].id, content="ok s3cret")], author="s3cret")
    entry = '{"state_set":"knowledge","operation":"add","state_id":"c","summary":"s3cret","value":1}'
    odd = '{"state_set":"s3cret","operation":"add","state_id":"d","summary":"s","value":1}'
    request.step(request.status(), f"prose with s3cret <state_delta>[{entry},{odd}]</state_delta>")
    request.step(request.status(), "s3cret and no block")
    request.step(
        request.status(), StepOutput(message="done, s3cret", delta=(Operation(operation="remove", id="s3cret x"),))
    )
    assert stored(connection, space, "s3cret") == []


def test_named_attempts_are_told_apart_whatever_the_redactor_makes_of_their_names(redacted: Redacted) -> None:
    request = redacted(lambda text: re.sub(r"\d+", "#", text)).task("t").request("x")
    request.step(request.status(), StepOutput(delta=(add("a"),)), attempt="run-1")
    assert request.step(request.status(), StepOutput(message="final"), attempt="run-2").message == "final"


def test_results_can_be_given_again_though_the_redactor_changes_its_own_work(redacted: Redacted) -> None:
    task = redacted(lambda text: text.replace("secret", "[secret]")).task("t")
    request = task.request("x")
    result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="pay", arguments={"k": "secret"}),)))
    pending = request.status().pending
    assert pending is not None
    results = [ToolResult(call_id=result.calls[0].id, content="secret")]
    assert request.observe(result, results) == request.observe(pending, results)


@pytest.mark.parametrize(
    ("redact", "named"), [(lambda _: "\x00", "NUL"), (lambda _: "", "empty"), (lambda _: 1, "int")]
)
def test_what_a_redactor_returns_is_checked(redacted: Redacted, redact: Callable[[str], str], named: str) -> None:
    with pytest.raises(InvalidValueError, match=named):
        redacted(redact).task("t").request("x")


def test_a_redactor_does_not_turn_an_unreadable_output_into_an_error(redacted: Redacted) -> None:
    request = redacted(lambda text: text.replace("secret", "***")).task("t").request("x")
    result = request.step(request.status(), "no block, \x00 and a secret")
    assert result.refused is not None
    assert len(request.status().reasons) == 1


def test_a_redactor_that_makes_two_keys_alike_loses_nothing_silently(redacted: Redacted) -> None:
    request = redacted(lambda text: re.sub(r"\d", "#", text)).task("t").request("x")
    with pytest.raises(InvalidValueError, match="two keys"):
        say(request, add("a", value={"k1": 1, "k2": 2}))


def test_the_loop_resumes_a_request_whose_text_is_redacted(redacted: Redacted) -> None:
    task = redacted(lambda text: text.replace("bob", "[name]")).task("t")
    task.request("mail bob")
    answer = render_output(StepOutput(message="done"))
    tool = Tool(name="mail", description="Mail somebody", function=lambda: "ok")
    assert run(task, "mail bob", ScriptedModel([answer]), [tool]) == "done"
