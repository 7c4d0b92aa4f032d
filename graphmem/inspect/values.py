"""What the inspect room answers with: frozen values, plain to print and to give out as JSON.

No query and no rule lives here. Invariant: `to_dict()` holds nothing but what JSON knows, keys in a fixed order.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from graphmem.state.values import ActiveState, IndexLine, Reason, ToolCall, Value
from graphmem.store import Query
from graphmem.vocabulary import Json, Relation, StateKind


class Reader(Protocol):
    """Whatever runs a named read: a `Connection`, or one that also shows what it runs."""

    def read(self, query: Query, p: Mapping[str, Any], /) -> list[dict[str, Any]]:
        """The rows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceLine(Value):
    """One space, and how many tasks it has."""

    space: str
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine(Value):
    """One task of a space. `open`: the number of its open request; `pending`: the step whose calls wait for results."""

    task: str
    open: int | None
    text: str | None
    pending: int | None
    version: int
    requests: int
    steps: int
    nodes: int
    psa: bool
    isu: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLine(Value):
    """One request: its number, how it stands, the steps that opened and finished it, the user's text.

    `cut`: the revise `cut_step` left its finish behind, and it goes on under a later request.
    """

    number: int
    standing: Literal["open", "finished", "abandoned", "cut"]
    opened_step: int
    finished_step: int | None
    abandoned_step: int | None
    text: str
    cut_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLine(Value):
    """One state in view. `born` is the step that added it, `from_step` the one that gave it its present version."""

    request: int
    id: str
    kind: StateKind
    summary: str
    born: int
    from_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRef(Value):
    """A ref of a version: the relation, and the id and key of what it names."""

    relation: Relation
    id: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVersion(Value):
    """One version of a state, in view from `from_step` until before `to_step`; its refs were given in `refs_step`."""

    id: str
    kind: StateKind
    key: str
    lineage: str
    request: int
    born: int
    from_step: int
    to_step: int | None
    in_view: bool
    summary: str
    value: Json
    refs: tuple[ShownRef, ...]
    refs_step: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RawResult(Value):
    """One tool result verbatim; `content` None when its outcome is unknown. `node` is ℓ, `asked_step` made the call.

    `pruned_step`: the step that pruned it; `content` is then what is left: its size and hash.
    """

    id: str
    tool: str
    arguments: Mapping[str, Json]
    content: str | None
    node: int
    node_name: str
    on_path: bool
    from_step: int
    asked_step: int | None
    request: int | None
    cited_by: tuple[str, ...]
    pruned_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine(Value):
    """One Step of the ledger. `node` is the ℓ that an observation grew or, when `merged`, walked again.

    `answered`: the tools whose results an observation of `of_step` brought. `about`: the ℓ of the summary that it
    speaks of. `text`: what a compress wrote. `note`, `verdict`: what Maintain said of the text of step `of_step`, or
    the feedback of a revise, which went back to `boundary_step`. `left`, `returned`: what it did to states. `origin`:
    the task that a fork goes on from, at `of_step`. `abandoned_step`: the revise that left this step behind.
    """

    number: int
    kind: str
    author: str
    request: int
    calls: tuple[ToolCall, ...] = ()
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    rejected: tuple[Reason, ...] = ()
    refused: str | None = None
    disclosed: tuple[str, ...] = ()
    message: str | None = None
    node: int | None = None
    merged: bool = False
    of_step: int | None = None
    answered: tuple[str, ...] = ()
    version: int = 0
    text: str | None = None
    note: str | None = None
    verdict: str | None = None
    about: int | None = None
    world: str | None = None
    boundary_step: int | None = None
    left: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    origin: str | None = None
    abandoned_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Disclosure(Value):
    """What an access to `target` would get in `request`: `reason` when it would be rejected, else what would be shown.

    `already`: the Active State holds it, so that an access changes nothing. `lines`: the states of a whole request.
    """

    target: str
    request: int
    accepted: bool
    reason: str | None = None
    already: bool = False
    state: ActiveState | None = None
    lines: tuple[IndexLine, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As a model would see it, without keys of the graph."""
        state = None if self.state is None else self.state.to_dict()
        for name in ("version", "own"):
            if state is not None:
                state.pop(name, None)
        plain: dict[str, Any] = {
            name: getattr(self, name) for name in ("target", "request", "accepted", "reason", "already")
        }
        return plain | {"state": state, "lines": [line.to_dict() for line in self.lines]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgoal(Value):
    """A finished subgoal as it is named: its key, the ℓ where it starts, its text and how it was judged."""

    key: str
    boundary: int
    text: str
    verdict: str
    note: str | None
    on_path: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBy(Value):
    """The step that wrote something: its author, request, what the user asked, how that stands, and the ℓ it stood at.

    `origin`: the task in whose ledger it stands, where that is another one. `summary`: the finished subgoal that covers
    it, None while none does. `abandoned_step`: the revise that left it behind, for the reason `feedback`.
    """

    number: int
    kind: str
    author: str
    request: int
    asked: str | None
    standing: str | None
    node: int | None
    origin: str | None = None
    abandoned_step: int | None = None
    feedback: str | None = None
    summary: Subgoal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Value):
    """A raw result that a state rests on: the call, its step and request, and the beginning of what came back."""

    by: Relation
    id: str
    tool: str
    arguments: Mapping[str, Json]
    content: str | None
    characters: int | None
    node: int
    step: int
    request: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoned(Value):
    """A state and what it rests on.

    `by`: how the state above leads here, None at the top; `incoming`: this one declared that it supports the one above.
    `given_step`: where its refs were given. `evidence`: raw results; `below`: states; `again`: shown in full elsewhere
    in the answer (cycles end there); `more`: there is more below, left out at the depth that was asked for. `written`:
    the step that wrote this version.
    """

    id: str
    kind: StateKind
    summary: str
    value: Json
    request: int
    from_step: int
    to_step: int | None
    in_view: bool
    by: Relation | None
    incoming: bool
    given_step: int | None
    evidence: tuple[Evidence, ...] = ()
    below: tuple["Reasoned", ...] = ()
    again: bool = False
    more: bool = False
    written: WrittenBy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Named(Value):
    """A named query: what it tells, the keys of `$p` (those in `optional` may be left out), its columns."""

    name: str
    summary: str
    params: tuple[str, ...]
    optional: tuple[str, ...]
    returns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Value):
    """The answer of a named query: its columns and rows, plain."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Json, ...], ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(Value):
    """Damage: which audit found it, the key of the node, and what is wrong with it."""

    audit: str
    key: str
    what: str

    def __str__(self) -> str:
        return f"{self.key}: {self.what}"
