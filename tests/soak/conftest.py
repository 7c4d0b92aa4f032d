"""The options of the soak, each for a part of it: `pytest tests/soak --kills=1000 --statements=1000000`.

Invariant: without any of them nothing in this folder is collected.
"""

import pytest

OPTIONS = {
    "--kills": "how many times a writer or the server is killed",
    "--seconds": "how long 24 threads work on 8 tasks",
    "--steps": "over how many steps memory and connections stay flat",
    "--statements": "how many statements of random runs of both state machines are held against their models",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("soak", "the soak")
    for name, told in OPTIONS.items():
        group.addoption(name, type=int, default=0, help=told)


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if any(config.getoption(name, default=0) for name in OPTIONS) else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A part that was not asked for is no test of this run."""
    wanted = {name.strip("-") for name in OPTIONS if config.getoption(name)}
    parts = {name.strip("-") for name in OPTIONS}
    here = [item for item in items if parts & set(getattr(item, "fixturenames", ()))]
    out = [item for item in here if not wanted & set(getattr(item, "fixturenames", ()))]
    items[:] = [item for item in items if item not in out]
    config.hook.pytest_deselected(items=out)


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--kills"))


@pytest.fixture
def seconds(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--seconds"))


@pytest.fixture
def steps(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--steps"))


@pytest.fixture
def statements(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--statements"))
