"""One task of the store beside its model: every operation on both, every answer compared and recorded.

A `Lane` says the same to a `graphmem.Task` and to a `MageModel`, then reads path and status, holds them against the
model, and keeps them under the number of the step. `check_past` asks `at(n)` for each of them again.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

import pytest

import graphmem
from graphmem import Path, Prompt, Revised, Ruling, Status, StepOutput, StepResult, Summary, ToolResult
from tests.acceptance.flowstate_model import ModelState, check_result
from tests.acceptance.mage_model import Gone, MageModel
from tests.acceptance.mage_tree import CannotError

ERRORS: dict[str, type[graphmem.GraphmemError]] = {
    "pending": graphmem.PendingCallsError,
    "off": graphmem.OffPathError,
    "nothing": graphmem.NothingToReviseError,
    "feedback": graphmem.InvalidValueError,
    "empty": graphmem.NothingToCompressError,
}


@dataclass
class Lane:
    """A task, its model, what was read after every step, and the keys that the store gives the model's summaries."""

    task: graphmem.Task
    model: MageModel
    seen: dict[int, tuple[Path, Status | None]] = field(default_factory=dict)
    prompts: dict[int, str] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)

    # --- the operations ----------------------------------------------------------------------------------------------

    def begin(self, text: str) -> None:
        self.model.begin(text)
        assert self.task.request(text).number == self.model.open
        self.look()

    def take(self, output: StepOutput) -> StepResult:
        """A step against the prompt that was shown last."""
        path, status = self.seen[self.model.steps]
        assert status is not None
        prompt = Prompt(status=status, path=path)
        tops = len(self.model.tops)
        expected = self.model.step(output)
        result = self.task.open_request().step(prompt, output, attempt=uuid4().hex)
        assert result.step == self.model.steps
        self.prompts[result.step] = prompt.text()
        check_result(result, expected, self.model)
        if isinstance(result.revised, Revised):
            assert self.model.gone_back is not None
            self.check_revised(result.revised, self.model.gone_back)
        else:
            assert self.model.gone_back is None or self.model.gone_back.step != result.step
            covered = len(self.model.tops) > tops and self.model.subgoals[self.model.p_t].written == self.model.steps
            assert (result.summary is not None) == covered
        self.look()
        return result

    def observe(self, contents: Sequence[str | None]) -> None:
        request = self.task.open_request()
        pending = request.status().pending
        assert pending is not None
        texts = [contents[i % len(contents)] for i in range(len(pending.calls))]
        notes_before = self.model.snapshot()
        grown = request.observe(
            pending, [ToolResult(call_id=c.id, content=t) for c, t in zip(pending.calls, texts, strict=True)]
        )
        number, merged = self.model.grow(texts)
        assert (grown.number, grown.merged, tuple(grown)) == (number, merged, self.model.observation)
        assert set(grown.notes) == (notes_before.notes(number) if merged else set())
        self.look()

    def compress(self, text: str | None) -> None:
        if self.refused(lambda: self.model.compress(text), lambda: self.task.compress(text)):
            return
        summary = self.task.compress(text)
        self.named(self.model.compress(text), summary.key)
        self.look()

    def maintain(self, subgoal: int, passed: bool, feedback: str, meanwhile: Callable[[], None] | None = None) -> None:
        """A verdict about a summary of the path; `meanwhile` is done before the judge answers."""
        model, written = self.model, self.model.subgoals[subgoal].written

        def judge(case: graphmem.Case) -> Ruling:
            assert case.summary is not None
            assert model.subgoals[subgoal].text in (None, case.summary.text)
            covered = model.trace(model.subgoals[model.subgoals[subgoal].parent].last, model.subgoals[subgoal].last)
            assert [node.number for node in case.trace] == covered
            assert case.instruction == model.texts[model.subgoals[subgoal].request - 1]
            liked = [s.id for s in model.states.values() if s.kind is graphmem.StateKind.PREFERENCE]
            assert sorted(id_ for id_, _ in case.preferences) == sorted(liked)
            if meanwhile is not None:
                meanwhile()
            return Ruling(passed=passed, feedback=feedback)

        verdict = self.task.maintain(self.keys[subgoal], judge)
        stands = model.maintain(subgoal, written, passed, feedback)
        assert (verdict.step, verdict.stands, verdict.summary) == (model.steps, stands, self.keys[subgoal])
        assert verdict.on_path == (subgoal in model.chain())
        self.look()

    def revise(self, subgoal: int | None, how: str, feedback: str | None, world: str) -> None:
        """`how` the target is named: by its value, key or boundary."""
        target: Summary | str | int | None = None
        if subgoal is not None:
            key = self.keys[subgoal]
            shown = next((s for s in self.seen[self.model.steps][0].summaries if s.key == key), None)
            target = key if shown is None or how == "key" else shown if how == "value" else shown.boundary
        if self.refused(
            lambda: self.model.revise(subgoal, feedback, world),
            lambda: self.task.revise(target, feedback=feedback, world=world),
        ):
            return
        dry = self.task.revise(target, feedback=feedback, world=world, dry_run=True)
        revised = self.task.revise(target, feedback=feedback, world=world)
        gone = self.model.revise(subgoal, feedback, world)
        self.check_revised(revised, gone)
        assert (dry.left, dry.returned, dry.kept, dry.clashes) == (
            revised.left, revised.returned, revised.kept, revised.clashes,
        )  # fmt: skip
        self.look()

    def fork(self, step: int, name: str) -> "Lane | None":
        if self.model.history[step].pending:
            with pytest.raises(graphmem.PendingCallsError):
                self.task.fork(name, at=step)
            return None
        forked, model = self.task.fork(name, at=step), self.model.fork(step)
        origin = forked.origin()
        assert origin is not None
        assert (origin.task, origin.step) == (self.task.name, step)
        assert tuple(ran.id for ran in origin.irreversible) == self.model.ran_since(step)
        lane = Lane(forked, model, keys={0: ""})
        model.version = forked.path().version
        model.history[model.steps].version = model.version
        lane.look()
        with pytest.raises(graphmem.NotFoundError):
            forked.at(step).path()
        return lane

    def refused(self, model: Callable[[], object], store: Callable[[], object]) -> bool:
        """Whether the model cannot do this; then neither can the store."""
        before = self.model
        self.model = before.snapshot()
        self.model.history = dict(before.history)
        try:
            model()
        except CannotError as error:
            with pytest.raises(ERRORS[str(error)]):
                store()
            return True
        finally:
            self.model = before
        return False

    # --- what the store answers, held against the model --------------------------------------------------------------

    def named(self, subgoal: int, key: str) -> None:
        assert self.keys.setdefault(subgoal, key) == key
        assert len(set(self.keys.values())) == len(self.keys)

    def check_revised(self, revised: Revised, gone: Gone) -> None:
        self.named(gone.about, revised.about)
        assert revised.step == gone.step
        assert revised.version == self.model.version
        assert (revised.boundary_step, revised.request) == (gone.boundary_step, gone.request)
        for name in ("left", "returned", "kept", "stays_removed", "clashes", "requests"):
            answer = getattr(revised, name)
            assert (name, Counter(answer)) == (name, Counter(getattr(gone, name)))
        assert tuple(ran.id for ran in revised.irreversible) == gone.ran

    def look(self) -> None:
        """Path and status now, against the model; kept for `check_past`."""
        path = self.task.path()
        status = self.task.open_request().status() if self.model.open is not None else None
        self.seen[self.model.steps] = (path, status)
        self.check_path(path)
        if status is None:
            with pytest.raises(graphmem.NoOpenRequestError):
                self.task.open_request()
        else:
            self.check_status(status)

    def check_path(self, path: Path) -> None:
        model = self.model
        assert path.version == model.version
        self.check_subgoals(path.summaries, model.chain())
        shown = [(n.number, [r.id for r in n.results], set(n.wrote)) for n in path.recent]
        assert shown == [(n, list(model.tree[n].raws), model.wrote(n)) for n in model.recent()]
        for node in path.recent:
            contents = tuple((r.tool, json.dumps(r.arguments, sort_keys=True), r.content) for r in node.results)
            assert contents == tuple(
                (t, json.dumps(json.loads(a), sort_keys=True), c) for t, a, c in model.tree[node.number].content
            )
        hints = path.hints
        assert (hints.feedback, hints.more_tried, hints.more_subgoals) == (model.feedback, 0, 0)
        tried = [(t.number, [r.content for r in t.results], set(t.notes), set(t.wrote)) for t in hints.tried]
        assert tried == [
            (n, [c for _, _, c in model.tree[n].content], model.notes(n), model.wrote(n)) for n in model.tried()
        ]
        self.check_subgoals(hints.subgoals, sorted(model.alternatives(), reverse=True))
        assert path.unseen == (model.observation if model.recent() else ())
        assert path.boundary == model.boundary

    def check_subgoals(self, shown: Sequence[Summary], expected: Sequence[int]) -> None:
        model = self.model
        assert len(shown) == len(expected)
        for summary, number in zip(shown, expected, strict=True):
            self.named(number, summary.key)
            subgoal = model.subgoals[number]
            assert summary.boundary == model.subgoals[subgoal.parent].last
            assert (summary.verdict, summary.note) == (subgoal.verdict, subgoal.note)
            assert subgoal.text in (None, summary.text)
            assert summary.copied == subgoal.copied

    def check_status(self, status: Status) -> None:
        model = self.model
        assert (status.version, status.request, status.query) == (
            model.version,
            model.open,
            model.texts[status.request - 1],
        )
        index = {e.request: ([(x.id, x.summary) for x in e.states], e.abandoned) for e in status.index}
        assert index == {
            k: ([(s.id, s.summary) for s in states], k in model.gone) for k, states in model.index().items()
        }
        assert [e.text for e in status.index] == [model.texts[e.request - 1] for e in status.index]
        assert not status.history.folded_ranges
        active = model.active()
        assert [(s.id, s.kind) for s in status.active] == [(n.id, getattr(n, "kind", None)) for n in active]
        for shown, node in zip(status.active, active, strict=True):
            related = sorted((r.id, r.relation.value, r.incoming) for r in shown.related)
            assert (shown.id, related) == (shown.id, sorted(model.neighbours(node)))
            assert shown.own == (isinstance(node, ModelState) and node.request == model.open)
            if isinstance(node, ModelState):
                said = (shown.request, shown.summary, json.dumps(shown.value))
                assert said == (node.request, node.summary, json.dumps(node.value))
            else:
                assert node.content is None or node.content in json.dumps(shown.value, ensure_ascii=False)
        seen = [(o.id, o.tool, o.content) for o in status.observation]
        assert seen == [(r.id, r.tool, r.content) for r in (model.raws[i] for i in model.observation)]
        assert Counter(r.what for r in status.reasons if not model.refused) == Counter(model.rejected)
        assert bool(status.reasons) == bool(model.rejected or model.refused)
        pending = status.pending
        assert (pending.step if pending else 0) == (model.pending_step if model.pending else 0)
        assert status.in_r == bool(model.recent())
        assert (status.p_b, status.p_t) == (self.seen[model.steps][0].p_b, self.seen[model.steps][0].p_t)

    def check_past(self) -> None:
        """`at(n)` of every n says what was said then."""
        for step, (path, status) in self.seen.items():
            past = self.task.at(step)
            assert (step, replace(past.path(), at=None)) == (step, replace(path, at=None))
            if status is None:
                with pytest.raises(graphmem.NoOpenRequestError):
                    past.status()
            else:
                assert (step, replace(past.status(), locked=True)) == (step, replace(status, locked=True))
            if step in self.prompts:
                assert (step, past.prompt().text()) == (step, self.prompts[step])
        with pytest.raises(graphmem.NotFoundError):
            self.task.at(self.model.steps + 1).path()
