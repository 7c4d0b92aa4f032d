"""One request of a task: read its status, commit an output, give back what the tools returned.

The loop of the paper (Algorithm 1) is `status` → model → `step` → tools → `observe`, until a message finishes it.
Invariant: every call that writes is one transaction and one Step; repeating it with the same attempt key gives the
first answer again.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import NoReturn, Self

from graphmem.errors import (
    AbandonedAttemptError,
    InvalidValueError,
    NotFoundError,
    NotPendingError,
    PendingCallsError,
    RequestClosedError,
    StaleStatusError,
)
from graphmem.state import rules
from graphmem.state.protocol import render_output
from graphmem.state.values import PendingCalls, Reason, StepOutput, StepResult, ToolResult
from graphmem.state.view import Plan, View
from graphmem.task.context import Context
from graphmem.task.outputs import actions, ordered_results, parsed_output, storable, usage_text
from graphmem.task.own_calls import OwnCall, not_alone, own_call
from graphmem.task.prompt import Prompt
from graphmem.task.reading import folded, status_of
from graphmem.task.repository import Commit, Repository
from graphmem.task.revising import Outcome, Revising, Wanted, refused_reason
from graphmem.task.rows import replayed
from graphmem.task.status import Status
from graphmem.trace import Grown, attempt_key, content_hash, summary_key, trace_key, trace_name
from graphmem.vocabulary import Json, check_text, check_tools, json_text, whole_number


class Request:
    """A handle on one request (FlowState's q_k). It holds no state of the run: that is in the graph and in the status.

    As a context manager it changes nothing on exit: a request that was not finished stays open, to be resumed by
    `task.open_request()`.
    """

    def __init__(
        self,
        repository: Repository,
        context: Context,
        *,
        number: int,
        text: str,
        options: Mapping[str, bool],
        irreversible: frozenset[str] = frozenset(),
    ) -> None:
        self._repository = repository
        self._context = context
        self.options = options
        self._irreversible = irreversible
        self.number = number
        self.text = text
        self.psa = options["psa"]
        self.isu = options["isu"]

    def __repr__(self) -> str:
        return f"Request({self._repository.space}/{self._repository.task}, {self.number})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def status(self, *, index_tokens: int | None = 8_000, index_lines: int = 200) -> Status:
        """What the model is shown now. The index keeps its newest states within both limits; the rest is folded.

        Raises:
            RequestClosedError: the request was finished or abandoned.
        """
        whole_number("index_lines", index_lines, most=1_000_000)
        if index_tokens is not None:
            whole_number("index_tokens", index_tokens, most=1_000_000)
        reading = self._repository.status(self.number, psa=self.psa, lines=index_lines)
        if reading is None:
            raise NotFoundError(f"there is no task {self._repository.task!r} in space {self._repository.space!r}")
        if reading.open != self.number:
            raise self._closed()
        history = folded(self._context, reading, self.number, lines=index_lines, budget_tokens=index_tokens)
        return status_of(self._context, self._repository, reading, self.number, history)

    def step(
        self,
        status: Status | Prompt,
        output: str | StepOutput,
        *,
        usage: Mapping[str, Json] | None = None,
        attempt: str | None = None,
        author: str = "model",
        strict: bool = False,
        own_calls: bool = True,
    ) -> StepResult:
        """Commit one output against the status (or prompt) the model was shown: delta, access and decision, in one
        transaction.

        A call named `compress` or `revise` is the model's own operation on the tree, and is done here: with `compress`
        the delta is committed first, with `revise` the restoration comes first and the delta is in view afterwards.
        `own_calls=False` leaves calls of these names to the caller's tools.

        Model text is taken as it comes; what is not accepted stands in `rejected` (one part) or `refused` (the whole),
        and in the next status. `strict` takes B.3 literally. `attempt` names the call, so that repeating it after a
        crash gives the first answer; by default it follows from task, version and output. When another process made the
        same step (`replayed`), its calls are not to be run again.

        Raises:
            StaleStatusError: the task moved on since `status` was read; read it again and ask the model again.
            PendingCallsError: calls wait for their results.
            RequestClosedError: the request was finished or abandoned.
            AbandonedAttemptError: `attempt` belongs to a step that a revise left behind.
            InvalidValueError: `status` is of another request, or `usage` is not JSON.
        """
        joined = isinstance(status, Prompt) and status.path is not None
        path_tokens = status.budget_tokens if isinstance(status, Prompt) else None
        status = status.status if isinstance(status, Prompt) else status
        if not isinstance(status, Status):
            raise InvalidValueError(f"status must be a Status, not {type(status).__name__}; request.status() reads it")
        self._check_status(status)
        parsed = parsed_output(output, strict, self._context)
        stored = self._context.output(parsed)
        attempt = self._attempt(attempt, str(status.version), json_text(stored.to_dict(), sort_keys=True))
        commit = Commit(
            request=self.number,
            version=status.version,
            attempt=attempt,
            kind="step",
            author=self._context.author(author),
            output=storable(stored.text or render_output(stored), self._context.limits.text_bytes),
            repairs=stored.repairs,
            refused=None,
            calls=stored.tool_calls,
            message=stored.message,
            fold=status.history.fold,
            usage=usage_text(usage, self._context),
            summary_key=summary_key(status.p_t, status.p_b),
            joined=joined,
            path_tokens=path_tokens,
        )
        refused = rules.refusal(stored) or (not_alone(stored) if own_calls else None)
        if refused is not None:
            commit = replace(commit, kind="refused", refused=refused, calls=(), message=None)
            return self._result(*self._repository.step(commit, Plan()), parsed, stored)
        call, rest = own_call(stored, self.options, in_r=status.in_r) if own_calls else (None, stored)
        if call is None:
            return self._committed(status, stored, parsed, commit)
        commit = replace(commit, calls=())
        if call.fault is None and call.name == "revise":
            return self._revised(status, rest, call, commit)
        if call.fault is None:
            commit = replace(commit, compress=self._context.text(call.text))
        return self._committed(status, rest, rest, commit, fault=_call_fault(call))

    def _committed(
        self, status: Status, stored: StepOutput, parsed: StepOutput, commit: Commit, *, fault: Reason | None = None
    ) -> StepResult:
        """Commit delta, access and decision; `fault` is why the model's own call was not done."""
        view = self._view(status, rules.unknown_ids(stored, status.view()), commit.attempt)
        unseen = rules.unseen_adds(stored, view)
        verdict, result = self._repository.step(commit, self._plan(stored, view, fault), unseen)
        if verdict == "taken":
            view = self._view(status, (*rules.unknown_ids(stored, status.view()), *unseen), commit.attempt)
            verdict, result = self._repository.step(commit, self._plan(stored, view, fault))
        return self._result(verdict, result, parsed, stored)

    def _revised(self, status: Status, output: StepOutput, call: OwnCall, commit: Commit) -> StepResult:
        """Go back as the model asked, and commit what it said with it; a call that cannot be done is only a reason."""
        view = status.view()
        unknown = (*rules.unknown_ids(output, view), *rules.unseen_adds(output, view))
        wanted = Wanted(
            attempt=commit.attempt,
            author=commit.author,
            boundary=call.boundary,
            feedback=call.text,
            world=call.world,
            commit=commit,
            output=output,
            view=self._view(status, unknown, commit.attempt),
            unknown=unknown,
        )
        names = (self._repository.space, self._repository.task)
        outcome = Revising(self._context.connection, *names).revise(wanted)
        reason = refused_reason(outcome)
        if reason is not None:
            return self._committed(status, output, output, commit, fault=Reason(what="call revise", why=reason))
        return self._outcome(outcome, commit)

    def _outcome(self, outcome: Outcome, commit: Commit) -> StepResult:
        if outcome.verdict == "replay":
            return replayed(outcome.found["done"], is_own=outcome.is_own, revised=outcome.revised)
        if outcome.revised is None:
            self._refuse(outcome.verdict)
        plan = outcome.plan
        return StepResult(
            step=outcome.revised.step,
            version=outcome.revised.version,
            added=plan.added,
            updated=plan.updated,
            removed=tuple(state.id for state in plan.removed),
            rejected=plan.rejected,
            disclosed=plan.disclosed,
            repairs=commit.repairs,
            p_b=outcome.found["back"]["p_b"],
            revised=outcome.revised,
        )

    def observe(
        self,
        calls: StepResult | PendingCalls,
        results: Sequence[ToolResult],
        *,
        author: str = "tools",
        irreversible: Collection[str] = (),
    ) -> Grown:
        """Give back what the calls returned, every one of them, verbatim: Grow. The ids of the raw results (`obs:ℓ.i`).

        The same calls with the same results after a revise merge into the node of then (`.merged`), and `.notes` is the
        feedback of failed subgoals over it. A call whose outcome nobody knows is answered by
        `ToolResult.unknown(call_id)`. Giving the same results again is harmless. `irreversible`: tools whose calls
        cannot be undone, beside those of the task's handle.

        Raises:
            InvalidValueError: a result is missing, names no call, comes twice, or cannot be stored.
            NotPendingError: these calls do not wait for results, or were answered otherwise.
        """
        pending = calls.pending if isinstance(calls, StepResult) else calls
        if not isinstance(pending, PendingCalls) or not pending.calls:
            raise InvalidValueError("there are no calls to observe: give a StepResult with calls, or status.pending")
        undoable = {self._context.text(n) for n in self._irreversible | check_tools("irreversible", irreversible)}
        ordered = ordered_results(pending, results)
        limits = self._context.limits
        texts = [
            None
            if r.content is None
            else check_text(f"the result of {r.call_id}", r.content, max_bytes=limits.result_bytes)
            for r in ordered
        ]
        contents = [None if text is None else self._context.text(text) for text in texts]
        content = content_hash(pending.recorded, contents)
        row = self._repository.observe(
            pending,
            attempt=attempt_key(self._repository.space, self._repository.task, "observe", str(pending.step)),
            author=self._context.author(author),
            node=trace_key(pending.p_b, content),
            content=content,
            name=trace_name(pending.recorded),
            results=[
                {"tool": call.name, "arguments": json_text(call.arguments), "content": text, "call_id": call.id}
                for call, text in zip(pending.recorded, contents, strict=True)
            ],
            irreversible=sorted({call.name for call in pending.recorded} & undoable),
        )
        if row["verdict"] not in ("ok", "replay") or row["hash"] != content:
            raise self._not_pending(row["verdict"], pending.step)
        notes = tuple(dict.fromkeys(note for note in row["notes"] or () if note))
        return Grown.of(row["number"], len(contents), merged=bool(row["merged"]), notes=notes)

    def _check_status(self, status: Status) -> None:
        given = f"{status.space}/{status.task} request {status.request}"
        mine = f"{self._repository.space}/{self._repository.task} request {self.number}"
        if given != mine:
            raise InvalidValueError(f"the status is of {given}, not of {mine}")

    def _attempt(self, attempt: str | None, *parts: str) -> str:
        if attempt is not None:
            check_text("attempt", attempt, max_bytes=1_000)
        key = ("step", *parts) if attempt is None else ("named", str(self.number), attempt)
        return attempt_key(self._repository.space, self._repository.task, *key)

    def _view(self, status: Status, unknown: tuple[str, ...], attempt: str) -> View:
        """What the status shows, with the facts about further ids at the same version."""
        if not unknown:
            return status.view()
        version, seen, facts = self._repository.facts(unknown, attempt=attempt)
        if version != status.version and not seen:
            raise self._stale()
        return status.view().with_facts(facts)

    def _plan(self, output: StepOutput, view: View, fault: Reason | None = None) -> Plan:
        plan = rules.validate(output, view)
        if fault is not None:
            plan = replace(plan, rejected=(*plan.rejected, fault))
        if self.isu or output.message is None:
            return plan
        response = rules.response_state(self.number, output.message, self._repository.raw_results(), view)
        return replace(plan, versions=(response,))

    def _result(self, verdict: str, result: StepResult | None, parsed: StepOutput, stored: StepOutput) -> StepResult:
        if result is None:
            self._refuse(verdict)
        if actions(stored.tool_calls) != actions(result.calls):
            return result  # of an earlier attempt, which asked for something else
        # The caller runs what the model asked for, not what the redactor left of it.
        calls = zip(parsed.tool_calls, result.calls, strict=True)
        return replace(result, calls=tuple(replace(mine, id=theirs.id) for mine, theirs in calls))

    def _refuse(self, verdict: str) -> NoReturn:
        match verdict:
            case "stale":
                raise self._stale()
            case "pending":
                raise PendingCallsError(
                    f"{self!r}: calls wait for their results. Give them to request.observe(status.pending, …), "
                    "ToolResult.unknown(call_id) where nobody knows."
                )
            case "abandoned":
                raise AbandonedAttemptError(
                    f"{self!r}: this attempt belongs to a step that a revise left behind; use another key"
                )
            case _:
                raise self._closed()

    def _stale(self) -> StaleStatusError:
        return StaleStatusError(
            f"{self!r}: the task has moved on since this status was read. Nothing was written; read it again."
        )

    def _closed(self) -> RequestClosedError:
        return RequestClosedError(
            f"{self!r} is not open any more. task.open_request() gives the open one, task.request(text) opens the next."
        )

    def _not_pending(self, verdict: str, step: int) -> NotPendingError:
        if verdict == "replay":
            return NotPendingError(
                f"{self!r}: the calls of step {step} were answered with other results before; those stand."
            )
        return NotPendingError(
            f"{self!r}: the calls of step {step} do not wait for results. request.status().pending shows what does."
        )


def _call_fault(call: OwnCall) -> Reason | None:
    return None if call.fault is None else Reason(what=f"call {call.name}", why=call.fault)
