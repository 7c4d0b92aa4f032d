"""`graphmem run` and `resume` on a real graph and a scripted endpoint over HTTP: answers, limits, interrupts, kills."""

import json
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import graphmem
from graphmem.state.protocol import render_output
from graphmem.state.schema import render_object
from graphmem.state.values import Operation, StepOutput, ToolCall
from graphmem.store import Connection
from graphmem.vocabulary import StateKind
from graphmem_cli.group import cli
from tests.openai_server import KEY, OpenAIServer, Reply, Scripted, completion, fails, openai_server, says

PROGRAM = (sys.executable, "-c", "from graphmem_cli.main import cli; cli(prog_name='graphmem')")
PATIENCE_SECONDS = 90.0

TOOLS = '''
import os
import time
from pathlib import Path

HERE = Path(__file__).parent


def double(number: int) -> object:
    """Twice a number."""
    print("printed by a tool")
    return {"doubled": number * 2}


def pay(usd: int) -> str:
    """Pay, which takes its time."""
    with (HERE / "paid").open("a") as file:
        file.write(f"{usd}\\n")
    if usd == 5:
        time.sleep(600)
    return f"paid {usd}"


def environment() -> str:
    """What is in the environment."""
    return repr(dict(os.environ))


FUNCTION = {"name": "twice", "description": "Two times.", "parameters": {"type": "object"}}
SCHEMA = {"type": "function", "function": FUNCTION}
ALL = [double, pay, environment, (SCHEMA, double)]
TWO = [double, double]
BARE = [SCHEMA]
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module of tools in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_tools", raising=False)
    (tmp_path / "my_tools.py").write_text(TOOLS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def env(server_env: Mapping[str, str], space: graphmem.Space) -> dict[str, str | None]:
    unset = dict.fromkeys(("GRAPHMEM_HOME", "GRAPHMEM_DATABASE", "OPENAI_BASE_URL", "GRAPHMEM_MODEL", "COLUMNS"))
    return {**unset, **server_env, "GRAPHMEM_SPACE": space.name, "OPENAI_API_KEY": KEY}


Invoke = Callable[..., Result]


@pytest.fixture
def invoke(env: dict[str, str | None], folder: Path) -> Invoke:  # noqa: ARG001  its module is what they name
    def called(server: OpenAIServer, *words: str, task: str = "t", tools: str = "my_tools:ALL") -> Result:
        command = [*words, "--task", task, "--tools", tools, "--model", "tiny", "--base-url", server.url]
        return CliRunner().invoke(cli, command, env=env, prog_name="graphmem")

    return called


def output(*calls: tuple[str, dict[str, Any]], message: str | None = None, **fields: Any) -> StepOutput:
    wanted = tuple(ToolCall(name=name, arguments=arguments) for name, arguments in calls)
    return StepOutput(tool_calls=wanted, message=message, **fields)


def acts(*calls: tuple[str, dict[str, Any]], message: str | None = None, **how: Any) -> Reply:
    """An answer in the four blocks."""
    return says(render_output(output(*calls, message=message)), **how)


def prompt(asked: Any) -> str:
    """The input prompt of a request to the endpoint."""
    return str(asked["messages"][-1]["content"])


def repeats(asked: Any) -> Reply:
    """An answer that is the prompt."""
    return acts(message=prompt(asked))


def opened(space: graphmem.Space, task: str = "t") -> str:
    return space.task(task).open_request().text


# --- an answer --------------------------------------------------------------------------------------------------------


def test_the_answer_goes_to_stdout_and_what_happens_to_stderr(invoke: Invoke, space: graphmem.Space) -> None:
    fee = Operation(operation="add", id="fee", kind=StateKind.KNOWLEDGE, summary="84", value=84, refs=())
    first = output(("double", {"number": 42}))
    second = StepOutput(delta=(fee,), message="It is 84.")
    with openai_server([says(render_output(first)), says(render_output(second))]) as server:
        done = invoke(server, "run", "double 42")
    assert done.exit_code == 0, done.output
    assert done.stdout == "It is 84.\n"
    for told in ("request 1: double 42", 'double {"number":42}', '-> {"doubled":84}', "+fee", "printed by a tool"):
        assert told in done.stderr
    with pytest.raises(graphmem.NoOpenRequestError):
        opened(space)
    assert [body["messages"][0]["role"] for body in (asked.json for asked in server.requests)] == ["system"] * 2
    assert '{"doubled":84}' in prompt(server.requests[1].json)


def test_json_has_the_answer_and_what_it_cost(invoke: Invoke) -> None:
    usage: Any = {"prompt_tokens_details": {"cached_tokens": 8}}
    steps = [output(("double", {"number": 1})), output(message="2")]
    script = [Reply(body=completion({"content": render_output(step)}, **usage)) for step in steps]
    with openai_server(script) as server:
        done = invoke(server, "run", "double 1", "--json")
    said = json.loads(done.stdout)
    assert said["answer"] == "2"
    assert (said["request"], said["steps"]) == (1, 2)
    assert said["usage"] == {"prompt_tokens": 40, "cached_tokens": 16, "completion_tokens": 20, "total_tokens": 60}


def test_the_usage_of_each_step_stands_in_the_ledger(
    invoke: Invoke, space: graphmem.Space, connection: Connection
) -> None:
    with openai_server([Reply(body=completion({"content": render_output(output(message="x"))}))]) as server:
        invoke(server, "run", "go")
    statement = "MATCH (s:Step {space: $p.space}) WHERE s.usage IS NOT NULL RETURN s.usage AS usage"
    (row,) = connection.run("tests/usage", statement, {"space": space.name})
    assert json.loads(row["usage"]) == {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}


def test_one_json_object_by_a_schema_is_asked_for_and_taken(invoke: Invoke) -> None:
    outputs = [output(("twice", {"number": 3})), output(message="6")]
    with openai_server([says(render_object(one)) for one in outputs]) as server:
        done = invoke(server, "run", "double 3", "--json-output")
    assert done.stdout == "6\n"
    assert "repaired" not in done.stderr
    body = server.requests[0].json
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["$defs"]["CallObject"]["properties"]["name"]["enum"] == ["double", "environment", "pay", "twice"]
    assert "value_json" in body["messages"][0]["content"]
    assert "<state_delta>" not in body["messages"][0]["content"]


def test_the_full_context_shows_the_whole_history_and_keeps_the_run_all_the_same(
    invoke: Invoke, space: graphmem.Space
) -> None:
    script: list[Scripted] = [acts(("double", {"number": 7})), acts(message="It is 14."), acts(message="Yes, 14.")]
    two_blocks = render_output(output(("double", {"number": 9})))[render_output(output()).index("<tool_calls>") :]
    with openai_server([*script, says(two_blocks), acts(message="18")]) as server:
        invoke(server, "run", "double 7")
        again = invoke(server, "run", "are you sure?", "--full-context")
        last = invoke(server, "run", "and 9?", "--full-context", "--show-output")
    assert (again.exit_code, again.stdout) == (0, "Yes, 14.\n")
    body = server.requests[2].json
    assert "state_delta" not in body["messages"][0]["content"]
    for part in (
        "User: double 7",
        'Assistant: [{"name": "double"',
        "Observation: ",
        '{"doubled":14}',
        "Assistant: It is 14.",
    ):
        assert part.replace(": ", ":").replace(", ", ",") in prompt(body).replace(": ", ":").replace(", ", ",")
    assert "are you sure?" in prompt(body)
    assert last.stdout == "18\n"
    assert "repaired" not in last.stderr
    assert two_blocks.splitlines()[1] in last.stderr
    assert space.task("t").path().summaries[-1].text == "18"


def test_it_is_said_when_the_endpoint_is_waited_for_and_what_it_does_not_take(invoke: Invoke) -> None:
    slow = fails(429, "slow down", headers={"Retry-After": "0.1"})
    script = [slow, fails(400, "Unsupported parameter: 'temperature'"), acts(message="ok")]
    with openai_server(script) as server:
        done = invoke(server, "run", "go")
    assert done.stdout == "ok\n"
    assert "asking tiny again in 0.1 s: RateLimitError 429" in done.stderr
    assert "does not take temperature" in done.stderr
    assert logging.getLogger("graphmem.llm").handlers == []


def test_a_policy_is_told_to_the_model(invoke: Invoke, folder: Path) -> None:
    (folder / "policy.md").write_text("Be brief. {x}\n", encoding="utf-8")
    with openai_server([acts(message="ok")]) as server:
        invoke(server, "run", "go", "--policy", "policy.md")
    assert "Be brief. {x}" in server.requests[0].json["messages"][0]["content"]


# --- what ends a run --------------------------------------------------------------------------------------------------


def goes_on(done: Result) -> list[str]:
    """The words of the command that is said to go on with."""
    line = next(line for line in done.stderr.splitlines() if "graphmem resume" in line or " resume " in line)
    words = shlex.split(line[line.index("try: ") + 5 :] if "try: " in line else line.partition("go on: ")[2])
    return words[words.index("resume") :]


def test_a_limit_of_steps_ends_the_run_and_the_command_it_names_goes_on(
    invoke: Invoke, env: dict[str, str | None], space: graphmem.Space
) -> None:
    script: list[Scripted] = [acts(("double", {"number": 1})), acts(("double", {"number": 2})), acts(message="done")]
    with openai_server(script) as server:
        ended = invoke(server, "run", "try it", "--max-steps", "2")
        assert ended.exit_code == 1
        assert ended.stdout == ""
        assert "no final response in 2 steps" in ended.stderr
        assert opened(space) == "try it"
        more = CliRunner().invoke(cli, goes_on(ended), env=env, prog_name="graphmem")
    assert (more.exit_code, more.stdout) == (0, "done\n")
    assert "goes on with request 1: try it" in more.stderr


def test_limits_of_tokens_and_of_seconds_end_the_run(invoke: Invoke, space: graphmem.Space) -> None:
    tokens = Reply(body=completion({"content": render_output(output(("double", {"number": 1})))}, total_tokens=900))
    with openai_server([tokens] * 9) as server:
        ended = invoke(server, "run", "try", "--max-tokens", "1500")
    assert "no final response in 1,800 tokens; the limit is 1,500" in ended.stderr
    assert len(server.requests) == 2
    with openai_server([acts(message="late", pause_seconds=0.2)] * 9) as server:
        ended = invoke(server, "run", "try", "--max-seconds", "1")
    assert ended.exit_code == 1
    assert "no final response in 1 seconds" in ended.stderr
    assert opened(space) == "try"


@pytest.mark.parametrize("how", [(), ("--full-context",)])
def test_outputs_that_cannot_be_read_are_shown_back_three_times_and_then_end_the_run(
    invoke: Invoke, space: graphmem.Space, how: tuple[str, ...]
) -> None:
    with openai_server([says("Let me think.")] * 9) as server:
        ended = invoke(server, "run", "try", *how)
    assert ended.exit_code == 1
    assert len(server.requests) == 4
    assert "nothing could be taken of 4 outputs in a row" in ended.stderr
    shown = [prompt(asked.json) for asked in server.requests]
    assert ["no block was found" in one for one in shown] == [False, True, True, True]
    assert opened(space) == "try"
    with openai_server([repeats]) as server:
        more = invoke(server, "resume", *how)
    assert "no block was found" in more.stdout


def test_how_many_outputs_are_shown_back_may_be_said(invoke: Invoke) -> None:
    with openai_server([says("Let me think.")] * 9) as server:
        ended = invoke(server, "run", "try", "--max-unreadable", "1")
    assert (ended.exit_code, len(server.requests)) == (1, 2)
    assert "--max-unreadable" in ended.stderr


def test_a_run_of_unreadable_outputs_is_counted_anew_after_one_that_is_read(invoke: Invoke) -> None:
    bad = says("hm")
    with openai_server([bad, bad, bad, acts(("double", {"number": 1})), bad, bad, bad, acts(message="ok")]) as server:
        assert invoke(server, "run", "try").stdout == "ok\n"


def test_an_answer_that_was_cut_off_decides_nothing_and_is_shown_back(invoke: Invoke) -> None:
    half = render_output(output(message="Send 1000 USD to Anna"))
    cut = Reply(body=completion({"content": half[: half.index("Send 1000") + 9]}, finish="length"))
    with openai_server([cut, repeats]) as server:
        done = invoke(server, "run", "try")
    assert "cut off at the limit of tokens" in done.stdout
    assert "1000" not in done.stdout


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (fails(401, f"Incorrect API key provided: {KEY}"), "OPENAI_API_KEY"),
        (fails(404, "no such model"), "'tiny'"),
        (fails(400, "This model's maximum context length is 100 tokens"), "more context"),
        (Reply(body=completion({"content": "x"}, finish="content_filter")), "content filter"),
    ],
)
def test_a_model_that_fails_leaves_the_request_open(
    invoke: Invoke, space: graphmem.Space, reply: Reply, said: str
) -> None:
    with openai_server([reply] * 9) as server:
        ended = invoke(server, "run", "try")
    assert ended.exit_code == 1
    assert said in ended.stderr
    assert KEY not in ended.output
    assert goes_on(ended)[0] == "resume"
    assert opened(space) == "try"


# --- interrupts and kills ---------------------------------------------------------------------------------------------


def started(env: Mapping[str, str | None], folder: Path, url: str, *words: str) -> subprocess.Popen[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GRAPHMEM_", "OPENAI_"))}
    given = kept | {key: value for key, value in env.items() if value is not None}
    command = [*PROGRAM, *words, "--task", "t", "--tools", "my_tools:ALL", "--model", "tiny", "--base-url", url]
    return subprocess.Popen(
        command,
        env=given,
        cwd=folder,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


def paid(folder: Path) -> list[str]:
    file = folder / "paid"
    return file.read_text(encoding="utf-8").split() if file.exists() else []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_a_run_that_ends_in_the_middle_of_a_tool_goes_on_without_running_it_again(
    invoke: Invoke, env: dict[str, str | None], folder: Path, space: graphmem.Space, how: signal.Signals
) -> None:
    script: list[Scripted] = [acts(("pay", {"usd": 5})), repeats]
    with openai_server(script) as server:
        process = started(env, folder, server.url, "run", "pay 5")
        until(lambda: paid(folder) == ["5"])
        process.send_signal(how)
        said, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert said == ""
        if how is signal.SIGINT:
            assert process.returncode == 130
            assert "request 1 stays open. To go on: " in errors
        assert opened(space) == "pay 5"
        more = invoke(server, "resume")
    assert more.exit_code == 0, more.output
    assert 'left by an earlier run without a result: pay {"usd":5}: outcome unknown' in more.stderr
    assert "outcome unknown" in more.stdout
    assert paid(folder) == ["5"]


def test_an_interrupt_among_several_calls_keeps_what_is_known_of_each(env: dict[str, str | None], folder: Path) -> None:
    calls = acts(("double", {"number": 4}), ("pay", {"usd": 5}), ("pay", {"usd": 6}))
    with openai_server([calls, repeats]) as server:
        process = started(env, folder, server.url, "run", "pay all")
        until(lambda: paid(folder) == ["5"])
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 130
        words = shlex.split(next(line for line in errors.splitlines() if "To go on:" in line).partition("go on: ")[2])
        more = CliRunner().invoke(cli, words[words.index("resume") :], env=env, prog_name="graphmem")
    assert re.search(r'\[obs:1\.1\] double .*\n\{"doubled":8\}', more.stdout)
    assert re.search(r"\[obs:1\.2\] pay .*\n\(outcome unknown", more.stdout)
    assert re.search(r"\[obs:1\.3\] pay .*\nnot run", more.stdout)
    assert paid(folder) == ["5"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_a_run_that_ends_while_the_model_is_asked_has_written_nothing_of_it(
    invoke: Invoke, env: dict[str, str | None], folder: Path, space: graphmem.Space, how: signal.Signals
) -> None:
    with openai_server([acts(message="never", pause_seconds=0.3), acts(message="done")]) as server:
        process = started(env, folder, server.url, "run", "go")
        until(lambda: len(server.requests) == 1)
        process.send_signal(how)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        if how is signal.SIGINT:
            assert process.returncode == 130
            assert "To go on: " in errors
        assert opened(space) == "go"
        more = invoke(server, "resume")
    assert more.stdout == "done\n"


def test_an_interrupt_that_the_driver_fails_over_is_an_interrupt_all_the_same(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> str:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise BufferError("Existing exports of data: object cannot be re-sized")  # noqa: B904  as the driver does

    monkeypatch.setattr("graphmem_cli.run_commands.run", failing)
    with openai_server([]) as server:
        ended = invoke(server, "run", "go")
    assert ended.exit_code == 130
    assert goes_on(ended)[0] == "resume"


# --- the key ----------------------------------------------------------------------------------------------------------


def test_the_key_is_in_no_graph_answer_or_line(invoke: Invoke, space: graphmem.Space, connection: Connection) -> None:
    state = Operation(operation="add", id="env", kind=StateKind.KNOWLEDGE, summary=f"key {KEY}", value=[KEY], refs=())
    first = StepOutput(delta=(state,), tool_calls=(ToolCall(name="environment"),))
    with openai_server([says(render_output(first)), says(f"no block {KEY}"), repeats]) as server:
        done = invoke(server, "run", f"what is {KEY}?", "--show-output", "--trace", "--show-cypher", "--json")
    assert done.exit_code == 0, done.output
    assert "***" in json.loads(done.stdout)["answer"]
    assert KEY not in done.output
    assert KEY not in str(done.exception)
    everything = "MATCH (n {space: $p.space}) RETURN properties(n) AS properties"
    rows = connection.run("tests/everything", everything, {"space": space.name})
    assert len(rows) > 5
    assert KEY not in repr(rows)
    assert "***" in repr(rows)
    sent = [asked.body.decode() for asked in server.requests[1:]]
    assert KEY not in "".join(sent)


# --- what is asked wrongly --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("my_tools", "is not MODULE:ATTRIBUTE"),
        ("my_tools:NONE", "my_tools has no NONE"),
        ("no_such_module:ALL", "no_such_module cannot be imported: ModuleNotFoundError"),
        ("broken_tools:ALL", "broken_tools cannot be imported: ZeroDivisionError"),
        ("my_tools:HERE", "is no tool"),
        ("my_tools:TWO", "two tools are called double"),
        ("my_tools:BARE", "needs its function"),
    ],
)
def test_tools_that_are_not_there_are_said_before_a_request_is_opened(
    invoke: Invoke, folder: Path, space: graphmem.Space, tools: str, said: str
) -> None:
    (folder / "broken_tools.py").write_text("ALL = [1 / 0]\n", encoding="utf-8")
    with openai_server([]) as server:
        done = invoke(server, "run", "go", tools=tools)
    assert done.exit_code == 1
    assert said in done.stderr
    with pytest.raises(graphmem.NotFoundError):
        opened(space)


def test_another_request_than_the_open_one_is_refused_with_the_command_that_goes_on(
    invoke: Invoke, space: graphmem.Space
) -> None:
    space.task("t").request("the first")
    with openai_server([acts(message="done")]) as server:
        refused = invoke(server, "run", "the second")
        assert refused.exit_code == 1
        assert goes_on(refused)[0] == "resume"
        assert invoke(server, "run", "the first").stdout == "done\n"
        nothing = invoke(server, "resume")
        assert nothing.exit_code == 1
        assert "graphmem requests t" in nothing.stderr
        assert "graphmem tasks" in invoke(server, "resume", task="nobody").stderr


@pytest.mark.parametrize("words", [("run", " "), ("run", "go", "--json-output", "--full-context"), ("run",)])
def test_wrong_usage_is_exit_code_2(invoke: Invoke, words: Iterable[str]) -> None:
    with openai_server([]) as server:
        assert invoke(server, *words).exit_code == 2


def test_without_the_extra_the_command_that_installs_it_is_said(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with openai_server([]) as server:
        done = invoke(server, "run", "go")
    assert done.exit_code == 1
    assert "pip install 'graphmem-neo4j[agent]'" in done.stderr
