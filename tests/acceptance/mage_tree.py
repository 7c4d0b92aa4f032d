"""The execution tree as Algorithm 1 of MAGE states it, joined with FlowState's sets as the design decides.

Written from the papers and the design, from no line of the implementation. A `MageTask` is a `ModelTask` (FlowState's
M, G and S) with the two layers of the tree and a snapshot of everything after every step: a revise or a fork takes what
it needs from the snapshot of the step that it goes back to, and nothing is computed from a log. Nodes are numbers (ℓ,
the root is 0), summaries are numbers of the model's own (the root summary is 0).
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Self

from graphmem import Operation, StateKind, StepOutput, ToolCall
from graphmem.vocabulary import json_text
from tests.acceptance.flowstate_model import ModelState, ModelTask, Outcome, Raw

ENVIRONMENT = (StateKind.KNOWLEDGE, StateKind.ATTRIBUTE, StateKind.ARTIFACT)
Content = tuple[tuple[str, str, str | None], ...]


@dataclass(kw_only=True)
class State(ModelState):
    """A version. `born`, `place`: where its lineage appeared; `since`: the step that wrote the version."""

    born: int
    place: int
    since: int


@dataclass(frozen=True)
class Node:
    """A node of the bottom layer: its parent, (a, o), and the ids of its raw results."""

    parent: int
    content: Content
    raws: tuple[str, ...]


@dataclass
class Subgoal:
    """A node of the top layer. `last`: the node its cover ends at; `text` None: a rule wrote it; `written`: by whom."""

    parent: int
    last: int
    text: str | None = None
    verdict: str = "unchecked"
    note: str | None = None
    written: int = 0
    copied: bool = False
    request: int = 0


@dataclass(frozen=True)
class Event:
    """Something that happened in a step: a visit to a node, a call that led to it, a state written at it, something
    disclosed, a call run."""

    step: int
    what: str
    node: int = 0
    request: int = 0


class CannotError(Exception):
    """What the operation asks for is not there to be done; the message names why."""


@dataclass
class MageTask(ModelTask):
    """One task: p_b, p_t, both layers, and what every step left. `tops`: the summary that became the top at a step."""

    tree: dict[int, Node] = field(default_factory=lambda: {0: Node(-1, (), ())})
    subgoals: dict[int, Subgoal] = field(default_factory=lambda: {0: Subgoal(-1, 0)})
    p_b: int = 0
    p_t: int = 0
    feedback: str | None = None
    steps: int = 0
    tops: dict[int, int] = field(default_factory=dict)
    opened: list[int] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    """Abandoned requests."""
    left_behind: set[int] = field(default_factory=set)
    """Abandoned steps."""
    visits: list[Event] = field(default_factory=list)
    writings: list[Event] = field(default_factory=list)
    called: list[Event] = field(default_factory=list)
    shown: list[Event] = field(default_factory=list)
    ran: list[Event] = field(default_factory=list)
    irreversible: tuple[str, ...] = ("book",)
    history: dict[int, "MageTask"] = field(default_factory=dict)

    # --- the tree ----------------------------------------------------------------------------------------------------

    @property
    def boundary(self) -> int:
        """p_t.cover_nodes[-1]."""
        return self.subgoals[self.p_t].last

    def trace(self, above: int, node: int) -> list[int]:
        """Trace(b, p_b): the nodes from below `above` to `node`, in execution order."""
        found: list[int] = []
        while node != above:
            found.insert(0, node)
            node = self.tree[node].parent
        return found

    def recent(self) -> list[int]:
        """R."""
        return self.trace(self.boundary, self.p_b)

    def chain(self) -> list[int]:
        """C: the summaries from the root to p_t."""
        found: list[int] = []
        at = self.p_t
        while at != 0:
            found.insert(0, at)
            at = self.subgoals[at].parent
        return found

    def tried(self) -> list[int]:
        """Children of p_b, newest first."""
        return sorted((n for n, node in self.tree.items() if node.parent == self.p_b), reverse=True)

    def alternatives(self) -> list[int]:
        """Children of p_t."""
        return [s for s, subgoal in self.subgoals.items() if subgoal.parent == self.p_t]

    def notes(self, node: int) -> set[str]:
        """The feedback of failed subgoals over a node."""
        failed = [s for s in self.subgoals.values() if s.verdict == "failed" and s.note is not None]
        return {s.note or "" for s in failed if node in self.trace(self.subgoals[s.parent].last, s.last)}

    def wrote(self, node: int) -> set[str]:
        """Ids of states that abandoned steps wrote at a node, or in the output whose calls it is."""
        there = {event.step for event in self.called if event.node == node}
        left = [w for w in self.writings if w.step in self.left_behind]
        return {w.what for w in left if w.node == node or w.step in there}

    # --- FlowState's sets, along the path ----------------------------------------------------------------------------

    def index(self) -> dict[int, list[ModelState]]:
        """G_k; the heading of an abandoned request stands while a state of it is in view."""
        return {
            k: sorted(states, key=_appeared) for k, states in super().index().items() if states or k not in self.gone
        }

    def active(self) -> list[ModelState | Raw]:
        """S_{k,t}: own states by birth, disclosures by the step that made them (after its delta)."""
        own = self.own()
        found: list[tuple[tuple[int, int, int], ModelState | Raw]] = []
        for state in own.values():
            born, place = _appeared(state)
            found.append(((born, 0, place), state))
        for i, event in enumerate(self._in_force()):
            if event.what in self.raws:
                found.append(((event.step, 1, i), self.raws[event.what]))
            elif event.what in self.states and event.what not in own:
                found.append(((event.step, 1, i), self.states[event.what]))
        return [node for _, node in sorted(found, key=lambda pair: pair[0])]

    def asked(self) -> list[int]:
        """Requests of the index that were asked for."""
        return [int(e.what.removeprefix("request:")) for e in self._in_force() if e.what.startswith("request:")]

    def _in_force(self) -> list[Event]:
        return [event for event in self.shown if event.request == self.open]

    def citable(self) -> frozenset[str]:
        """Raw results observed in this request on the path, or cited by a live state."""
        path = {0, *self.trace(0, self.p_b)}
        nodes = {v.node for v in self.visits if v.request == self.open and v.node in path}
        cited = {t for state in self.states.values() for _, t in state.refs if isinstance(t, str)}
        return frozenset(cited.union(*(self.tree[n].raws for n in nodes)))

    def validate_access(self, access: Iterable) -> list[bool]:  # type: ignore[type-arg]
        headings = {f"request:{k}" for k in self.index()}
        allowed = self.historical() | self.tool_refs() | headings
        return [entry.target in allowed for entry in access]

    def commit(self, operations: Iterable[Operation]) -> None:
        taken = list(operations)
        assert self.open is not None
        for place, op in enumerate(op for op in taken if op.operation == "add"):
            assert op.kind is not None
            self.lineages += 1
            self.states[op.id] = State(
                id=op.id, lineage=self.lineages, request=self.open, kind=op.kind, summary=op.summary or "",
                value=op.value, refs=frozenset(), born=self.steps, place=place, since=self.steps,
            )  # fmt: skip
        removed = {op.id for op in taken if op.operation == "remove"}
        for op in taken:
            if op.operation != "remove" and op.id not in removed:
                state = self.states[op.id]
                assert isinstance(state, State)
                self._revise(state, op)
                state.since = self.steps
                self.writings.append(Event(self.steps, op.id, self.p_b))
        for id_ in removed:
            del self.states[id_]

    def disclose(self, targets: Iterable[str]) -> tuple[str, ...]:
        entered: list[str] = []
        assert self.open is not None
        for target in targets:
            known = {node.id for node in self.active()} | {f"request:{k}" for k in self.asked()}
            if target not in known:
                self.shown.append(Event(self.steps, target, request=self.open))
                entered.append(target)
        return tuple(entered)

    # --- the operations; each is one step ----------------------------------------------------------------------------

    def begin(self, text: str) -> None:
        self.steps += 1
        super().begin(text)
        self.opened.append(self.steps)
        if self.steps == 1:
            self.tops[1] = 0
        self._keep()

    def step(self, output: StepOutput) -> Outcome:
        """An output; with the model's own compress the delta is committed first."""
        own = own_call(output)
        if own is not None and own.name == "compress":
            return self._output(output, fault="" if self.recent() else "call compress", text=own.arguments["summary"])
        return self._output(output)

    def _output(self, output: StepOutput, *, fault: str | None = None, text: object = None) -> Outcome:
        self.steps += 1
        outcome = super().step(output)
        self.pending_step = self.steps
        if fault is not None:
            self.pending = ()
        if fault:
            self.rejected = (*self.rejected, fault)
            outcome = replace(outcome, rejected=self.rejected)
        if isinstance(text, str) and not fault:
            self._cover(text)
        if outcome.finished:
            if self.recent():
                self._cover(output.message)
            self.tops[self.steps] = self.p_t
        self._keep()
        return outcome

    def grow(self, contents: Sequence[str | None]) -> tuple[int, bool]:
        """Grow(a, o). ℓ of the node, and whether it is one of before."""
        assert self.open is not None
        self.steps += 1
        self.version += 1
        said: Content = tuple(_said(call, text) for call, text in zip(self.pending, contents, strict=True))
        number = next((n for n in self.tried() if self.tree[n].content == said), 0)
        merged = number != 0
        if not merged:
            self.nodes += 1
            number = self.nodes
            ids = tuple(f"obs:{number}.{i}" for i in range(1, len(said) + 1))
            self.tree[number] = Node(self.p_b, said, ids)
            for id_, call, text in zip(ids, self.pending, contents, strict=True):
                self.raws[id_] = Raw(id=id_, request=self.open, tool=call.name, arguments=call.arguments, content=text)
        self.p_b = number
        self.visits.append(Event(self.steps, "visit", number, self.open))
        self.called.append(Event(self.pending_step, "call", number))
        for id_, call in zip(self.tree[number].raws, self.pending, strict=True):
            if call.name in self.irreversible:
                self.ran.append(Event(self.steps, id_))
        self.pending, self.observation = (), self.tree[number].raws
        self._keep()
        return number, merged

    def compress(self, text: str | None) -> int:
        """Compress(m)."""
        if not self.recent():
            raise CannotError("empty")
        self.steps += 1
        self.version += 1
        self._cover(text)
        self._keep()
        return self.p_t

    def _cover(self, text: str | None) -> None:
        """Lines 20-34 of Algorithm 1."""
        self.p_t = self._subgoal()
        found = self.subgoals[self.p_t]
        found.text, found.verdict, found.note, found.written = text, "unchecked", None, self.steps
        found.request, self.feedback = len(self.texts), None
        self.tops[self.steps] = self.p_t

    def _subgoal(self) -> int:
        """The child of p_t whose cover is R, perhaps a new one."""
        for number in self.alternatives():
            if self.subgoals[number].last == self.p_b:
                return number
        number = max(self.subgoals) + 1
        self.subgoals[number] = Subgoal(self.p_t, self.p_b)
        return number

    def maintain(self, subgoal: int, written: int, passed: bool, feedback: str) -> bool:
        """Lines 41-45 for the text of step `written`. Whether that is the text the summary has, and of this task."""
        self.steps += 1
        found = self.subgoals[subgoal]
        stands = found.written == written and not found.copied
        if stands:
            found.verdict, found.note = ("passed", None) if passed else ("failed", feedback)
        self._keep()
        return stands

    def _keep(self) -> None:
        self.history[self.steps] = self.snapshot()

    def snapshot(self) -> Self:
        """Everything as it is now."""
        history, self.history = self.history, {}
        copy = deepcopy(self)
        self.history = history
        return copy


def own_call(output: StepOutput) -> ToolCall | None:
    """The model's own compress or revise."""
    own = [call for call in output.tool_calls if call.name in ("compress", "revise")]
    return own[0] if len(own) == len(output.tool_calls) == 1 and output.message is None else None


def _said(call: ToolCall, text: str | None) -> tuple[str, str, str | None]:
    return (call.name, json_text(call.arguments, sort_keys=True), text)


def _appeared(state: ModelState) -> tuple[int, int]:
    assert isinstance(state, State)
    return (state.born, state.place)
