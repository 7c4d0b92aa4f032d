"""The options of the soak: `pytest tests/soak --kills=1000 --seconds=600 --steps=10000`, each for a part of it.

Invariant: without any of them nothing in this folder is collected.
"""

import pytest

OPTIONS = {
    "--kills": "how many times a writer or the server is killed",
    "--seconds": "how long 24 threads work on 8 tasks",
    "--steps": "over how many steps memory and connections stay flat",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("soak", "the soak")
    for name, told in OPTIONS.items():
        group.addoption(name, type=int, default=0, help=told)


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return None if any(config.getoption(name, default=0) for name in OPTIONS) else True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name in OPTIONS:
        wanted = name.strip("-")
        if wanted in metafunc.fixturenames:
            count = metafunc.config.getoption(name)
            metafunc.parametrize(wanted, [count] if count else [])
