"""Trials of one task as one tree: do they part in the graph where they part in the recording?

`python -m experiments.failures_trials DATA` reads `DATA/tau-bench`: conversations with one task each, tried twice by
the same model. Each task is recorded with `graphmem.exchange.record_run`, every further trial as a Revise to the start
of the task; Grow then merges what was called and answered alike. Held, for every trial after the first:

- `fork`: the steps of its path that an earlier trial has walked are as many as its calls and results have in common
  with one of them, computed from the recording alone; Grow said `merged` of these, and of no other;
- `nodes`: the tree has a node for every different beginning of the trials, and no more.

The figures say how much the trials share. `branches` and `walked` serve other recordings too.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Final
from uuid import uuid4

import graphmem
from experiments.place import open_graph
from graphmem.exchange import Run, record_run
from graphmem.exchange.messages import conversation
from graphmem.vocabulary import json_text

AGAIN: Final = "The task is tried once more."
FILE: Final = Path("tau-bench", "gpt-4o-airline-trials-0-1.json")
_WALKED = """MATCH (s:Step {task: $p.key}) WHERE s.kind = 'observe'
MATCH (n:TraceNode {key: s.node})
RETURN n.key AS node, n.depth AS depth, s.merged AS merged ORDER BY s.number"""
_NODES = "MATCH (n:TraceNode {task: $p.key}) WHERE n.depth > 0 RETURN count(n) AS nodes"
_ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """A trial in the graph: the nodes it walked, in order, and how many of the first ones Grow merged into.

    `is_path`: each node is a child of the one before, from the root on; `merged_first`: no node was merged into after
    one that was new.
    """

    nodes: tuple[str, ...]
    merged: int
    is_path: bool
    merged_first: bool


def runs(data: Path) -> Iterator[Run]:
    """The conversations of the tau-bench file."""
    for record in json.loads((data / FILE).read_text(encoding="utf-8")):
        found = conversation(record["traj"])
        yield Run(task=f"airline-{record['task_id']}", trial=record["trial"], rounds=found.rounds, system=found.system)


def by_task(given: Iterable[Run]) -> dict[str, list[Run]]:
    """The trials of each task, in order."""
    found: defaultdict[str, list[Run]] = defaultdict(list)
    for run in given:
        found[run.task].append(run)
    return {task: sorted(trials, key=lambda run: run.trial) for task, trials in found.items()}


def actions(run: Run) -> tuple[str, ...]:
    """What the run did: of each output with calls, the calls and what they returned."""
    return tuple(
        json_text([[[call.name, dict(call.arguments)] for call in turn.calls], list(turn.results)], sort_keys=True)
        for turn in run.turns
        if turn.calls
    )


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many of the first are the same."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def branches(trials: Sequence[Sequence[str]]) -> tuple[list[int], int]:
    """Where each trial leaves the earlier ones, and the number of different beginnings, from the recording alone."""
    forks = [max((common(trial, other) for other in trials[:i]), default=0) for i, trial in enumerate(trials)]
    return forks, len({tuple(trial[:n]) for trial in trials for n in range(1, len(trial) + 1)})


def walked(graph: graphmem.Graph, task: graphmem.Task, lengths: Sequence[int]) -> tuple[list[Walk], int]:
    """What trials of these lengths walked in the graph, and the number of nodes of the tree."""
    key = {"key": f"{task.space}/{task.name}"}
    rows = list(graph.connection.run("experiment/walked", _WALKED, key))
    assert len(rows) == sum(lengths), f"{task!r}: {len(rows)} observations, not {sum(lengths)}"
    walks = []
    for length in lengths:
        own, rows = rows[:length], rows[length:]
        merged = [row["merged"] for row in own]
        walks.append(
            Walk(
                nodes=tuple(row["node"] for row in own),
                merged=sum(merged),
                is_path=[row["depth"] for row in own] == list(range(1, length + 1)),
                merged_first=merged == sorted(merged, reverse=True),
            )
        )
    return walks, next(iter(graph.connection.run("experiment/nodes", _NODES, key)))["nodes"]


def merge(task: graphmem.Task, trials: Sequence[Run]) -> None:
    """Record the trials into one tree."""
    for i, run in enumerate(trials):
        record_run(task, run, name=f"trial-{run.trial}", feedback=(run.lesson or AGAIN) if i else None)


def compared(graph: graphmem.Graph, task: graphmem.Task, trials: Sequence[Run]) -> dict[str, Any]:
    """Record the trials, and hold the tree against the recording."""
    merge(task, trials)
    did = [actions(run) for run in trials]
    forks, beginnings = branches(did)
    walks, nodes = walked(graph, task, [len(one) for one in did])
    shared = [max((common(w.nodes, other.nodes) for other in walks[:i]), default=0) for i, w in enumerate(walks)]
    return {
        "trials": len(trials),
        "steps": sum(map(len, did)),
        "nodes": nodes,
        "shared": forks[1:],
        "lengths": [len(one) for one in did],
        "fork": [
            found == wanted == walk.merged and walk.merged_first and walk.is_path
            for found, wanted, walk in zip(shared, forks, walks, strict=True)
        ],
        "nodes equal": nodes == beginnings,
    }


def measure(given: Iterable[Run]) -> dict[str, Any]:
    """The figures, on the server of GRAPHMEM_URI, or one of its own."""
    with open_graph() as graph:
        space = graph.space(f"failures-{uuid4().hex[:12]}")
        tasks = [compared(graph, space.task(name), trials) for name, trials in by_task(given).items()]
        graph.connection.run("experiment/erase", _ERASE, {"space": space.name})
    return summed(tasks)


def summed(tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of all tasks."""
    forks = [held for task in tasks for held in task["fork"][1:]]
    shared = [count for task in tasks for count in task["shared"]]
    lengths = [length for task in tasks for length in task["lengths"][1:]]
    return {
        "tasks": len(tasks),
        "trials": sum(task["trials"] for task in tasks),
        "further trials": len(forks),
        "fork equal": sum(forks),
        "tasks with equal nodes": sum(task["nodes equal"] for task in tasks),
        "steps": sum(task["steps"] for task in tasks),
        "nodes": sum(task["nodes"] for task in tasks),
        "steps shared, mean": round(mean(shared), 2) if shared else 0,
        "share of a further trial that is shared": round(sum(shared) / max(1, sum(lengths)), 4),
        "further trials without calls": lengths.count(0),
        "further trials with calls, nothing shared": sum(a == 0 < b for a, b in zip(shared, lengths, strict=True)),
        "further trials that are the same throughout": sum(a == b > 0 for a, b in zip(shared, lengths, strict=True)),
    }


def table(told: Mapping[str, Any]) -> str:
    """The figures for people."""
    return "\n".join(f"{name:48}{value:>10}" for name, value in told.items())


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds tau-bench")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    told = measure(runs(options.data))
    print(table(told))
    if options.json is not None:
        options.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
