"""Trials of one task as one tree: do they part in the graph where they part in the recording, and what does H say?

`python -m experiments.failures_trials DATA` imports the recordings in which something was tried more than once
(`Space.import_runs`): tau-bench (the same model, twice), Reflexion (up to five trials, with the lesson that the agent
drew), SWE-agent (one issue by several configurations). Every further trial is a Revise to the start of the task; Grow
merges what was called and answered alike. Held, for every trial after the first:

- `fork`: the steps of its path that an earlier trial has walked are as many as its calls and results have in common
  with one of them, computed from the recording alone; Grow said `merged` of these, and of no other;
- `nodes`: the tree has a node for every different beginning of the trials, and no more;
- `lesson`: as the trial begins, H gives the lesson that was recorded with it, word for word.

A trial that is word for word another adds nothing, and counts as `known`.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import Any, Final, LiteralString
from uuid import uuid4

import graphmem
from experiments.place import open_graph
from graphmem.exchange import ImportedRun, Run
from graphmem.exchange.formats import read
from graphmem.llm.tokens import o200k
from graphmem.vocabulary import json_text

SETS: Final = ("tau-bench", "reflexion", "swe-agent")
_WALKED = """MATCH (s:Step {task: $p.key}) WHERE s.kind = 'observe'
MATCH (n:TraceNode {key: s.node})
RETURN n.key AS node, n.depth AS depth, s.merged AS merged ORDER BY s.number"""
_REVISES = "MATCH (s:Step {task: $p.key}) WHERE s.kind = 'revise' RETURN s.number AS step ORDER BY step"
_NODES = "MATCH (n:TraceNode {task: $p.key}) WHERE n.depth > 0 RETURN count(n) AS nodes"
_ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Files to be imported; as trials of `task`, where the files do not say what they are trials of."""

    files: tuple[Path, ...]
    task: str | None = None


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


def sources(data: Path, name: str) -> list[Source]:
    """The files of a set in which something was tried more than once."""
    match name:
        case "tau-bench":
            return [Source(files=(path,)) for path in sorted((data / name).glob("*trials*.json"))]
        case "reflexion":
            return [Source(files=(path,)) for path in sorted((data / name).rglob("*trials*.txt"))]
    issues: defaultdict[str, list[Path]] = defaultdict(list)
    for path in sorted((data / name).glob("*.traj")):
        issues[path.stem.split("__")[-1]].append(path)
    return [Source(files=tuple(files), task=issue) for issue, files in issues.items() if len(files) > 1]


def imported(space: graphmem.Space, source: Source) -> tuple[dict[str, list[Run]], int]:
    """The trials of each task that were new, in order, and how many were known."""
    told: list[ImportedRun] = []
    space.import_runs(*source.files, task=source.task, on_run=told.append)
    runs = [run for file in source.files for run in read(file)]
    found: defaultdict[str, list[Run]] = defaultdict(list)
    for one, run in zip(told, runs, strict=True):
        if one.new:
            found[one.task].append(run)
    return dict(found), sum(not one.new for one in told)


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
    rows = _rows(graph, task, "walked", _WALKED)
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
    return walks, _rows(graph, task, "nodes", _NODES)[0]["nodes"]


