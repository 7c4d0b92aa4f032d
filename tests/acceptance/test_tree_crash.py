"""kill -9 in the middle of every operation of the tree: of the client, and of the server.

A client in a process of its own drives one task in each of several threads and tells of every operation before it
begins and after it is done. Whatever moment the kill hits, each tree is as it was before or after the operation that
was under way, and repeating that operation under its attempt key leaves it as after, with one answer for all time.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import graphmem
from graphmem import StepOutput, Task, ToolCall, ToolResult, server
from graphmem.inspect import audit
from tests.acceptance.speech import add
from tests.acceptance.tree_speech import fails, last_step, own

CLIENT_KILLS = 3

Line = dict[str, Any]


# --- the client that is killed ----------------------------------------------------------------------------------------


def grow(task: Task, key: str) -> Any:
    """A call and its result. What was asked before the kill is not asked again."""
    request = task.open_request()
    calls = (ToolCall(name="look", arguments={"of": key}), ToolCall(name="look", arguments={"of": "it"}))
    output = StepOutput(delta=(add(key.replace(" ", "-")),), tool_calls=calls)
    result = request.step(request.status(), output, attempt=key)
    results = [ToolResult(call_id=call.id, content=f"é {i}") for i, call in enumerate(result.calls)]
    return [result.step, list(request.observe(result, results))]


def own_compress(task: Task, key: str) -> Any:
    result = own(task.open_request(), "compress", add(key.replace(" ", "-")), attempt=key, summary=f"by {key}")
    return [result.step, result.summary, result.added]


def own_revise(task: Task, key: str) -> Any:
    result = own(task.open_request(), "revise", add(key.replace(" ", "-")), attempt=key, step=0, feedback=key)
    return [result.step, result.added, None if result.revised is None else result.revised.to_dict()]


def finish(task: Task, key: str) -> Any:
    """The final response and the next request."""
    with contextlib.suppress(graphmem.NoOpenRequestError, graphmem.RequestClosedError):
        request = task.open_request()
        if request.text != f"after {key}":
            request.step(request.status(), StepOutput(message=f"done {key}"), attempt=key)
    return task.request(f"after {key}", attempt=key).number


def fork(task: Task, key: str) -> Any:
    made = task.fork(f"{task.name}-{key.replace(' ', '-')}")
    origin = made.origin()
    assert origin is not None
    return [made.name, origin.step]


OPERATIONS: dict[str, Callable[[Task, str], Any]] = {
    "grow": grow,
    "compress": lambda task, key: task.compress(f"by {key}", attempt=key).to_dict(),
    "maintain": lambda task, key: task.maintain(None, fails(f"by {key}"), attempt=key).to_dict(),
    "own compress": own_compress,
    "own revise": own_revise,
    "revise": lambda task, key: task.revise(feedback=key, attempt=key).to_dict(),
    "revise to": lambda task, key: task.revise(0, feedback=key, attempt=key).to_dict(),
    "fork": fork,
    "finish": finish,
}
# What each task does over and over: one operation of its own, and what that needs before it.
PLANS = (
    ("grow", "compress", "maintain"),
    ("grow", "revise"),
    ("grow", "own compress", "own revise"),
    ("grow", "compress", "revise to"),
    ("grow", "fork"),
    ("grow", "finish"),
)
TASKS = range(len(PLANS))


def planned(number: int, i: int) -> str:
    return PLANS[number][i % len(PLANS[number])]


def operate(task: Task, i: int) -> Any:
    """The i-th operation of a task, under a key of its own. What it answers, as JSON."""
    name = planned(int(task.name), i)
    return json.loads(json.dumps(OPERATIONS[name](task, f"{name} {i}")))


def shape(task: Task) -> Any:
    """What S is: C with its verdicts, R, the feedback."""
    path = task.path()
    told = [[s.key, s.boundary, s.text, s.verdict, s.note] for s in path.summaries]
    walked = [[node.key, [o.content for o in node.results]] for node in path.recent]
    return json.loads(json.dumps([told, walked, path.hints.feedback, path.p_b, path.p_t]))


def drive(space: str, first: list[int]) -> None:
    """Every task from its next operation on, for ever: until this process is killed, or the server is gone."""
    said = threading.Lock()

    def say(**what: Any) -> None:
        with said:
            print(json.dumps(what), flush=True)

    def work(graph: graphmem.Graph, number: int) -> None:
        task = graph.space(space).task(str(number))
        with contextlib.suppress(graphmem.RequestOpenError):
            task.request("go", attempt="go")
        for i in range(first[number], 100_000):
            try:
                say(task=number, i=i, doing=planned(number, i), shape=shape(task))
                answer = operate(task, i)
                say(task=number, i=i, answer=answer, shape=shape(task))
            except graphmem.StoreError:
                return

    with graphmem.connect() as graph:
        threads = [threading.Thread(target=work, args=(graph, number)) for number in range(len(first))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


# --- what is left behind ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def client(environment: Mapping[str, str], space: str, first: list[int]) -> Iterator["subprocess.Popen[str]"]:
    """The client at work: every task has done something."""
    command = [sys.executable, __file__, space, json.dumps(first)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def lines_until_all_work(process: "subprocess.Popen[str]", *, answers: int = 1, seconds: float = 90.0) -> list[Line]:
    """What it said until each task had so many answers."""
    assert process.stdout is not None
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.start()
    lines: list[Line] = []
    try:
        while min(sum(line["task"] == n and "answer" in line for line in lines) for n in TASKS) < answers:
            said = process.stdout.readline()
            assert said, f"the client ended, or a task did nothing for {seconds} seconds"
            lines.append(json.loads(said))
    finally:
        watchdog.cancel()
    return lines


def rest_of(process: "subprocess.Popen[str]") -> list[Line]:
    """What else it had said, wherever that is buffered."""
    assert process.stdout is not None
    rest = process.stdout.read()
    process.wait()
    return [json.loads(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]


def check_task(graph: graphmem.Graph, task: Task, lines: list[Line]) -> tuple[int, str, bool]:
    """The tree is as before or as after; its next operation, what was under way, and whether that had been done."""
    last = lines[-1]
    now = shape(task)
    if "answer" in last:  # between two operations: nothing was under way
        assert now == last["shape"]
        return last["i"] + 1, "nothing", True
    steps = last_step(graph.connection, task)
    answer = operate(task, last["i"])
    after, done = shape(task), last_step(graph.connection, task)
    assert now in (last["shape"], after)
    assert operate(task, last["i"]) == answer
    assert (shape(task), last_step(graph.connection, task)) == (after, done)
    return last["i"] + 1, last["doing"], steps == done


def check_space(graph: graphmem.Graph, space: str, said: list[Line]) -> tuple[list[int], set[str]]:
    """Every task; the operations to go on with, and those that the kill had hit."""
    assert audit(graph.connection, space) == ()
    first, hit = list[int](), set[str]()
    for number in TASKS:
        task = graph.space(space).task(str(number))
        i, what, _ = check_task(graph, task, [line for line in said if line["task"] == number])
        first.append(i)
        hit.add(what)
    return first, hit - {"nothing"}


def check_acknowledged(graph: graphmem.Graph, space: str, said: list[Line]) -> None:
    """Each answer that was given stands in a ledger, once."""
    with graph.connection.transaction() as run:
        rows = run(
            "MATCH (s:Step {space: $p.space}) RETURN s.task AS task, s.number AS number, s.kind AS kind",
            {"space": space},
        )
    kinds = {(row["task"], row["number"]): row["kind"] for row in rows}
    assert len(kinds) == len(rows)
    for line in (line for line in said if "answer" in line):
        task, what, answer = f"{space}/{line['task']}", planned(line["task"], line["i"]), line["answer"]
        if isinstance(answer, dict) and "step" in answer:
            assert kinds[task, answer["step"]] == what.split()[0]
        if what == "grow":
            assert kinds[task, answer[0]] == "step"
            assert kinds[task, answer[0] + 1] == "observe"
        if what == "fork":
            assert kinds[f"{space}/{answer[0]}", answer[1] + 1] == "fork"


def test_a_killed_client_leaves_every_tree_as_before_or_as_after(
    graph: graphmem.Graph, space: graphmem.Space, server_env: Mapping[str, str]
) -> None:
    chance, said, hit = random.Random(7), list[Line](), set[str]()
    first = [0 for _ in TASKS]
    for _ in range(CLIENT_KILLS):
        with client(server_env, space.name, first) as process:
            lines = lines_until_all_work(process, answers=chance.randint(1, 4))
            time.sleep(chance.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
            lines += rest_of(process)
        said += lines
        first, more = check_space(graph, space.name, lines)
        hit |= more
    check_acknowledged(graph, space.name, said)
    assert len(hit) >= 4, f"the kills hit {sorted(hit)} only"


def test_a_killed_server_leaves_every_tree_as_before_or_as_after(tmp_path: Path) -> None:
    space, home, first = f"crash-{uuid4().hex}", tmp_path / "home", [0 for _ in TASKS]
    with server.running(home=home) as up:
        environment = {"GRAPHMEM_URI": up.uri, "GRAPHMEM_USER": up.user, "GRAPHMEM_PASSWORD": up.password}
        graphmem.initialize(up.uri, up.user, up.password)
        with client(environment, space, first) as process:
            said = lines_until_all_work(process, answers=3)
            os.kill(up.pid, signal.SIGKILL)
            time.sleep(0.1)
            process.send_signal(signal.SIGKILL)  # it would try for long
            said += rest_of(process)
        up = server.up(home=home, short_lived=True)
        with graphmem.connect(up.uri, up.user, up.password) as graph:
            _, hit = check_space(graph, space, said)
            check_acknowledged(graph, space, said)
    assert hit


@pytest.mark.usefixtures("sound")
def test_every_operation_is_repeated_by_its_key(space: graphmem.Space, graph: graphmem.Graph) -> None:
    for number, plan in enumerate(PLANS):
        task = space.task(str(number))
        task.request("go", attempt="go")
        for i, _ in enumerate(plan):
            answer = operate(task, i)
            after, steps = shape(task), last_step(graph.connection, task)
            assert operate(task, i) == answer
            assert (shape(task), last_step(graph.connection, task)) == (after, steps)


if __name__ == "__main__":
    drive(sys.argv[1], json.loads(sys.argv[2]))
