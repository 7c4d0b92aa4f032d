"""Every recorded run of the folder: read in full, imported, and read back byte for byte (`make runs RUNS=DIR`).

By default all runs are read, and some of each file are imported; `--runs-all` imports all.
"""

from itertools import groupby
from pathlib import Path
from typing import LiteralString

import pytest

import graphmem
from graphmem.exchange import Run
from graphmem.exchange.formats import read
from graphmem.exchange.importing import task_name
from graphmem.inspect import audit

from .cuts import count, cut, files, observations

_OBSERVED: LiteralString = """
MATCH (s:Step {space: $p.space, kind: 'observe'})
MATCH (n:TraceNode {key: s.node})<-[:CHILD_OF]-(o:RawObservation)
WITH s, o ORDER BY s.task, s.number, o.position
RETURN s.task AS task, o.content AS content, o.tool AS tool
"""
_OPENED: LiteralString = """
MATCH (r:Request {space: $p.space})
WITH r ORDER BY r.task, r.number
RETURN r.task AS task, r.text AS text
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    folder = metafunc.config.getoption("--runs")
    if "recorded" in metafunc.fixturenames and folder is not None:
        found = files(Path(str(folder)))
        metafunc.parametrize("recorded", found, ids=[path.name[-40:] for path in found])


def _results(run: Run) -> list[str]:
    return [result for turn in run.turns for result in turn.results if result is not None]


def _is_in(run: Run, others: list[Run]) -> bool:
    """Whether a trial is word for word an earlier one, or its beginning."""
    return any(
        len(run.rounds) == len(other.rounds) == 1
        and run.rounds[0].text == other.rounds[0].text
        and run.turns == other.turns[: len(run.turns)]
        for other in others
    )


def test_every_run_of_a_file_is_read_with_every_observation(recorded: Path) -> None:
    runs = list(read(recorded))
    assert [result for run in runs for result in _results(run)] == observations(recorded)
    assert len(runs) == count(recorded) or (recorded.suffix == ".txt" and len(runs) > count(recorded))
    assert all(run.rounds and all(round_.text.strip() for round_ in run.rounds) for run in runs)
    assert all(len(turn.calls) == len(turn.results) for run in runs for turn in run.turns)


def test_runs_are_imported_and_come_back_byte_for_byte(
    graph: graphmem.Graph, space: graphmem.Space, recorded: Path, pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    path = recorded if pytestconfig.getoption("--runs-all") else cut(recorded, tmp_path)
    tasks: dict[str, list[Run]] = {}
    runs = list(read(path))
    for run in runs:
        trials = tasks.setdefault(task_name(path.stem, run.task), [])
        if not _is_in(run, trials):
            trials.append(run)
    done = space.import_runs(path)
    assert (done.runs, done.tasks, done.unread) == (len(runs), tuple(tasks), ())
    assert done.known == len(runs) - sum(map(len, tasks.values()))

    rows = graph.connection.run("tests/runs/observed", _OBSERVED, {"space": space.name})
    seen = {task: list(group) for task, group in groupby(rows, key=lambda row: str(row["task"]))}
    for name, trials in tasks.items():
        mine = seen.get(f"{space.name}/{name}", [])
        assert [row["content"] for row in mine] == [r for run in trials for t in run.turns for r in t.results]
        assert [row["tool"] for row in mine] == [call.name for run in trials for call in run.calls]
    opened = graph.connection.run("tests/runs/opened", _OPENED, {"space": space.name})
    texts = {task: [row["text"] for row in group] for task, group in groupby(opened, key=lambda row: str(row["task"]))}
    assert texts == {
        f"{space.name}/{name}": [round_.text for run in trials for round_ in run.rounds]
        for name, trials in tasks.items()
    }

    again = space.import_runs(path)
    assert (again.known, bool(again.new)) == (len(runs), False)
    assert audit(graph.connection, space.name) == ()
