"""One scripted run of an agent that takes wrong turns in a scene, and what should be in view all along.

Pure but for the graph. Wrong calls come anywhere, in first tries and in retries; they are noticed at once, or by
Maintain with a judge that knows the truth, some subgoals or a request later. In every prompt, C and R are held against
what was done, and the rest is searched: summaries, states and wrong calls hold words of their own, and calls and
results of a branch that was left are looked for as they would stand there, unless the path says the same.
"""

import copy
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from random import Random

import graphmem
from experiments.scene import Scene, Seen, World, gold
from graphmem import Case, Operation, Ref, Relation, Ruling, StateKind, StepOutput, ToolCall, ToolResult
from graphmem.trace import World as Fate
from graphmem.vocabulary import json_text

_MARKER = re.compile(r', ?"states_written_here_by_an_abandoned_attempt": ?\[[^\]]*\]')
_TELLING = 20  # characters of a result that are enough to know it by, wherever it stands


@dataclass
class _Said:
    """A state as it should be in view: `time` of its value, `cites` the subgoal of the result it derives from."""

    id: str
    kind: StateKind
    token: str
    time: int
    cites: int | None = None
    earlier: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _Done:
    """A call that ran, in the try of a subgoal that stands."""

    time: int
    goal: int
    call: ToolCall
    content: str

    def seen(self) -> Seen:
        return self.call.name, dict(self.call.arguments), self.content


