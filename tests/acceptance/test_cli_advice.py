"""What the command line advises: a command that helps, as it can be typed, and only where it helps."""

import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import LiteralString
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem import Operation, Ref, Relation, StateKind, StepOutput, ToolCall, ToolResult, server
from graphmem.graph import open_connection
from graphmem.inspect.browser import BrowserPages
from graphmem.server import Server
from graphmem.store import Connection
from graphmem_cli import browser_command, options
from graphmem_cli.group import cli
from graphmem_cli.tables import width

ERASE: LiteralString = "MATCH (n {space: $p.space}) DETACH DELETE n"
LONG = "the terms say at length that " + "every cancellation costs a fee, " * 12 + "in the end 80 USD"
NOBODY = "bolt://127.0.0.1:1"


@pytest.fixture(scope="module")
def story(graph: graphmem.Graph, connection: Connection) -> Iterator[str]:
    """A space with a task `trip`: `fee` and `same` rest on obs:1.1, `choice` on both."""
    name = f"test-{uuid4().hex[:12]}"
    with graph.space(name).task("trip").request("Book hotel A") as request:
        result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="policy"), ToolCall(name="map"))))
        contents = ("1. Payment at once.\n" * 9 + "7. A fee of 80 USD is kept.", "here")
        request.observe(
            result,
            [ToolResult(call_id=call.id, content=text) for call, text in zip(result.calls, contents, strict=True)],
        )
        delta = (
            add("fee", "the fee is 80 USD", "obs:1.1"),
            add("same", "again", "obs:1.1"),
            add("choice", LONG, "fee", "same"),
        )
        request.step(request.status(), StepOutput(delta=delta, message="Booked."))
    yield name
    connection.run("tests/erase", ERASE, {"space": name})


def add(id: str, summary: str, *targets: str) -> Operation:
    refs = tuple(Ref(relation=Relation.DERIVES, target=target) for target in targets)
    return Operation(
        operation="add", id=id, kind=StateKind.KNOWLEDGE, summary=summary, value={}, has_value=True, refs=refs
    )


@pytest.fixture
def env(server_env: Mapping[str, str], story: str) -> dict[str, str | None]:
    unset = dict.fromkeys(("GRAPHMEM_HOME", "GRAPHMEM_DATABASE", "COLUMNS", "SSH_CONNECTION"))
    return {**unset, **server_env, "GRAPHMEM_SPACE": story}


def run(env: Mapping[str, str | None], *arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), env=dict(env), prog_name="graphmem")


def advice(answer: Result) -> str:
    found = re.findall("^try: (.*)$", answer.stderr, re.MULTILINE)
    return found[0] if found else ""


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("why", "trip", "summary:9"), "graphmem path trip --space SPACE"),
        (("impact", "trip", "step:99"), "graphmem log trip --space SPACE"),
        (("show", "trip", "request:1"), "graphmem log trip --request 1 --space SPACE"),
        (("show", "trip", "obs:99.1"), "graphmem log trip --space SPACE"),
        *(
            ((name, "nope", *more), "graphmem tasks --space SPACE")
            for name, more in {
                "requests": (),
                "status": (),
                "states": (),
                "show": ("x",),
                "disclose": ("x",),
                "log": (),
                "why": ("x",),
                "impact": ("x",),
                "blame": ("x",),
            }.items()
        ),
        (("cypher", "log", "-p", "task=nope"), "graphmem tasks --space SPACE"),
        (("cypher", "show", "-p", "task=trip"), "graphmem cypher show -p space=SPACE -p task=trip -p id=ID"),
    ],
)
def test_the_advice_is_a_command_that_helps(
    env: dict[str, str | None], story: str, arguments: tuple[str, ...], command: str
) -> None:
    answer = run(env, *arguments)
    assert answer.exit_code == 1
    assert advice(answer) == command.replace("SPACE", story)
    if "ID" not in command:
        followed = run(env, *shlex.split(advice(answer))[1:])
        assert followed.exit_code == 0, followed.output


def test_a_server_that_was_named_is_not_mended_by_starting_the_embedded_one(env: dict[str, str | None]) -> None:
    for arguments, more in ((("tasks", "--uri", NOBODY), {}), (("tasks",), {"GRAPHMEM_URI": NOBODY})):
        answer = run({**env, **more}, *arguments)
        assert answer.exit_code == 1
        assert "graphmem up" not in answer.output
    assert "graphmem up" not in run({**env, "GRAPHMEM_URI": NOBODY}, "doctor").output


def test_a_path_in_a_command_is_quoted(env: dict[str, str | None], tmp_path: Path) -> None:
    home = tmp_path / "my server"
    for answer in (run(env, "tasks", "--home", str(home)), run(env, "server", "status", "--home", str(home))):
        assert advice(answer) == f"graphmem up --home '{home}'"
    assert f"try: graphmem up --home '{home}'" in run(env, "doctor", "--home", str(home)).stdout


