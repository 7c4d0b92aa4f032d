"""The tools that write: request, step, observe, compress, revise, fork.

Each is one call of the API on the task of the scope. A reply gives the version that the next `step` answers to, but
only where nobody else wrote meanwhile: what a model has not been shown it is not to answer. Repeating a call whose
reply was lost writes nothing twice.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from graphmem.errors import (
    InvalidValueError,
    NoOpenRequestError,
    NotFoundError,
    NotPendingError,
    PendingCallsError,
    RequestOpenError,
    StaleStatusError,
)
from graphmem.integrations.mcp.arguments import (
    CompressArguments,
    ForkArguments,
    ObserveArguments,
    RequestArguments,
    ResultArguments,
    ReviseArguments,
    StepArguments,
)
from graphmem.integrations.mcp.fitting import Lines, Reply
from graphmem.integrations.mcp.reads import last_request, status_reply
from graphmem.integrations.mcp.scope import AUTHOR, Scope
from graphmem.integrations.mcp.views import NOTE, Line, call_line, filled, state_line, summary_line
from graphmem.state.values import PendingCalls, StepResult, ToolResult
from graphmem.task import Request
from graphmem.trace import Grown
from graphmem.vocabulary import Limits, check_text

_LIMITS: Final = Limits()
_STEP_LISTS: Final = (
    Lines(name="disclosed", how="status"),
    Lines(name="notes", how="path"),
    Lines(name="repairs", how="log of this step"),
    Lines(name="rejected", how="log of this step"),
    Lines(name="calls", how="status"),
    Lines(name="results", how="path"),
    Lines(name="added", how="log of this step"),
    Lines(name="updated", how="log of this step"),
    Lines(name="removed", how="log of this step"),
)


def request(scope: Scope, arguments: RequestArguments) -> Reply:
    """Open the next request; the same one again is the one that is open."""
    try:
        opened = scope.task.request(arguments.text, author=AUTHOR)
    except RequestOpenError as error:
        if not error.is_same:
            raise
        opened = scope.task.open_request()
    return status_reply(scope, opened, opened.status(index_tokens=scope.index_tokens))


def step(scope: Scope, arguments: StepArguments) -> Reply:
    """Commit one output, and the results of its calls where they have run."""
    output, results = arguments.output(), arguments.results()
    for i, content in enumerate(results or ()):
        check_text(f"tool_calls[{i}].result", content, max_bytes=_LIMITS.result_bytes)
    opened = _open_request(scope)
    status = opened.status(index_tokens=scope.index_tokens)
    # A step made before comes back by its attempt key, which holds the version; another one is refused as stale there.
    shown = status if status.version == arguments.version else replace(status, version=arguments.version)
    try:
        made = opened.step(shown, output, author=AUTHOR, own_calls=False)
    except StaleStatusError:
        raise StaleStatusError(
            f"version {arguments.version} is not the present one, which is {status.version}: the task has moved on. "
            "Nothing was written. Call `status`, see what changed, and give the step again if it still holds."
        ) from None
    grown = _observed(opened, made, results) if results and made.calls else None
    return _step_reply(scope, opened, made, grown)


def _open_request(scope: Scope) -> Request:
    try:
        return scope.task.open_request()
    except NoOpenRequestError:
        raise NoOpenRequestError(
            f"{last_request(scope)} If your last step gave the message that finished it, it is recorded (`log`). "
            "`request` opens the next one."
        ) from None
    except NotFoundError:
        raise NotFoundError("Nothing is recorded yet: `request` opens the first request.") from None


def _observed(opened: Request, made: StepResult, results: Sequence[str]) -> Grown:
    given = [ToolResult(call_id=call.id, content=text) for call, text in zip(made.calls, results, strict=True)]
    return opened.observe(made, given, author=AUTHOR)


def _step_reply(scope: Scope, opened: Request, made: StepResult, grown: Grown | None) -> Reply:
    waits = made.calls if grown is None else ()
    version = None if made.replayed else made.version + (grown is not None)
    data: Line = {
        "step": made.step,
        "version": version,
        "next": _after_step(made, version, waits=bool(waits)),
        "finished": made.finished,
        "replayed": made.replayed,
        "refused": made.refused,
        "added": list(made.added),
        "updated": list(made.updated),
        "removed": list(made.removed),
        "rejected": [reason.to_dict() for reason in made.rejected],
        "repairs": list(made.repairs),
        "calls": [call_line(call, made.step) for call in waits],
        "disclosed": _disclosed(scope, opened, made),
    }
    if data["disclosed"]:
        data["note"] = NOTE
    if grown is not None:
        data |= {"results": list(grown), "notes": list(grown.notes)}
    return Reply(data={"step": made.step, "next": data["next"]} | filled(data), lists=_STEP_LISTS)


def _after_step(made: StepResult, version: int | None, *, waits: bool) -> str:
    if made.refused is not None:
        return "Nothing of it was taken; see `refused`, and give another step."
    if waits:
        return f"Run the calls, then give every result to `observe` with step {made.step}."
    if made.finished:
        return "The request is finished. `request` opens the next one."
    if version is None:
        return "This step was recorded before; nothing was written again. `status` says where the task stands."
    return f"Go on with `step` and version {version}."


def _disclosed(scope: Scope, opened: Request, made: StepResult) -> list[Line]:
    """What an access disclosed, in full: it is in the Active State from now on."""
    if not made.disclosed or made.finished:
        return []
    active = opened.status(index_tokens=scope.index_tokens).active
    return [state_line(state) for state in active if state.id in made.disclosed]


def observe(scope: Scope, arguments: ObserveArguments) -> Reply:
    """Give back what the calls of a step returned."""
    opened = _open_request(scope)
    status = opened.status(index_tokens=0, index_lines=0)
    pending = status.pending
    if pending is None or pending.step != arguments.step:
        waits = "no calls wait for results" if pending is None else f"the calls of step {pending.step} wait"
        raise NotPendingError(
            f"{waits}, not those of step {arguments.step}. If their results were given before, they are recorded: "
            "`path` and `log` show them. Nothing was written."
        )
    grown = opened.observe(pending, _results(pending, arguments.results), author=AUTHOR)
    version = status.version + 1
    data = {
        "step": arguments.step,
        "version": version,
        "next": f"Go on with `step` and version {version}; refs may name these results.",
        "results": list(grown),
        "node": grown.number,
        "merged": grown.merged,
        "notes": list(grown.notes),
    }
    return Reply(data=data, lists=(Lines(name="notes", how="path"), Lines(name="results", how="path")))


def _results(pending: PendingCalls, given: Sequence[ResultArguments]) -> list[ToolResult]:
    ids = [call.id for call in pending.calls]
    if len(ids) == 1 and len(given) == 1:
        return [ToolResult(call_id=given[0].call_id or ids[0], content=given[0].content)]
    unnamed = [i for i, result in enumerate(given) if result.call_id is None]
    if unnamed:
        raise InvalidValueError(f"results[{unnamed[0]}] needs call_id; the calls that wait are {', '.join(ids[:20])}.")
    return [ToolResult(call_id=result.call_id or "", content=result.content) for result in given]


def compress(scope: Scope, arguments: CompressArguments) -> Reply:
    """Replace what was done since the last summary by one."""
    task = scope.task
    before = task.path().version
    made = task.compress(arguments.text, author=AUTHOR)
    after = task.path().version
    data: Line = {"summary": summary_line(made), "note": NOTE}
    if after == before + 1:
        return Reply(data=data | {"version": after, "next": f"Go on with `step` and version {after}."})
    return Reply(data=data | {"version": None, "next": "Others wrote meanwhile: call `status` before the next step."})


def revise(scope: Scope, arguments: ReviseArguments) -> Reply:
    """Go back to where a subgoal starts."""
    feedback = arguments.feedback or ("dry run" if arguments.dry_run else None)
    done = scope.task.revise(
        arguments.target, feedback=feedback, world=arguments.world, author=AUTHOR, dry_run=arguments.dry_run
    )
    data: dict[str, Any] = filled(done.to_dict())
    data.pop("about", None)
    following = (
        "Nothing was written: this is what would leave the view."
        if arguments.dry_run
        else f"You are back at step {done.boundary_step}, on a new branch; go on with version {done.version}."
    )
    lists = ("irreversible", "kept", "stays_removed", "clashes", "returned", "left", "requests")
    return Reply(
        data={"dry_run": arguments.dry_run, "next": following} | data,
        lists=tuple(Lines(name=name, how="log of this step") for name in lists),
    )


def fork(scope: Scope, arguments: ForkArguments) -> Reply:
    """Make a task that goes on from a step of this one."""
    name = f"{scope.name}.{arguments.name}"
    try:
        branch = scope.task.fork(name, at=arguments.at, author=AUTHOR)
    except PendingCallsError:
        if arguments.at is None:
            raise
        raise InvalidValueError(
            f"at step {arguments.at} calls waited for their results; give the step that observed them (see `log`)."
        ) from None
    origin = branch.origin()
    assert origin is not None
    calls = [call.to_dict() for call in origin.irreversible]
    following = f"This server stays with {scope.name}. `graphmem mcp --task {name}` serves the fork."
    data = {"task": name, "at": origin.step, "irreversible": calls, "next": following}
    return Reply(data=data, lists=(Lines(name="irreversible", how=f"log from step {origin.step} on"),))
