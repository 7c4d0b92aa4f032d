"""The loop as a run of its own: limits, what it tells while it goes on, interrupts, the forms, the whole history."""

import time
from collections.abc import Sequence

import pytest

import graphmem
from graphmem.agent import ONE_OBJECT, FullContext, Invocation, RunLimits, Tool, Upkeep, run
from graphmem.agent.events import Answered, Asking, Calling, Event, Opened, Returned, Said
from graphmem.agent.history import History, told
from graphmem.errors import (
    AnswerCutError,
    InvalidValueError,
    ModelUnreachableError,
    RunLimitError,
    StepLimitError,
    TimeLimitError,
    TokenLimitError,
    UnreadableOutputError,
)
from graphmem.llm.chat import Completion, Message, OnText, ScriptedModel
from graphmem.state.protocol import render_output
from graphmem.state.schema import render_object
from graphmem.state.values import Operation, StepOutput, ToolCall, ToolResult
from graphmem.vocabulary import StateKind

PLAN = Operation(operation="add", id="plan", kind=StateKind.JUDGEMENT, summary="pay", value={}, refs=())


def text(*calls: ToolCall, message: str | None = None, delta: tuple[Operation, ...] = ()) -> str:
    return render_output(StepOutput(tool_calls=calls, message=message, delta=delta))


def double(number: int) -> object:
    """Twice a number."""
    return {"doubled": number * 2}


def call(number: int) -> ToolCall:
    return ToolCall(name="double", arguments={"number": number})


TOOLS = [Tool.of(double)]


class Counting:
    """A model that says what it cost."""

    def __init__(self, *outputs: str, usage: dict[str, int] | None) -> None:
        self._outputs = iter(outputs)
        self._usage = usage

    def complete(self, messages: Sequence[Message]) -> Completion:
        del messages
        return Completion(text=next(self._outputs), usage=self._usage)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_each_limit_is_an_error_of_its_own_and_leaves_the_request_open(space: graphmem.Space) -> None:
    task = space.task("t")
    twice = (text(call(1)), text(call(2)), text(message="done"))
    cases: list[tuple[RunLimits, type[RunLimitError]]] = [
        (RunLimits(steps=1), StepLimitError),
        (RunLimits(tokens=1), TokenLimitError),
        (RunLimits(seconds=1e-9), TimeLimitError),
    ]
    for limits, kind in cases:
        with pytest.raises(kind, match="stays open"):
            run(task, "try", Counting(*twice, usage={"total_tokens": 5}), TOOLS, limits=limits)
        assert task.open_request().text == "try"
    assert run(task, "try", Counting(*twice, usage=None), TOOLS, limits=RunLimits(steps=None)) == "done"


def test_tokens_are_counted_here_where_the_endpoint_does_not_count_them(space: graphmem.Space) -> None:
    model = Counting(*[text(call(n)) for n in range(9)], usage=None)
    seen: list[Invocation] = []
    with pytest.raises(TokenLimitError):
        run(space.task("t"), "try", model, TOOLS, limits=RunLimits(tokens=4000), on_step=seen.append)
    assert 1 <= len(seen) <= 4


def test_a_model_that_fails_when_the_time_is_over_is_a_limit_and_otherwise_a_failure(space: graphmem.Space) -> None:
    class Slow:
        """Takes all the time that it is given."""

        def complete(self, messages: Sequence[Message]) -> Completion:
            raise NotImplementedError

        def stream(
            self, messages: Sequence[Message], on_text: OnText | None = None, *, timeout_seconds: float | None = None
        ) -> Completion:
            del messages, on_text
            time.sleep(timeout_seconds or 0)
            raise ModelUnreachableError("too late")

    with pytest.raises(TimeLimitError):
        run(space.task("t"), "try", Slow(), [], limits=RunLimits(seconds=0.3))
    with pytest.raises(ModelUnreachableError):
        run(space.task("t"), "try", Slow(), [])
    assert space.task("t").open_request().text == "try"