def test_without_a_password_both_ways_to_give_it_are_named(env: dict[str, str | None]) -> None:
    answer = run({**env, "GRAPHMEM_PASSWORD": None}, "tasks")
    assert answer.exit_code == 1
    assert "--password-file" in answer.stderr
    assert "GRAPHMEM_PASSWORD" in answer.stderr
    nonsense = run({**env, "GRAPHMEM_PASSWORD": None}, "tasks", "--uri", "nonsense")
    assert "is not a Neo4j URI" in nonsense.stderr
    assert "password" not in nonsense.stderr


@pytest.fixture
def embedded(server_env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Server:
    """The server under test, taken for the embedded one."""
    (tmp_path / "password").write_text(server_env["GRAPHMEM_PASSWORD"])
    uri = server_env["GRAPHMEM_URI"]
    found = Server(home=tmp_path, pid=1, uri=uri, http="http://127.0.0.1:7474", pages_port=0, version="")
    monkeypatch.setattr(server, "find", lambda _home=None: found)
    return found


def test_a_password_comes_from_the_file_then_the_environment_then_the_embedded_server(
    env: dict[str, str | None], embedded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "other"
    file.write_text("of the file\n")
    used: list[tuple[str, str | None]] = []
    opened = open_connection

    def note(uri: str, user: str | None = None, password: str | None = None, *more: object, **named: object) -> object:
        used.append((uri, password))
        return opened(uri, user, embedded.password, *more, **named)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(options, "open_connection", note)
    own = embedded.password
    cases: list[tuple[str | None, str | None, bool, str | None]] = [
        (None, None, False, own),
        (None, None, True, "of the file"),
        (None, "of the environment", False, "of the environment"),
        (None, "of the environment", True, "of the file"),
        (embedded.uri, None, False, own),
        (embedded.uri, "of the environment", False, "of the environment"),
        (embedded.uri, None, True, "of the file"),
    ]
    for uri, password, with_file, expected in cases:
        used.clear()
        more = ("--password-file", str(file)) if with_file else ()
        answer = run({**env, "GRAPHMEM_URI": uri, "GRAPHMEM_PASSWORD": password}, "tasks", *more)
        assert (answer.exit_code, used) == (0, [(embedded.uri, expected)]), answer.output
    used.clear()
    other = run({**env, "GRAPHMEM_URI": NOBODY, "GRAPHMEM_PASSWORD": None}, "tasks")
    assert "no password" in other.stderr
    assert own not in [password for _, password in used]


def test_home_on_the_command_line_means_that_servers_own_password(
    env: dict[str, str | None], embedded: Server, tmp_path: Path
) -> None:
    other = {**env, "GRAPHMEM_URI": NOBODY, "GRAPHMEM_PASSWORD": "of the other server"}
    assert run(other, "tasks", "--home", str(tmp_path)).exit_code == 0, embedded


def test_the_demo_of_a_home_names_commands_for_that_home(
    env: dict[str, str | None], embedded: Server, space: graphmem.Space
) -> None:
    home = f"--home '{embedded.home}/my home'"
    told = run(env, "demo", "--space", space.name)
    assert told.exit_code == 0, told.output
    commands = [line.strip() for line in told.stdout.splitlines() if line.strip().startswith("graphmem ")]
    assert "graphmem browser" in commands
    assert not any("--home" in line for line in commands), commands
    at_home = {**env, "GRAPHMEM_URI": None, "GRAPHMEM_PASSWORD": None}
    told = run(at_home, "demo", "--space", space.name, "--json", "--home", f"{embedded.home}/my home")
    commands = json.loads(told.stdout)["commands"]
    assert f"graphmem browser {home}" in commands
    assert all(line.endswith(home) and line.count("--home") == 1 for line in commands), commands


def test_why_fits_the_terminal_and_has_the_root_in_full(env: dict[str, str | None]) -> None:
    for columns in (None, 40, 80):
        lines = run({**env, "COLUMNS": str(columns) if columns else None}, "why", "trip", "choice").stdout.split(
            "\n\n"
        )[0]
        assert all(width(line) <= (columns or 120) for line in lines.split("\n"))
        whole = " ".join(word for word in lines.split("├─")[0].split() if word != "│")
        assert whole.startswith(f"choice: {LONG} [knowledge, r1 s4]")


def test_why_shows_a_raw_result_once_by_the_lines_that_matter_and_names_the_command(
    env: dict[str, str | None], story: str
) -> None:
    answer = run(env, "why", "trip", "choice").stdout
    assert answer.count("7. A fee of 80 USD is kept.") == 1
    assert answer.count("derives obs:1.1: policy {}") == 2
    assert answer.count("(shown above)") == 1
    command = answer.splitlines()[-1].partition(": ")[2]
    assert command == f"graphmem show trip obs:1.1 --space {story}"
    assert "<supports" in run(env, "why", "--help").stdout


def test_the_log_names_the_tools_whose_results_came(env: dict[str, str | None]) -> None:
    assert "results of policy, map" in run(env, "log", "trip").stdout


def test_a_space_that_is_not_there_is_said_so_and_those_that_are_are_named(
    env: dict[str, str | None], story: str
) -> None:
    answer = run({**env, "GRAPHMEM_SPACE": None}, "tasks")
    assert answer.exit_code == 2
    assert "Missing option '--space'. There is" in answer.stderr
    spaces = json.loads(run(env, "cypher", "spaces", "-p", "limit=1000000", "--json").stdout)
    assert {"space": story, "tasks": 1} in spaces
    checked = run(env, "doctor", "--space", f"{story}-not")
    assert checked.exit_code == 0
    assert f"there is nothing in space {story}-not" in checked.stdout


def test_doctor_says_on_stderr_what_it_is_at(env: dict[str, str | None]) -> None:
    answer = run(env, "doctor")
    assert re.search(r"^auditing 3 of \d+: audit_\w+ …$", answer.stderr, re.MULTILINE)
    assert "auditing" not in answer.stdout


def test_a_row_that_does_not_fit_is_a_record(env: dict[str, str | None]) -> None:
    narrow = run({**env, "COLUMNS": "60"}, "cypher", "tasks").stdout.splitlines()
    assert narrow[:3] == ["task: trip", "open:", "text: Book hotel A"]
    assert all(width(line) <= 60 for line in narrow)
    states = run({**env, "COLUMNS": "60"}, "cypher", "states", "-p", "task=trip").stdout
    assert states.count("\n\n") == 2
    assert run({**env, "COLUMNS": "200"}, "cypher", "counts", "-p", "task=trip").stdout.split()[0].isupper()
    for columns in (50, 100):
        listed = run({**env, "COLUMNS": str(columns)}, "cypher").stdout
        assert all(width(line) <= columns for line in listed.splitlines())
        assert "…" not in listed


@pytest.fixture
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_command, "_wait_for_interrupt", lambda: None)
    monkeypatch.setattr(browser_command, "_has_desktop", lambda: False)


@pytest.mark.usefixtures("_no_waiting")
def test_browser_refuses_what_is_not_there(env: dict[str, str | None], embedded: Server, story: str) -> None:
    local = {**env, "GRAPHMEM_URI": None}
    unknown = run(local, "browser", "--task", "nope")
    assert (unknown.exit_code, advice(unknown)) == (1, f"graphmem tasks --space {story}")
    space = run(local, "browser", "--space", f"{story}-not")
    assert (space.exit_code, advice(space)) == (1, "graphmem cypher spaces"), embedded
    assert run({**local, "GRAPHMEM_SPACE": None}, "browser", "--task", "trip").exit_code == 2


@pytest.mark.usefixtures("_no_waiting", "embedded")
def test_browser_prints_a_short_link_and_says_how_to_open_it_from_afar(env: dict[str, str | None]) -> None:
    local = {**env, "GRAPHMEM_URI": None}
    answer = run(local, "browser", "--task", "trip")
    assert answer.exit_code == 0, answer.output
    (link,) = answer.stdout.splitlines()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}", link)
    assert "No browser could be opened here" in answer.stderr
    assert "ssh" not in answer.stderr
    afar = run({**local, "SSH_CONNECTION": "1 2 3 4"}, "browser").stderr
    assert len(re.findall(r"-L (\d+):127\.0\.0\.1:\1", afar)) == 3
    links = json.loads(run(local, "browser", "--json").stdout)
    assert links["link"].startswith("http://127.0.0.1:7474/browser/?")
    assert links["short_link"].startswith("http://127.0.0.1:")


@pytest.mark.usefixtures("_no_waiting")
def test_a_second_browser_is_told_of_the_first(
    env: dict[str, str | None], embedded: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with BrowserPages.of(embedded) as first:
        second = dataclasses.replace(embedded, pages_port=first.port)
        monkeypatch.setattr(server, "find", lambda _home=None: second)
        answer = run({**env, "GRAPHMEM_URI": None, "GRAPHMEM_SPACE": None}, "browser")
    assert answer.exit_code == 1
    assert "Another `graphmem browser` serves the pages" in answer.stderr
    assert advice(answer) == ""


def test_where_graphmem_is_not_on_the_path_commands_have_its_path(
    server_env: Mapping[str, str], story: str, tmp_path: Path
) -> None:
    program = Path(sys.executable).parent / "graphmem"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GRAPHMEM_")}

    def said(path: str) -> str:
        command = (str(program), "log", "nope", "--space", story)
        given = {**kept, **server_env, "PATH": path}
        return subprocess.run(command, env=given, capture_output=True, text=True, timeout=60, check=False).stderr

    assert f"try: {program} tasks --space {story}" in said(str(tmp_path))
    assert f"try: graphmem tasks --space {story}" in said(str(program.parent))
