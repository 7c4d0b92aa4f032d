"""How `graphmem mcp` ends over stdio, and what a slow or absent database does to it."""

import json
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, LiteralString

import anyio
import pytest
from click.testing import CliRunner
from mcp import MCPError

import graphmem
from graphmem.inspect import audit, log
from graphmem.store import Connection
from graphmem_cli.group import cli
from tests.acceptance.mcp_serving import (
    COMMAND,
    TOKEN,
    WAIT_SECONDS,
    Assistant,
    environment,
    http_process,
    over_http,
    tell,
)

LOCK: LiteralString = "MATCH (t:Task {key: $p.key}) SET t.lock = 'of this test' RETURN t.key AS key"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def started(server_env: Mapping[str, str], *options: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*COMMAND, *options],
        env=environment(server_env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def say(process: "subprocess.Popen[str]", *messages: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
    process.stdin.flush()


def tool_call(id_: int, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_a_client_that_is_gone_mid_call_ends_the_server_and_leaves_whole_steps(
    server_env: Mapping[str, str], space: graphmem.Space, connection: Connection
) -> None:
    request = space.task("t").request("Why?")
    version = request.status().version
    process = started(server_env, "--space", space.name, "--task", "t")
    say(process, INITIALIZE)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "graphmem"
    made = {"version": version, "tool_calls": [{"name": "look", "result": "seen " * 100_000}]}
    say(process, INITIALIZED, tool_call(1, "step", made), tool_call(2, "log", {}))
    assert process.stdin is not None
    process.stdin.close()
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert "graphmem.integrations" not in process.stderr.read()
    assert process.wait(WAIT_SECONDS) in (0, 1)
    kinds = [line.kind for line in log(connection, space.name, "t")]
    assert kinds in (["open"], ["open", "step"], ["open", "step", "observe"])
    assert audit(connection, space.name) == ()
    assert space.task("t").open_request().status().version == len(kinds)


def test_stdout_is_the_protocol_and_nothing_else(server_env: Mapping[str, str], space: graphmem.Space) -> None:
    process = started(server_env, "--space", space.name, "--task", "t", "--trace", "--show-cypher")
    lines = [json.dumps(INITIALIZE), json.dumps(INITIALIZED), "this is no JSON", json.dumps(tool_call(1, "status", {}))]
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n".join(lines) + "\n")
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [answer["id"] for answer in answers] == [0, 1]
    rest, said = process.communicate(timeout=WAIT_SECONDS)
    assert rest == ""
    assert process.returncode == 0
    assert " rows, " in said
    assert ":param p => {" in said


def test_ctrl_c_ends_a_server_that_waits_for_its_client(server_env: Mapping[str, str], space: graphmem.Space) -> None:
    process = started(server_env, "--space", space.name, "--task", "t")
    say(process, INITIALIZE)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) in (-signal.SIGINT, 130)
    process.communicate()


def test_a_database_that_does_not_answer_in_time_is_said_and_the_next_call_served(
    server_env: Mapping[str, str], space: graphmem.Space, connection: Connection, tmp_path: Path
) -> None:
    request = space.task("t").request("Why?")
    version = request.status().version

    async def script(a: Assistant) -> None:
        with connection.transaction() as run:
            run(LOCK, {"key": f"{space.name}/t"})
            start = time.monotonic()
            said = await a.refusal("step", version=version, message="Because.")
            assert "took too long" in said
            assert time.monotonic() - start < 60
            assert (await a.call("log"))["steps"]
        assert (await a.call("step", version=version, message="Because."))["finished"]

    tell("stdio", server_env, tmp_path / "log", script, "--space", space.name, "--task", "t", "--timeout", "1")


def test_a_call_that_its_client_gives_up_leaves_the_others_served_and_is_written_once(
    server_env: Mapping[str, str], space: graphmem.Space, connection: Connection, tmp_path: Path
) -> None:
    request = space.task("t").request("Why?")
    given = {"version": request.status().version, "tool_calls": [{"name": "look", "result": "seen"}]}

    async def script(a: Assistant) -> None:
        with connection.transaction() as run:
            run(LOCK, {"key": f"{space.name}/t"})
            with pytest.raises(MCPError, match="timed out"):
                await a.client.call_tool("step", given, read_timeout_seconds=1)
            assert (await a.call("log"))["steps"]
        # The call goes on when the lock is gone, or this one makes the step: it is there once.
        step = await a.call("step", **given)
        assert step["results"] == ["obs:1.1"]

    tell("stdio", server_env, tmp_path / "log", script, "--space", space.name, "--task", "t")
    assert [line.kind for line in log(connection, space.name, "t")] == ["open", "step", "observe"]
    assert audit(connection, space.name) == ()


def test_a_new_session_goes_on_where_a_killed_server_stopped(
    server_env: Mapping[str, str], space: graphmem.Space, connection: Connection
) -> None:
    env = environment(server_env, GRAPHMEM_MCP_TOKEN=TOKEN)
    options = ("--space", space.name, "--task", "t")
    noted = {"operation": "add", "id": "plan", "kind": "judgement", "summary": "first the tests, then the types"}

    async def first(url: str) -> None:
        async with over_http(url, TOKEN) as a:
            status = await a.call("request", text="Port it to Python 3.13")
            await a.call("step", version=status["version"], delta=[noted], tool_calls=[{"name": "run_tests"}])

    async def second(url: str) -> None:
        async with over_http(url, TOKEN) as a:
            status = await a.call("status")
            assert [state["id"] for state in status["active"]] == ["plan"]
            assert [call["tool"] for call in status["pending"]] == ["run_tests"]
            seen = await a.call("observe", step=status["pending_step"], results=[{"content": None}])
            assert (await a.call("step", version=seen["version"], message="Ported."))["finished"]

    with http_process(env, *options) as (url, process, _):
        anyio.run(first, url)
        process.kill()
        process.wait(30)
    with http_process(env, *options) as (url, _, _):
        anyio.run(second, url)
    assert audit(connection, space.name) == ()


def test_without_a_database_it_says_so_and_ends() -> None:
    unset = dict.fromkeys(("GRAPHMEM_MCP_TOKEN", "GRAPHMEM_HOME", "GRAPHMEM_DATABASE"))
    env = {"GRAPHMEM_URI": "bolt://127.0.0.1:1", "GRAPHMEM_USER": "neo4j", "GRAPHMEM_PASSWORD": "secret-of-nobody"}
    for options in ((), ("--http",)):
        command = ["mcp", "--space", "s", "--task", "t", *options]
        done = CliRunner().invoke(cli, command, env={**unset, **env}, prog_name="graphmem")
        assert (done.exit_code, done.stdout) == (1, "")
        assert isinstance(done.exception, SystemExit)
        assert "nothing answers at bolt://127.0.0.1:1" in done.stderr
        assert "secret-of-nobody" not in done.stderr
