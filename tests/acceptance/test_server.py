"""The embedded server, for real: started, found, killed, restarted, stopped."""

import http.client
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import neo4j
import pytest
from neo4j.exceptions import AuthError

import graphmem
from graphmem import server
from graphmem.errors import ServerUnreachableError, StartError
from graphmem.server.home import Home, Record
from graphmem.server.processes import Process, alive, identify
from graphmem.server.values import Server

_UP = "import sys; from graphmem import server; print(server.up(sys.argv[1], short_lived=True).pid)"


def _ask(up: Server, statement: neo4j.Query, password: str | None = None) -> list[object]:
    login = (up.user, password or up.password)
    with neo4j.GraphDatabase.driver(up.uri, auth=login, telemetry_disabled=True) as driver:
        return [row.value() for row in driver.execute_query(statement, database_="neo4j").records]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home of this module, started for the first time by two processes at once."""
    folder = tmp_path_factory.mktemp("server") / "a home with spaces"
    starts = [
        subprocess.Popen((sys.executable, "-c", _UP, str(folder)), stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [start.communicate()[0].strip() for start in starts]
    assert [start.returncode for start in starts] == [0, 0]
    assert said[0] == said[1]
    yield folder
    server.down(folder)


@pytest.fixture
def up(home: Path) -> Server:
    """The server of the home, up."""
    return server.up(home, short_lived=True)


def test_two_starts_at_once_give_one_server_and_a_third_gives_it_again(home: Path, up: Server) -> None:
    assert server.up(home) == up == server.find(home)


def test_the_password_opens_the_server_and_the_default_one_does_not(up: Server) -> None:
    assert _ask(up, neo4j.Query("RETURN 1")) == [1]
    with pytest.raises(AuthError):
        _ask(up, neo4j.Query("RETURN 1"), password="neo4j")


def test_the_password_is_in_its_file_and_nowhere_else(home: Path, up: Server) -> None:
    secret = up.password.encode()
    assert stat.S_IMODE((home / "password").stat().st_mode) == 0o600
    holding = [file.name for file in home.rglob("*") if file.is_file() and secret in file.read_bytes()]
    assert holding == ["password"]
    assert up.password not in repr(up) + str(up.to_dict()) + repr(server.status(home))
    for listing in ("cmdline", "environ"):
        if (shown := Path(f"/proc/{up.pid}/{listing}")).exists():
            assert secret not in shown.read_bytes()


def test_the_server_inherits_no_secrets_of_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.down(home)
    monkeypatch.setenv("GRAPHMEM_PASSWORD", "hush-hush")
    up = server.up(home, short_lived=True)
    if (shown := Path(f"/proc/{up.pid}/environ")).exists():
        assert b"hush-hush" not in shown.read_bytes()


def test_browser_is_served_and_may_load_only_the_pages(up: Server) -> None:
    connection = http.client.HTTPConnection(up.http.removeprefix("http://"), timeout=30)
    connection.request("GET", "/browser/")
    answer = connection.getresponse()
    policy = answer.headers["Content-Security-Policy"]
    assert answer.status == 200
    assert b"Neo4j Browser" in answer.read()
    connection.close()
    assert f"connect-src 'self' http://127.0.0.1:{up.pages_port} ws://{up.uri.removeprefix('bolt://')}" in policy
    shown = _ask(up, neo4j.Query("SHOW SETTINGS 'browser.post_connect_cmd' YIELD value RETURN value"))
    pages = f"http://127.0.0.1:{up.pages_port}"
    assert shown == [f"clear; style {pages}/live.grass; guide {pages}/guide.html"]


def test_status_says_what_runs(home: Path, up: Server) -> None:
    said = server.status(home)
    assert (said.state, said.server) == ("running", up)
    assert said.java
    assert said.java.startswith("Java 2")
    assert said.data_bytes > 100_000
    assert said.uptime_seconds is not None
    assert said.uptime_seconds > 0
    assert any("Started." in line for line in server.logs(home, lines=500))


def test_what_was_committed_survives_kill_9_and_up_comes_back_on_the_same_ports(home: Path, up: Server) -> None:
    _ask(up, neo4j.Query("CREATE (:Kept {name: 'before the kill'})"))
    os.kill(up.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while server.status(home).state != "stopped" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert server.find(home) is None
    again = server.up(home, short_lived=True)
    assert again == replace(up, pid=again.pid)
    assert _ask(again, neo4j.Query("MATCH (n:Kept) RETURN n.name")) == ["before the kill"]


def test_down_waits_until_it_is_gone_and_a_taken_port_is_replaced(home: Path, up: Server) -> None:
    process = identify(up.pid)
    assert server.down(home)
    assert not alive(process, words="")
    assert not server.down(home)
    assert server.status(home).state == "stopped"
    bolt = int(up.uri.rpartition(":")[2])
    with socket.socket() as foreign:
        foreign.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        foreign.bind(("127.0.0.1", bolt))
        foreign.listen()
        moved = server.up(home, short_lived=True)
    assert moved.uri != up.uri
    assert moved.http == up.http
    assert _ask(moved, neo4j.Query("RETURN 2")) == [2]


def test_down_leaves_a_process_alone_that_got_the_old_pid(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.prepare()
    with subprocess.Popen(("sleep", "60")) as stranger:
        process = Process(pid=stranger.pid, started="1")
        home.write_record(Record(process=process, ports=home.claim_ports(), version="0", java="", since=0.0))
        assert server.find(tmp_path) is None
        assert not server.down(tmp_path)
        assert stranger.poll() is None
        stranger.kill()


def test_without_verify_an_agent_starts_while_the_server_is_down_and_is_right_about_where_it_was(
    home: Path, up: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GRAPHMEM_URI", "GRAPHMEM_USER", "GRAPHMEM_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GRAPHMEM_HOME", str(home))
    server.down(home)
    with pytest.raises(ServerUnreachableError, match="graphmem up"):
        graphmem.connect()
    with graphmem.connect(verify=False) as graph:
        assert graph.connection.uri == up.uri
        server.up(home, short_lived=True)
        assert graph.connection.run("test", "RETURN 1 AS one") == [{"one": 1}]
    monkeypatch.setenv("GRAPHMEM_HOME", str(tmp_path / "never"))
    with pytest.raises(ServerUnreachableError, match="graphmem up"):
        graphmem.connect(verify=False)


def test_running_ends_only_what_it_started(home: Path, up: Server) -> None:
    with server.running(home) as found:
        assert found == up
    assert server.find(home) == up
    server.down(home)
    with server.running(home) as started:
        assert _ask(started, neo4j.Query("RETURN 3")) == [3]
    assert server.find(home) is None


def test_a_start_that_fails_says_why_and_leaves_nothing_behind(home: Path, up: Server, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(home / "data")
    (tmp_path / "password").write_text(up.password)
    with pytest.raises(StartError, match=r"console\.log") as raised:
        server.up(tmp_path, short_lived=True)
    assert "Lock file has been locked by another process" in str(raised.value)
    assert raised.value.command == f"graphmem server logs --home {tmp_path}"
    assert server.status(tmp_path).state == "stopped"


def test_looking_at_a_home_that_never_was_creates_nothing(tmp_path: Path) -> None:
    home = tmp_path / "never"
    assert (server.find(home), server.logs(home), server.down(home)) == (None, (), False)
    assert server.status(home).state == "stopped"
    assert not home.exists()