@dataclass
class Run:
    """One scripted run, and what it should look like. Times are ticks of its own clock.

    `covered`: the subgoals of C with their summaries; one without calls has none.
    """

    task: graphmem.Task
    fate: Fate
    random: Random
    scene: Scene
    bad: Counter[tuple[int, int]]
    at: int = 0
    clock: int = 0
    tries: Counter[int] = field(default_factory=Counter)
    covered: dict[int, str] = field(default_factory=dict)
    saved: dict[int, World] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)
    done: list[_Done] = field(default_factory=list)
    raws: list[tuple[int, int, str]] = field(default_factory=list)
    states: dict[str, _Said] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    sent: dict[int, int] = field(default_factory=dict)
    reported: dict[int, graphmem.RanCall] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    injected: int = 0
    revises: int = 0
    prompts: int = 0

    def __post_init__(self) -> None:
        self.gold, self.gold_world = gold(self.scene)
        self.world = self.scene.world()

    @property
    def exact(self) -> bool:
        """Whether the right calls are made in the gold world again, so that they answer what they answer there."""
        return self.fate is Fate.RESTORED or self.scene.undoes

    @property
    def otherwise(self) -> int:
        """How many right calls answered otherwise than in the gold world, since the wrong ones were not undone."""
        right = [one for goal in self.gold for one in goal]
        return sum(one.content != content for one, (*_, content) in zip(self.done, right, strict=False))

    def play(self) -> None:
        """All of it, until the last subgoal is done and judged."""
        while self.at < len(self.scene.goals) or self._audit():
            if self.at == len(self.scene.goals):
                continue
            self._begin()
            if self._walk() and self.random.random() < 0.5:
                self._audit()
        self._open("anything else?")
        self._prompt()

    def _begin(self) -> None:
        """The next try of the subgoal, in the open request or the next one."""
        open_ = _open(self.task)
        if open_ is None:
            self._open(self.scene.goals[self.at].query)
        else:
            self.request = open_
        self.tries[self.at] += 1
        self.saved[self.at] = copy.deepcopy(self.world)
        self.begun[self.at] = self._now()

    def _open(self, query: str) -> None:
        self.request = self.task.request(query)
        self.queries.append(query)

    def _walk(self) -> bool:
        """One try of a subgoal; False when a wrong call was noticed at once and the tail left."""
        answers: list[str] = []
        goal = self.scene.goals[self.at]
        wrongs = self.bad[(self.at, self.tries[self.at])]
        places = Counter(self.random.randrange(len(goal.calls) + 1) for _ in range(wrongs))
        for i, call in enumerate([*goal.calls, None]):
            for _ in range(places[i]):
                self.injected += 1
                self._call(self.scene.wrong(self.random, self._word()))
                if self.random.random() < 0.3:
                    self._leave(None)
                    return False
            if call is not None:
                answers.append(self._call(self.scene.filled(call, answers)))
        text = f"subgoal {self.at} is done {self._word()}"
        if goal.ends:
            self.request.step(self._prompt(), StepOutput(message=text))
        else:
            self.task.compress(text)
        if goal.calls or wrongs:
            self.covered[self.at] = text
        self.at += 1
        return True

    def _call(self, call: ToolCall) -> str:
        """One call with its results, and what is concluded from it."""
        result = self.request.step(self._prompt(), StepOutput(tool_calls=(call,)))
        content = self.world.call(call)
        (raw,) = self.request.observe(result, [ToolResult(call_id=result.calls[0].id, content=content)])
        self.done.append(_Done(self._now(), self.at, call, content))
        self.raws.append((self.at, self.request.number, raw))
        if call.name in self.scene.irreversible:
            self.sent[result.step + 1] = self.clock
        self._say()
        return content

    def _say(self) -> None:
        """States about what was seen: a new one, and what the agent means to do."""
        goal, _, raw = self.random.choice([one for one in self.raws if one[1] == self.request.number])
        cites = self.random.random() < 0.7
        said = _Said(f"k{self._now()}", self.random.choice(list(StateKind)), f"zs{self.clock}sz", self.clock)
        said.cites = goal if cites else None
        plan = self.states.get(f"plan-{self.request.number}")
        new = plan is None
        if plan is None:
            plan = _Said(f"plan-{self.request.number}", StateKind.JUDGEMENT, "", self._now())
        else:
            plan.earlier.append((plan.time, plan.token))
        plan.time = self._now()
        plan.token = f"zs{plan.time}sz"
        change = Operation(operation="update", id=plan.id, summary=f"it says {plan.token}")
        delta = (_add(said, raw if cites else None), _add(plan, None) if new else change)
        result = self.request.step(self._prompt(but={plan.id}), StepOutput(delta=delta))
        self.states |= {said.id: said, plan.id: plan}
        self.faults += [f"prompt: {reason.what} was rejected: {reason.why}" for reason in result.rejected]

    def _audit(self) -> bool:
        """Judge what is unchecked, in order; whether something failed and was left."""
        for k, summary in zip(self.covered, self.task.path().summaries, strict=True):
            if summary.verdict == "unchecked" and not self.task.maintain(summary, self._truth(k)).passed:
                self._leave(k)
                return True
        return False

    def _truth(self, k: int) -> Callable[[Case], Ruling]:
        """A judge that knows what the subgoal asks for; it sees the trace as it was, or that is a fault."""
        ran = [one.seen() for one in self.done if one.goal == k]

        def judge(case: Case) -> Ruling:
            seen = [_seen(o) for node in case.trace for o in node.results]
            if seen != ran:
                self.faults.append(f"path: the judge of subgoal {k} was shown other calls than ran")
            passed = seen == self.gold[k] if self.exact else _calls(seen) == _calls(self.gold[k])
            return Ruling(passed=passed, feedback=f"subgoal {k} was not done as asked")

        return judge

    def _leave(self, k: int | None) -> None:
        """Go back to where subgoal k began (None: the tail alone), the world put back, compensated or as it is."""
        target = None if k is None else self.task.path().summaries[list(self.covered).index(k)]
        self.at = self.at if k is None else k
        self.covered = {one: text for one, text in self.covered.items() if one < self.at}
        then = self.begun[self.at]
        left = [one for one in self.done if one.time > then]
        self.done = [one for one in self.done if one.time <= then]
        undo = reversed(left) if self.scene.undoes else ()
        undone = [call for one in undo if (call := self.scene.undo(one.call, one.content)) is not None]
        open_ = _open(self.task)
        if self.fate is Fate.RESTORED:
            self.world = copy.deepcopy(self.saved[self.at])
        elif open_ is not None:
            self._compensate(open_, undone)
        feedback = None if k is not None else "that was not asked for"
        self.dead |= {needle for one in left for needle in _needles(one.call, one.content)}
        self._revised(self.task.revise(target, feedback=feedback, world=self.fate), then)
        if self.fate is Fate.UNCHANGED and open_ is None and undone:
            then = self._now()
            self._compensate(self.task.open_request(), undone)
            self._revised(self.task.revise(feedback="what was done is undone", world=self.fate), then)

    def _compensate(self, request: graphmem.Request, calls: list[ToolCall]) -> None:
        for call in calls:
            result = request.step(request.status(), StepOutput(tool_calls=(call,)))
            content = self.world.call(call)
            request.observe(result, [ToolResult(call_id=result.calls[0].id, content=content)])
            self.dead |= set(_needles(call, content))

    def _revised(self, revised: graphmem.Revised, then: int) -> None:
        """Hold what a revise reports against what it should, and let go what was said since."""
        self.revises += 1
        told = {ran.step for ran in revised.irreversible}
        expected = {step for step, time in self.sent.items() if time > then}
        if told != expected:
            self.faults.append(f"world: the revise reported the calls of steps {told}, not of {expected}")
        self.reported |= {ran.step: ran for ran in revised.irreversible}
        self.raws = [one for one in self.raws if one[0] < self.at]
        self.dead |= {word for word, time in self.words.items() if time > then}
        for said in [said for said in self.states.values() if said.time > then and not self._stays(said)]:
            self.dead.add(said.token)
            said.earlier = [(time, token) for time, token in said.earlier if time <= then]
            if said.earlier:
                said.token = said.earlier.pop()[1]
                said.time = self._now()
            else:
                del self.states[said.id]

    def _stays(self, said: _Said) -> bool:
        """What DESIGN's table says of a state that was added or changed since the boundary."""
        if said.kind is StateKind.PREFERENCE:
            return True
        on_path = said.cites is not None and said.cites < self.at
        return said.kind is not StateKind.JUDGEMENT and (self.fate is Fate.UNCHANGED or on_path)

    def _prompt(self, but: Set[str] = frozenset()) -> graphmem.Prompt:
        """The prompt, once what stands in it was checked; `but`: ids that the output under way changes."""
        prompt = self.task.prompt()
        assert prompt.path is not None
        self._hold(prompt.path, prompt.status.observation)
        hints, text = prompt.path.parts()[2], prompt.text()
        if hints not in text:
            self.faults.append("prompt: H is not told as it is")
        text = _MARKER.sub("", text.replace(hints, ""))
        found = [word for word in self.dead if word in text]
        said = self._said() if found else ""
        self.faults += [f"prompt: {word} of a branch that was left" for word in found if word not in said]
        live = {said.token for said in self.states.values() if said.id not in but}
        self.faults += [f"prompt: {token} is not in view" for token in live if token not in text]
        self.prompts += 1
        return prompt

    def _hold(self, path: graphmem.Path, latest: Sequence[graphmem.Observation]) -> None:
        """C is what was compressed, R what was done since, and the latest observation of the path."""
        recent = [_seen(o) for node in path.recent for o in node.results]
        if [summary.text for summary in path.summaries] != list(self.covered.values()):
            self.faults.append("prompt: C has other subgoals than were done")
        if recent != [one.seen() for one in self.done if one.goal == self.at]:
            self.faults.append("prompt: R has other calls than were made for the subgoal under way")
        if not all(_seen(o) in [one.seen() for one in self.done] for o in latest):
            self.faults.append("prompt: the latest observation is of a branch that was left")

    def _said(self) -> str:
        """What the path and the user say, in every form that a prompt may have it in."""
        said = [needle for one in self.done for needle in _needles(one.call, one.content)]
        return "\n".join([*said, *self.queries, *map(json_text, self.queries)])

    def _word(self) -> str:
        word = f"zw{self._now()}wz"
        self.words[word] = self.clock
        return word

    def _now(self) -> int:
        self.clock += 1
        return self.clock


