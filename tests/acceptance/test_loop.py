"""The example loop against a real server: what it does when tools fail, steps run out, or a crash comes in between."""

import re
from collections.abc import Callable
from importlib import resources
from typing import TypeAlias

import pytest

import graphmem
from graphmem.agent import Invocation, RunLimits, Tool, full_context_message, run, system_message
from graphmem.errors import StaleStatusError, StepLimitError
from graphmem.llm.chat import Completion, Message, ScriptedModel, ScriptedOutput
from graphmem.state.protocol import render_output
from graphmem.state.values import Operation, StepOutput, ToolCall, ToolResult
from graphmem.vocabulary import StateKind

Script: TypeAlias = list[ScriptedOutput]


def text(*calls: tuple[str, dict[str, object]], message: str | None = None, delta: tuple[Operation, ...] = ()) -> str:
    """A model's output in the four blocks."""
    wanted = tuple(ToolCall(name=name, arguments=arguments) for name, arguments in calls)  # type: ignore[arg-type]  # JSON all the same
    return render_output(StepOutput(tool_calls=wanted, message=message, delta=delta))


def tools(*functions: Callable[..., object]) -> list[Tool]:
    return [Tool.of(function) for function in functions]


def double(number: int) -> object:
    """Twice a number."""
    return {"doubled": number * 2}


class Crash(BaseException):
    """The process ends here."""


def test_the_loop_returns_the_message_and_finishes_the_request(space: graphmem.Space) -> None:
    task = space.task("t")
    seen: list[Invocation] = []
    model = ScriptedModel(
        [
            text(("double", {"number": 21})),
            lambda messages: text(message=messages[-1].content.split('"doubled":')[1][:2]),
        ]
    )
    answer = run(task, "double 21", model, tools(double), on_step=seen.append)
    assert answer == "42"
    assert [invocation.observed for invocation in seen] == [("obs:1.1",), ()]
    with pytest.raises(graphmem.NoOpenRequestError):
        task.open_request()


def test_the_model_sees_the_instructions_first_and_the_status_last(space: graphmem.Space) -> None:
    prompts: list[list[Message]] = []

    class Listening:
        def complete(self, messages: list[Message]) -> Completion:
            prompts.append(messages)
            return Completion(text=text(message="done"), usage={"prompt_tokens": 7})

    run(space.task("t"), "what now?", Listening(), tools(double), policy="Be brief.")  # type: ignore[arg-type]  # lists only
    system, user = prompts[0]
    assert (system.role, user.role) == ("system", "user")
    assert "Be brief." in system.content
    assert "what now?" in user.content


def test_an_error_of_a_tool_becomes_its_result_and_the_loop_goes_on(space: graphmem.Space) -> None:
    def fails(number: int) -> object:
        raise ValueError(f"no {number} today")

    outputs: Script = [text(("fails", {"number": 3}), ("fails", {"wrong": 3})), lambda m: text(message=m[-1].content)]
    told = run(space.task("t"), "try", ScriptedModel(outputs), tools(fails))
    assert "ValueError: no 3 today" in told
    assert "TypeError" in told


def test_a_tool_that_does_not_exist_is_named_in_the_result_with_those_that_do(space: graphmem.Space) -> None:
    outputs: Script = [text(("tripple", {"number": 3})), lambda m: text(message=m[-1].content)]
    told = run(space.task("t"), "try", ScriptedModel(outputs), tools(double))
    assert "there is no tool 'tripple'; the tools are double" in told


@pytest.mark.parametrize("result", ["nul \x00", "\ud800", "x" * ((1 << 20) + 1), float("nan"), object()])
def test_a_result_that_cannot_be_stored_is_an_error_for_the_model_and_not_for_the_run(
    space: graphmem.Space, result: object
) -> None:
    def odd() -> object:
        return result

    outputs: Script = [text(("odd", {})), lambda m: text(message=m[-1].content)]
    assert "error: " in run(space.task("t"), "try", ScriptedModel(outputs), tools(odd))


def test_outputs_that_are_refused_or_wholly_rejected_do_not_stop_the_loop(space: graphmem.Space) -> None:
    seen: list[Invocation] = []
    gone = Operation(operation="remove", id="nothing")
    outputs = [
        "no block at all",
        text(("double", {"number": 1}), message="both"),
        text(delta=(gone,)),
        text(message="done"),
    ]
    assert run(space.task("t"), "try", ScriptedModel(outputs), tools(double), on_step=seen.append) == "done"
    assert [invocation.result.refused is not None for invocation in seen] == [True, True, False, False]
    assert "remove nothing" in seen[3].status.text()


def test_the_loop_stops_at_its_limit_and_goes_on_from_there(space: graphmem.Space) -> None:
    task = space.task("t")
    model = ScriptedModel([text(("double", {"number": 1})), text(("double", {"number": 2})), text(message="done")])
    with pytest.raises(StepLimitError, match="limit of steps"):
        run(task, "try", model, tools(double), limits=RunLimits(steps=2))
    assert run(task, "try", model, tools(double), limits=RunLimits(steps=2)) == "done"


