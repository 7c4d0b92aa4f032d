"""Tokens against recall: before each recorded or gold call, is every argument that was said before in what is shown?

`python -m experiments.recall ../shared/data --json FILE` plays runs through tasks in a real graph, with the rule-based
writer and rule-based access, and measures the prompt before each call: against the whole history, and against its last
messages and BM25 at the same budget with the same query; with oracle access, without PSA, without ISU; MAGE's path, and
both in one prompt. `--budgets` folds the index further, `--sets` chooses sets, `--runs` a part of each. No model is
called: the figures say what is shown, not how well it is used.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import graphmem
from experiments.place import open_graph
from experiments.recall_sets import SETS, runs
from graphmem.exchange.measuring.figures import Measured, table
from graphmem.exchange.measuring.measure import WAYS, at_budgets, measure
from graphmem.llm.tokens import o200k

_ERASE = "MATCH (n {space: $p.space}) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS"


def measured(
    graph: graphmem.Graph, name: str, data: Path, *, limit: int, budgets: tuple[int, ...], workers: int
) -> Measured:
    """The figures of one set, in a space that is erased afterwards."""
    space = graph.space(f"recall-{uuid4().hex[:12]}")
    found = runs(name, data, limit=limit)

    def told(number: int) -> None:
        print(f"\r{name}: {number} of {len(found)} runs", end="", file=sys.stderr, flush=True)

    try:
        ways = (*WAYS, *at_budgets(budgets))
        return measure(space, found, tokenizer=o200k(), ways=ways, workers=workers, told=told)
    finally:
        print(file=sys.stderr)
        graph.connection.run("experiment/erase", _ERASE, {"space": space.name})


def main() -> None:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with tau-bench and tau2-bench")
    parser.add_argument("--sets", default=",".join(SETS), help="sets of runs, by commas")
    parser.add_argument("--runs", type=int, default=0, help="runs of each set, evenly spread; 0: all")
    parser.add_argument("--budgets", default="150,300,600", help="tokens of the index, by commas")
    parser.add_argument("--workers", type=int, default=1, help="runs that are played at once")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    budgets = tuple(int(budget) for budget in options.budgets.split(",") if budget)
    figures: dict[str, Any] = {}
    with open_graph() as graph:
        for name in options.sets.split(","):
            found = measured(graph, name, options.data, limit=options.runs, budgets=budgets, workers=options.workers)
            print(f"{name}\n{table(found)}\n", flush=True)
            figures[name] = found.to_dict()
            if options.json is not None:
                options.json.write_text(json.dumps(figures) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