@pytest.mark.parametrize("bad", [{"steps": 0}, {"tokens": -1}, {"seconds": 0}, {"unreadable": -1}, {"steps": 1.5}])
def test_a_limit_that_is_none_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(InvalidValueError, match="limit"):
        RunLimits(**bad)


def test_no_output_is_shown_back_where_none_may_be(space: graphmem.Space) -> None:
    task = space.task("t")
    with pytest.raises(UnreadableOutputError, match="no block was found"):
        run(task, "try", ScriptedModel(["hm", text(message="ok")]), [], limits=RunLimits(unreadable=0))
    assert "no block was found" in task.open_request().status().text()


def test_an_output_that_was_cut_off_is_kept_as_it_came_with_what_it_cost(space: graphmem.Space) -> None:
    class Cut:
        """Says half a sentence, then all of it."""

        asked = 0

        def complete(self, messages: Sequence[Message]) -> Completion:
            self.asked += 1
            if self.asked == 1:
                half = text(message="pay 1000")[:-40]
                raise AnswerCutError("too long", text=half, usage={"completion_tokens": 9})
            return Completion(text=text(message=messages[-1].content))

    seen: list[Invocation] = []
    answer = run(space.task("t"), "try", Cut(), [], on_step=seen.append)
    assert "cut off" in answer
    assert seen[0].result.refused is not None
    assert seen[0].usage == {"completion_tokens": 9}
    assert seen[0].result.message is None


# --- what is told -----------------------------------------------------------------------------------------------------


def test_what_happens_is_told_as_it_happens(space: graphmem.Space) -> None:
    events: list[Event] = []
    outputs = [text(call(1), call(2)), text(message="done")]
    run(space.task("t"), "try", ScriptedModel(outputs), TOOLS, on_event=events.append)
    kinds = [type(event) for event in events]
    step = [Asking, Said, Calling, Returned, Calling, Returned, Invocation]
    assert kinds == [Opened, *step, Asking, Said, Invocation]
    assert [event.content for event in events if isinstance(event, Returned)] == ['{"doubled":2}', '{"doubled":4}']
    assert [event.step for event in events if isinstance(event, Asking)] == [1, 2]


def test_a_run_that_goes_on_says_so_and_what_was_left(space: graphmem.Space) -> None:
    task, events = space.task("t"), list[Event]()
    request = task.request("try")
    request.step(request.status(), StepOutput(tool_calls=(call(1),)))
    run(task, "try", ScriptedModel([text(message="done")]), TOOLS, on_event=events.append)
    assert events[0] == Opened(request=1, text="try", is_resumed=True)
    assert isinstance(events[1], Answered)
    assert (events[1].call.name, events[1].content) == ("double", None)


# --- interrupts -------------------------------------------------------------------------------------------------------


def stop(number: int) -> object:
    """An interrupt from the keyboard comes while it runs."""
    raise KeyboardInterrupt(number)


def test_an_interrupted_call_alone_is_left_to_be_found_out(space: graphmem.Space) -> None:
    task = space.task("t")
    with pytest.raises(KeyboardInterrupt):
        run(task, "try", ScriptedModel([text(ToolCall(name="stop", arguments={"number": 1}))]), [Tool.of(stop)])
    assert task.open_request().status().pending is not None
    answer = run(
        task,
        None,
        ScriptedModel([lambda messages: text(message=messages[-1].content)]),
        [Tool.of(stop)],
        recover=lambda left: ToolResult(call_id=left.id, content="it did run: receipt 7"),
    )
    assert "receipt 7" in answer


def test_of_several_calls_each_is_told_as_it_stood(space: graphmem.Space) -> None:
    task = space.task("t")
    calls = (call(4), ToolCall(name="stop", arguments={"number": 1}), call(5))
    with pytest.raises(KeyboardInterrupt):
        run(task, "try", ScriptedModel([text(*calls)]), [*TOOLS, Tool.of(stop)])
    status = task.open_request().status()
    assert status.pending is None
    known, unknown, not_run = (seen.content for seen in status.observation)
    assert (known, unknown) == ('{"doubled":8}', None)
    assert str(not_run).startswith("not run")


