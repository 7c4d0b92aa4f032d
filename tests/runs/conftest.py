"""The options of the check on recorded runs, and its table: `pytest tests/runs --runs=DIR`.

Invariant: without `--runs` nothing in this folder is collected; with it, a file that is not there is an error.
"""

import json
from pathlib import Path
from typing import Final

import pytest

pytest.register_assert_rewrite("tests.runs.player", "tests.runs.sets")

from .player import Figures  # noqa: E402  # rewritten only when imported after it is registered
from .recording import Conversation, choose, read  # noqa: E402  # as above
from .table import render  # noqa: E402  # as above

_FILE: Final = Path("tau-bench", "gpt-4o-airline-trials-0-1.json")
_COUNT: Final = 10
_MAX_MESSAGES: Final = 51
FIGURES: Final = pytest.StashKey[list[Figures]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("runs", "recorded runs")
    group.addoption("--runs", metavar="DIR", help="the folder with recorded runs")
    group.addoption("--runs-all", action="store_true", help="every conversation, not the chosen ten")
    group.addoption("--runs-report", metavar="FILE", help="write the table as JSON, too")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = []
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
    if path is None or "conversation" not in metafunc.fixturenames:
        return
    conversations = read(path)
    if not metafunc.config.getoption("--runs-all"):
        conversations = choose(conversations, count=_COUNT, max_messages=_MAX_MESSAGES)
    metafunc.parametrize("conversation", conversations, ids=[_id(c) for c in conversations])


def _id(conversation: Conversation) -> str:
    return f"{conversation.name}-{len(conversation.history)}-messages"


@pytest.fixture
def figures(pytestconfig: pytest.Config) -> list[Figures]:
    """The figures of the conversations so far; a test adds its own."""
    return pytestconfig.stash[FIGURES]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    figures = config.stash.get(FIGURES, [])
    if not figures:
        return
    terminalreporter.section("recorded runs")
    terminalreporter.write_line(render(figures))
    report = config.getoption("--runs-report")
    if report:
        Path(str(report)).write_text(
            json.dumps([item.to_dict() for item in figures], indent=2) + "\n", encoding="utf-8"
        )
