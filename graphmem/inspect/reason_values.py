"""What `why`, `impact` and `blame` answer with: frozen values, plain to print and to give out as JSON.

The tree of a state's reasons is `Reasoned`, among the other values of the room. No query and no rule lives here.
"""

from dataclasses import dataclass

from graphmem.inspect.values import RawResult, Reasoned, Subgoal, WrittenBy
from graphmem.state.values import ToolCall, Value
from graphmem.vocabulary import StateKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultName(Value):
    """A raw result by its id and its call. `key` is that of its node."""

    id: str
    key: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReason(Value):
    """Where a raw result comes from: itself verbatim, and the step that called the tool (None when it is not known)."""

    result: RawResult
    called: WrittenBy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredNode(Value):
    """A trace node below a summary: its ℓ, name, the step that grew it, and its raw results."""

    node: int
    name: str
    step: int
    results: tuple[ResultName, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told(Value):
    """What one step said of a summary: a text, a verdict about the text of `of_step`, or the feedback of a revise."""

    number: int
    kind: str
    author: str
    request: int
    text: str | None = None
    verdict: str | None = None
    note: str | None = None
    of_step: int | None = None
    abandoned_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryReason(Value):
    """What a finished subgoal rests on: the nodes it covers, the step that wrote its text, and what was said of it.

    `origin`: the task in which it was made, where that is another one. `siblings`: others that start at the same ℓ.
    """

    key: str
    boundary: int
    rank: int
    text: str
    verdict: str
    note: str | None
    on_path: bool
    from_step: int
    origin: str | None
    written: WrittenBy | None
    covers: tuple[CoveredNode, ...] = ()
    told: tuple[Told, ...] = ()
    siblings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WroteState(Value):
    """A version of a state that a step wrote. `in_view`: a version of that lineage is in view now."""

    id: str
    kind: StateKind
    lineage: str
    summary: str
    in_view: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReason(Value):
    """One step of the ledger: who made it, where and below which subgoal; what it said, wrote, and got back.

    `observed_step` brought the results of its calls, of node ℓ `observed_node`; `merged`: they were there before.
    `left`, `returned`: what a revise did to states. `output`: what the model said, word for word.
    """

    step: WrittenBy
    calls: tuple[ToolCall, ...] = ()
    message: str | None = None
    text: str | None = None
    note: str | None = None
    verdict: str | None = None
    of_step: int | None = None
    about: Subgoal | None = None
    world: str | None = None
    boundary_step: int | None = None
    left: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    refused: str | None = None
    wrote: tuple[WroteState, ...] = ()
    removed: tuple[str, ...] = ()
    observed_step: int | None = None
    observed_node: int | None = None
    merged: bool = False
    results: tuple[ResultName, ...] = ()
    output: str | None = None


Reason = Reasoned | RawReason | SummaryReason | StepReason
"""What `why` answers with, by what was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Affected(Value):
    """One thing that rests on what was asked for, and below it what rests on that.

    `what`: a kind of state, `raw result` or `step`; `by`: how it leads here from the one above (`wrote`, `got back`, a
    relation). `in_view`: a state in view, a raw result on the path, a step that was not abandoned. `again`: shown in
    full elsewhere (cycles end there); `more`: there is more, left out at the depth that was asked for.
    """

    what: str
    id: str
    summary: str
    request: int | None
    step: int
    in_view: bool
    by: str | None = None
    below: tuple["Affected", ...] = ()
    again: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedRequest(Value):
    """A request in which something of it was written. `standing` as in the list of requests."""

    number: int
    standing: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact(Value):
    """Everything that rests on a state, a raw result or a step; `states`: ids of those in view, without the asked one.

    `summaries`: the finished subgoals over it; `requests`: those in which it was used.
    """

    top: Affected
    states: tuple[str, ...] = ()
    summaries: tuple[Subgoal, ...] = ()
    requests: tuple[AffectedRequest, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BlamedPart(Value):
    """A part of a state and the step that last changed it: who, in which request, and the line of what was said.

    `part`: id, kind, summary, value, `value.KEY`, or a ref as `derives obs:1.1`. `line` counts from 1 in the output of
    that step, and `said` is what stands there. `returned_step`: the revise that brought it back.
    """

    part: str
    content: str
    step: int
    author: str
    request: int
    origin: str | None = None
    line: int | None = None
    said: str | None = None
    returned_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame(Value):
    """Every part of the present version of a state (`from_step`), or of the last one that was, with its author.

    `copied_step`: what a fork copied, as of that step; None in a task that is none.
    """

    id: str
    from_step: int
    in_view: bool
    parts: tuple[BlamedPart, ...]
    copied_step: int | None = None
