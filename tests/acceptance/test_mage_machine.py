"""The store against Algorithm 1 and the design's join: random runs of a task and its forks, compared after every step.

The model is `mage_model` (with `mage_tree`), the comparison `mage_lane`. What is walked is drawn from few contents, so
that runs merge back into what they left. `make soak` draws other runs than the fixed ones.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

import graphmem
from graphmem import Access, Operation, Ref, Relation, StateKind, StepOutput, ToolCall
from graphmem.inspect import audit
from tests.acceptance.mage_lane import Lane
from tests.acceptance.mage_model import MageModel
from tests.acceptance.mage_tree import CannotError
from tests.acceptance.random_runs import random_runs

IDS = tuple("abcdefghij")
LANES = 3
places = st.integers(0, 30)
lanes = st.integers(0, LANES - 1)


def placed(*pools: str) -> st.SearchStrategy[Any]:
    return st.tuples(st.sampled_from(pools), places)


sound = placed("own", "own", "past", "raw", "cited", "observed", "observed", "copied")
refs = st.lists(st.tuples(st.sampled_from(list(Relation)), sound), max_size=2)
kinds = st.sampled_from(list(StateKind))
adds = st.tuples(st.just("add"), placed("free"), kinds, st.just(7), refs)
changes: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.just("update"), placed("own"), st.none(), st.integers(1, 7), refs),
    st.tuples(st.just("remove"), placed("own"), st.none(), st.just(0), st.just([])),
    st.tuples(st.just("add"), placed("left", "free"), kinds, st.just(7), refs),
)
odd: st.SearchStrategy[Any] = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(IDS), kinds, st.just(7), refs),
    st.tuples(st.just("update"), st.sampled_from(IDS), st.none(), st.integers(1, 7), refs),
    st.tuples(st.just("remove"), st.sampled_from(IDS), st.none(), st.just(0), st.just([])),
)
operations = st.one_of(adds, changes, changes, odd)
deltas = st.lists(operations, max_size=4)
some = st.lists(operations, min_size=1, max_size=4)
accesses = st.lists(placed("past", "cited", "raw", "request"), max_size=2)
contents = st.lists(st.sampled_from(["x", "x", "y", "z", None]), min_size=1, max_size=2)
calls = st.sampled_from([("look",), ("look",), ("book",), ("look", "book")])
worlds = st.sampled_from(["unchanged", "unchanged", "restored"])
notes = st.sampled_from([None, "f", "f", "f"])
rare = st.sampled_from([False, False, False, True])


class MageMachine(RuleBasedStateMachine):
    """Random runs; every rule that finds no open request opens one, and every operation ends with a comparison."""

    environment: Mapping[str, str]
    trace: Callable[[str, int, float], None] | None = None

    def __init__(self) -> None:
        super().__init__()
        at = self.environment
        self.graph = graphmem.connect(
            at["GRAPHMEM_URI"], at.get("GRAPHMEM_USER"), at["GRAPHMEM_PASSWORD"], trace=self.trace
        )
        self.space = self.graph.space(f"mm-{uuid4().hex}")
        self.tokens = 0
        self.lanes = [Lane(self.space.task("t", irreversible=("book",)), MageModel(), keys={0: ""})]

    def teardown(self) -> None:
        try:
            for lane in self.lanes:
                lane.check_past()
            assert list(audit(self.graph.connection, self.space.name)) == []
        finally:
            self.graph.close()

    # --- rules -------------------------------------------------------------------------------------------------------

    @rule(which=lanes, calls=calls, contents=contents, delta=deltas, noted=deltas)
    def work(self, which: int, calls: Any, contents: list[str | None], delta: list[Any], noted: list[Any]) -> None:
        """Grow, then perhaps states that rest on what came back."""
        lane = self._ready(which)
        lane.take(self._output(lane, delta, tool_calls=self._calls(calls)))
        lane.observe(contents)
        if noted:
            lane.take(self._output(lane, noted))

    @rule(which=lanes, delta=some, access=accesses)
    def write(self, which: int, delta: list[Any], access: list[Any]) -> None:
        lane = self._ready(which)
        lane.take(self._output(lane, delta, access))

    @rule(
        which=lanes,
        first=st.lists(adds, min_size=1, max_size=5),
        change=st.lists(st.lists(changes, min_size=1, max_size=3), min_size=1, max_size=3),
        calls=calls,
        contents=contents,
        ends=st.sampled_from([0, 0, 1, 1, 2, 3]),
        n=places,
        world=worlds,
    )
    def take_a_wrong_turn(
        self, which: int, first: list[Any], change: list[Any], calls: Any, contents: Any, ends: int, n: int, world: str
    ) -> None:
        """States of a boundary, then other ones behind it, perhaps in later requests, and back."""
        lane = self._ready(which)
        lane.take(self._output(lane, first))
        self._bound(lane)
        bound = lane.model.p_t
        for i, delta in enumerate(change):
            self._ready(which)
            self._grow(lane, calls, contents)
            lane.take(self._output(lane, delta, message=self._token("done") if i < ends else None))
        behind = [s for s in lane.model.chain() if lane.model.subgoals[s].parent == bound]
        target = behind[0] if behind and n % 3 else self._possible(lane, n)
        lane.revise(target, "key", self._token("f"), world)

    @rule(which=lanes, n=places)
    def look_back(self, which: int, n: int) -> None:
        lane = self._ready(which)
        lane.take(self._output(lane, [], [("past", n), ("cited", n), ("request", n)]))

    @rule(which=lanes, delta=deltas)
    def finish(self, which: int, delta: list[Any]) -> None:
        lane = self._ready(which)
        lane.take(self._output(lane, delta, message=self._token("done")))

    @rule(which=lanes, calls=calls, n=places, contents=contents)
    def walk_again(self, which: int, calls: Any, n: int, contents: list[str | None]) -> None:
        """Into a child that is there, as H tells of it."""
        lane = self._ready(which)
        children = lane.model.tried()
        if children:
            content = lane.model.tree[children[n % len(children)]].content
            calls, contents = [tool for tool, _, _ in content], [text for _, _, text in content]
        self._grow(lane, calls, contents)

    @rule(which=lanes, rule_based=st.booleans())
    def compress(self, which: int, rule_based: bool) -> None:
        lane = self._lane(which)
        if lane.model.texts:
            lane.compress(None if rule_based else self._token("did"))

    @rule(which=lanes, delta=deltas)
    def compress_by_the_models_own_call(self, which: int, delta: list[Any]) -> None:
        lane = self._ready(which)
        call = ToolCall(name="compress", arguments={"summary": self._token("did")})
        lane.take(self._output(lane, delta, tool_calls=(call,)))

    @rule(which=lanes, n=places, passed=st.booleans())
    def maintain(self, which: int, n: int, passed: bool) -> None:
        lane = self._lane(which)
        judged = self._judged(lane, n)
        if judged is not None:
            lane.maintain(judged, passed, "" if passed else self._token("note"))

    @rule(which=lanes, n=places, m=places, passed=st.booleans(), world=worlds, again=st.booleans())
    def maintain_late(self, which: int, n: int, m: int, passed: bool, world: str, again: bool) -> None:
        """The judge answers when the run has gone on, or back, or back and there again."""
        lane = self._lane(which)
        judged = self._judged(lane, n)
        if judged is None or lane.model.pending:
            return

        def meanwhile() -> None:
            on_path = judged in lane.model.chain()
            lane.revise(judged if again and on_path else self._picked(lane, m), "key", self._token("f"), world)
            if again and on_path and judged not in lane.model.chain():
                self._ready(which)
                for node in lane.model.trace(lane.model.p_b, lane.model.subgoals[judged].last):
                    content = lane.model.tree[node].content
                    self._grow(lane, [tool for tool, _, _ in content], [text for _, _, text in content])
                lane.compress(self._token("did"))

        lane.maintain(judged, passed, "" if passed else self._token("late"), meanwhile)

    @rule(
        which=lanes,
        n=places,
        how=st.sampled_from(["key", "boundary", "value"]),
        feedback=notes,
        world=worlds,
        any_=rare,
    )
    def revise(self, which: int, n: int, how: str, feedback: str | None, world: str, any_: bool) -> None:
        lane = self._lane(which)
        picked = self._picked(lane, n) if any_ else self._possible(lane, n)
        if lane.model.texts:
            lane.revise(picked, how, feedback and self._token(feedback), world)

    @rule(which=lanes, n=places, off=rare, delta=deltas, access=accesses, world=worlds)
    def revise_by_the_models_own_call(
        self, which: int, n: int, off: bool, delta: list[Any], access: list[Any], world: str
    ) -> None:
        lane = self._ready(which)
        picked = self._picked(lane, n) if off else self._possible(lane, n)
        arguments: dict[str, Any] = {"feedback": self._token("f"), "world": world}
        if picked is not None:
            arguments["step"] = lane.model.subgoals[lane.model.subgoals[picked].parent].last + off * n
        lane.take(self._output(lane, delta, access, tool_calls=(ToolCall(name="revise", arguments=arguments),)))

    @rule(which=lanes, n=places, last=st.booleans(), delta=deltas, world=worlds)
    def fork(self, which: int, n: int, last: bool, delta: list[Any], world: str) -> None:
        """A task of its own, which goes on, and then back to where it was forked."""
        lane = self._lane(which)
        if len(self.lanes) == LANES or not lane.model.history:
            return
        steps = sorted(lane.model.history)
        made = lane.fork(steps[-1] if last else steps[n % len(steps)], f"fork-{len(self.lanes)}-{lane.model.steps}-{n}")
        if made is not None:
            self.lanes.append(made)
            self._grow(self._ready(len(self.lanes) - 1), ("look",), ["x"])
            made.take(self._output(made, delta))
            made.revise(None, "key", self._token("f"), world)

    @rule(which=lanes, calls=calls, delta=deltas, contents=contents, world=worlds, compress=st.booleans())
    def meddle_while_calls_are_pending(
        self, which: int, calls: Any, delta: list[Any], contents: list[str | None], world: str, compress: bool
    ) -> None:
        lane = self._ready(which)
        lane.take(self._output(lane, delta, tool_calls=self._calls(calls)))
        lane.revise(None, "key", "f", world)
        lane.fork(lane.model.steps, "never")
        if compress:
            lane.compress(self._token("did"))
        if self._judged(lane, 0) is not None:
            lane.maintain(self._judged(lane, 0) or 0, False, self._token("note"))
        lane.observe(contents)

    @rule(which=lanes)
    def put_out_what_cannot_be_taken(self, which: int) -> None:
        lane = self._ready(which)
        own = ToolCall(name="compress", arguments={"summary": "x"})
        lane.take(StepOutput(tool_calls=(own,), message="done"))

    # --- what is drawn, as the run has it ----------------------------------------------------------------------------

    def _lane(self, which: int) -> Lane:
        return self.lanes[which % len(self.lanes)]

    def _ready(self, which: int) -> Lane:
        lane = self._lane(which)
        if lane.model.open is None:
            lane.begin(self._token("q"))
        return lane

    def _token(self, word: str) -> str:
        self.tokens += 1
        return f"{word} tok{self.tokens}"

    def _judged(self, lane: Lane, n: int) -> int | None:
        """A summary, mostly of the path and of its own."""
        own = [s for s in lane.keys if s in lane.model.subgoals and s]
        on_path = [s for s in own if s in lane.model.chain()]
        known = on_path + on_path + own
        return known[-1 - n % len(known)] if known else None

    def _picked(self, lane: Lane, n: int) -> int | None:
        """The tail, a summary of the path, or one that is off it."""
        known = [None, *reversed(lane.model.chain()), None, *lane.model.chain()]
        known += [s for s in lane.keys if s and s not in lane.model.chain()][:1]
        return known[n % len(known)]

    def _possible(self, lane: Lane, n: int) -> int | None:
        """A target that a revise can have; something is done first where there is none."""
        known: list[int | None] = []
        for subgoal in (None, *reversed(lane.model.chain())):
            try:
                lane.model.target(subgoal)
                known.append(subgoal)
            except CannotError:
                continue
        if known or lane.model.pending or not lane.model.texts:
            return known[n % len(known)] if known else None
        self._grow(self._ready(self.lanes.index(lane)), ("look",), ["x"])
        return None

    def _bound(self, lane: Lane) -> None:
        """A boundary here and now."""
        if not lane.model.recent():
            self._grow(lane, ("look",), [f"at {lane.model.p_b}"])
        lane.compress(self._token("did"))

    def _grow(self, lane: Lane, names: Any, contents: Any) -> None:
        lane.take(self._output(lane, [], tool_calls=self._calls(names)))
        lane.observe(contents)

    def _calls(self, names: Any) -> tuple[ToolCall, ...]:
        return tuple(ToolCall(name=name, arguments={"q": "same"}) for name in names)

    def _output(
        self, lane: Lane, delta: list[Any], access: list[Any] | None = None, *,
        tool_calls: tuple[ToolCall, ...] = (), message: str | None = None,
    ) -> StepOutput:  # fmt: skip
        return StepOutput(
            delta=tuple(self._operation(lane, *drawn) for drawn in delta),
            access=tuple(Access(target=self._target(lane, t), reason="needed") for t in access or ()),
            tool_calls=tool_calls,
            message=message,
        )

    def _operation(self, lane: Lane, name: Any, target: Any, kind: Any, given: int, drawn: list[Any]) -> Operation:
        return Operation(
            operation=name,
            id=self._target(lane, target),
            kind=kind,
            summary=self._token("s") if given & 1 else None,
            value={"t": self._token("v")} if given & 2 else None,
            refs=tuple(Ref(relation=r, target=self._target(lane, t)) for r, t in drawn) if given & 4 else None,
        )

    def _target(self, lane: Lane, drawn: Any) -> str:
        if isinstance(drawn, str):
            return drawn
        kind, n = str(drawn[0]), int(drawn[1])
        model = lane.model
        pools: dict[str, list[str]] = {
            "own": list(model.own()),
            "past": sorted(model.historical()),
            "raw": list(model.raws),
            "observed": sorted(model.citable()),
            "cited": sorted(model.tool_refs()),
            "copied": list(model.raws)[:3],
            "free": [id_ for id_ in IDS if id_ not in model.states],
            "left": [id_ for id_ in sorted({w.what for w in model.writings}) if id_ not in model.states],
            "request": [f"request:{k}" for k in range(1, len(model.texts) + 1)],
        }
        pool = pools[kind] or pools["own"] or ["ghost"]
        return pool[-1 - n % len(pool)]


@pytest.mark.usefixtures("graph")  # so that the schema is in place
def test_random_runs_and_their_forks_are_what_algorithm_1_and_the_design_say(server_env: Mapping[str, str]) -> None:
    machine = type("Machine", (MageMachine,), {"environment": server_env})
    run_state_machine_as_test(machine, settings=random_runs(20, steps=30, fixed=True))
