"""`up` where something is wrong with the machine: a running server, or one sentence that says what to do; nothing else.

Every start here has a proxy that nobody serves, so that a warm cache is seen to need no network.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from graphmem import server
from graphmem.server.home import Home
from graphmem.server.processes import running_with

NOBODY = "http://127.0.0.1:9"
_UP = "import sys; from graphmem import server; server.up(short_lived=True)"
GRAPHMEM = "from graphmem_cli.main import cli; cli(prog_name='graphmem')"
KILLS = 5


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    yield folder
    server.down(folder)


def environment(home: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "GRAPHMEM_HOME": str(home), "HTTPS_PROXY": NOBODY, "HTTP_PROXY": NOBODY, **more}


def starting(home: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        (sys.executable, "-c", _UP), env=environment(home), stdout=subprocess.DEVNULL, start_new_session=True
    )


def refused(env: Mapping[str, str], *, limit: Callable[[], None] | None = None) -> str:
    """What `graphmem up` says when it does not start."""
    done = subprocess.run(
        (sys.executable, "-c", GRAPHMEM, "up"),
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limit,
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def servers(home: Path) -> int:
    return len(list(running_with(Home(home.resolve()).mark)))


def test_killed_at_any_stage_the_next_up_gives_one_server(home: Path) -> None:
    begun = time.monotonic()
    whole = starting(home)
    assert whole.wait(120) == 0
    seconds = time.monotonic() - begun
    server.down(home)
    for i in range(KILLS):
        killed = starting(home)
        time.sleep(seconds * i / KILLS)
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait(10)
    again = starting(home)
    assert again.wait(120) == 0
    assert servers(home) == 1
    assert server.down(home)
    assert servers(home) == 0


def test_a_server_that_was_not_written_down_is_found_by_up_and_by_down(home: Path) -> None:
    first = server.up(home, short_lived=True)
    record = Home(home).path / "run" / "server.json"
    record.unlink()
    told: list[str] = []
    second = server.up(home, short_lived=True, progress=told.append)
    assert second.pid != first.pid
    assert any("nobody had written down" in line for line in told)
    assert servers(home) == 1
    record.unlink()
    assert server.down(home)
    assert servers(home) == 0
    assert not server.down(home)


def test_a_full_disk_is_said_with_the_folder_and_what_to_do(home: Path) -> None:
    def full() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    said = refused(environment(home), limit=full)
    assert f"{home} cannot be written (File too large); make room there" in said
    assert servers(home) == 0
    assert server.up(home, short_lived=True)


def test_too_little_memory_is_said_in_the_words_of_java(home: Path) -> None:
    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 29, 3 << 29))

    said = refused(environment(home), limit=little)
    assert re.search("(?i)memory|heap|reserve|allocat", said), said
    assert "try: " in said
    assert servers(home) == 0


def test_without_a_registry_and_without_a_cache_the_network_is_named_and_nothing_is_started(
    home: Path, tmp_path: Path
) -> None:
    said = refused(environment(home, GRAPHMEM_CACHE=str(tmp_path / "cache")))
    assert "could not be downloaded" in said
    assert "Check the network and run it again" in said
    assert "graphmem up" in said
    assert list((tmp_path / "cache").rglob("*.jar")) == []
    assert servers(home) == 0


@pytest.mark.parametrize("where", ["/sys/graphmem", "{tmp}/file/home"])
def test_a_home_that_cannot_be_written_is_refused_with_what_to_do(tmp_path: Path, where: str) -> None:
    (tmp_path / "file").touch()
    said = refused(environment(Path(where.format(tmp=tmp_path))))
    assert "cannot be written" in said
    assert "choose another folder" in said
