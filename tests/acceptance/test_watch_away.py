"""A watched client while the graph is away: calls go on as before, and all is in the graph once, in order, later.

The graph is reached through a door that the test shuts and opens, and once through a server of its own that dies.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem import server
from graphmem.exchange import all_waiting, catch_up, record, watch
from graphmem.exchange.watching.catching_up import buffer_of, settle
from graphmem.inspect import audit
from graphmem.store import Connection
from graphmem_cli.group import cli
from tests.acceptance.door import Door, door_to
from tests.acceptance.watched import USER, ask, check_recorded, client, echo, ledger
from tests.acceptance.watched import _no_warnings_of_our_own_statements as _no_warnings_of_our_own_statements
from tests.acceptance.watched import said as said
from tests.openai_server import KEY, OpenAIServer, call, calls, openai_server, says

PATIENCE_SECONDS = 180.0


@pytest.fixture
def door(server_env: Mapping[str, str]) -> Iterator[Door]:
    """A door to the graph, shut."""
    with door_to(server_env["GRAPHMEM_URI"]) as made:
        yield made


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    """A model that says what was said to it."""
    with openai_server(iter(lambda: echo, None)) as made:
        yield made


@contextlib.contextmanager
def through(door: Door, env: Mapping[str, str]) -> Iterator[graphmem.Graph]:
    """The graph behind the door, whether or not that is open."""
    with graphmem.connect(door.uri, "neo4j", env["GRAPHMEM_PASSWORD"], timeout_seconds=5.0, verify=False) as graph:
        yield graph


class Chat:
    """A conversation through a watched client."""

    def __init__(self, model: OpenAIServer, task: graphmem.Task, folder: Path) -> None:
        self.connection = task.context.connection
        self.messages: list[Any] = []
        self._model = client(model)
        self._watched = watch(self._model, task, folder=folder)

    def say(self, text: str) -> None:
        """One exchange."""
        self.messages.append({"role": "user", "content": text})
        answer = ask(self._watched, self.messages).choices[0].message.content
        self.messages.append({"role": "assistant", "content": answer})

    def close(self) -> None:
        """Give back the sockets."""
        self._model.close()


@pytest.fixture
def chat(
    model: OpenAIServer, space: graphmem.Space, door: Door, server_env: Mapping[str, str], tmp_path: Path
) -> Iterator[Chat]:
    """A conversation whose graph is behind the door."""
    with through(door, server_env) as graph:
        made = Chat(model, graph.space(space.name).task("t"), tmp_path)
        yield made
        made.close()


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def until_written(folder: Path) -> None:
    until(lambda: all_waiting(folder) == ())


def away_told(said: Sequence[str]) -> int:
    return sum("Messages wait in" in one for one in said)


def cli_run(env: Mapping[str, str | None], *arguments: str) -> Result:
    unset = dict.fromkeys(("GRAPHMEM_HOME", "GRAPHMEM_DATABASE", "GRAPHMEM_SPACE"))
    return CliRunner().invoke(cli, list(arguments), env={**unset, **env}, prog_name="graphmem")


# --- away and back ----------------------------------------------------------------------------------------------------


def test_away_at_the_start_in_the_middle_and_back_gives_the_run_once_and_in_order(
    chat: Chat, door: Door, connection: Connection, space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    for text in ("one", "two", "three"):
        chat.say(text)
    until(lambda: away_told(said) == 1)
    assert [one.exchanges for one in all_waiting(tmp_path)] == [3]
    assert ledger(connection, space.task("t")) == []
    door.open()
    until_written(tmp_path)
    chat.say("four")
    until_written(tmp_path)
    door.shut()
    for text in ("five", "six"):
        chat.say(text)
    until(lambda: away_told(said) == 2)
    assert [one.exchanges for one in all_waiting(tmp_path)] == [2]
    door.open()
    chat.say("seven")
    until_written(tmp_path)
    check_recorded(connection, space, space.task("t"), chat.messages)
    assert audit(connection, space.name) == ()
    assert away_told(said) == 2  # each time it went away, and no more
    assert any(str(tmp_path) in one for one in said)


@pytest.mark.parametrize("is_silent", [False, True])
def test_nobody_waits_for_a_graph_that_is_away(chat: Chat, door: Door, *, is_silent: bool) -> None:
    if is_silent:
        door.wall_up()
    started = time.monotonic()
    for i in range(10):
        chat.say(f"text {i}")
    assert time.monotonic() - started < 5.0  # one attempt alone takes three seconds, or as long as the silence lasts
    started = time.monotonic()
    assert not settle(chat.connection, seconds=1.0)
    assert time.monotonic() - started < 3.0


def test_a_real_server_that_is_killed_and_comes_back_has_everything(model: OpenAIServer, tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "unwritten"
    with contextlib.ExitStack() as stack:
        stack.callback(server.down, home)
        up = server.up(home, short_lived=True)
        graph = stack.enter_context(graphmem_at(up.uri, up.password))
        task = graph.space("s").task("t")
        chat = Chat(model, task, folder)
        stack.callback(chat.close)
        chat.say("one")
        until_written(folder)
        kill_server(home)
        for text in ("two", "three"):
            chat.say(text)
        (waiting,) = all_waiting(folder)
        assert waiting.exchanges == 2
        with pytest.raises(graphmem.StoreError):
            catch_up(task, folder=folder)
        assert all_waiting(folder) == (waiting,)
        assert server.up(home, short_lived=True).uri == up.uri
        until_written(folder)  # nobody asked for it
        check_recorded(graph.connection, graph.space("s"), task, chat.messages)


@contextlib.contextmanager
def graphmem_at(uri: str, password: str) -> Iterator[graphmem.Graph]:
    graphmem.initialize(uri, "neo4j", password)
    with graphmem.connect(uri, "neo4j", password) as graph:
        yield graph


def kill_server(home: Path) -> None:
    record = json.loads((home / "run" / "server.json").read_text(encoding="utf-8"))
    os.kill(record["process"]["pid"], 9)
    until(lambda: server.status(home).state == "stopped")


def test_a_database_without_our_schema_is_not_written_to(
    chat: Chat, door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(_: Connection) -> int:
        raise graphmem.SchemaError("the database has no schema")

    monkeypatch.setattr("graphmem.exchange.watching.catching_up.schema_version", absent)
    door.open()
    chat.say("one")
    assert not settle(chat.connection, seconds=5.0)
    assert [one.exchanges for one in all_waiting(tmp_path)] == [1]


# --- other processes --------------------------------------------------------------------------------------------------

SPEAKER = """
import sys
import graphmem
from openai import OpenAI
space, texts = sys.argv[1], sys.argv[2:]
graph = graphmem.connect(verify=False)
client = graphmem.watch(OpenAI(max_retries=0), graph.space(space).task("t", psa=False, irreversible=["book"]))
messages = []
for text in texts:
    messages.append({"role": "user", "content": text})
    said = client.chat.completions.create(model="scripted", messages=messages).choices[0].message.content
    messages.append({"role": "assistant", "content": said})
    print(text, flush=True)
