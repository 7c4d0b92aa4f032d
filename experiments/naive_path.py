"""What is gained by keeping the path: `task/path` beside a walk from the leaf to the root, at growing depth.

`python -m experiments.naive_path --sizes 100 1000 10000` starts a server of its own, builds the trees of
`experiments.tree_cost`, checks that both ways give the same C and R, and prints database hits and times (medians of one
run). The walk reads less: H is not in its answer. `--json FILE` keeps the figures.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import graphmem
from experiments.cost import Profiled, Profiler, open_profiled
from experiments.tree_cost import build, tail
from graphmem import server
from graphmem.store import Query
from graphmem.store.queries import parse

_SECONDS = 20.0


def naive() -> Query:
    """The statement that walks from the leaf to the root."""
    file = Path(__file__).with_suffix(".cypher")
    return parse("experiment/naive_path", file.read_text(encoding="utf-8"))


def keys(task: graphmem.Task, profiler: Profiler) -> tuple[list[str], list[str]]:
    """C and R by the walk, as keys; the root summary, which covers the root alone, is no part of C."""
    row = profiler.read(naive(), {"space": task.space, "task": task.name})[0]
    return [s["key"] for s in row["summaries"] if s["rank"] > 0], [node["key"] for node in row["recent"]]


def measure(task: graphmem.Task, profiler: Profiler, repeats: int) -> dict[str, float]:
    """Hits and times of both on one task."""
    path = task.path()
    if keys(task, profiler) != ([s.key for s in path.summaries], [node.key for node in path.recent]):
        raise AssertionError(f"the walk and the statement disagree about {task!r}")
    figures: dict[str, float] = {}
    ways: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("path", task.path),
        ("walk", lambda: keys(task, profiler)),
    )
    for name, act in ways:
        profiler.seen = seen = Profiled()
        act()
        figures[f"{name} hits"] = seen.hits
        profiler.seen = None
        figures[f"{name} ms"] = _median_ms(act, repeats)
    return figures


def _median_ms(act: Callable[[], Any], repeats: int) -> float:
    """The median of at most so many calls, and of fewer when they take long."""
    samples: list[float] = []
    ends = time.monotonic() + _SECONDS
    while len(samples) < repeats and (not samples or time.monotonic() < ends):
        begun = time.perf_counter()
        act()
        samples.append((time.perf_counter() - begun) * 1000)
    return round(statistics.median(samples), 2)


def run(
    space: graphmem.Space,
    profiler: Profiler,
    sizes: Sequence[int],
    *,
    repeats: int = 50,
    say: Callable[[str], None] = print,
) -> dict[str, dict[str, float]]:
    """The figures by depth, of tasks that are made in the space for it."""
    figures: dict[str, dict[str, float]] = {}
    for size in (20, *sizes):
        task, _ = build(space, f"depth-{size}", size)
        tail(task)
        figures[str(size)] = measure(task, profiler, repeats)
        say(f"depth {size}: {figures[str(size)]}")
    del figures["20"]  # it planned the statements
    return figures


def table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """The figures for people."""
    names = ("path hits", "walk hits", "path ms", "walk ms")
    lines = [f"{'depth':>8}" + "".join(f"{name:>12}" for name in names) + f"{'hits':>10}{'times':>10}"]
    for size, row in figures.items():
        gain = f"{row['walk hits'] / row['path hits']:>9.1f}×{row['walk ms'] / row['path ms']:>9.1f}×"
        lines.append(f"{size:>8}" + "".join(f"{row[name]:>12g}" for name in names) + gain)
    return "\n".join(lines)


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, server.running(home=Path(home) / "server", durable=False) as up:
        graph, profiler = open_profiled(up.uri, up.user, up.password)
        with graph:
            figures = run(graph.space("naive"), profiler, options.sizes, repeats=options.repeats)
    print(table(figures))
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