def test_an_open_request_with_another_text_is_not_answered_by_mistake(space: graphmem.Space) -> None:
    task = space.task("t")
    task.request("the first")
    with pytest.raises(graphmem.RequestOpenError):
        run(task, "the second", ScriptedModel([text(message="done")]), {})
    assert run(task, None, ScriptedModel([text(message="done")]), {}) == "done"


def test_calls_that_a_crash_left_open_are_said_to_be_unknown_and_not_run_again(space: graphmem.Space) -> None:
    task, paid = space.task("t"), list[int]()

    def pay(usd: int) -> object:
        paid.append(usd)
        raise Crash

    state = Operation(operation="add", id="plan", kind=StateKind.JUDGEMENT, summary="pay", value={}, has_value=True)
    with pytest.raises(Crash):
        run(task, "pay 5", ScriptedModel([text(("pay", {"usd": 5}), delta=(state,))]), tools(pay))
    told = run(task, "pay 5", ScriptedModel([lambda m: text(message=m[-1].content)]), tools(pay))
    assert paid == [5]
    assert "outcome unknown" in told
    assert '"state_id":"plan"' in told


def test_a_caller_who_can_find_out_answers_the_calls_that_a_crash_left_open(space: graphmem.Space) -> None:
    task = space.task("t")
    asked: list[ToolCall] = []

    def pay(usd: int) -> object:
        raise Crash(usd)

    def receipt(call: ToolCall) -> ToolResult:
        asked.append(call)
        return ToolResult(call_id=call.id, content="paid: receipt 77")

    with pytest.raises(Crash):
        run(task, "pay 5", ScriptedModel([text(("pay", {"usd": 5}))]), tools(pay))
    told = run(task, "pay 5", ScriptedModel([lambda m: text(message=m[-1].content)]), tools(pay), recover=receipt)
    assert [(call.name, call.arguments) for call in asked] == [("pay", {"usd": 5})]
    assert "receipt 77" in told


def test_the_system_message_keeps_the_braces_of_its_examples_and_of_what_is_filled_in() -> None:
    message = system_message([Tool.of(double)], policy='Answer {"like": "this"} and {available_tools}.')
    assert '[{"name": "<tool_name>", "arguments": {}}]' in message
    assert 'Answer {"like": "this"} and {available_tools}.' in message
    assert message.count("Twice a number.") == 1
    assert not re.search(r"\{(react_rules|task_policy)\}", message)


def test_the_template_has_the_three_fields_of_the_paper_and_no_other() -> None:
    template = resources.files("graphmem.agent").joinpath("prompts", "flowstate.txt").read_text(encoding="utf-8")
    assert set(re.findall(r"\{(\w+)\}", template)) == {"react_rules", "task_policy", "available_tools"}


def test_the_full_context_message_has_no_state_blocks() -> None:
    message = full_context_message([Tool.of(double)])
    for word in ("state_delta", "agent_status", "in a state", "more of the history"):
        assert word not in message
    assert "<tool_calls>" in message
    assert "<trajectory_history>" in message


def test_a_tool_made_of_a_function_tells_its_parameters() -> None:
    def look(city: str, days: int = 1) -> object:
        """Look at a city.

        More of it.
        """
        return city * days

    tool = Tool.of(look)
    assert (tool.name, tool.description) == ("look", "Look at a city.")
    assert tool.parameters == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    }


def test_two_workers_with_the_same_model_run_no_tool_twice(space: graphmem.Space) -> None:
    task = space.task("t")
    paid: list[int] = []

    def pay(usd: int) -> object:
        """Pay."""
        paid.append(usd)
        return "paid"

    status = task.request("pay 5").status()  # the other worker read it at the same time
    rival = task.open_request().step(status, text(("pay", {"usd": 5})))
    assert rival.calls
    assert task.open_request().step(status, text(("pay", {"usd": 5}))).replayed
    with pytest.raises(StaleStatusError):
        run(_At(task, status), None, ScriptedModel([text(("pay", {"usd": 5}))]), tools(pay))  # type: ignore[arg-type]  # stands in for a task
    assert paid == []


class _At:
    """A task whose open request shows a status that was read before."""

    def __init__(self, task: graphmem.Task, status: graphmem.Status) -> None:
        self._task = task
        self._status = status

    def open_request(self) -> graphmem.Request:
        request = self._task.open_request()
        request.status = lambda **_: self._status  # type: ignore[method-assign]  # an older status
        return request


@pytest.mark.parametrize(
    ("off", "title", "block"),
    [("psa", "Progressive State Access", "state_focus"), ("isu", "Incremental State Update", "state_delta")],
)
def test_the_rules_of_what_a_task_runs_without_are_not_told(off: str, title: str, block: str) -> None:
    told = {is_on: system_message(tools(double), **{off: is_on}) for is_on in (True, False)}  # type: ignore[arg-type]  # by name
    assert f"### {title}" in told[True]
    assert f"### {title}" not in told[False]
    assert f"Leave {block} empty" in told[False]
