"""One scripted run of an agent that takes wrong turns in `experiments.booking`, and what should be in view all along.

Pure but for the graph. Wrong calls come anywhere, in first tries and in retries; they are noticed at once, or by
Maintain with a judge that knows the truth, some subgoals or a request later. Every prompt is searched: each text of the
run holds a word of its own, so that what stands in a prompt and should not (or the reverse) is found by that word.
"""

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from random import Random

import graphmem
from experiments.booking import IRREVERSIBLE, World, subgoal, undo, wrong
from graphmem import Case, Operation, Ref, Relation, Ruling, StateKind, StepOutput, ToolCall, ToolResult
from graphmem.trace import World as Fate
from graphmem.vocabulary import Json

_MARKER = re.compile(r', ?"states_written_here_by_an_abandoned_attempt": ?\[[^\]]*\]')
Seen = tuple[str, dict[str, Json], str | None]


@dataclass
class _Said:
    """A state as it should be in view: `time` of its value, `cites` the subgoal of the result it derives from."""

    id: str
    kind: StateKind
    token: str
    time: int
    cites: int | None = None
    earlier: list[tuple[int, str]] = field(default_factory=list)


@dataclass
class Run:
    """One scripted run, and what it should look like. Times are ticks of its own clock."""

    task: graphmem.Task
    fate: Fate
    random: Random
    goals: list[list[ToolCall]]
    ends: set[int]
    bad: Counter[tuple[int, int]]
    world: World = field(default_factory=World)
    at: int = 0
    clock: int = 0
    tries: Counter[int] = field(default_factory=Counter)
    saved: dict[int, World] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)
    done: list[tuple[int, ToolCall, dict[str, Json]]] = field(default_factory=list)
    raws: list[tuple[int, int, str]] = field(default_factory=list)
    states: dict[str, _Said] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    sent: dict[int, int] = field(default_factory=dict)
    reported: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    injected: int = 0
    revises: int = 0
    prompts: int = 0

    def play(self) -> None:
        """All of it, until the last subgoal is done and judged."""
        while self.at < len(self.goals) or self._audit():
            if self.at == len(self.goals):
                continue
            self._begin()
            if self._walk() and self.random.random() < 0.5:
                self._audit()
        self.request = self.task.request("anything else?")
        self._prompt()

    def _begin(self) -> None:
        """The next try of the subgoal, in the open request or the next one."""
        open_ = _open(self.task)
        self.request = open_ or self.task.request(f"serve from guest {self.at} on")
        self.tries[self.at] += 1
        self.saved[self.at] = copy.deepcopy(self.world)
        self.begun[self.at] = self._now()

    def _walk(self) -> bool:
        """One try of a subgoal; False when a wrong call was noticed at once and the tail left."""
        booking: Json = ""
        goal = self.goals[self.at]
        wrongs = self.bad[(self.at, self.tries[self.at])]
        places = Counter(self.random.randrange(len(goal) + 1) for _ in range(wrongs))
        for i, call in enumerate([*goal, None]):
            for _ in range(places[i]):
                self.injected += 1
                self._call(wrong(self.random, self._word()))
                if self.random.random() < 0.3:
                    self._leave(None)
                    return False
            if call is not None:
                filled = {**call.arguments, "booking": booking} if call.name == "upgrade" else call.arguments
                booking = self._call(ToolCall(name=call.name, arguments=filled)).get("booking", booking)
        text = f"guest {self.at} is served {self._word()}"
        if self.at in self.ends:
            self.request.step(self._prompt(), StepOutput(message=text))
        else:
            self.task.compress(text)
        self.at += 1
        return True

    def _call(self, call: ToolCall) -> dict[str, Json]:
        """One call with its results, and what is concluded from it."""
        result = self.request.step(self._prompt(), StepOutput(tool_calls=(call,)))
        content = self.world.call(call)
        (raw,) = self.request.observe(result, [ToolResult(call_id=result.calls[0].id, content=content)])
        answer: dict[str, Json] = json.loads(content)
        self.done.append((self._now(), call, answer))
        self.raws.append((self.at, self.request.number, raw))
        if call.name in IRREVERSIBLE:
            self.sent[result.step + 1] = self.clock
        self._say()
        return answer

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
        for k, summary in enumerate(self.task.path().summaries):
            if summary.verdict == "unchecked" and not self.task.maintain(summary, self._truth(k)).passed:
                self._leave(k)
                return True
        return False

    def _truth(self, k: int) -> Callable[[Case], Ruling]:
        start = sum(len(calls) for calls in self.goals[:k])
        expected = gold(self.goals)[0][start : start + len(self.goals[k])]

        def judge(case: Case) -> Ruling:
            seen = [(o.tool, dict(o.arguments), o.content) for node in case.trace for o in node.results]
            return Ruling(passed=seen == expected, feedback=f"guest {k} was not served as asked")

        return judge

    def _leave(self, k: int | None) -> None:
        """Go back to where subgoal k began (None: the tail alone), with the world put back or compensated."""
        target = None if k is None else self.task.path().summaries[k]
        self.at = self.at if k is None else k
        then = self.begun[self.at]
        left = [(call, answer) for time, call, answer in self.done if time > then]
        undone = [call for one in reversed(left) if (call := undo(*one)) is not None]
        self.done = [one for one in self.done if one[0] <= then]
        open_ = _open(self.task)
        if self.fate is Fate.RESTORED:
            self.world = copy.deepcopy(self.saved[self.at])
        elif open_ is not None:
            self._compensate(open_, undone)
        feedback = None if k is not None else "that was not asked for"
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

    def _revised(self, revised: graphmem.Revised, then: int) -> None:
        """Hold what a revise reports against what it should, and let go what was said since."""
        self.revises += 1
        told = {ran.step for ran in revised.irreversible}
        expected = {step for step, time in self.sent.items() if time > then}
        if told != expected:
            self.faults.append(f"world: the revise reported the calls of steps {told}, not of {expected}")
        self.reported |= told
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
        hints = "" if prompt.path is None else prompt.path.parts()[2]
        text = prompt.text()
        if hints not in text:
            self.faults.append("prompt: H is not told as it is")
        text = _MARKER.sub("", text.replace(hints, ""))
        self.faults += [f"prompt: {word} of a branch that was left" for word in self.dead if word in text]
        live = {said.token for said in self.states.values() if said.id not in but}
        self.faults += [f"prompt: {token} is not in view" for token in live if token not in text]
        self.prompts += 1
        return prompt

    def _word(self) -> str:
        word = f"zw{self._now()}wz"
        self.words[word] = self.clock
        return word

    def _now(self) -> int:
        self.clock += 1
        return self.clock


def gold(goals: Sequence[Sequence[ToolCall]]) -> tuple[list[Seen], World]:
    """What the right calls are, with what they answer, and the world after them."""
    world, seen, booking = World(), list[Seen](), ""
    for goal in goals:
        for call in goal:
            arguments = {**call.arguments, "booking": booking} if call.name == "upgrade" else dict(call.arguments)
            content = world.call(ToolCall(name=call.name, arguments=arguments))
            booking = json.loads(content).get("booking", booking)
            seen.append((call.name, arguments, content))
    return seen, world


def script(task: graphmem.Task, fate: Fate, seed: int, wrongs: int) -> Run:
    """A run of that seed. A wrong call of a second try comes where the first try has one."""
    random = Random(f"{seed} {wrongs}")
    goals = [subgoal(random, number) for number in range(random.randint(4, 6))]
    bad: Counter[tuple[int, int]] = Counter()
    for _ in range(wrongs):
        at = random.randrange(len(goals))
        bad[(at, 2 if bad[(at, 1)] and random.random() < 0.5 else 1)] += 1
    ends = {number for number in range(len(goals)) if random.random() < 0.3} | {len(goals) - 1}
    return Run(task=task, fate=fate, random=random, goals=goals, ends=ends, bad=bad)


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
