"""The command line where something odd is typed or the streams are not what they should be: a sentence and a code."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem import Operation, StateKind, StepOutput, inspect
from graphmem_cli.group import cli

COMMAND = (sys.executable, "-c", "from graphmem_cli.main import cli; cli(prog_name='graphmem')")
ODD = "DEL \x7f CSI \x9b2J bidi \u202e line \u2028 tag \U000e0001 plain \u00e4 \u53d6 \U0001f600"


@pytest.fixture
def env(server_env: Mapping[str, str], space: graphmem.Space) -> dict[str, str]:
    for name in ("trip", "-x"):
        with space.task(name).request("text") as request:
            add = Operation(
                operation="add", id="-a", kind=StateKind.KNOWLEDGE, summary=ODD, value={"v": ODD}, has_value=True
            )
            request.step(request.status(), StepOutput(delta=(add,), message="done"))
    return {**server_env, "GRAPHMEM_SPACE": space.name}


def run(env: Mapping[str, str], *arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), env=dict(env), prog_name="graphmem")


def shell(env: Mapping[str, str], script: str, *arguments: str | bytes) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GRAPHMEM_")}
    return subprocess.run(
        ("bash", "-c", script, "bash", *COMMAND, *arguments),
        capture_output=True,
        text=True,
        errors="backslashreplace",
        env={**kept, **env},
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (("states", "trip", "--request", "9" * 20), 2, "not in the range"),
        (("log", "trip", "--first", "9" * 20), 2, "not in the range"),
        (("log", "trip", "--last", "9" * 20), 2, "not in the range"),
        (("cypher", "tasks", "-p", "limit=-1"), 1, "at least 1"),
        (("cypher", "tasks", "-p", "limit=0"), 1, "at least 1"),
        (("show", "trip", "a\udcffb"), 1, "surrogate"),
        (("why", "trip", "a\udcffb"), 1, "surrogate"),
        (("disclose", "trip", "a\udcffb"), 1, "surrogate"),
        (("tasks", "--space", "a\udcffb"), 1, "is not a name"),
    ],
)
def test_an_odd_argument_is_a_sentence(env: Mapping[str, str], arguments: tuple[str, ...], code: int, why: str) -> None:
    answer = run(env, *arguments)
    assert answer.exit_code == code, answer.output
    assert why in answer.stderr
    assert isinstance(answer.exception, SystemExit)


def test_an_argument_that_is_not_utf8_is_a_sentence(env: Mapping[str, str]) -> None:
    answer = shell(env, '"$@"', "show", "trip", b"a\xffb")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "surrogate" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_password_file_that_is_no_text_is_said_so(env: Mapping[str, str], tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes(b"caf\xe9")
    answer = run(env, "tasks", "--password-file", str(file))
    assert answer.exit_code == 1
    assert f"{file} is not a text in UTF-8" in answer.stderr


@pytest.mark.parametrize(("to", "why"), [(">&-", "stdout is closed"), (">/dev/full", "could not be written")])
@pytest.mark.parametrize("arguments", [("tasks",), ("log", "trip", "--json"), ("--help",)])
def test_an_answer_that_goes_nowhere_is_an_error(
    env: Mapping[str, str], to: str, why: str, arguments: tuple[str, ...]
) -> None:
    answer = shell(env, f'"$@" {to}', *arguments)
    assert answer.returncode == 1
    assert why in answer.stderr
    assert len(answer.stderr.splitlines()) == 1, answer.stderr


def test_without_stderr_the_answer_still_comes(env: Mapping[str, str]) -> None:
    for to in ("2>&-", "2>/dev/full"):
        assert "trip" in shell(env, f'"$@" {to}', "tasks").stdout
    assert shell(env, '"$@" 2>&-', "show", "trip", "nope").returncode == 1


def test_an_interrupt_while_the_program_is_loaded_is_no_traceback() -> None:
    slow = (
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click':\n"
        "            print('loading', flush=True); time.sleep(30)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    loading = subprocess.Popen(
        (sys.executable, "-c", slow + COMMAND[2], "tasks"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert loading.stdout is not None
    assert loading.stdout.readline() == "loading\n"
    time.sleep(0.1)
    loading.send_signal(signal.SIGINT)
    _, said = loading.communicate(timeout=30)
    assert (loading.returncode, said) == (130, "interrupted\n")


@pytest.mark.parametrize("arguments", [("show", "trip", "--json", "--", "-a"), ("states", "trip", "--json")])
def test_json_holds_no_character_that_drives_a_terminal_and_the_same_value(
    env: Mapping[str, str], arguments: tuple[str, ...]
) -> None:
    answer = run(env, *arguments)
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)[0]["summary"] == ODD
    assert not set("\x7f\x9b\u202e\u2028\U000e0001") & set(answer.stdout)
    assert "\U0001f600" in answer.stdout


def test_a_name_that_looks_like_an_option_stands_behind_two_dashes(env: Mapping[str, str]) -> None:
    space = env["GRAPHMEM_SPACE"]
    assert inspect.command("log", "-x", space=space) == f"graphmem log --space {space} -- -x"
    answer = run(env, "show", "--", "-x", "nope")
    assert f"try: graphmem states --space {space} -- -x" in answer.stderr
    followed = run(env, *inspect.command("states", "-x", space=space).split()[1:])
    assert followed.exit_code == 0
    assert "-a" in followed.stdout


def test_a_lost_connection_is_told_by_graphmem_alone(env: Mapping[str, str]) -> None:
    hangs_up = (
        "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()\n"
        "print(s.getsockname()[1], flush=True)\n"
        "while True:\n"
        "    c = s.accept()[0]; c.recv(20); c.sendall(bytes((0, 0, 4, 5))); c.recv(1000); c.close()"
    )
    server = subprocess.Popen((sys.executable, "-c", hangs_up), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        uri = f"bolt://127.0.0.1:{server.stdout.readline().strip()}"
        answer = shell(env, '"$@"', "tasks", "--uri", uri)
    finally:
        server.kill()
        server.communicate()
    assert answer.returncode == 1
    assert all(line.startswith(("graphmem: ", "try: ")) for line in answer.stderr.splitlines()), answer.stderr
