"""Going back: Revise of Algorithm 1 (lines 48-55), what DESIGN's table makes of states with it, and forks.

Written from the papers and the design, from no line of the implementation. What is gone back to is a snapshot: the
latest step at which the restored summary became, or was confirmed or restored as, the top.
"""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, replace

from graphmem import Operation, StateKind, StepOutput, ToolCall
from tests.acceptance.flowstate_model import ModelState, Outcome
from tests.acceptance.mage_tree import CannotError, MageTask, State, own_call

ENVIRONMENT = (StateKind.KNOWLEDGE, StateKind.ATTRIBUTE, StateKind.ARTIFACT)


@dataclass(frozen=True)
class Gone:
    """What a revise answers."""

    step: int
    about: int
    boundary_step: int
    request: int
    left: frozenset[str] = frozenset()
    returned: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    stays_removed: frozenset[str] = frozenset()
    clashes: frozenset[str] = frozenset()
    requests: frozenset[int] = frozenset()
    ran: tuple[str, ...] = ()


class MageModel(MageTask):
    """A task that can go back, and be forked."""

    gone_back: Gone | None = None
    """What the model's own revise came to."""

    def target(self, subgoal: int | None) -> tuple[int, int]:
        """The summary that a revise restores, and the step that it goes back to; None is the uncompressed tail."""
        if self.pending:
            raise CannotError("pending")
        if subgoal is not None and subgoal not in self.chain():
            raise CannotError("off")
        restored = self.p_t if subgoal is None else self.subgoals[subgoal].parent
        steps = [step for step, top in self.tops.items() if top == restored]
        if not steps or (subgoal is None and self.p_b in (self.boundary, self.history[max(steps)].p_b)):
            raise CannotError("nothing")
        return restored, max(steps)

    def revise(self, subgoal: int | None, feedback: str | None, world: str) -> Gone:
        """Revise(f, b) by the caller."""
        restored, back = self.target(subgoal)
        note = self.subgoals[subgoal].note if subgoal is not None else None
        if (feedback or note) is None:
            raise CannotError("feedback")
        gone = self._back(subgoal, feedback or note or "", world, restored, back)
        self._keep()
        return gone

    def step(self, output: StepOutput) -> Outcome:
        own = own_call(output)
        if own is None or own.name != "revise":
            return super().step(output)
        try:
            return self._own_revise(output, own)
        except CannotError:
            return self._output(output, fault="call revise")

    def _own_revise(self, output: StepOutput, own: ToolCall) -> Outcome:
        at = own.arguments.get("step")
        subgoals = [s for s in self.chain() if self.subgoals[self.subgoals[s].parent].last == at]
        if at is not None and not subgoals:
            raise CannotError("off")
        subgoal = subgoals[0] if subgoals else None
        restored, back = self.target(subgoal)
        before = self.snapshot()
        self.gone_back = self._back(
            subgoal, str(own.arguments["feedback"]), str(own.arguments.get("world", "unchanged")), restored, back
        )
        upd = self._both(before, output.delta)
        acc = self.validate_access(output.access)
        taken = [op for op, ok in zip(output.delta, upd, strict=True) if ok]
        rejected = [f"{op.operation} {op.id}" for op, ok in zip(output.delta, upd, strict=True) if not ok]
        rejected += [f"access {a.target}" for a, ok in zip(output.access, acc, strict=True) if not ok]
        targets = [a.target for a, ok in zip(output.access, acc, strict=True) if ok]
        self.commit(taken)
        disclosed = self.disclose(targets)
        self.rejected = tuple(sorted(rejected))
        self._keep()
        ids = {name: frozenset(op.id for op in taken if op.operation == name) for name in ("add", "update", "remove")}
        return Outcome(
            added=ids["add"], updated=ids["update"] - ids["remove"], removed=ids["remove"],
            rejected=self.rejected, disclosed=disclosed,
        )  # fmt: skip

    def _both(self, before: "MageTask", delta: Iterable[Operation]) -> list[bool]:
        """What is valid against S before the restoration and after it; what rests on a rejected one falls with it."""
        operations = list(delta)
        accepted = [True] * len(operations)
        while True:
            masked = [
                op if ok else replace(op, operation="update", id="")
                for op, ok in zip(operations, accepted, strict=True)
            ]
            both = zip(before.validate_update(masked), self.validate_update(masked), strict=True)
            judged = [ok and a and b for ok, (a, b) in zip(accepted, both, strict=True)]
            if judged == accepted:
                return accepted
            accepted = judged

    # --- what going back does ----------------------------------------------------------------------------------------

    def _back(self, subgoal: int | None, feedback: str, world: str, restored: int, back: int) -> Gone:
        was = deepcopy(self.history[back])
        self.steps += 1
        self.version += 1
        about = self._subgoal() if subgoal is None else subgoal
        popped = self.subgoals[about]
        popped.verdict, popped.note = "failed", feedback
        if subgoal is None:
            popped.text, popped.written, popped.request = None, self.steps, len(self.texts)
        self.p_b, self.p_t, self.feedback = was.p_b, restored, feedback
        self.tops[self.steps] = restored
        states = self._restore(was, world)
        requests = self._requests(back)
        self.left_behind |= set(range(back + 1, self.steps)) - {self.opened[(self.open or 1) - 1]}
        self.visits = [visit for visit in self.visits if visit.step <= back]
        self.shown = [event for event in self.shown if event.step <= back]
        self.observation, self.rejected, self.refused = (), (), False
        return replace(
            states, about=about, boundary_step=back, request=self.open or 0, requests=requests,
            ran=tuple(event.what for event in self.ran if event.step > back),
        )  # fmt: skip

    def _requests(self, back: int) -> frozenset[int]:
        """Requests that are abandoned; the open one goes on, or the last one again."""
        self.open = self.open or len(self.texts)
        opened = {k for k, step in enumerate(self.opened, start=1) if step > back} - {self.open} - self.gone
        self.gone |= opened
        return frozenset(opened)

    def _restore(self, was: MageTask, world: str) -> Gone:
        """The table: what was added, changed and removed since."""
        now = [state for state in self.states.values() if isinstance(state, State)]
        then = {state.lineage: state for state in was.states.values() if isinstance(state, State)}
        kept, returned, left = set(), {}, set()
        self.states = {}
        for state in now:
            old = then.get(state.lineage)
            changed = old is None or old.since != state.since
            if not changed or self._stays(state, world):
                self.states[state.id] = state
                if changed and state.kind is StateKind.ARTIFACT and world == "unchanged":
                    kept.add(state.id)
            elif old is None:
                left.add(state.id)
            else:
                returned[old.id] = old
        removed = [old for lineage, old in then.items() if lineage not in {state.lineage for state in now}]
        stays_removed = {s.id for s in removed if s.kind is StateKind.ARTIFACT and world == "unchanged"}
        wanted = [state for state in removed if state.id not in stays_removed]
        clashes = {state.id for state in wanted if state.id in self.states}
        returned |= {state.id: state for state in wanted if state.id not in clashes}
        for old in returned.values():
            old.since = self.steps
            self.states[old.id] = old
        return Gone(
            step=self.steps, about=0, boundary_step=0, request=0, left=frozenset(left - self.states.keys()),
            returned=frozenset(returned), kept=frozenset(kept), stays_removed=frozenset(stays_removed),
            clashes=frozenset(clashes),
        )  # fmt: skip

    def _stays(self, state: ModelState, world: str) -> bool:
        if state.kind is StateKind.PREFERENCE:
            return True
        if state.kind is StateKind.JUDGEMENT:
            return False
        cites = {target for _, target in state.refs if isinstance(target, str)}
        path = {raw for node in self.trace(0, self.p_b) for raw in self.tree[node].raws}
        return world == "unchanged" or (bool(cites) and cites <= path)

    # --- forks -------------------------------------------------------------------------------------------------------

    def fork(self, step: int) -> "MageModel":
        """A task of its own that goes on from a step: what is live at it, and of the tree the path alone."""
        made = deepcopy(self.history[step])
        assert isinstance(made, MageModel)
        if made.pending:
            raise CannotError("pending")
        path, chain = {0, *made.trace(0, made.p_b)}, {0, *made.chain()}
        held = {made.boundary, *made.recent()}
        made.tree = {n: node for n, node in made.tree.items() if n in path}
        made.subgoals = {s: subgoal for s, subgoal in made.subgoals.items() if s in chain}
        for subgoal in made.subgoals.values():
            subgoal.copied = True
        made.visits = [visit for visit in made.visits if visit.node in held]
        made.steps, made.history, made.writings, made.called, made.ran = step + 1, {}, [], [], []
        made.tops = {made.steps: made.p_t}
        made.version += 1
        made._keep()
        return made

    def ran_since(self, step: int) -> tuple[str, ...]:
        """Irreversible calls after a step."""
        return tuple(event.what for event in self.ran if event.step > step)
