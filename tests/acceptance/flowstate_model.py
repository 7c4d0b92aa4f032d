"""FlowState as its paper states it, in plain sets: what the store is held against.

Written from §2, Algorithm 1 and B.3–B.5 of the paper, with the decisions that the paper leaves open (ids that may be
used again, folding, reasons, pending calls) as the project's design states them;
from no line of the implementation.
A `ModelTask` holds M_k (every live state and raw result), derives G_k and S_{k,t} from it, and moves as the loop of
Algorithm 1 does. It knows no server, no keys, no texts of reasons: a rejected part is named by what it is. `compare`
holds a status against it. Texts carry tokens (`tok12`), so that what a prompt shows is the set of tokens in it.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from graphmem import Access, Operation, StateKind, Status, StepOutput, StepResult, ToolCall
from graphmem.vocabulary import Json

RESERVED = ("obs:", "request:", "memory:")
_TOKEN = re.compile(r"tok\d+")

Edge = tuple[str, str, bool]
"""A neighbour as it is shown: its id, the relation, whether it points here."""


@dataclass(kw_only=True)
class ModelState:
    """A state node v: a lineage is one life of an id, from its Add to its Remove."""

    id: str
    lineage: int
    request: int
    kind: StateKind
    summary: str
    value: Json
    refs: frozenset[tuple[str, int | str]]
    """(relation, lineage of a state or id of a raw result)."""


@dataclass(frozen=True, kw_only=True)
class Raw:
    """A raw tool result."""

    id: str
    request: int
    tool: str
    arguments: Mapping[str, Json]
    content: str | None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What becomes of an output."""

    refused: bool = False
    added: frozenset[str] = frozenset()
    updated: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()
    rejected: tuple[str, ...] = ()
    disclosed: tuple[str, ...] = ()
    finished: bool = False


