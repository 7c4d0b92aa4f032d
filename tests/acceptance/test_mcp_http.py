"""MCP over HTTP: who is let in, from where, and what becomes of a client that vanishes."""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit
from uuid import uuid4

import anyio
import httpx2
import pytest
from click.testing import CliRunner

import graphmem
from graphmem.inspect import audit
from graphmem.store import Connection
from graphmem_cli.group import cli
from tests.acceptance.mcp_serving import TOKEN, environment, http_process, over_http

ERASE: LiteralString = "MATCH (n {space: $p.space}) DETACH DELETE n"

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module")
def served(
    server_env: Mapping[str, str], connection: Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """A server with a token from a file, and its space; the token is in nothing that it said."""
    file = tmp_path_factory.mktemp("mcp") / "token"
    file.write_text(TOKEN + "\n")
    space = f"test-{uuid4().hex[:12]}"
    options = ("--space", space, "--task", "t", "--token-file", str(file))
    with http_process(environment(server_env), *options) as (found, process, lines):
        yield found, space
        assert TOKEN not in Path(f"/proc/{process.pid}/cmdline").read_text()
    assert TOKEN not in "".join(lines)
    connection.run("tests/erase", ERASE, {"space": space})


@pytest.fixture
def url(served: tuple[str, str]) -> str:
    return served[0]


def post(url: str, body: Any = CALL, **headers: str) -> httpx2.Response:
    return httpx2.post(url, json=body, headers={**ACCEPT, **headers}, timeout=60)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_nothing_is_answered_without_the_token(url: str) -> None:
    for headers in ({}, bearer("wrong"), bearer(TOKEN[:-1]), bearer(TOKEN + "x"), {"Authorization": TOKEN}):
        for found in (post(url, **headers), httpx2.get(url, headers=headers), httpx2.delete(url, headers=headers)):
            assert found.status_code == 401
            assert found.headers["WWW-Authenticate"].startswith("Bearer")
            assert "status" not in found.text
    assert post(url, **bearer(TOKEN)).status_code == 200
    assert post(url, authorization=f"bearer {TOKEN}").status_code == 200


def test_a_web_page_under_another_name_for_this_machine_is_turned_away(url: str) -> None:
    port = urlsplit(url).port
    assert post(url, **bearer(TOKEN), Host=f"evil.example:{port}").status_code == 421
    assert post(url, **bearer(TOKEN), Host="localhost.evil.example").status_code == 421
    assert post(url, **bearer(TOKEN), Origin="http://evil.example").status_code == 403
    assert post(url, **bearer(TOKEN), Origin="null").status_code == 403
    assert post(url, **bearer(TOKEN), Host=f"localhost:{port}", Origin=f"http://localhost:{port}").status_code == 200


def test_a_body_that_is_too_large_or_no_message_is_refused_and_the_next_one_served(url: str) -> None:
    huge = httpx2.post(url, content=b"x" * (17 << 20), headers={**ACCEPT, **bearer(TOKEN)}, timeout=60)
    assert huge.status_code == 413
    for body in (b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"\xff\xfe", b"[" * 100_000):
        assert httpx2.post(url, content=body, headers={**ACCEPT, **bearer(TOKEN)}, timeout=60).status_code == 400
    assert post(url, **bearer(TOKEN)).status_code == 200


def refused(env: Mapping[str, str], *options: str) -> str:
    """What the command says when it does not start."""
    unset = dict.fromkeys(("GRAPHMEM_MCP_TOKEN", "GRAPHMEM_HOME", "GRAPHMEM_DATABASE"))
    command = ["mcp", "--space", "s", "--task", "t", "--http", "--port", "0", *options]
    done = CliRunner().invoke(cli, command, env={**unset, **env}, prog_name="graphmem")
    assert (done.exit_code, done.stdout) == (1, "")
    assert isinstance(done.exception, SystemExit)
    return done.stderr


def test_beyond_loopback_a_token_is_needed(server_env: Mapping[str, str], tmp_path: Path) -> None:
    env = server_env
    assert "needs a bearer token" in refused(env, "--host", "0.0.0.0")
    assert "needs a bearer token" in refused({**env, "GRAPHMEM_MCP_TOKEN": ""}, "--host", "::")
    short = refused({**env, "GRAPHMEM_MCP_TOKEN": "short-secret"}, "--host", "0.0.0.0")
    assert "at least 16" in short
    assert "short-secret" not in short
    empty = tmp_path / "empty"
    empty.write_text("\n")
    assert "at least 16" in refused(env, "--token-file", str(empty))


def test_with_a_token_it_listens_where_it_is_told(server_env: Mapping[str, str], space: graphmem.Space) -> None:
    env = environment(server_env, GRAPHMEM_MCP_TOKEN=TOKEN)
    options = ("--space", space.name, "--task", "t", "--host", "0.0.0.0", "--host-name", "memory.example")
    with http_process(env, *options) as (url, _, lines):
        here = url.replace("0.0.0.0", "127.0.0.1")
        assert post(here, **bearer(TOKEN)).status_code == 200
        assert post(here, **bearer(TOKEN), Host="memory.example").status_code == 200
        assert post(here, **bearer(TOKEN), Host="other.example").status_code == 421
        assert post(here, Host="memory.example").status_code == 401
        port = urlsplit(url).port
        assert "cannot listen" in refused(env, "--host", "0.0.0.0", "--port", str(port))
        assert TOKEN not in "".join(lines)


def test_without_a_token_on_loopback_it_is_said(server_env: Mapping[str, str], space: graphmem.Space) -> None:
    with http_process(environment(server_env), "--space", space.name, "--task", "t") as (url, _, lines):
        assert post(url).status_code == 200
        assert post(url, Host="evil.example").status_code == 421
        deadline = time.monotonic() + 20
        while len(lines) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "without a bearer token" in lines[1]


def _tool_call(tool: str, arguments: Mapping[str, Any]) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()


def _abandoned(url: str, body: bytes, *, send: int) -> None:
    """A client that sends so many bytes of its body and is gone."""
    where = urlsplit(url)
    assert where.hostname is not None
    head = (
        f"POST {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Accept: {ACCEPT['Accept']}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((where.hostname, where.port or 80)) as client:
        client.sendall(head.encode() + body[:send])
        # Closed without a word, as by a process that was killed.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")


def test_clients_that_vanish_leave_whole_steps_and_a_server_that_serves(
    served: tuple[str, str], graph: graphmem.Graph, connection: Connection
) -> None:
    url, space = served
    task = graph.space(space).task("t")
    request = task.request("Why?")
    version = request.status().version
    body = _tool_call("step", {"version": version, "tool_calls": [{"name": "look", "result": "seen " * 10_000}]})
    for send in (0, 1, len(body) // 2, len(body), len(body), len(body)):
        _abandoned(url, body, send=send)

    async def again() -> None:
        async with over_http(url, TOKEN) as a:
            # The vanished ones made the step, or this one does; in each case it is there once.
            step = await a.call("step", version=version, tool_calls=[{"name": "look", "result": "seen " * 10_000}])
            assert step["results"] == ["obs:1.1"]

    anyio.run(again)
    assert len(task.path().recent) == 1
    assert audit(connection, space) == ()


def test_a_token_file_that_is_no_text_is_refused(server_env: Mapping[str, str], tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"\xff\xfe")
    assert "UTF-8" in refused(server_env, "--token-file", str(file))