if "stay" in texts:
    input()
"""


def speaker_env(model: OpenAIServer, env: Mapping[str, str], uri: str, home: Path) -> dict[str, str]:
    keys = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": KEY, "GRAPHMEM_URI": uri, "GRAPHMEM_HOME": str(home)}
    return {**os.environ, **env, **keys}


def start_speaker(env: Mapping[str, str], space: str, texts: Sequence[str]) -> "subprocess.Popen[str]":
    command = [sys.executable, "-W", "error", "-c", SPEAKER, space, *texts]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def messages_of(texts: Sequence[str]) -> list[dict[str, str]]:
    return [
        message
        for text in texts
        for message in ({"role": "user", "content": text}, {"role": "assistant", "content": f"you said {text}"})
    ]


def test_what_a_killed_process_said_is_brought_in_by_another_once_also_when_that_is_killed(
    model: OpenAIServer,
    door: Door,
    connection: Connection,
    space: graphmem.Space,
    server_env: Mapping[str, str],
    tmp_path: Path,
) -> None:
    texts = [*(f"text {i}" for i in range(12)), "stay"]
    env = speaker_env(model, server_env, door.uri, tmp_path)
    process = start_speaker(env, space.name, texts)
    assert process.stdout is not None
    for text in texts:
        assert process.stdout.readline().strip() == text
    process.kill()
    process.communicate()
    here = {key: env[key] for key in ("GRAPHMEM_URI", "GRAPHMEM_USER", "GRAPHMEM_PASSWORD", "GRAPHMEM_HOME")}

    away = cli_run(here, "catch-up")
    assert away.exit_code == 1
    assert "nothing answers" in away.stderr
    doctor = cli_run(here, "doctor", "--json")
    told = json.loads(doctor.stdout)["checks"][0]
    assert (told["name"], told["verdict"]) == ("buffers", "ok")  # it was said a moment ago
    assert str(len(texts)) in told["what"]

    door.open()
    catcher = subprocess.Popen([sys.executable, "-m", "graphmem_cli.main", "catch-up"], env=env)
    until(lambda: len(ledger(connection, space.task("t"))) >= 5 or catcher.poll() is not None)
    catcher.kill()
    catcher.wait()
    done = cli_run(here, "catch-up", "--json")
    assert done.exit_code == 0, done.output
    (caught,) = json.loads(done.stdout)["caught_up"]
    assert (caught["space"], caught["task"], caught["exchanges"]) == (space.name, "t", len(texts))
    assert list((tmp_path / "unwritten").glob("*.jsonl")) == []
    task = space.task("t", psa=False)
    reference = space.task("reference", psa=False)
    record(reference, messages_of(texts))
    assert ledger(connection, task) == ledger(connection, reference)
    again = cli_run(here, "catch-up")
    assert (again.exit_code, again.stdout) == (0, "")
    assert "Nothing waits" in again.stderr


def test_a_file_is_brought_in_where_the_graph_is_now(
    model: OpenAIServer,
    door: Door,
    connection: Connection,
    space: graphmem.Space,
    server_env: Mapping[str, str],
    tmp_path: Path,
) -> None:
    process = start_speaker(speaker_env(model, server_env, door.uri, tmp_path), space.name, ["one", "two"])
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert out.split() == ["one", "two"]
    assert "Messages wait in" in err or err == ""  # it may have ended before the graph was known to be away
    (waiting,) = all_waiting(tmp_path / "unwritten")
    here = {**server_env, "GRAPHMEM_HOME": str(tmp_path)}
    assert "Nothing waits for this graph" in cli_run(here, "catch-up").stderr
    done = cli_run(here, "catch-up", waiting.path)
    assert done.exit_code == 0
    assert [line.split() for line in done.stdout.splitlines()][1] == [space.name, "t", "2"]
    assert [row["kind"] for row in ledger(connection, space.task("t"))] == ["open", "step"] * 2
    with pytest.raises(graphmem.InvalidValueError):
        space.task("t", psa=True).request("the task was made as the agent's handle said")
    odd = tmp_path / "odd.jsonl"
    odd.write_text("no buffer")
    wrong = cli_run(here, "catch-up", str(odd))
    assert wrong.exit_code == 1
    assert "odd.jsonl" in wrong.stderr
    assert "refused before" not in cli_run(here, "catch-up").stderr
    buffer_of(space.task("t"), folder=tmp_path / "unwritten").set_aside().append([USER])
    assert "refused before; `graphmem doctor` says where" in cli_run(here, "catch-up").stderr


def test_a_process_that_ends_without_a_word_has_written_everything_first(
    model: OpenAIServer, space: graphmem.Space, server_env: Mapping[str, str], connection: Connection, tmp_path: Path
) -> None:
    env = speaker_env(model, server_env, server_env["GRAPHMEM_URI"], tmp_path)
    process = start_speaker(env, space.name, ["one", "two"])
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (out.split(), err, process.returncode) == (["one", "two"], "", 0)
    assert all_waiting(tmp_path / "unwritten") == ()
    assert [row["kind"] for row in ledger(connection, space.task("t"))] == ["open", "step"] * 2


def test_several_processes_that_bring_in_the_same_file_write_it_once(
    chat: Chat, connection: Connection, space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    for i in range(6):
        chat.say(f"text {i}")
    (waiting,) = all_waiting(tmp_path)
    told: list[int] = []

    def bring_in(graph: graphmem.Graph) -> None:
        told.extend(one.exchanges for one in graph.catch_up([Path(waiting.path)]))

    with contextlib.ExitStack() as stack:
        graphs = [stack.enter_context(same(server_env)) for _ in range(3)]
        threads = [threading.Thread(target=bring_in, args=(graph,)) for graph in graphs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(told) == 6
    check_recorded(connection, space, space.task("t"), chat.messages)


def same(env: Mapping[str, str]) -> graphmem.Graph:
    """The graph under test, through a connection of its own."""
    return graphmem.connect(env["GRAPHMEM_URI"], env["GRAPHMEM_USER"], env["GRAPHMEM_PASSWORD"])


# --- the file ---------------------------------------------------------------------------------------------------------


def test_where_no_file_can_be_kept_what_is_said_is_written_all_the_same(
    model: OpenAIServer, space: graphmem.Space, connection: Connection, tmp_path: Path, said: list[str]
) -> None:
    (tmp_path / "file").write_text("not a folder")
    chat = Chat(model, space.task("t"), tmp_path / "file")
    for text in ("one", "two", "three"):
        chat.say(text)
    assert settle(chat.connection, seconds=PATIENCE_SECONDS)
    chat.close()
    check_recorded(connection, space, space.task("t"), chat.messages)
    assert len([one for one in said if "cannot be kept on the disk" in one]) == 1


def test_a_full_buffer_is_said_once_and_the_next_request_brings_what_it_could_not_hold(
    chat: Chat, door: Door, space: graphmem.Space, connection: Connection, tmp_path: Path, said: list[str]
) -> None:
    chat._watched._client._listener._courier._buffer._limit = 2_000  # type: ignore[attr-defined]
    for i in range(12):
        chat.say(f"text {i} " + "x" * 200)
    assert all_waiting(tmp_path)[0].bytes <= 2_000
    assert len([one for one in said if "2,000 bytes" in one]) == 1
    door.open()
    until_written(tmp_path)
    chat.say("the last one")
    until_written(tmp_path)
    assert settle(chat.connection, seconds=PATIENCE_SECONDS)
    check_recorded(connection, space, space.task("t"), chat.messages)


def test_the_redactor_sees_what_is_kept(
    model: OpenAIServer, connection: Connection, space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    def redact(text: str) -> str:
        return text.replace("4711", "[number]")

    away = graphmem.connect("bolt://127.0.0.1:9", "neo4j", "x", redact=redact, verify=False)
    chat = Chat(model, away.space(space.name).task("t"), tmp_path)
    chat.say("My number is 4711.")
    chat.say("And again: 4711.")
    chat.close()
    away.close()
    (waiting,) = all_waiting(tmp_path)
    text = Path(waiting.path).read_text(encoding="utf-8")
    assert "[number]" in text
    assert "4711" not in text
    with graphmem.connect(connection.uri, "neo4j", server_env["GRAPHMEM_PASSWORD"]) as graph:
        graph.catch_up([Path(waiting.path)])
    with graphmem.connect(connection.uri, "neo4j", server_env["GRAPHMEM_PASSWORD"], redact=redact) as graph:
        again = record(graph.space(space.name).task("t"), chat.messages)
    assert not again  # what was brought in is what the agent's own handle would have written


def test_a_call_is_never_lost_between_two_processes_of_one_task(
    door: Door,
    connection: Connection,
    space: graphmem.Space,
    server_env: Mapping[str, str],
    tmp_path: Path,
) -> None:
    script = [calls(call("book", {"hotel": "A"}, "c1")), says("Booked.")]
    booked = [{"role": "assistant", "content": None, "tool_calls": [call("book", {"hotel": "A"}, "c1")]}]
    result = {"role": "tool", "tool_call_id": "c1", "content": "H-1"}
    with openai_server(script) as booking, through(door, server_env) as graph:
        task = graph.space(space.name).task("t")
        plain = client(booking)
        ask(watch(plain, task, folder=tmp_path), [USER])
        door.open()
        ask(watch(plain, task, folder=tmp_path), [USER, *booked, result])
        until_written(tmp_path)
        plain.close()
    messages = [USER, *booked, result, {"role": "assistant", "content": "Booked."}]
    check_recorded(connection, space, space.task("t"), messages)