@dataclass
class ModelTask:
    """One task. `states` are the live ones of every request in order of appearance, `texts` the requests' queries."""

    texts: list[str] = field(default_factory=list)
    open: int | None = None
    version: int = 0
    states: dict[str, ModelState] = field(default_factory=dict)
    raws: dict[str, Raw] = field(default_factory=dict)
    appeared: list[str | int] = field(default_factory=list)
    """What entered S in this request, in order: a lineage of its own, or the id of something disclosed."""
    unfolded: list[int] = field(default_factory=list)
    observation: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    refused: bool = False
    pending: tuple[ToolCall, ...] = ()
    pending_step: int = 0
    nodes: int = 0
    lineages: int = 0

    # --- the sets of the paper ---------------------------------------------------------------------------------------

    def index(self) -> dict[int, list[ModelState]]:
        """G_k: every earlier request with its states, also the requests that left none (§2.1, equation 4)."""
        assert self.open is not None
        return {k: [s for s in self.states.values() if s.request == k] for k in range(1, self.open)}

    def historical(self) -> frozenset[str]:
        """IDs(G_k)."""
        return frozenset(s.id for s in self.states.values() if s.request != self.open)

    def own(self) -> dict[str, ModelState]:
        """The part of S that was created in this request: what Update and Remove may name."""
        return {s.id: s for s in self.states.values() if s.request == self.open}

    def active(self) -> list[ModelState | Raw]:
        """S_{k,t}, in order of appearance."""
        by_lineage = {s.lineage: s for s in self.own().values()}
        found: list[ModelState | Raw] = []
        for token in self.appeared:
            if isinstance(token, int):
                found += [by_lineage[token]] if token in by_lineage else []
            else:
                found.append(self.raws[token] if token in self.raws else self.states[token])
        return found

    def tool_refs(self) -> frozenset[str]:
        """ToolRefs(S_{k,t}): raw results that states of the Active State refer to."""
        return frozenset(raw for s in self.active() if isinstance(s, ModelState) for raw in _raws_of(s))

    def citable(self) -> frozenset[str]:
        """Raw results that a ref may name: observed in this request, or cited by a live state."""
        seen = {raw.id for raw in self.raws.values() if raw.request == self.open}
        return frozenset(seen.union(*(_raws_of(s) for s in self.states.values())))

    def neighbours(self, node: ModelState | Raw) -> frozenset[Edge]:
        """The relations of a node that are in view: ids and relation types, never contents (§2.2.2)."""
        live = {s.lineage: s.id for s in self.states.values()}
        me: int | str = node.id if isinstance(node, Raw) else node.lineage
        edges: set[Edge] = set()
        if isinstance(node, ModelState):
            for relation, target in node.refs:
                if isinstance(target, str):
                    edges.add((target, relation, False))
                elif target in live:
                    edges.add((live[target], relation, False))
        for other in self.states.values():
            edges |= {(other.id, relation, True) for relation, target in other.refs if target == me}
        return frozenset(edges)

    # --- Validate, Commit, Disclose, Persist -------------------------------------------------------------------------

    def validate_update(self, delta: Iterable[Operation]) -> list[bool]:
        """Validate_upd(ΔS | P, S_{k,t}): which operations pass, each judged against S before any of them (B.4)."""
        operations = list(delta)
        own, historical, citable = self.own(), self.historical(), self.citable()
        used = own.keys() | historical
        seen: set[str] = set()
        accepted = []
        for op in operations:
            if op.operation == "add":
                fresh = op.id not in used and op.id not in seen and not op.id.startswith(RESERVED)
                accepted.append(fresh and op.id != "" and op.kind is not None)
                seen.add(op.id)
            else:
                present = op.id in own
                same_kind = present and op.kind in (None, own[op.id].kind)
                accepted.append(present and (op.operation == "remove" or same_kind))
        removed = {op.id for op, ok in zip(operations, accepted, strict=True) if ok and op.operation == "remove"}
        while True:  # an operation that rests on a rejected one falls with it
            added = {op.id for op, ok in zip(operations, accepted, strict=True) if ok and op.operation == "add"}
            valid = added | (used - removed) | citable
            judged = [
                ok and all(ref.target in valid and ref.target != op.id for ref in op.refs or ())
                for op, ok in zip(operations, accepted, strict=True)
            ]
            if judged == accepted:
                return accepted
            accepted = judged

    def validate_access(self, access: Iterable[Access]) -> list[bool]:
        """Validate_acc(R | P, G_k, S_{k,t}), equation 5; a request of the index can be asked for as well."""
        assert self.open is not None
        requests = {f"request:{k}" for k in range(1, self.open)}
        allowed = self.historical() | self.tool_refs() | requests
        return [entry.target in allowed for entry in access]

    def commit(self, operations: Iterable[Operation]) -> None:
        """Commit(S, ΔS)."""
        taken = list(operations)
        adds = [op for op in taken if op.operation == "add"]
        for op in adds:
            assert op.kind is not None
            assert self.open is not None
            self.lineages += 1
            self.states[op.id] = ModelState(
                id=op.id, lineage=self.lineages, request=self.open, kind=op.kind,
                summary=op.summary or "", value=op.value, refs=frozenset(),
            )  # fmt: skip
            self.appeared.append(self.lineages)
        for op in taken:
            if op.operation != "remove":
                self._revise(self.states[op.id], op)
        for op in taken:
            if op.operation == "remove":
                self.states.pop(op.id, None)

    def _revise(self, state: ModelState, op: Operation) -> None:
        if op.summary is not None:
            state.summary = op.summary
        if op.has_value:
            state.value = op.value
        if op.refs is not None:
            state.refs = frozenset((ref.relation.value, self._resolve(ref.target)) for ref in op.refs)

    def _resolve(self, target: str) -> int | str:
        return target if target in self.raws else self.states[target].lineage

    def disclose(self, targets: Iterable[str]) -> tuple[str, ...]:
        """Disclose(M_k, S, R): what of R is not in S yet enters it; the ids that did."""
        entered: list[str] = []
        for target in targets:
            if target.startswith("request:"):
                number = int(target.removeprefix("request:"))
                if number not in self.unfolded:
                    self.unfolded.append(number)
                    entered.append(target)
            elif target not in self.appeared:
                self.appeared.append(target)
                entered.append(target)
        return tuple(entered)

    # --- the loop ----------------------------------------------------------------------------------------------------

    def begin(self, text: str) -> None:
        """Lines 4 and 5: the next request, with S and O empty."""
        assert self.open is None
        self.texts.append(text)
        self.open = len(self.texts)
        self.appeared, self.unfolded = [], []
        self.observation, self.rejected, self.refused = (), (), False
        self.version += 1

    def step(self, output: StepOutput) -> Outcome:
        """Lines 9 to 16 for one output y = (ΔS, R, z)."""
        assert self.open is not None
        assert not self.pending
        self.version += 1
        empty = not (output.delta or output.access or output.tool_calls or output.message is not None)
        if output.fault is not None or empty or (output.tool_calls and output.message is not None):
            self.rejected, self.refused = (), True
            return Outcome(refused=True)
        upd, acc = self.validate_update(output.delta), self.validate_access(output.access)
        rejected = [f"{op.operation} {op.id}" for op, ok in zip(output.delta, upd, strict=True) if not ok]
        rejected += [f"access {a.target}" for a, ok in zip(output.access, acc, strict=True) if not ok]
        taken = [op for op, ok in zip(output.delta, upd, strict=True) if ok]
        self.commit(taken)
        disclosed = self.disclose(a.target for a, ok in zip(output.access, acc, strict=True) if ok)
        self.observation, self.rejected, self.refused = (), tuple(sorted(rejected)), False
        self.pending, self.pending_step = output.tool_calls, self.version
        if output.message is not None:  # Persist: what is live stays live, as history
            self.open = None
        ids = {name: frozenset(op.id for op in taken if op.operation == name) for name in ("add", "update", "remove")}
        return Outcome(
            added=ids["add"], updated=ids["update"] - ids["remove"], removed=ids["remove"],
            rejected=self.rejected, disclosed=disclosed, finished=output.message is not None,
        )  # fmt: skip

    def observe(self, contents: list[str | None]) -> tuple[str, ...]:
        """Line 18: the results of the pending calls, each kept verbatim."""
        assert self.open is not None
        self.version += 1
        self.nodes += 1
        ids = []
        for i, (call, content) in enumerate(zip(self.pending, contents, strict=True), start=1):
            raw = Raw(
                id=f"obs:{self.nodes}.{i}", request=self.open, tool=call.name, arguments=call.arguments, content=content
            )
            self.raws[raw.id] = raw
            ids.append(raw.id)
        self.pending, self.observation = (), tuple(ids)
        return self.observation


