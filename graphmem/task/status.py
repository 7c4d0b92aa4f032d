"""What a request shows at one moment, and how it is told to a model.

A `Status` carries the version it was read at: an output is validated against exactly what it shows, and refused when
the task has moved on. Invariant: `text()` depends on nothing but the value itself.
"""

from dataclasses import dataclass, field

from graphmem.llm.tokens import Tokenizer
from graphmem.state.index import Index
from graphmem.state.render import agent_status, input_prompt, observation_text
from graphmem.state.values import ActiveState, IndexEntry, Observation, PendingCalls, Reason, Value
from graphmem.state.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class Status(Value):
    """C_{k,t} of the paper (equation 3): the query, the latest observation, G and S, with reasons and pending calls.

    `active`: S in order of appearance; `locked`: read under the task's lock (False only where the database refuses
    writes); `in_r`: something was done since the last compression. `space`, `task`, `request` and `version`
    say what it is a status of.
    """

    space: str
    task: str
    request: int
    query: str
    version: int
    history: Index
    active: tuple[ActiveState, ...]
    observation: tuple[Observation, ...]
    reasons: tuple[Reason, ...]
    pending: PendingCalls | None
    psa: bool
    isu: bool
    locked: bool
    p_b: str
    p_t: str
    in_r: bool = False
    tokenizer: Tokenizer = field(repr=False, compare=False)

    @property
    def index(self) -> tuple[IndexEntry, ...]:
        """The Historical State Index, one entry an earlier request."""
        return self.history.entries

    def text(self) -> str:
        """The input prompt of B.3: agent status, latest observation, user query."""
        calls = self.pending.calls if self.pending is not None else ()
        return input_prompt(
            status=agent_status(self.history if self.psa else None, self.active, self.reasons, calls),
            observation=observation_text(self.observation),
            query=self.query,
        )

    @property
    def tokens(self) -> int:
        """The length of `text()`, counted by `tokenizer` (which says whether it is exact)."""
        return self.tokenizer.count(self.text())

    def view(self) -> View:
        """S, IDs(G) and ToolRefs(S) as an output is validated against them (B.4)."""
        own = {state.id: state for state in self.active if state.own}
        disclosed = frozenset(state.id for state in self.active if not state.own)
        raw = frozenset(state.id for state in self.active if state.kind is None)
        tool_refs = frozenset(r.id for state in self.active for r in state.related if r.id.startswith("obs:"))
        shown = frozenset(line.id for entry in self.index for line in entry.states)
        return View(
            request=self.request,
            own=own,
            disclosed=disclosed,
            historical=shown | (disclosed - raw),
            tool_refs=tool_refs,
            citable=tool_refs | raw | {o.id for o in self.observation},
            headings=frozenset(entry.request for entry in self.index),
            unfolded=frozenset(self.history.unfolded),
            folded=self.history.folded,
            raw_folded=any(state.more for state in self.active),
            psa=self.psa,
            isu=self.isu,
        )

    def to_dict(self) -> dict[str, object]:
        """The status as plain data, with its token count and the name of the tokenizer."""
        names = ("space", "task", "request", "query", "version", "reasons", "observation", "locked", "psa", "isu")
        plain: dict[str, object] = {name: getattr(self, name) for name in names}
        plain |= {
            "index": [entry.to_dict() for entry in self.index],
            "folded_ranges": self.history.folded_ranges,
            "active": [state.to_dict() for state in self.active],
            "observation": [o.to_dict() for o in self.observation],
            "reasons": [reason.to_dict() for reason in self.reasons],
            "pending": None if self.pending is None else self.pending.to_dict(),
            "tokens": self.tokens,
            "tokenizer": self.tokenizer.name,
            "tokens_exact": self.tokenizer.exact,
        }
        return plain