def lessons(graph: graphmem.Graph, task: graphmem.Task, trials: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """What H says as each further trial begins; the first one after nothing was done goes back to nothing."""
    further = [run for before, run in pairwise(trials) if actions(before)]
    for run, row in zip(further, _rows(graph, task, "revises", _REVISES), strict=True):
        path = task.at(row["step"]).path()
        yield {
            "lesson": run.lesson is not None,
            "told": run.lesson is not None and path.hints.feedback == run.lesson,
            "subgoals": len(path.hints.subgoals) + path.hints.more_subgoals,
            "tried": len(path.hints.tried) + path.hints.more_tried,
            "tokens": o200k().count(path.parts()[2]),
        }


def compared(graph: graphmem.Graph, task: graphmem.Task, trials: Sequence[Run]) -> dict[str, Any]:
    """The tree of trials that were imported, held against the recording."""
    did = [actions(run) for run in trials]
    forks, beginnings = branches(did)
    walks, nodes = walked(graph, task, [len(one) for one in did])
    shared = [max((common(w.nodes, other.nodes) for other in walks[:i]), default=0) for i, w in enumerate(walks)]
    return {
        "steps": sum(map(len, did)),
        "nodes": nodes,
        "leaves": len({one for one in did if one} - {other[:n] for other in did for n in range(len(other))}),
        "shared": forks[1:],
        "lengths": [len(one) for one in did],
        "fork": [
            found == wanted == walk.merged and walk.merged_first and walk.is_path
            for found, wanted, walk in zip(shared, forks, walks, strict=True)
        ],
        "nodes equal": nodes == beginnings,
        "lessons": list(lessons(graph, task, trials)),
    }


def measure(graph: graphmem.Graph, space: graphmem.Space, given: Sequence[Source]) -> dict[str, Any]:
    """The figures of a set."""
    tasks, known = [], 0
    for source in given:
        found, of_these = imported(space, source)
        known += of_these
        tasks += [compared(graph, space.task(name), trials) for name, trials in found.items()]
    return {"known": known} | summed(tasks)


def summed(tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of all tasks."""
    forks = [held for task in tasks for held in task["fork"][1:]]
    shared = [count for task in tasks for count in task["shared"]]
    lengths = [length for task in tasks for length in task["lengths"][1:]]
    begun = [one for task in tasks for one in task["lessons"]]
    return {
        "tasks": len(tasks),
        "trials": sum(len(task["fork"]) for task in tasks),
        "further trials": len(forks),
        "fork equal": sum(forks),
        "tasks with equal nodes": sum(task["nodes equal"] for task in tasks),
        "steps": sum(task["steps"] for task in tasks),
        "nodes": sum(task["nodes"] for task in tasks),
        "branches (leaves)": sum(task["leaves"] for task in tasks),
        "steps shared, mean": _mean(shared),
        "share of a further trial": round(sum(shared) / max(1, sum(lengths)), 4),
        "without calls": lengths.count(0),
        "with nothing shared": sum(a == 0 < b for a, b in zip(shared, lengths, strict=True)),
        "with nothing new": sum(a == b > 0 for a, b in zip(shared, lengths, strict=True)),
        "with a lesson": sum(one["lesson"] for one in begun),
        "lesson told by H": sum(one["told"] for one in begun),
        "subgoals told by H, mean": _mean([one["subgoals"] for one in begun]),
        "actions told by H, mean": _mean([one["tried"] for one in begun]),
        "tokens of H, mean": round(_mean([one["tokens"] for one in begun])),
    }


def table(told: Mapping[str, Mapping[str, Any]]) -> str:
    """The figures for people."""
    names = list(next(iter(told.values())))
    lines = [f"{'':28}" + "".join(f"{name:>12}" for name in told)]
    return "\n".join([*lines, *(f"{name:28}" + "".join(f"{one[name]:>12}" for one in told.values()) for name in names)])


def _mean(counts: Sequence[int]) -> float:
    return round(mean(counts), 2) if counts else 0.0


def _rows(graph: graphmem.Graph, task: graphmem.Task, name: str, text: LiteralString) -> list[Any]:
    return list(graph.connection.run(f"experiment/{name}", text, {"key": f"{task.space}/{task.name}"}))


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder that holds tau-bench, reflexion and swe-agent")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    told = {}
    with open_graph() as graph:
        for name in options.sets:
            space = graph.space(f"failures-{uuid4().hex[:12]}")
            told[name] = measure(graph, space, sources(options.data, name))
            graph.connection.run("experiment/erase", _ERASE, {"space": space.name})
    print(table(told))
    if options.json is not None:
        options.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