def script(task: graphmem.Task, scene: Scene, fate: Fate, seed: int, wrongs: int) -> Run:
    """A run of that seed. A wrong call of a second try comes where the first try has one."""
    random = Random(f"{seed} {wrongs}")
    bad: Counter[tuple[int, int]] = Counter()
    for _ in range(wrongs):
        at = random.randrange(len(scene.goals))
        bad[(at, 2 if bad[(at, 1)] and random.random() < 0.5 else 1)] += 1
    return Run(task=task, fate=fate, random=random, scene=scene, bad=bad)


def _needles(call: ToolCall, content: str) -> Iterator[str]:
    """A call and its result as they stand in R, in the latest observation, or anywhere."""
    arguments = dict(call.arguments)
    yield json_text({"tool": call.name, "arguments": arguments})[1:-1]
    yield f"{call.name} {json_text(arguments)}"
    yield json_text({"result": content})[1:-1]
    if len(content) >= _TELLING:
        yield content
        yield json_text(content)[1:-1]


def _seen(observation: graphmem.Observation) -> Seen:
    return observation.tool, dict(observation.arguments), observation.content


def _calls(seen: Sequence[Seen]) -> list[tuple[str, object]]:
    return [(tool, arguments) for tool, arguments, _ in seen]


def _open(task: graphmem.Task) -> graphmem.Request | None:
    try:
        return task.open_request()
    except (graphmem.NoOpenRequestError, graphmem.NotFoundError):
        return None


def _add(said: _Said, raw: str | None) -> Operation:
    return Operation(
        operation="add",
        id=said.id,
        kind=said.kind,
        summary=f"it says {said.token}",
        value={"from": said.id},
        has_value=True,
        refs=() if raw is None else (Ref(relation=Relation.DERIVES, target=raw),),
    )
