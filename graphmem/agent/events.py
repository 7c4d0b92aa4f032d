"""What happens in a run, told as it happens.

Frozen values only; who listens decides what to show. Invariant: a listener learns of a call before it runs, so that
whoever interrupts a run knows what was going on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from graphmem.state.values import StepResult, ToolCall, ToolResult
from graphmem.task import Status
from graphmem.trace import Revised, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The request of the run: a new one, or one that was open and goes on."""

    request: int
    text: str
    is_resumed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A call that an earlier run left without its result, and what it is said to have come to (None: unknown)."""

    call: ToolCall
    content: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The model is asked: the how-many-th time in this run, and with which input prompt."""

    step: int
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A piece of what the model says, as it comes; an empty one says that its answer begins anew."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling:
    """A tool is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A tool has returned."""

    call: ToolCall
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One model invocation: what was shown, what came out, what became of it, and what its calls returned.

    `verdicts` of summaries that it made, and `revised`, when one of them failed and the agent was taken back; `usage`:
    its tokens, as the endpoint counts them.
    """

    status: Status
    prompt: str
    output: str
    result: StepResult
    results: tuple[ToolResult, ...]
    observed: tuple[str, ...]
    verdicts: tuple[Verdict, ...] = ()
    revised: Revised | None = None
    usage: Mapping[str, int] | None = None


Event: TypeAlias = Opened | Answered | Asking | Said | Calling | Returned | Invocation
OnEvent: TypeAlias = Callable[[Event], None]
