"""Who&When: where would Revise go back to, by a judge without a model, and where did people say the mistake was?

`python -m experiments.failures_labelled DATA` reads the logs of `DATA/who-and-when` (multi-agent runs that failed, with
the step that a person named as the decisive mistake). Each becomes a task: what an agent did, with what ran of it, is a
node and a subgoal; the planner's words before it belong to it. Then Maintain judges the subgoals in their order with
`experiments.failure_judge`, and the first that fails is revised; where all pass, the last one, since the answer is
known to be wrong. The same is computed from the log alone, and has to agree. Told are, over the logs:

- `exact`: the step of the subgoal gone back to is the one named; `within`: the one named is one of the subgoal's;
- `distance`: steps between the two, mean and median;
- `right kept`: of the tokens before the named step, those that stay on the path; `wrong kept`: of those from it on.

Beside it: going back to the first subgoal (a new try), to the last one (a retry), and to a random one, as expectation;
and the judge with one of its signs alone.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, Final
from uuid import uuid4

import graphmem
from experiments.failure_judge import SIGNS, FailureJudge
from experiments.place import open_graph
from graphmem import Case, Observation, Ruling, ToolCall, TraceNode
from graphmem.llm.tokens import o200k
from graphmem.trace.judge import Judge

FILES: Final = ("hand_crafted", "algorithm_generated")
WAYS: Final = ("judge", "first", "last", "random", *(f"only: {sign}" for sign in SIGNS))
_WRONG: Final = "the answer is wrong"
_ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgoal:
    """Steps `start` to `end` of a log, of which `act` is what an agent did; what comes after it is what ran of that."""

    start: int
    act: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log: who said what, and the step that was named as the mistake."""

    question: str
    steps: tuple[tuple[str, str], ...]
    mistake: int

    def subgoals(self) -> tuple[Subgoal, ...]:
        """The subgoals in order; together they are all steps but the question."""
        found: list[Subgoal] = []
        start = 1 if self.steps[0][0] == "human" else 0
        for i in range(start, len(self.steps)):
            who, last = self.steps[i][0], i + 1 == len(self.steps)
            if "terminal" in who.lower() and found and start == i:
                found[-1] = Subgoal(start=found[-1].start, act=found[-1].act, end=i)
            elif _plans(who) and not last:
                continue
            else:
                found.append(Subgoal(start=start, act=i, end=i))
            start = i + 1
        return tuple(found)


def read(path: Path) -> Iterator[Log]:
    """The logs of a file of JSON lines."""
    for line in path.read_text(encoding="utf-8").splitlines():
        log = json.loads(line)
        steps = tuple((step.get("name") or step["role"], step["content"]) for step in log["history"])
        yield Log(question=log["question"], steps=steps, mistake=int(log["mistake_step"]))


def revised(task: graphmem.Task, log: Log, judge: Judge) -> tuple[int, str]:
    """The subgoal that Revise goes back to when the judge has seen the whole run, and the reason."""
    task.request(log.question)
    subgoals = log.subgoals()
    for i, subgoal in enumerate(subgoals):
        task.grow_many([_pair(log, subgoal)], attempt=f"subgoal-{i}")
        task.compress()
    summaries = task.path().summaries
    verdicts = ((summary, task.maintain(summary, judge)) for summary in summaries)
    failed = next(((s, v.feedback) for s, v in verdicts if not v.passed), (summaries[-1], _WRONG))
    task.revise(failed[0], feedback=failed[1])
    left = len(task.path().summaries)
    assert summaries[left].key == failed[0].key
    return left, failed[1]


def judged(log: Log, judge: Callable[[Case], Ruling]) -> tuple[int, str]:
    """As `revised`, from the log alone."""
    subgoals = log.subgoals()
    for i, subgoal in enumerate(subgoals):
        calls, texts = _pair(log, subgoal)
        seen = tuple(
            Observation(id=f"obs:{i}.{j}", tool=call.name, arguments=call.arguments, content=text)
            for j, (call, text) in enumerate(zip(calls, texts, strict=True), 1)
        )
        trace = (TraceNode(key=str(i), number=i, results=seen),)
        ruling = judge(Case(instruction=log.question, trace=trace, summary=None))
        if not ruling.passed:
            return i, ruling.feedback
    return len(subgoals) - 1, _WRONG


