"""Is what an agent sees exact after wrong calls? Runs in worlds whose truth is known, with 1, 2 and 5 wrong calls.

`python -m experiments.exactness` plays runs of `experiments.wrong_turns`: in our own small world (`--in booking`), or
in the simulators of BFCL (`--in bfcl`, its gold calls with real calls of the same tools injected). `restored`: the
world is put back with each Revise. `unchanged`: in `booking`, what was done is compensated by calls, which are left
with the branch; in `bfcl` nothing is, so that a right call may answer otherwise than in the gold world. Held, at every
step and at the end:

- `path`: the active path is the gold list, with the results of the gold world, or where that is left as it was with
  those that the calls really had;
- `replay`: the calls of the path make the gold world of a new one, and answer as they did there;
- `world`: a world put back is the gold world; one that was not is what the calls of the path and those that the revises
  reported as irreversible make of a new one, in the order of their steps;
- `prompt`: of the branches left, no call, result, summary or state stands in it outside H, but states that the table of
  DESIGN (`graphmem.trace.restore`) keeps, and each of these does; C and R are what was done.

`otherwise`: right calls that answered otherwise than in the gold world, which was not put back.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import graphmem
from experiments import bfcl
from experiments.bfcl_scene import BfclScene
from experiments.booking import Booking
from experiments.place import open_graph
from experiments.scene import Scene, Seen
from experiments.wrong_turns import Run, script
from graphmem import ToolCall
from graphmem.trace import World as Fate

CHECKS = ("path", "replay", "world", "prompt")
COUNTS = ("runs", "injected", "revises", "prompts", "otherwise")
WRONGS = (1, 2, 5)
_ACTIVE = """MATCH (n:OnPath:TraceNode {task: $p.key}) WHERE n.depth > 0
CALL (n) { MATCH (n)<-[:CHILD_OF]-(o:RawObservation) RETURN collect(o)[0] AS o }
CALL (n) {
  MATCH (s:Step {task: $p.key, kind: 'observe', node: n.key}) WHERE s.abandoned_step IS NULL
  RETURN max(s.number) AS step
}
WITH n, o, step ORDER BY n.depth
RETURN o.tool AS tool, o.arguments AS arguments, o.content AS content, step"""
_ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """A run to be played: the scene of a seed, `title` groups what is told together."""

    title: str
    scene: Callable[[], Scene]
    seed: int


def booking(seed: int) -> Play:
    """A run in our own world."""
    return Play(title="booking", scene=lambda: Booking(Random(f"booking {seed}")), seed=seed)


def bfcl_plays(count: int) -> Iterator[Play]:
    """Runs of BFCL tasks, `count` of each category; 0 for all."""
    for category in bfcl.CATEGORIES:
        for i, task in enumerate(bfcl.sample(category, count)):
            yield Play(title=category, scene=partial(_scene, task), seed=i)


def check(run: Run, active: Sequence[tuple[int, Seen]]) -> dict[str, bool]:
    """The four checks of a run that was played, given its active path and the steps that walked it."""
    expected = [one for goal in run.gold for one in goal]
    seen = [one for _, one in active]
    replayed = run.scene.world()
    answers = [replayed.call(ToolCall(name=tool, arguments=arguments)) for tool, arguments, _ in seen]
    told = {step: ToolCall(name=ran.tool, arguments=json.loads(ran.arguments)) for step, ran in run.reported.items()}
    ran = told | {step: ToolCall(name=tool, arguments=arguments) for step, (tool, arguments, _) in active}
    settled = (
        run.world == run.gold_world
        if run.fate is Fate.RESTORED
        else run.scene.settled(run.world, run.gold_world, [ran[step] for step in sorted(ran)])
    )
    asked = [one[:2] for one in seen] == [one[:2] for one in expected]
    return {
        "path": asked
        and seen == (expected if run.exact else [one.seen() for one in run.done])
        and not _of(run, "path"),
        "replay": replayed == run.gold_world and answers == [content for *_, content in expected],
        "world": settled and not _of(run, "world"),
        "prompt": run.prompts > 0 and not _of(run, "prompt"),
    }


def play(
    space: graphmem.Space, graph: graphmem.Graph, one: Play, fate: Fate, wrongs: int, *, isolate_states: bool = True
) -> tuple[Run, dict[str, bool]]:
    """One run and its checks."""
    scene = one.scene()
    name = f"{one.title}-{fate}-{wrongs}-{one.seed}"
    task = space.task(name, irreversible=scene.irreversible, isolate_states=isolate_states)
    run = script(task, scene, fate, one.seed, wrongs)
    run.play()
    rows = graph.connection.run("experiment/active", _ACTIVE, {"key": f"{task.space}/{task.name}"})
    return run, check(run, [(row["step"], (row["tool"], json.loads(row["arguments"]), row["content"])) for row in rows])


def measure(plays: Sequence[Play], say: Callable[[str], None] = print) -> dict[str, dict[str, Any]]:
    """The checks that held, by title, world and wrong calls, on the server of GRAPHMEM_URI, or one of its own."""
    figures: dict[str, dict[str, Any]] = {}
    with open_graph() as graph:
        for one in plays:
            for fate in Fate:
                for wrongs in WRONGS:
                    space = graph.space(f"exactness-{uuid4().hex[:12]}")
                    run, held = play(space, graph, one, fate, wrongs)
                    row = figures.setdefault(
                        f"{one.title}, {fate}, {wrongs} wrong", dict.fromkeys((*COUNTS, *CHECKS), 0)
                    )
                    told = {"runs": 1, **{count: getattr(run, count) for count in COUNTS[1:]}, **held}
                    row |= {name: row[name] + told[name] for name in row}
                    for fault in run.faults[:3]:
                        say(f"{one.title}, {fate}, {wrongs} wrong, seed {one.seed}: {fault}")
                    graph.connection.run("experiment/erase", _ERASE, {"space": space.name})
    return figures


def table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """The figures for people: shares of the runs in which a check held."""
    lines = [f"{'world':32}" + "".join(f"{name:>10}" for name in (*COUNTS, *CHECKS))]
    for name, row in sorted(figures.items()):
        shares = "".join(f"{row[check] / row['runs']:>10.1%}" for check in CHECKS)
        lines.append(f"{name:32}" + "".join(f"{row[count]:>10}" for count in COUNTS) + shares)
    return "\n".join(lines)


def _scene(task: bfcl.Task) -> Scene:
    return BfclScene(task, Random(task.id))


def _of(run: Run, name: str) -> list[str]:
    return [fault for fault in run.faults if fault.startswith(name)]


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in", dest="place", choices=("booking", "bfcl"), default="booking")
    parser.add_argument("--seeds", type=int, default=30, help="runs of `booking`, in each world")
    parser.add_argument("--tasks", type=int, default=0, help="tasks of each category of `bfcl`; 0: all")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    plays = [*map(booking, range(options.seeds))] if options.place == "booking" else list(bfcl_plays(options.tasks))
    figures = measure(plays)
    print(table(figures))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
