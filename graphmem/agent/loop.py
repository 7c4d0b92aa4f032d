"""An example of an agent's loop (FlowState, Algorithm 1): status, model, step, tools, observe, until a message.

Short on purpose: what it holds is in the graph after every line, so a crash anywhere loses nothing. Invariant: a call
is run at most once by the loop; one that a crash left without its result is never run again silently.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graphmem.agent.prompts import system_message
from graphmem.agent.tools import Tool, call
from graphmem.errors import RequestOpenError, StaleStatusError, StepLimitError
from graphmem.llm.chat import ChatModel, Message
from graphmem.state.values import StepResult, ToolCall, ToolResult
from graphmem.task import Request, Status, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One model invocation: what was shown, what came out, what became of it, and what its calls returned."""

    status: Status
    output: str
    result: StepResult
    results: tuple[ToolResult, ...]
    observed: tuple[str, ...]


def run(
    task: Task,
    text: str | None,
    model: ChatModel,
    tools: Iterable[Tool],
    *,
    policy: str = "",
    max_steps: int = 50,
    on_step: Callable[[Invocation], None] | None = None,
    recover: Callable[[ToolCall], ToolResult] | None = None,
) -> str:
    """The final response to the request `text`: a new one, or the open one with this text (any open one, for None).

    `on_step` is told of every invocation. Calls that a crash left without results are answered by `recover`, else
    as "outcome unknown"; the model decides what to do about them.

    Raises:
        RequestOpenError: a request with another text is open.
        StaleStatusError: another worker goes on with the same request.
        StepLimitError: no message in `max_steps` invocations.
    """
    named = {tool.name: tool for tool in tools}
    request = _request(task, text)
    system = Message("system", system_message(named.values(), policy=policy, psa=request.psa, isu=request.isu))
    _answer_pending(request, recover)
    for _ in range(max_steps):
        status = request.status()
        completion = model.complete([system, Message("user", status.text())])
        result = request.step(status, completion.text, usage=completion.usage)
        if result.replayed:
            raise StaleStatusError(
                f"{request!r}: another worker took this very step and runs its calls; leave it to it"
            )
        results = tuple(ToolResult(call_id=wanted.id, content=call(named, wanted)) for wanted in result.calls)
        observed = request.observe(result, results) if results else ()
        if on_step is not None:
            invocation = Invocation(
                status=status, output=completion.text, result=result, results=results, observed=observed
            )
            on_step(invocation)
        if result.message is not None:
            return result.message
    raise StepLimitError(
        f"{request!r}: no final response in {max_steps} steps. It stays open; run again to go on, or raise max_steps."
    )


def _request(task: Task, text: str | None) -> Request:
    if text is None:
        return task.open_request()
    try:
        return task.request(text)
    except RequestOpenError as error:
        if not error.is_same:
            raise
        return task.open_request()


def _answer_pending(request: Request, recover: Callable[[ToolCall], ToolResult] | None) -> None:
    pending = request.status().pending
    if pending is not None:
        answer = recover or (lambda left: ToolResult.unknown(left.id))
        request.observe(pending, [answer(left) for left in pending.calls])
