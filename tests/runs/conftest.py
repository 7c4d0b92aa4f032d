"""The options of the checks on recorded runs: `pytest tests/runs --runs=DIR`.

Invariant: without `--runs` nothing in this folder is collected; with it, a file that is not there is an error.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from graphmem.exchange import Run
from graphmem.exchange.formats import read

pytest.register_assert_rewrite("tests.runs.player", "tests.runs.sets")

_FILE: Final = Path("tau-bench", "gpt-4o-airline-trials-0-1.json")
_COUNT: Final = 10
_MAX_TURNS: Final = 30


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("runs", "recorded runs")
    group.addoption("--runs", metavar="DIR", help="the folder with recorded runs")
    group.addoption("--runs-all", action="store_true", help="every run, not the chosen ones")


def pytest_configure(config: pytest.Config) -> None:
    path = _path(config)
    if path is not None and not path.is_file():
        raise pytest.UsageError(f"{path} does not exist; --runs names the folder that holds {_FILE}")


def _path(config: pytest.Config) -> Path | None:
    folder = config.getoption("--runs", default=None)
    return None if folder is None else Path(str(folder)) / _FILE


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return True if _path(config) is None else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    path = _path(metafunc.config)
    if path is None or "run" not in metafunc.fixturenames:
        return
    runs = tuple(read(path))
    if not metafunc.config.getoption("--runs-all"):
        runs = _chosen(runs)
    ids = [f"task-{run.task}-trial-{run.trial}-{len(run.turns)}-turns" for run in runs]
    metafunc.parametrize("run", runs, ids=ids)


def _chosen(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Some of them, spread over their lengths from end to end."""
    fitting = sorted((run for run in runs if len(run.turns) <= _MAX_TURNS), key=lambda run: len(run.turns))
    return tuple(fitting[i * (len(fitting) - 1) // (_COUNT - 1)] for i in range(_COUNT))