# --- forms ------------------------------------------------------------------------------------------------------------


def test_one_object_is_asked_for_in_the_system_message_and_taken_without_a_repair(space: graphmem.Space) -> None:
    systems: list[str] = []

    def first(messages: Sequence[Message]) -> str:
        systems.append(messages[0].content)
        return render_object(StepOutput(delta=(PLAN,), tool_calls=(call(3),)))

    seen: list[Invocation] = []
    model = ScriptedModel([first, render_object(StepOutput(message="6"))])
    assert run(space.task("t"), "try", model, TOOLS, form=ONE_OBJECT, on_step=seen.append) == "6"
    assert [invocation.result.repairs for invocation in seen] == [(), ()]
    assert seen[0].result.added == ("plan",)
    (system,) = systems
    assert "arguments_json" in system
    assert "</state_delta>" not in system
    assert system.count("<output_protocol>") == system.count("</output_protocol>") == 1


def test_the_full_context_shows_no_path(space: graphmem.Space, graph: graphmem.Graph) -> None:
    with pytest.raises(InvalidValueError, match="no path"):
        run(space.task("t"), "x", ScriptedModel([]), [], form=FullContext(reader=graph.connection), upkeep=Upkeep())


def test_the_history_of_the_ledger_is_the_one_that_a_full_context_agent_would_carry(
    space: graphmem.Space, graph: graphmem.Graph
) -> None:
    task, carried = space.task("t"), History()
    outputs = [
        text(call(1), call(2), delta=(PLAN,)),
        "no block",
        text(delta=(Operation(operation="update", id="plan", value=1, has_value=True),)),
        text(call(3)),
        text(message="first"),
        text(ToolCall(name="empty")),
        text(message="second"),
        text(call(4)),
        text(message="third"),
    ]
    model = ScriptedModel(outputs)
    tools = [*TOOLS, Tool(name="empty", description="Nothing.", function=lambda: "")]

    def act(done: Invocation) -> None:
        carried.act(done.result.calls, done.results, done.result.message)
        assert told(graph.connection, space.name, "t").text() == carried.text()

    for asked in ("one", "two", "three"):
        carried.ask(asked)
        run(task, asked, model, tools, on_step=act)


def test_what_is_unknown_stands_in_the_history_as_unknown_and_what_a_revise_left_does_not(
    space: graphmem.Space, graph: graphmem.Graph
) -> None:
    task = space.task("t")
    request = task.request("one")
    for output, contents in (
        (StepOutput(tool_calls=(call(1),)), ["wrong way"]),
        (StepOutput(tool_calls=(call(2), call(3))), ["kept", None]),
        (StepOutput(tool_calls=(call(4),)), [None]),
    ):
        if contents == ["kept", None]:
            task.revise(feedback="go another way")
        result = request.step(request.status(), output)
        answers = [ToolResult(call_id=made.id, content=c) for made, c in zip(result.calls, contents, strict=True)]
        request.observe(result, answers)
    history = told(graph.connection, space.name, "t").text()
    assert "wrong way" not in history
    assert history.count("outcome unknown") == 2
    assert "kept\n(outcome unknown" in history


def test_a_result_that_was_merged_into_is_not_told_as_unknown(space: graphmem.Space, graph: graphmem.Graph) -> None:
    task = space.task("t")
    request = task.request("one")
    for _ in range(2):
        result = request.step(request.status(), StepOutput(tool_calls=(call(1),)))
        grown = request.observe(result, [ToolResult(call_id=result.calls[0].id, content="same")])
        if not grown.merged:
            task.revise(feedback="again")
    assert grown.merged
    assert "outcome unknown" not in told(graph.connection, space.name, "t").text()
