"""What one call costs as the task grows: database hits, statements, and times as multiples of a baseline.

`python -m experiments.cost --sizes 100 1000 10000 100000` starts a server of its own, plans every statement on the
empty database, and prints a table; `--json FILE` keeps the figures. The answer and the local degree are the same at
every size: 50 lines of index, 10 headings, 5 active states, one observation. Times are medians of one run.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from neo4j import WRITE_ACCESS, Transaction

import graphmem
from graphmem import Access, Operation, Ref, Relation, StateKind, StepOutput, ToolCall, ToolResult, server
from graphmem.graph import Graph
from graphmem.llm.tokens import o200k
from graphmem.store import Connection, Query, Run, init
from graphmem.store.connection import Check, Row
from graphmem.store.queries import literal
from graphmem.task import Context

T = TypeVar("T")
OPERATIONS = ("status", "step", "disclosure", "observe")
_LINES = 50


@dataclass
class Cost:
    """Hits and statements of one operation at one size."""

    hits: int
    statements: int


@dataclass
class Profiled:
    """What a `Profiler` saw since it was last cleared."""

    hits: int = 0
    statements: list[str] = field(default_factory=list)


class Profiler(Connection):
    """A connection that runs every statement under PROFILE first, rolled back, and adds up its hits."""

    seen: Profiled | None = None

    def _look(self, query: Query, p: Mapping[str, Any]) -> None:
        if self.seen is not None:
            self.seen.hits += self.profile(query, p)
            self.seen.statements.append(query.name)

    def read(self, query: Query, p: Mapping[str, Any]) -> list[Row]:
        self._look(query, p)
        return super().read(query, p)

    def read_locked(self, query: Query, p: Mapping[str, Any]) -> tuple[list[Row], bool]:
        self._look(query, p)
        return super().read_locked(query, p)

    def write(self, query: Query, p: Mapping[str, Any], check: Check | None = None) -> Row:
        self._look(query, p)
        return super().write(query, p, check)

    def transact(self, name: str, work: Callable[[Run], T]) -> T:
        if self.seen is not None:
            with self._session(WRITE_ACCESS) as session, session.begin_transaction() as tx:
                work(partial(self._profiled, tx, self.seen))
                tx.rollback()
        return super().transact(name, work)

    def _profiled(self, tx: Transaction, seen: Profiled, query: Query, p: Mapping[str, Any]) -> list[Row]:
        result = tx.run(literal("CYPHER replan=skip PROFILE " + query.text), p=dict(p))
        rows = [dict(record) for record in result]
        seen.hits += hits(result.consume().profile or {})
        seen.statements.append(query.name)
        return rows


def hits(plan: Mapping[str, Any]) -> int:
    """The database hits of a plan that ran."""
    own = plan.get("dbHits", 0) or plan.get("args", {}).get("DbHits", 0)
    return int(own) + sum(hits(child) for child in plan.get("children", ()))


def open_profiled(uri: str, user: str, password: str) -> tuple[Graph, Profiler]:
    """A graph on a profiling connection, with the schema in place."""
    connection = Profiler(uri, user=user, password=password, timeout_seconds=120)
    init(connection)
    return Graph(Context(connection=connection, tokenizer=o200k())), connection


def _add(id_: str, *refs: tuple[Relation, str]) -> Operation:
    return Operation(
        operation="add",
        id=id_,
        kind=StateKind.KNOWLEDGE,
        summary=f"summary of {id_}",
        value={"id": id_},
        has_value=True,
        refs=tuple(Ref(relation=relation, target=target) for relation, target in refs),
    )


def fill(task: graphmem.Task, states: int, *, batch: int = 100) -> None:
    """Earlier requests with that many states."""
    for first in range(0, states, batch):
        request = task.request(f"filler {first}")
        delta = tuple(_add(f"filler-{i}") for i in range(first, min(first + batch, states)))
        request.step(request.status(index_lines=0), StepOutput(delta=delta, message="done"))


def tail(task: graphmem.Task, *, updates: int = 0, prefix: str = "") -> graphmem.Request:
    """Ten requests of five states each, then an open one with four states of its own and a disclosed one.

    One of its own states is updated so many times before the last call.
    """
    for number in range(10):
        request = task.request(f"request {number}")
        called = request.step(
            _status(request), StepOutput(tool_calls=(ToolCall(name="look", arguments={"n": number}),))
        )
        (raw,) = request.observe(called, [ToolResult(call_id=called.calls[0].id, content=f"result {number}")])
        delta = tuple(_add(f"{prefix}s{number}-{i}", (Relation.DERIVES, raw)) for i in range(5))
        request.step(_status(request), StepOutput(delta=delta, message="done"))
    request = task.request("the open one")
    request.step(_status(request), StepOutput(access=(Access(target=f"{prefix}s9-0"),)))
    own = tuple(_add(f"{prefix}own-{i}", (Relation.SUPPORTS, f"{prefix}s9-0")) for i in range(4))
    request.step(_status(request), StepOutput(delta=own))
    for i in range(updates):
        change = Operation(operation="update", id=f"{prefix}own-3", summary=f"change {i}")
        request.step(_status(request), StepOutput(delta=(change,)))
    called = request.step(_status(request), StepOutput(tool_calls=(ToolCall(name="look", arguments={}),)))
    request.observe(called, [ToolResult(call_id=called.calls[0].id, content="fresh")])
    return request


def _status(request: graphmem.Request) -> graphmem.Status:
    return request.status(index_lines=_LINES, index_tokens=None)


def measure(request: graphmem.Request, profiler: Profiler, *, prefix: str = "") -> dict[str, Cost]:
    """The cost of each operation on a task that `tail` has finished."""
    costs: dict[str, Cost] = {}

    def under(name: str, act: Callable[[], Any]) -> Any:
        profiler.seen = Profiled()
        result = act()
        costs[name] = Cost(hits=profiler.seen.hits, statements=len(profiler.seen.statements))
        profiler.seen = None
        return result

    status = under("status", lambda: _status(request))
    update = Operation(operation="update", id=f"{prefix}own-0", summary="changed")
    new = _add(f"{prefix}fresh", (Relation.DERIVES, status.observation[0].id), (Relation.FOLLOWS, f"{prefix}own-1"))
    output = StepOutput(
        delta=(new, update),
        access=(Access(target=f"{prefix}s8-0"),),
        tool_calls=(ToolCall(name="look", arguments={"x": 1}),),
    )
    result = under("step", lambda: request.step(status, output))
    under("observe", lambda: request.observe(result, [ToolResult(call_id=result.calls[0].id, content="more")]))
    status = _status(request)
    under("disclosure", lambda: request.step(status, StepOutput(access=(Access(target=f"{prefix}s8-1"),))))
    return costs


def time_ratios(request: graphmem.Request, connection: Connection, repeats: int) -> dict[str, float]:
    """Median times as multiples: of `RETURN 1`, and of a one-node write in the same mode."""
    with connection.transaction() as run:
        run("MERGE (n:Baseline {key: 'cost'}) SET n.x = 0", {})
    write = Query(
        name="experiment/write",
        summary="",
        mode="write",
        params=("x",),
        returns=("x",),
        why=(),
        text="MATCH (n:Baseline {key: 'cost'}) SET n.x = $p.x RETURN n.x AS x",
    )
    one = Query(name="experiment/one", summary="", mode="read", params=(), returns=("x",), why=(), text="RETURN 1 AS x")
    samples: dict[str, list[float]] = {name: [] for name in ("return_1", "auto_write", "managed_write", *OPERATIONS)}

    def timed(name: str, act: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = act()
        samples[name].append(time.perf_counter() - start)
        return result

    for i in range(repeats):
        timed("return_1", partial(connection.read, one, {}))
        timed("auto_write", partial(connection.read_locked, write, {"x": i}))
        timed("managed_write", partial(connection.write, write, {"x": i}))
        status = timed("status", partial(_status, request))
        new = _add(f"timed-{i}", (Relation.FOLLOWS, "own-1"))
        output = StepOutput(delta=(new,), tool_calls=(ToolCall(name="look", arguments={"i": i}),))
        result = timed("step", partial(request.step, status, output))
        results = [ToolResult(call_id=result.calls[0].id, content=f"result {i}")]
        timed("observe", partial(request.observe, result, results))
        removal = Operation(operation="remove", id=f"timed-{i}")
        request.step(_status(request), StepOutput(delta=(removal,)))
        access = StepOutput(access=(Access(target=f"s7-{i % 5}"),))
        timed("disclosure", partial(request.step, _status(request), access))
    median = {name: statistics.median(values) for name, values in samples.items()}
    return {
        "return_1_ms": median["return_1"] * 1000,
        "status / RETURN 1": median["status"] / median["return_1"],
        "status / auto-commit write": median["status"] / median["auto_write"],
        "status / managed write": median["status"] / median["managed_write"],
        "step / managed write": median["step"] / median["managed_write"],
        "observe / managed write": median["observe"] / median["managed_write"],
        "disclosure / managed write": median["disclosure"] / median["managed_write"],
    }


def run(sizes: Sequence[int], *, updates: int, repeats: int, say: Callable[[str], None] = print) -> dict[str, Any]:
    """The whole experiment on a server of its own.

    `hits` are by the plans that were made on the empty database, at each size in turn; `replanned` by plans made once
    everything is there, on the same tasks.
    """
    figures: dict[str, Any] = {"hits": {}, "statements": {}, "replanned": {}, "ratios": {}}
    with tempfile.TemporaryDirectory() as home, server.running(home=Path(home) / "server", durable=repeats > 0) as up:
        graph, profiler = open_profiled(up.uri, up.user, up.password)
        with graph:
            space = graph.space("cost")
            for name in ("plan", "settle"):  # the second knows every label and type: their first use costs a few hits
                measure(tail(space.task(name)), profiler)
            cases = [(f"{size} states", size, 0) for size in sizes] + [
                (f"100 states, one updated {n} times", 100, n) for n in sorted({1, updates})
            ]
            tasks: dict[str, graphmem.Request] = {}
            for number, (name, size, changes) in enumerate(cases):
                task = space.task(f"case-{number}")
                fill(task, size)
                tasks[name] = tail(task, updates=changes)
                _record(figures, name, measure(tasks[name], profiler))
                if repeats and not changes:
                    figures["ratios"][name] = time_ratios(tasks[name], profiler, repeats)
                say(f"{name}: {figures['hits'][name]}")
            profiler.run("experiment/clear", "CALL db.clearQueryCaches()")
            measure(tail(space.task("plan-again")), profiler)
            for number, (name, _, changes) in enumerate(cases):
                tasks[name].step(_status(tasks[name]), StepOutput(message="done"))
                again = tail(space.task(f"case-{number}"), updates=changes, prefix="again-")
                figures["replanned"][name] = {o: c.hits for o, c in measure(again, profiler, prefix="again-").items()}
    return figures


def _record(figures: dict[str, Any], name: str, costs: Mapping[str, Cost]) -> None:
    figures["hits"][name] = {operation: cost.hits for operation, cost in costs.items()}
    figures["statements"][name] = {operation: cost.statements for operation, cost in costs.items()}


def table(figures: Mapping[str, Any]) -> str:
    """The figures for people."""
    lines = [f"{'task':34}" + "".join(f"{name:>12}" for name in OPERATIONS)]
    for name, hits in figures["hits"].items():
        lines.append(f"{name:34}" + "".join(f"{hits[operation]:>12}" for operation in OPERATIONS))
    for size, ratios in figures["ratios"].items():
        lines += ["", f"{size}, medians of one run:"]
        lines += [f"  {name:32}{value:8.2f}" for name, value in ratios.items()]
    return "\n".join(lines)


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--updates", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = run(options.sizes, updates=options.updates, repeats=options.repeats)
    print(table(figures))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