def _raws_of(state: ModelState) -> frozenset[str]:
    return frozenset(target for _, target in state.refs if isinstance(target, str))


# --- what the store shows, held against it ---------------------------------------------------------------------------


def check_result(result: StepResult, expected: Outcome, model: ModelTask) -> None:
    assert (result.refused is not None) == expected.refused
    assert Counter(reason.what for reason in result.rejected) == Counter(expected.rejected)
    assert frozenset(result.added) == expected.added
    assert frozenset(result.updated) - frozenset(result.removed) == expected.updated
    assert frozenset(result.removed) == expected.removed
    assert result.disclosed == expected.disclosed
    assert result.finished == expected.finished
    assert (result.version, result.replayed) == (model.version, False)
    assert [(call.name, call.arguments) for call in result.calls] == [
        (call.name, call.arguments) for call in model.pending
    ]


def compare(status: Status, model: ModelTask, lines: int) -> None:
    """The status is what the paper's sets say, field by field and in its text."""
    assert (status.version, status.request, status.query) == (model.version, model.open, model.texts[-1])
    _compare_index(status, model, lines)
    active = model.active()
    assert [(state.id, state.kind) for state in status.active] == [(n.id, getattr(n, "kind", None)) for n in active]
    for shown, node in zip(status.active, active, strict=True):
        assert sorted((r.id, r.relation.value, r.incoming) for r in shown.related) == sorted(model.neighbours(node))
        assert shown.own == (isinstance(node, ModelState) and node.request == model.open)
        if isinstance(node, ModelState):
            assert shown.request == node.request
            assert (shown.summary, json.dumps(shown.value)) == (node.summary, json.dumps(node.value))
    seen = [(o.id, o.tool, o.arguments, o.content) for o in status.observation]
    assert seen == [(r.id, r.tool, r.arguments, r.content) for r in (model.raws[i] for i in model.observation)]
    assert bool(status.reasons) == bool(model.rejected or model.refused)
    if not model.refused:
        assert Counter(reason.what for reason in status.reasons) == Counter(model.rejected)
    pending = status.pending
    assert (pending.step if pending else 0) == (model.pending_step if model.pending else 0)
    assert [c.name for c in (pending.calls if pending else ())] == [c.name for c in model.pending]
    _compare_text(status, model)


def _compare_index(status: Status, model: ModelTask, lines: int) -> None:
    """G is whole, or folded to its newest states and headings; what is folded away is said."""
    index, shown = model.index(), [entry.request for entry in status.index]
    everything = [state for states in index.values() for state in states]
    folded = {number for a, b in status.history.folded_ranges for number in range(a, b + 1)}
    assert sorted(shown) == sorted(set(range(1, len(index) + 1)) - folded)
    kept = everything[max(0, len(everything) - lines) :]
    assert {state.request for state in kept} <= set(shown)
    for entry in status.index:
        whole = entry.request in model.unfolded
        wanted = [state for state in (index[entry.request] if whole else kept) if state.request == entry.request]
        assert [(line.id, line.summary) for line in entry.states] == [(state.id, state.summary) for state in wanted]
        assert entry.text == model.texts[entry.request - 1]
        assert entry.cut == (len(wanted) < len(index[entry.request]))
    # Without a state to fold, only requests without states give way, and only to that many newer ones.
    assert not folded or len(kept) < len(everything) or len(shown) >= lines


def _compare_text(status: Status, model: ModelTask) -> None:
    visible = [model.texts[-1], *(line.summary for entry in status.index for line in entry.states)]
    visible += [entry.text for entry in status.index]
    for node in model.active():
        visible += [node.summary, json.dumps(node.value)] if isinstance(node, ModelState) else [node.content or ""]
    visible += [model.raws[i].content or "" for i in model.observation]
    assert set(_TOKEN.findall(status.text())) == set(_TOKEN.findall("\n".join(visible)))
