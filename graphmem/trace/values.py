"""The values of MAGE: the path S = (C, R, H), and what the four operations answer.

Frozen values only. Table 2 of the paper has the fields of a node: its id is ℓ here (`number` of a trace node,
`boundary` of a summary: the ℓ at which it starts), its content the results of an output's calls or a summary's text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from graphmem.errors import InvalidValueError
from graphmem.state.values import Observation, Value
from graphmem.vocabulary import Json, StateKind


class World(StrEnum):
    """What became of the environment when the agent goes back: what was done stands, or it was put back as well."""

    UNCHANGED = "unchanged"
    RESTORED = "restored"

    @classmethod
    def of(cls, given: object) -> "World":
        """The member given as itself or as its text.

        Raises:
            InvalidValueError: it is none of them.
        """
        try:
            return cls(str(given))
        except ValueError:
            raise InvalidValueError(f"world {given!r} is none of {', '.join(cls)}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(Value):
    """A finished subgoal of C (a top-layer node). `boundary`: the ℓ where it starts; `note`: diagnostic feedback.

    `verdict`: unchecked, passed or failed; `copied`: it came with a fork, from the origin.
    """

    key: str
    boundary: int
    text: str
    verdict: str = "unchecked"
    note: str | None = None
    from_step: int = 0
    copied: bool = False

    @property
    def trusted(self) -> bool:
        """Whether Maintain passed it (§3.3: a summary becomes trusted memory once it is validated)."""
        return self.verdict == "passed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceNode(Value):
    """A node of R (a bottom-layer node): the calls of one output and what they returned.

    `wrote`: ids of states that abandoned steps wrote at this node, or in the output whose calls it is; they are not in
    view again by walking here.
    """

    key: str
    number: int
    results: tuple[Observation, ...]
    wrote: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(Value):
    """A child of p_b: what was done from here before. Results are excerpts; `notes`: of failed subgoals over it.

    `wrote`: as of a `TraceNode`.
    """

    number: int
    results: tuple[Observation, ...]
    notes: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints(Value):
    """H: the feedback of the last revise (until the next Compress), children of p_b, children of p_t; newest first."""

    feedback: str | None = None
    tried: tuple[Tried, ...] = ()
    more_tried: int = 0
    subgoals: tuple[Summary, ...] = ()
    more_subgoals: int = 0


class Grown(tuple[str, ...]):
    """What Grow made of the results of an output: the ids of the raw results, in the order of the calls.

    `number`: ℓ of the node; `merged`: it is a node of an earlier exploration; `notes`: the feedback of failed subgoals
    over it, so that the agent knows what it walks into again.
    """

    number: int
    merged: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, number: int, results: int, *, merged: bool = False, notes: tuple[str, ...] = ()) -> "Grown":
        """The raw results of node ℓ = `number`."""
        grown = cls(f"obs:{number}.{i}" for i in range(1, results + 1))
        grown.number, grown.merged, grown.notes = number, merged, notes
        return grown


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Value):
    """What Maintain shows a judge: τ, T and m of Algorithm 1, with the preferences in view.

    `summary` is None where Compress is off: then the trace is everything since the boundary (§4.4). `preferences`: (id,
    summary); `values`: theirs by id.
    """

    instruction: str
    trace: tuple[TraceNode, ...]
    summary: Summary | None
    preferences: tuple[tuple[str, str], ...] = ()
    values: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling(Value):
    """What a judge says: pass, or fail with feedback f."""

    passed: bool
    feedback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Value):
    """What Maintain answers. `summary`: the key judged, the target to revise; None where Compress is off.

    `stands`: the text judged is still the one the summary has; `on_path`: the summary is on the active path still.
    `copied`: the summary came with a fork and is judged in its origin, so that this changes nothing.
    """

    passed: bool
    feedback: str
    summary: str | None
    step: int
    stands: bool = True
    on_path: bool = True
    copied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RanCall(Value):
    """A call of a tool that was declared irreversible and was run. `known`: its outcome is recorded."""

    id: str
    tool: str
    arguments: str
    step: int
    known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised(Value):
    """What became of a revise.

    `boundary_step`: the step of the ledger that was gone back to; `left`: ids out of view; `returned`: ids whose value
    of the boundary is back; `kept`: artifacts made or changed since, which stand; `stays_removed`: artifacts removed
    since, which stay so; `clashes`: ids that did not return because a survivor has them; `irreversible`: such calls
    since that step; `requests`: abandoned requests; `request`: the one that goes on.
    """

    step: int
    version: int
    about: str
    boundary_step: int
    world: World
    request: int
    left: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    stays_removed: tuple[str, ...] = ()
    clashes: tuple[str, ...] = ()
    irreversible: tuple[RanCall, ...] = ()
    requests: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StateVersion(Value):
    """A version that began or ended behind a revise, with its refs; `cites`: raw results, and whether on the path."""

    key: str
    id: str
    kind: StateKind
    summary: str
    value_text: str
    request: int
    from_step: int
    to_step: int | None
    lineage: str
    born: int
    position: int
    refs_at: str
    refs: tuple[tuple[str, str], ...] = ()
    cites: tuple[tuple[str, bool], ...] = ()

    @property
    def rests_on_path(self) -> bool:
        """Whether it cites raw results and all of them are on the path."""
        return bool(self.cites) and all(on_path for _, on_path in self.cites)
