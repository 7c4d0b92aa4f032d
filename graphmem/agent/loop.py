"""An agent's loop: status, model, step, tools, observe, until a message (FlowState, Algorithm 1); and with the path
shown, Compress, Maintain and Revise around it (MAGE, §3.3).

Short on purpose: what it holds is in the graph after every line, so a crash anywhere loses nothing. Invariant: a call
is run at most once by the loop; one that a crash or an interrupt left without its result is never run again silently.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from graphmem.agent.events import (
    Answered,
    Asking,
    Calling,
    Event,
    Invocation,
    OnEvent,
    Opened,
    Returned,
    Said,
)
from graphmem.agent.forms import BLOCKS, Form
from graphmem.agent.limits import Meter, RunLimits
from graphmem.agent.tools import Tool, call
from graphmem.errors import (
    AnswerCutError,
    GraphmemError,
    InvalidValueError,
    JudgeError,
    ModelUnreachableError,
    NotFoundError,
    NothingToReviseError,
    RequestOpenError,
    StaleStatusError,
)
from graphmem.llm.chat import ChatModel, Completion, Message, StreamingModel
from graphmem.state.values import StepOutput, StepResult, ToolCall, ToolResult
from graphmem.task import Prompt, Request, Task
from graphmem.trace import Judge, Revised, Summarizer, Verdict, World

logger = logging.getLogger("graphmem.agent")

_LIMITS: Final = RunLimits()
_CUT: Final = "it was cut off at the limit of tokens of an answer; write a shorter one"
_NOT_RUN: Final = "not run: the run was interrupted before this call"


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
    form: Form = BLOCKS,
    limits: RunLimits = _LIMITS,
    upkeep: Upkeep | None = None,
    on_step: Callable[[Invocation], None] | None = None,
    on_event: OnEvent | None = None,
    recover: Callable[[ToolCall], ToolResult] | None = None,
) -> str:
    """The final response to the request `text`: a new one, or the open one with this text (any open one, for None).

    With `upkeep` the model is shown the path beside the status and may compress and revise it; summaries are judged,
    and one that fails takes the agent back to where it starts. A final response that fails is not returned. A judge
    that gives no verdict changes nothing. `on_step` is told of every invocation when it is over, `on_event` of all that
    happens as it happens (`events`). Calls that a crash left without results are answered by `recover`, else as
    "outcome unknown"; the model decides what to do about them. Whatever ends the run, the request stays open, and the
    same call goes on with it.

    Raises:
        InvalidValueError: with upkeep, a tool is called `compress` or `revise`, or the form has no path.
        RequestOpenError: a request with another text is open.
        StaleStatusError: another worker goes on with the same request.
        RunLimitError: no message within `limits`; see its kinds.
        ModelError: the model failed; see its kinds.
    """
    named = {tool.name: tool for tool in tools}
    if upkeep is not None and {"compress", "revise"} & set(named):
        raise InvalidValueError("compress and revise are calls of the path; give your tools other names, or no upkeep")
    if upkeep is not None and not form.has_path:
        raise InvalidValueError("this form shows no path; run it without upkeep")
    request, is_resumed = _request(task, text)
    system = form.system(named.values(), request, policy=policy, path=upkeep is not None)
    tell = _teller(on_step, on_event)
    loop = _Loop(
        task=task,
        request=request,
        model=model,
        tools=named,
        system=Message("system", system),
        form=form,
        meter=Meter(limits, request),
        upkeep=upkeep,
        tell=tell,
    )
    tell(Opened(request=request.number, text=request.text, is_resumed=is_resumed))
    loop.answer_pending(recover)
    while True:
        done = loop.invoke()
        tell(done)
        if done.result.message is not None and done.revised is None:
            return done.result.message
        loop.meter.settle(done.result.refused)


def _teller(on_step: Callable[[Invocation], None] | None, on_event: OnEvent | None) -> OnEvent:
    def tell(event: Event) -> None:
        if on_event is not None:
            on_event(event)
        if on_step is not None and isinstance(event, Invocation):
            on_step(event)

    return tell


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loop:
    """One run: what does not change from one invocation to the next."""

    task: Task
    request: Request
    model: ChatModel
    tools: Mapping[str, Tool]
    system: Message
    form: Form
    meter: Meter
    upkeep: Upkeep | None
    tell: OnEvent
    irreversible: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        undoable = tuple(name for name, tool in self.tools.items() if tool.irreversible)
        object.__setattr__(self, "irreversible", undoable)

    def invoke(self) -> Invocation:
        """Ask the model once, commit what it says, run what it calls."""
        self.meter.check()
        shown = Prompt(status=self.request.status()) if self.upkeep is None else self.task.prompt()
        prompt = self.form.prompt(self.task, shown)
        completion, output = self._answer(shown, prompt)
        result = self.request.step(shown, output, usage=completion.usage, own_calls=self.upkeep is not None)
        if result.replayed:
            raise StaleStatusError(
                f"{self.request!r}: another worker took this very step and runs its calls; leave it to it"
            )
        summaries = [result.summary]
        results: tuple[ToolResult, ...] = ()
        observed: tuple[str, ...] = ()
        if result.calls:
            # All of R has been shown by now, and what these calls return has not been: the moment for the fallback.
            summaries += [_fallback(self.task, self.upkeep)]
            results = self._act(result)
            observed = self.request.observe(result, results, irreversible=self.irreversible)
        verdicts, revised = _maintain(self.task, self.request, result, summaries, self.upkeep)
        return Invocation(
            status=shown.status,
            prompt=prompt,
            output=completion.text,
            result=result,
            results=results,
            observed=observed,
            verdicts=verdicts,
            revised=revised,
            usage=completion.usage,
        )

    def _answer(self, shown: Prompt, prompt: str) -> tuple[Completion, str | StepOutput]:
        """What the model says, and what is committed of it: an answer that was cut off is no decision."""
        self.tell(Asking(step=self.meter.steps + 1, prompt=prompt))
        try:
            completion = self._complete([self.system, Message("user", prompt)])
            output = self.form.output(completion.text)
        except AnswerCutError as cut:
            completion = Completion(text=cut.text, usage=cut.usage)
            output = StepOutput(text=cut.text, fault=_CUT)
        except ModelUnreachableError as error:
            if self.meter.is_late:
                raise self.meter.too_late() from error
            raise
        count, texts = shown.status.tokenizer.count, (self.system.content, prompt, completion.text)
        self.meter.spend(completion.usage, counted=lambda: sum(map(count, texts)))
        return completion, output

    def _complete(self, messages: list[Message]) -> Completion:
        if isinstance(self.model, StreamingModel):
            left = self.meter.seconds_left
            return self.model.stream(messages, lambda piece: self.tell(Said(text=piece)), timeout_seconds=left)
        completion = self.model.complete(messages)
        self.tell(Said(text=completion.text))
        return completion

    def _act(self, result: StepResult) -> tuple[ToolResult, ...]:
        """Run the calls. When that is interrupted, what is known of several is kept; one alone stays without a result,
        for `recover` to find out.
        """
        results: list[ToolResult] = []
        begun, interrupt = 0, None
        try:
            for begun, wanted in enumerate(result.calls, 1):  # noqa: B007  read when interrupted
                self.tell(Calling(call=wanted))
                content = call(self.tools, wanted)
                results.append(ToolResult(call_id=wanted.id, content=content))
                self.tell(Returned(call=wanted, content=content))
        except KeyboardInterrupt as error:
            interrupt = error
        if interrupt is not None:
            if len(result.calls) > 1:
                known = [*results, *(ToolResult.unknown(left.id) for left in result.calls[len(results) : begun])]
                known += [ToolResult(call_id=left.id, content=_NOT_RUN) for left in result.calls[begun:]]
                with suppress(GraphmemError):
                    self.request.observe(result, known, irreversible=self.irreversible)
            raise interrupt
        return tuple(results)

    def answer_pending(self, recover: Callable[[ToolCall], ToolResult] | None) -> None:
        """Answer the calls that an earlier run left without results."""
        pending = self.request.status().pending
        if pending is None:
            return
        answers = [recover(left) if recover else ToolResult.unknown(left.id) for left in pending.calls]
        self.request.observe(pending, answers, irreversible=self.irreversible)
        for left, answer in zip(pending.calls, answers, strict=True):
            self.tell(Answered(call=left, content=answer.content))


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
        except NotFoundError:  # without Compress: nothing was done since the boundary
            continue
        except JudgeError as error:
            logger.warning("%r: %s", request, error)
            continue
        verdicts.append(verdict)
        if not verdict.passed and verdict.stands and verdict.on_path and request.options["revise"]:
            try:
                return tuple(verdicts), task.revise(key, feedback=verdict.feedback, world=upkeep.world)
            except NothingToReviseError as error:  # without Compress: all that is behind came with a fork
                logger.warning("%r: %s", request, error)
    return tuple(verdicts), None


def _request(task: Task, text: str | None) -> tuple[Request, bool]:
    """The request to go on with, and whether it was open."""
    if text is None:
        return task.open_request(), True
    try:
        return task.request(text), False
    except RequestOpenError as error:
        if not error.is_same:
            raise
        return task.open_request(), True