def figures(log: Log, target: int, tokens: Sequence[int]) -> dict[str, float]:
    """How going back to a subgoal compares with what a person said; `tokens` of each step."""
    subgoal, mistake = log.subgoals()[target], log.mistake
    right, wrong = sum(tokens[:mistake]), sum(tokens[mistake:])
    return {
        "exact": float(subgoal.act == mistake),
        "within": float(subgoal.start <= mistake <= subgoal.end),
        "distance": float(abs(subgoal.act - mistake)),
        "right kept": sum(tokens[: min(subgoal.start, mistake)]) / right if right else 1.0,
        "wrong kept": sum(tokens[mistake : subgoal.start]) / wrong if wrong else 0.0,
    }


def measure(data: Path) -> dict[str, Any]:
    """The figures of both files, on the server of GRAPHMEM_URI, or one of its own."""
    tokenizer, told = o200k(), dict[str, Any]()
    with open_graph() as graph:
        for file in FILES:
            logs = list(read(data / "who-and-when" / f"{file}.jsonl"))
            space = graph.space(f"failures-{uuid4().hex[:12]}")
            targets = [revised(space.task(f"log-{i}"), log, FailureJudge()) for i, log in enumerate(logs)]
            graph.connection.run("experiment/erase", _ERASE, {"space": space.name})
            tokens = [[tokenizer.count(text) for _, text in log.steps] for log in logs]
            alone = [judged(log, FailureJudge()) for log in logs]
            counts = [len(log.subgoals()) for log in logs]
            ways: dict[str, list[Sequence[int]]] = {
                "judge": [[target] for target, _ in targets],
                "first": [[0] for _ in logs],
                "last": [[count - 1] for count in counts],
                "random": [range(count) for count in counts],
            }
            ways |= {f"only: {sign}": [[judged(log, FailureJudge((sign,)))[0]] for log in logs] for sign in SIGNS}
            told[file] = {
                "logs": len(logs),
                "steps": sum(len(log.steps) for log in logs),
                "subgoals": sum(counts),
                "agrees with the log alone": sum(a == b for a, b in zip(targets, alone, strict=True)),
                "signs": {sign: sum(sign in reason for _, reason in targets) for sign in SIGNS},
                "nothing found": sum(reason == _WRONG for _, reason in targets),
                **{way: over(logs, tokens, targets) for way, targets in ways.items()},
            }
    return told


def over(logs: Sequence[Log], tokens: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> dict[str, float]:
    """Means over the logs, each the mean over its targets."""
    rows = []
    for log, of_steps, chosen in zip(logs, tokens, targets, strict=True):
        each = [figures(log, target, of_steps) for target in chosen]
        rows.append({name: mean(one[name] for one in each) for name in each[0]})
    told = {name: round(mean(row[name] for row in rows), 4) for name in rows[0]}
    return told | {"median distance": round(median(row["distance"] for row in rows), 2)}


def table(told: Mapping[str, Any]) -> str:
    """The figures for people."""
    lines = []
    for file, figure in told.items():
        names = list(figure["judge"])
        title = f"{file}: {figure['logs']} logs, {figure['steps']} steps, {figure['subgoals']} subgoals"
        lines += ["", title, f"{'go back to':50}" + "".join(f"{name:>17}" for name in names)]
        for way in WAYS:
            row = figure[way]
            shown = (f"{row[n]:>17.1f}" if "distance" in n else f"{row[n]:>17.1%}" for n in names)
            lines.append(f"{way:50}" + "".join(shown))
        signs = ", ".join(f"{sign} {count}" for sign, count in figure["signs"].items())
        lines.append(f"signs of the subgoals gone back to: {signs}; none in {figure['nothing found']} logs")
    return "\n".join(lines[1:])


def _pair(log: Log, subgoal: Subgoal) -> tuple[list[ToolCall], list[str]]:
    """One output: what the agent was told as its call, with what it did; then what ran of that."""
    who, did = log.steps[subgoal.act]
    told = [text for _, text in log.steps[subgoal.start : subgoal.act]]
    ran = log.steps[subgoal.act + 1 : subgoal.end + 1]
    calls = [ToolCall(name=who, arguments={"told": told}), *(ToolCall(name=name) for name, _ in ran)]
    return calls, [did, *(text for _, text in ran)]


def _plans(who: str) -> bool:
    return who.startswith("Orchestrator (")


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds who-and-when")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    told = measure(options.data)
    print(table(told))
    if options.json is not None:
        options.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
