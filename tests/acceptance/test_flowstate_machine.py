"""The store against the paper's sets: random runs of several tasks, compared after every call.

The model is `flowstate_model`. Three tasks share a server, two of them a space and two of them a name, so that whatever
leaks from one to another is a difference. Every text that enters carries a token of its own: what a prompt shows is the
set of tokens in it. `make soak` draws other runs than the fixed ones.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import graphmem
from graphmem import Access, Operation, Ref, Relation, StateKind, Status, StepOutput, StepResult, ToolCall, ToolResult
from graphmem.inspect import audit
from tests.acceptance.flowstate_model import ModelTask, check_result, compare
from tests.acceptance.random_runs import random_runs

IDS = tuple("abcdefghij")
ODD = ("ghost", "memory:x", "request:1", "request:9", "request:x", "request:01", "obs:9.9", "naïve ☂ id")

# A target is drawn as a name, or as a place in what the task holds: names alone would rarely meet a raw result.
places = st.integers(0, 30)


def placed(*pools: str) -> st.SearchStrategy[Any]:
    return st.tuples(st.sampled_from(pools), places)


names = st.sampled_from(IDS)
targets: st.SearchStrategy[Any] = st.one_of(
    names, placed("own", "past"), placed("own", "raw", "cited", "request"), st.sampled_from(ODD)
)
sound = placed("own", "own", "past", "raw", "cited")
refs = st.lists(st.tuples(st.sampled_from(list(Relation)), st.one_of(sound, sound, sound, names, targets)), max_size=2)
kinds = st.sampled_from(list(StateKind))
shapes: st.SearchStrategy[Any] = st.sampled_from(
    [1, 1.0, -0.5, None, True, "1", [], {"x": [1, {"y": None}]}, "</agent_status>", "é\u2028\U0001f30b"]
)
mine = st.one_of(placed("own"), placed("own"), placed("own"), targets)
operations = st.one_of(
    st.tuples(st.just("add"), st.one_of(names, names, targets), kinds, st.just(7), shapes, refs),
    st.tuples(st.just("update"), mine, st.one_of(st.none(), st.none(), kinds), st.integers(1, 7), shapes, refs),
    st.tuples(st.just("remove"), mine, st.none(), st.just(0), shapes, st.just([])),
)
some_refs = st.lists(st.tuples(st.sampled_from(list(Relation)), sound), max_size=2)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("update"), placed("own"), st.none(), st.integers(1, 7), shapes, some_refs),
        st.tuples(st.just("remove"), placed("own"), st.none(), st.just(0), shapes, st.just([])),
        st.tuples(st.just("add"), names, kinds, st.just(7), shapes, some_refs),
    ),
    min_size=1,
    max_size=4,
)
CHANGE = (StateKind.ATTRIBUTE, 7, 1.0, [(Relation.FOLLOWS, ("own", 0))])
deltas = st.lists(operations, max_size=6)
accesses = st.lists(st.one_of(placed("past", "cited"), targets), max_size=3)
decisions = st.sampled_from([None, None, None, "message", ["search"], ["book", "search", "book"]])
# None: the outcome is unknown. A content that says nothing new makes consecutive outputs the same.
contents = st.lists(st.sampled_from(["same", "same", "new", None, ""]), min_size=3, max_size=3)
tasks = st.sampled_from([0, 0, 0, 1, 2])


class Lane:
    """One task of the store beside its model."""

    def __init__(self, space: str, task: str, fold: int) -> None:
        self.space, self.task, self.fold = space, task, fold
        self.model = ModelTask()
        self.request: graphmem.Request | None = None
        self.changed = False
        self.last: tuple[graphmem.Request, Status, StepOutput, str, StepResult] | None = None
        self.old: Status | None = None
        self.answered: tuple[StepResult, list[ToolResult], tuple[str, ...]] | None = None


class FlowMachine(RuleBasedStateMachine):
    """Random runs; every rule that finds no open request opens one, and every rule ends with a comparison."""

    environment: Mapping[str, str]
    trace: Callable[[str, int, float], None] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.graph = self._connect()
        self.tokens = 0
        one, two = (f"m-{uuid4().hex}" for _ in range(2))
        self.lanes = [Lane(one, "trip", 2), Lane(one, "other", 0), Lane(two, "trip", 5)]

    def teardown(self) -> None:
        try:
            for space in {lane.space for lane in self.lanes}:
                assert list(audit(self.graph.connection, space)) == []
        finally:
            self.graph.close()

    # --- rules -------------------------------------------------------------------------------------------------------

    @rule(which=tasks, delta=deltas, access=accesses, decision=decisions)
    def step(self, which: int, delta: list[Any], access: list[Any], decision: Any) -> None:
        lane = self._ready(which)
        calls: tuple[ToolCall, ...] = ()
        message = None
        if decision == "message":
            message = self._token("done")
        elif decision:
            calls = tuple(ToolCall(name=name, arguments={"q": "same"}) for name in decision)
        self._take(lane, self._output(lane, delta, access, calls, message))

    @rule(which=tasks, ids=st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True), last=st.booleans())
    def write_what_the_observation_says(self, which: int, ids: list[str], last: bool) -> None:
        """The ordinary course: tools, then states that rest on results and on each other, then perhaps the end."""
        lane = self._ready(which)
        self._take(lane, StepOutput(tool_calls=(ToolCall(name="search", arguments={"q": "same"}),)))
        self._observe(lane, ["new"])
        derives = Ref(relation=Relation.DERIVES, target=lane.model.observation[0])
        supports = {id_: Ref(relation=Relation.SUPPORTS, target=id_) for id_ in ids}
        delta = tuple(
            Operation(
                operation="add", id=id_, kind=StateKind.KNOWLEDGE, summary=self._token("s"),
                value=self._token("v"), has_value=True, refs=(derives, *(supports[i] for i in ids if i != id_)),
            )
            for id_ in ids
        )  # fmt: skip
        self._take(lane, StepOutput(delta=delta, message=self._token("done") if last else None))

    @rule(which=tasks, changes=changes, access=accesses)
    def change_what_stands(self, which: int, changes: list[Any], access: list[Any]) -> None:
        """Update, remove and add again, over states that are there to be changed."""
        lane = self._ready(which)
        if len(lane.model.own()) < 2:
            free = [id_ for id_ in IDS if id_ not in lane.model.states][:3]
            self._take(lane, self._output(lane, [("add", id_, *CHANGE) for id_ in free], [], (), None))
        self._take(lane, self._output(lane, changes, access, (), None))

    @rule(which=tasks, n=places)
    def look_back(self, which: int, n: int) -> None:
        """Disclose what the index and then the relations lead to, as PSA means it."""
        lane = self._ready(which)
        self._take(lane, self._output(lane, [], [("past", n), ("cited", n)], (), None))
        self._take(lane, self._output(lane, [], [("cited", n), ("request", n)], (), None))

    @rule(which=tasks, kind=st.sampled_from(["empty", "both", "text", "broken"]), delta=deltas)
    def put_out_what_cannot_be_taken(self, which: int, kind: str, delta: list[Any]) -> None:
        lane = self._ready(which)
        call = ToolCall(name="book", arguments={"n": self._token("x")})
        match kind:
            case "empty":
                self._take(lane, StepOutput())
            case "both":
                self._take(lane, self._output(lane, delta, ["a"], (call,), "done"))
            case "text":
                self._take(lane, "I think that I should now book the hotel.")
            case _:
                self._take(lane, "<state_delta>")

    @rule(which=tasks, contents=contents, other=st.booleans())
    def observe(self, which: int, contents: list[str | None], other: bool) -> None:
        lane = self._ready(which)
        if not lane.model.pending:
            self._take(lane, StepOutput(tool_calls=(ToolCall(name="search", arguments={"q": "same"}),)))
        with pytest.raises(graphmem.PendingCallsError):
            self._request(lane).step(self._request(lane).status(), StepOutput(message="done"))
        self._observe(lane, contents)
        assert lane.answered is not None
        result, answers, ids = lane.answered
        request = self._request(lane)
        assert request.observe(result, answers) == ids
        if other:
            changed = [ToolResult(call_id=a.call_id, content=f"{a.content} and more") for a in answers]
            with pytest.raises(graphmem.NotPendingError):
                request.observe(result, changed)

    @rule(which=tasks, crash=st.booleans())
    def repeat_the_last_step(self, which: int, crash: bool) -> None:
        lane = self.lanes[which]
        if crash:
            self.crash()
        if lane.last is None:
            return
        request, status, output, attempt, first = lane.last
        again = request.step(status, output, attempt=attempt)
        assert again.replayed
        assert _answer(again) == _answer(first)
        assert again.calls == first.calls

    @rule(which=tasks)
    def answer_a_stale_status(self, which: int) -> None:
        lane = self.lanes[which]
        if lane.old is None or lane.old.version == lane.model.version:
            return
        request = self._request(lane) if lane.model.open == lane.old.request else lane.last and lane.last[0]
        if request is None or request.number != lane.old.request:
            return
        errors: tuple[type[Exception], ...] = (graphmem.StaleStatusError,)
        errors += (graphmem.PendingCallsError,) if lane.model.pending else ()
        errors += (graphmem.RequestClosedError,) if lane.model.open != lane.old.request else ()
        with pytest.raises(errors):
            request.step(lane.old, StepOutput(message=self._token("late")), attempt=uuid4().hex)

    @rule()
    def crash(self) -> None:
        """Every handle is gone; a new process has only names."""
        self.graph.close()
        self.graph = self._connect()
        for lane in self.lanes:
            lane.request = lane.answered = None
            if lane.last is not None:
                ours = lane.last[0].number == lane.model.open
                lane.last = (self._request(lane), *lane.last[1:]) if ours else None

    @rule(which=tasks)
    def open_what_is_open_or_resume_what_is_not(self, which: int) -> None:
        lane = self.lanes[which]
        task = self._task(lane)
        if lane.model.open is not None:
            with pytest.raises(graphmem.RequestOpenError):
                task.request("another")
        elif lane.model.texts:
            with pytest.raises(graphmem.NoOpenRequestError):
                task.open_request()
        else:
            with pytest.raises(graphmem.NotFoundError):
                task.open_request()

    # --- the store beside the model ----------------------------------------------------------------------------------

    def _connect(self) -> graphmem.Graph:
        at = self.environment
        return graphmem.connect(at["GRAPHMEM_URI"], at.get("GRAPHMEM_USER"), at["GRAPHMEM_PASSWORD"], trace=self.trace)

    def _token(self, word: str) -> str:
        self.tokens += 1
        return f"{word} tok{self.tokens}"

    def _task(self, lane: Lane) -> graphmem.Task:
        return self.graph.space(lane.space).task(lane.task)

    def _request(self, lane: Lane) -> graphmem.Request:
        if lane.request is None or lane.request.number != lane.model.open:
            lane.request = self._task(lane).open_request()
        return lane.request

    def _ready(self, which: int) -> Lane:
        """A lane with an open request and nothing pending."""
        lane = self.lanes[which]
        if lane.model.open is None:
            text = self._token("q")
            lane.model.begin(text)
            lane.request = self._task(lane).request(text)
            assert lane.request.number == lane.model.open
            self._look(lane)
        if lane.model.pending:
            self._observe(lane, ["same", None, "new"])
        return lane

    def _output(
        self, lane: Lane, delta: list[Any], access: list[Any], calls: tuple[ToolCall, ...], message: str | None
    ) -> StepOutput:
        return StepOutput(
            delta=tuple(self._operation(lane, *drawn) for drawn in delta),
            access=tuple(Access(target=self._target(lane, t), reason="needed") for t in access),
            tool_calls=calls,
            message=message,
        )

    def _operation(
        self, lane: Lane, name: Any, target: Any, kind: Any, given: int, shape: Any, drawn: list[Any]
    ) -> Operation:
        return Operation(
            operation=name,
            id=self._target(lane, target),
            kind=kind,
            summary=self._token("s") if given & 1 else None,
            value={"t": self._token("v"), "shape": shape} if given & 2 else None,
            has_value=bool(given & 2),
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
            "cited": sorted(model.tool_refs()),
            "request": [f"request:{k}" for k in range(1, len(model.texts) + 1)],
        }
        pool = pools[kind] or pools["own"] or ["ghost"]
        return pool[-1 - n % len(pool)]

    def _take(self, lane: Lane, output: StepOutput | str) -> None:
        request = self._request(lane)
        status = request.status(index_lines=lane.fold, index_tokens=None)
        parsed = output if isinstance(output, StepOutput) else StepOutput(fault="not the protocol")
        expected = lane.model.step(parsed)
        attempt = uuid4().hex
        result = request.step(status, output, attempt=attempt)
        check_result(result, expected, lane.model)
        lane.old = status
        lane.last = (request, status, parsed, attempt, result) if isinstance(output, StepOutput) else None
        self._look(lane)

    def _observe(self, lane: Lane, contents: list[str | None]) -> None:
        request = self._request(lane)
        pending = request.status().pending
        assert pending is not None
        drawn = (contents * 3)[: len(pending.calls)]
        texts = [self._token("raw") if text == "new" else text for text in drawn]
        answers = [ToolResult(call_id=call.id, content=text) for call, text in zip(pending.calls, texts, strict=True)]
        ids = request.observe(pending, answers)
        assert ids == lane.model.observe(texts)
        lane.answered = (StepResult(step=pending.step, version=0, calls=pending.calls, p_b=pending.p_b), answers, ids)
        self._look(lane)

    def _look(self, lane: Lane) -> None:
        lane.changed = True
        if lane.model.open is not None:
            compare(self._request(lane).status(index_lines=lane.fold, index_tokens=None), lane.model, lane.fold)

    @invariant()
    def every_task_shows_what_its_model_shows(self) -> None:
        for lane in self.lanes:
            if lane.model.open is not None:
                lines, lane.changed = (200 if lane.changed else lane.fold), False
                compare(self._request(lane).status(index_lines=lines, index_tokens=None), lane.model, lines)


def _answer(result: StepResult) -> tuple[Any, ...]:
    return (result.step, *map(set, (result.added, result.updated, result.removed, result.disclosed)), result.message)


@pytest.mark.usefixtures("graph")  # so that the schema is in place
def test_random_runs_show_and_store_what_the_sets_of_the_paper_say(server_env: Mapping[str, str]) -> None:
    machine = type("Machine", (FlowMachine,), {"environment": server_env})
    run_state_machine_as_test(machine, settings=random_runs(30, steps=30, fixed=True))
