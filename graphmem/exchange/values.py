"""A recorded run of an agent: what was asked, said, called and returned, in order.

Owns the values that every format is read into and that the writer, the recorder and the figures read. Invariant: a
turn has one result for each of its calls, None where the recording holds none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphmem.state.values import ToolCall
from graphmem.vocabulary import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of the assistant, and what its calls returned: `results[i]` answers `calls[i]`.

    `author`: who spoke, where a run has several agents.
    """

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    results: tuple[str | None, ...] = ()
    author: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What the user asked, and what the assistant did about it: one request.

    `is_answered`: the last turn is the final response; else none was recorded, or not yet.
    """

    text: str
    turns: tuple[Turn, ...] = ()
    is_answered: bool = False

    @property
    def has_answer(self) -> bool:
        """Whether the final response is there and says something: a request is finished by words."""
        last = self.turns[-1] if self.turns else None
        return self.is_answered and last is not None and not last.calls and bool((last.text or "").strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A recorded run. Runs of one `task` are trials of it, told apart by `trial`; `source` names file and record.

    `system`: the policy the agent was given. `lesson`: what the agent told itself about the trials before this one.
    `info`: what else the recording says of the run. `is_named`: `task` is a name that the recording gives, and not the
    run's place in its file, or nothing.
    """

    task: str
    rounds: tuple[Round, ...]
    is_named: bool = True
    trial: int = 0
    source: str = ""
    system: str | None = None
    lesson: str | None = None
    info: Mapping[str, Json] = field(default_factory=dict)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn, in order."""
        return tuple(turn for round_ in self.rounds for turn in round_.turns)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Every call, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)
