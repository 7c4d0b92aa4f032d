"""Is what an agent sees exact after wrong calls? Runs in a world whose truth is known, with 1, 2 and 5 wrong calls.

`python -m experiments.exactness --seeds 30` plays the runs of `experiments.wrong_turns` in both worlds. `restored`: the
simulator is put back with each Revise. `unchanged`: what was done is compensated by calls, which are left behind with
the branch (a path that holds the compensation of what is not on it could not be replayed); messages cannot be undone
and have to be reported. Held, at every step and at the end:

- `path`: the active path is the gold list, with arguments and results; `replay`: it gives the gold world when replayed;
- `world`: the simulator is the gold world, but for messages that the revises reported as irreversible;
- `prompt`: of the branches left, no call, result, summary or state stands in it outside H, but states that the table of
  DESIGN (`graphmem.trace.restore`) keeps, and each of these does.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import graphmem
from experiments.booking import IRREVERSIBLE, World
from experiments.place import open_graph
from experiments.wrong_turns import Run, Seen, gold, script
from graphmem import ToolCall
from graphmem.trace import World as Fate

CHECKS = ("path", "replay", "world", "prompt")
_ACTIVE = """MATCH (n:OnPath:TraceNode {task: $p.key}) WHERE n.depth > 0
CALL (n) { MATCH (n)<-[:CHILD_OF]-(o:RawObservation) RETURN collect(o)[0] AS o }
WITH n, o ORDER BY n.depth
RETURN o.tool AS tool, o.arguments AS arguments, o.content AS content"""
_ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


def check(run: Run, active: Sequence[Seen]) -> dict[str, bool]:
    """The four checks of a run that was played, given its active path."""
    expected, world = gold(run.goals)
    replayed = World()
    answers = [replayed.call(ToolCall(name=tool, arguments=arguments)) for tool, arguments, _ in active]
    extra = Counter(run.world.outbox) - Counter(world.outbox)
    told = len(run.sent) - len(world.outbox) <= len(run.reported)
    same = (run.world.money, run.world.bookings) == (world.money, world.bookings)
    return {
        "path": list(active) == expected,
        "replay": replayed == world and answers == [content for *_, content in active],
        "world": same and told and (not extra or run.fate is Fate.UNCHANGED) and not _of(run, "world"),
        "prompt": run.prompts > 0 and not _of(run, "prompt"),
    }


def play(
    space: graphmem.Space, graph: graphmem.Graph, fate: Fate, seed: int, wrongs: int, *, isolate_states: bool = True
) -> tuple[Run, dict[str, bool]]:
    """One run and its checks."""
    task = space.task(f"{fate}-{wrongs}-{seed}", irreversible=IRREVERSIBLE, isolate_states=isolate_states)
    run = script(task, fate, seed, wrongs)
    run.play()
    rows = graph.connection.run("experiment/active", _ACTIVE, {"key": f"{task.space}/{task.name}"})
    return run, check(run, [(row["tool"], json.loads(row["arguments"]), row["content"]) for row in rows])


def measure(seeds: int, say: Callable[[str], None] = print) -> dict[str, dict[str, Any]]:
    """The checks that held, by world and wrong calls, on the server of GRAPHMEM_URI, or one of its own."""
    figures: dict[str, dict[str, Any]] = {}
    with open_graph() as graph:
        for fate in Fate:
            for wrongs in (1, 2, 5):
                row: dict[str, Any] = dict.fromkeys(("runs", "injected", "revises", "prompts", *CHECKS), 0)
                for seed in range(seeds):
                    space = graph.space(f"exactness-{uuid4().hex[:12]}")
                    run, held = play(space, graph, fate, seed, wrongs)
                    told = {"runs": 1, "injected": run.injected, "revises": run.revises, "prompts": run.prompts, **held}
                    row = {name: row[name] + told[name] for name in row}
                    for fault in run.faults[:3]:
                        say(f"{fate}, {wrongs} wrong, seed {seed}: {fault}")
                    graph.connection.run("experiment/erase", _ERASE, {"space": space.name})
                figures[f"{fate}, {wrongs} wrong"] = row
    return figures


def table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """The figures for people: shares of the runs in which a check held."""
    counts = ("runs", "injected", "revises", "prompts")
    lines = [f"{'world':22}" + "".join(f"{name:>10}" for name in (*counts, *CHECKS))]
    for name, row in figures.items():
        shares = "".join(f"{row[check] / row['runs']:>10.0%}" for check in CHECKS)
        lines.append(f"{name:22}" + "".join(f"{row[count]:>10}" for count in counts) + shares)
    return "\n".join(lines)


def _of(run: Run, name: str) -> list[str]:
    return [fault for fault in run.faults if fault.startswith(name)]


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = measure(options.seeds)
    print(table(figures))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
