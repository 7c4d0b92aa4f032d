"""An example of an agent's loop: status, model, step, tools, observe, until a message (FlowState, Algorithm 1); and
with the path shown, Compress, Maintain and Revise around it (MAGE, §3.3).

Short on purpose: what it holds is in the graph after every line, so a crash anywhere loses nothing. Invariant: a call
is run at most once by the loop; one that a crash left without its result is never run again silently.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graphmem.agent.prompts import system_message
from graphmem.agent.tools import Tool, call
from graphmem.errors import InvalidValueError, JudgeError, RequestOpenError, StaleStatusError, StepLimitError
from graphmem.llm.chat import ChatModel, Message
from graphmem.state.values import StepResult, ToolCall, ToolResult
from graphmem.task import Prompt, Request, Status, Task
from graphmem.trace import Judge, Revised, Summarizer, Verdict, World

logger = logging.getLogger("graphmem.agent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One model invocation: what was shown, what came out, what became of it, and what its calls returned.

    `verdicts` of summaries that it made, and `revised`, when one of them failed and the agent was taken back.
    """

    status: Status
    prompt: str
    output: str
    result: StepResult
    results: tuple[ToolResult, ...]
    observed: tuple[str, ...]
    verdicts: tuple[Verdict, ...] = ()
    revised: Revised | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """How the path is kept: who judges summaries, who writes them where the model did not, and what a revise assumes.

    `above_tokens`: the fallback compresses a longer R (§3.3).
    """

    judge: Judge | None = None
    summarizer: Summarizer | None = None
    above_tokens: int = 8_000
    world: World = World.UNCHANGED


def run(
    task: Task,
    text: str | None,
    model: ChatModel,
    tools: Iterable[Tool],
    *,
    policy: str = "",
    max_steps: int = 50,
    upkeep: Upkeep | None = None,
    on_step: Callable[[Invocation], None] | None = None,
    recover: Callable[[ToolCall], ToolResult] | None = None,
) -> str:
    """The final response to the request `text`: a new one, or the open one with this text (any open one, for None).

    With `upkeep` the model is shown the path beside the status and may compress and revise it; summaries are judged,
    and one that fails takes the agent back to where it starts. A final response that fails is not returned. A judge
    that gives no verdict changes nothing. `on_step` is told of every invocation. Calls that a crash left without
    results are answered by `recover`, else as "outcome unknown"; the model decides what to do about them.

    Raises:
        InvalidValueError: with upkeep, a tool is called `compress` or `revise`.
        RequestOpenError: a request with another text is open.
        StaleStatusError: another worker goes on with the same request.
        StepLimitError: no message in `max_steps` invocations.
    """
    named = {tool.name: tool for tool in tools}
    if upkeep is not None and {"compress", "revise"} & set(named):
        raise InvalidValueError("compress and revise are calls of the path; give your tools other names, or no upkeep")
    request = _request(task, text)
    system = Message(
        "system",
        system_message(named.values(), policy=policy, psa=request.psa, isu=request.isu, path=upkeep is not None),
    )
    _answer_pending(request, recover)
    for _ in range(max_steps):
        done = _invoke(task, request, model, named, system, upkeep)
        if on_step is not None:
            on_step(done)
        if done.result.message is not None and done.revised is None:
            return done.result.message
    raise StepLimitError(
        f"{request!r}: no final response in {max_steps} steps. It stays open; run again to go on, or raise max_steps."
    )


def _invoke(
    task: Task, request: Request, model: ChatModel, named: dict[str, Tool], system: Message, upkeep: Upkeep | None
) -> Invocation:
    shown = Prompt(status=request.status()) if upkeep is None else task.prompt()
    prompt = shown.text()
    completion = model.complete([system, Message("user", prompt)])
    result = request.step(shown, completion.text, usage=completion.usage, own_calls=upkeep is not None)
    if result.replayed:
        raise StaleStatusError(f"{request!r}: another worker took this very step and runs its calls; leave it to it")
    summaries = [result.summary]
    results: tuple[ToolResult, ...] = ()
    observed: tuple[str, ...] = ()
    if result.calls:
        # All of R has been shown by now, and what these calls return has not been: the moment for the fallback.
        summaries += [_fallback(task, upkeep)]
        results = tuple(ToolResult(call_id=wanted.id, content=call(named, wanted)) for wanted in result.calls)
        observed = request.observe(
            result, results, irreversible=[name for name, tool in named.items() if tool.irreversible]
        )
    verdicts, revised = _maintain(task, request, result, summaries, upkeep)
    return Invocation(
        status=shown.status,
        prompt=prompt,
        output=completion.text,
        result=result,
        results=results,
        observed=observed,
        verdicts=verdicts,
        revised=revised,
    )


def _fallback(task: Task, upkeep: Upkeep | None) -> str | None:
    if upkeep is None:
        return None
    made = task.compress_long(above_tokens=upkeep.above_tokens, summarizer=upkeep.summarizer)
    return None if made is None else made.key


def _maintain(
    task: Task, request: Request, result: StepResult, summaries: list[str | None], upkeep: Upkeep | None
) -> tuple[tuple[Verdict, ...], Revised | None]:
    """Judge what was finished; go back to where the first one that failed starts."""
    judge = None if upkeep is None else upkeep.judge
    if upkeep is None or judge is None or not request.options["maintain"]:
        return (), None
    keys = [key for key in summaries if key is not None]
    # Without Compress the whole trace is judged where a summary would have been (§4.4).
    whole = not request.options["compress"] and result.message is not None
    verdicts: list[Verdict] = []
    for key in [*keys, None] if whole else keys:
        try:
            verdict = task.maintain(key, judge)
        except JudgeError as error:
            logger.warning("%r: %s", request, error)
            continue
        verdicts.append(verdict)
        if not verdict.passed and verdict.stands and verdict.on_path and request.options["revise"]:
            return tuple(verdicts), task.revise(key, feedback=verdict.feedback, world=upkeep.world)
    return tuple(verdicts), None


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
