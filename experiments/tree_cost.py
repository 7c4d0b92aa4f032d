"""What the operations on the tree cost as it grows: database hits, with the same answer and the same local degree.

`python -m experiments.tree_cost --sizes 100 1000 10000 100000 --nodes 1000000` starts a server of its own and plans
every statement on the empty database. A size is the depth of the chain; `--nodes` adds a tree with failed branches of
10,000 nodes beside it (one revise is one transaction: leaving 50,000 nodes asks for more memory than a small server
gives). Trees are loaded in batches. At every size: 7 summaries, 3 recent nodes, two failed branches
at hand, 8 states in view, of which one leaves and one returns with the revise. `--json FILE` keeps the figures.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import graphmem
from experiments.cost import Cost, Profiled, Profiler, open_profiled
from graphmem import Operation, Ref, Relation, Ruling, StateKind, StepOutput, ToolCall, ToolResult, server
from graphmem.task.loading import Pair

OPERATIONS = (
    "status",
    "step",
    "grow",
    "merge",
    "path",
    "at path",
    "at status",
    "fork",
    "compress",
    "maintain",
    "revise",
)
_SUBGOALS = 5
_BRANCH = 10_000


def chain(count: int, name: str) -> Iterator[Pair]:
    """So many distinct calls with their results."""
    return (([ToolCall(name="look", arguments={"in": name, "n": i})], [f"{name} result {i}"]) for i in range(count))


def build(space: graphmem.Space, name: str, depth: int, *, branches: int = 1) -> tuple[graphmem.Task, float]:
    """A task whose path is so deep: half of it an earlier request, half of it in the open one, that many times.

    All branches but the last one were judged wrong and gone back from. With it, the seconds that loading took.
    """
    seconds = 0.0

    def load(count: int, part: str) -> None:
        nonlocal seconds
        begun = time.perf_counter()
        task.grow_many(chain(count, part), attempt=part)
        seconds += time.perf_counter() - begun

    task = space.task(name, irreversible=("send",))
    request = task.request("the earlier one")
    load(depth // 2, "earlier")
    request.step(request.status(), StepOutput(message="done"))
    task.request("the open one")
    for branch in range(1, branches + 1):
        load(depth - depth // 2, f"branch {branch}")
        summary = task.compress(f"branch {branch}")
        if branch < branches:
            task.revise(summary, feedback="not that way")
    return task, seconds


def tail(task: graphmem.Task) -> graphmem.Request:
    """The same surroundings for every task: five subgoals, two failed tries, then one of these walked again."""
    request = task.open_request()
    for goal in range(_SUBGOALS):
        raw = ""
        for i in range(3):
            raw = _grow(request, f"goal {goal}", i)
        new = _add(f"s{goal}", StateKind.KNOWLEDGE, (Relation.DERIVES, raw))
        request.step(request.status(), StepOutput(delta=(new,)))
        task.compress(f"goal {goal}")
    request.step(
        request.status(), StepOutput(delta=(_add("plan", StateKind.JUDGEMENT), _add("ask", StateKind.PREFERENCE)))
    )
    request.step(request.status(), StepOutput(delta=(_add("other", StateKind.ATTRIBUTE),)))
    for failed in range(2):
        for i in range(2):
            _grow(request, f"failed {failed}", i)
        _judged(task, task.compress(f"failed {failed}"), passed=False)
        task.revise(task.path().summaries[-1])
    return request


def measure(task: graphmem.Task, profiler: Profiler, name: str) -> dict[str, Cost]:
    """The cost of each operation on a task that `tail` has finished."""
    request = task.open_request()
    costs: dict[str, Cost] = {}

    def under(operation: str, act: Callable[[], Any]) -> Any:
        profiler.seen = seen = Profiled()
        try:
            return act()
        finally:
            costs[operation] = Cost(hits=seen.hits, statements=len(seen.statements))
            profiler.seen = None

    again = request.step(request.status(), _output("failed 1", 0))
    under("merge", lambda: request.observe(again, [_result(again, "failed 1", 0)]))
    _grow(request, "recent", 1)
    change = Operation(operation="update", id="plan", summary="changed")
    new = _add("leaves", StateKind.JUDGEMENT, (Relation.SUPPORTS, "plan"))
    request.step(request.status(), StepOutput(delta=(change, new)))
    status = under("status", request.status)
    called = under("step", lambda: request.step(status, _output("recent", 2)))
    under("grow", lambda: request.observe(called, [_result(called, "recent", 2)]))
    under("path", task.path)
    past = task.at(_last_step(profiler, task))
    under("at path", past.path)
    under("at status", past.status)
    under("fork", lambda: task.fork(f"fork-of-{name}"))
    summary = under("compress", lambda: task.compress("recent"))
    under("maintain", lambda: _judged(task, summary, passed=False))
    under("revise", lambda: task.revise(summary))
    return {operation: costs[operation] for operation in OPERATIONS}


def run(sizes: Sequence[int], *, nodes: int = 0, say: Callable[[str], None] = print) -> dict[str, Any]:
    """The whole experiment on a server of its own.

    `hits` are by the plans that were made on the empty database; `replanned` by plans made once everything is there.
    """
    figures: dict[str, Any] = {"hits": {}, "statements": {}, "replanned": {}, "nodes_a_second": {}}
    with tempfile.TemporaryDirectory() as home, server.running(home=Path(home) / "server", durable=True) as up:
        graph, profiler = open_profiled(up.uri, up.user, up.password)
        with graph:
            space = graph.space("tree")
            for name in ("plan", "settle"):
                _measured(space, profiler, name, 20)
            cases = [(f"depth-{size}", size, 1) for size in sizes]
            if nodes > sizes[-1]:
                depth = min(sizes[-1], 2 * _BRANCH)
                cases.append((f"nodes-{nodes}", depth, 2 * nodes // depth - 1))
            tasks: dict[str, graphmem.Task] = {}
            for name, depth, branches in cases:
                tasks[name], seconds = build(space, name, depth, branches=branches)
                loaded = depth // 2 + branches * (depth - depth // 2)
                figures["nodes_a_second"][name] = round(loaded / seconds)
                tail(tasks[name])
                costs = measure(tasks[name], profiler, name)
                figures["hits"][name] = {operation: cost.hits for operation, cost in costs.items()}
                figures["statements"][name] = {operation: cost.statements for operation, cost in costs.items()}
                say(f"{name}: {figures['nodes_a_second'][name]} nodes a second, {figures['hits'][name]}")
            profiler.run("experiment/clear", "CALL db.clearQueryCaches()")
            _measured(space, profiler, "plan-again", 20)
            for name, task in tasks.items():
                measured = measure(task, profiler, f"{name}-again")
                figures["replanned"][name] = {operation: cost.hits for operation, cost in measured.items()}
    return figures


def table(figures: Mapping[str, Any]) -> str:
    """The figures for people."""
    lines = [f"{'tree':18}" + "".join(f"{name:>10}" for name in OPERATIONS) + f"{'nodes/s':>10}"]
    for name, costs in figures["hits"].items():
        told = "".join(f"{costs[operation]:>10}" for operation in OPERATIONS)
        lines.append(f"{name:18}{told}{figures['nodes_a_second'][name]:>10}")
    return "\n".join(lines)


def _measured(space: graphmem.Space, profiler: Profiler, name: str, depth: int) -> None:
    task, _ = build(space, name, depth)
    tail(task)
    measure(task, profiler, name)


def _add(id_: str, kind: StateKind, *refs: tuple[Relation, str]) -> Operation:
    return Operation(
        operation="add",
        id=id_,
        kind=kind,
        summary=f"summary of {id_}",
        value={"id": id_},
        has_value=True,
        refs=tuple(Ref(relation=relation, target=target) for relation, target in refs),
    )


def _output(name: str, i: int) -> StepOutput:
    return StepOutput(tool_calls=(ToolCall(name="look", arguments={"in": name, "n": i}),))


def _result(called: graphmem.StepResult, name: str, i: int) -> ToolResult:
    return ToolResult(call_id=called.calls[0].id, content=f"{name} result {i}")


def _grow(request: graphmem.Request, name: str, i: int) -> str:
    called = request.step(request.status(), _output(name, i))
    return request.observe(called, [_result(called, name, i)])[0]


def _judged(task: graphmem.Task, summary: graphmem.Summary, *, passed: bool) -> graphmem.Verdict:
    return task.maintain(summary, lambda _case: Ruling(passed=passed, feedback="" if passed else "not that way"))


def _last_step(profiler: Profiler, task: graphmem.Task) -> int:
    text = "MATCH (t:Task {key: $p.key}) RETURN t.next_step - 1 AS step"
    return int(profiler.run("experiment/last_step", text, {"key": f"{task.space}/{task.name}"})[0]["step"])


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--nodes", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = run(options.sizes, nodes=options.nodes)
    print(table(figures))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
