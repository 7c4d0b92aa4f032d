"""kill -9 in the middle of steps: of the client, and of the server.

A client in a process of its own drives a task and prints what was acknowledged, one JSON line a call. Whatever moment
the kill hits, each line it managed to print is in the ledger with its content, and at most one call more.
"""

import contextlib
import functools
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
from typing import Any, TypeVar
from uuid import uuid4

import pytest

import graphmem
from graphmem import Operation, StateKind, StepOutput, ToolCall, ToolResult, server
from graphmem.inspect import audit

T = TypeVar("T")
CLIENT_KILLS = 10
SERVER_KILLS = 3


# --- the client that is killed ---------------------------------------------------------------------------------------


def output_for(i: int) -> StepOutput:
    """The i-th output: a state of its own, with a call in every second one; every sixth is a final response."""
    add = Operation(
        operation="add",
        id=f"s{i}",
        kind=StateKind.KNOWLEDGE,
        summary=f"step {i}",
        value={"i": i, "text": "é" * i},
        has_value=True,
    )
    calls = (ToolCall(name="search", arguments={"i": i}),) if i % 2 else ()
    return StepOutput(delta=(add,), tool_calls=calls, message=f"answer {i}" if i % 6 == 0 else None)


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def drive(space: str, name: str, first: int, *, patient: bool) -> None:
    """Go on from output `first` for ever. `patient`: outlive the server, repeating the call that failed, as it was."""

    def done(call: Callable[[], T]) -> T:
        while True:
            try:
                return call()
            except (graphmem.ServerUnreachableError, graphmem.StoreError):
                if not patient:
                    raise
                time.sleep(0.1)

    def answer(request: graphmem.Request, pending: graphmem.PendingCalls) -> None:
        results = [ToolResult(call_id=call.id, content=f"result of {call.arguments['i']}") for call in pending.calls]
        say(observed=done(lambda: request.observe(pending, results)), of=pending.step)

    with graphmem.connect() as graph:
        task = graph.space(space).task(name)
        for i in range(first, 100_000):
            request = done(functools.partial(_open, task, i))
            status = done(request.status)
            if status.pending is not None:
                answer(request, status.pending)
                status = done(request.status)
            result = done(functools.partial(request.step, status, output_for(i), attempt=f"output-{i}"))
            say(i=i, step=result.step, replayed=result.replayed, added=result.added)
            if result.calls:
                answer(request, result.pending)


def _open(task: graphmem.Task, i: int) -> graphmem.Request:
    try:
        return task.open_request()
    except (graphmem.NoOpenRequestError, graphmem.NotFoundError):
        return task.request(f"request before output {i}", attempt=f"open-{i}")


# --- what is left behind ---------------------------------------------------------------------------------------------


def start(environment: Mapping[str, str], space: str, first: int, *, patient: bool = False) -> "subprocess.Popen[str]":
    command = [sys.executable, __file__, space, "job", str(first), "patient" if patient else "brief"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})


def lines_until(process: "subprocess.Popen[str]", count: int, *, seconds: float = 60.0) -> list[dict[str, Any]]:
    """The next `count` acknowledgements."""
    assert process.stdout is not None
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.start()
    try:
        lines = [process.stdout.readline() for _ in range(count)]
    finally:
        watchdog.cancel()
    assert all(lines), f"the client ended, or said nothing for {seconds} seconds"
    return [json.loads(line) for line in lines]


def kill(process: "subprocess.Popen[str]") -> list[dict[str, Any]]:
    """SIGKILL; what it had still said."""
    process.send_signal(signal.SIGKILL)
    rest, _ = process.communicate()
    return [json.loads(line) for line in rest.splitlines() if line.endswith("}")]


def ledger(graph: graphmem.Graph, space: str) -> list[dict[str, Any]]:
    with graph.connection.transaction() as run:
        return run(
            "MATCH (s:Step {space: $p.space}) "
            "RETURN s.number AS number, s.kind AS kind, s.output AS output ORDER BY number",
            {"space": space},
        )


def values(graph: graphmem.Graph, space: str) -> dict[str, tuple[int, Any]]:
    with graph.connection.transaction() as run:
        rows = run(
            "MATCH (s:State {space: $p.space}) RETURN s.id AS id, s.from_step AS step, s.value AS value",
            {"space": space},
        )
    assert len({row["id"] for row in rows}) == len(rows), "a state was written twice"
    return {row["id"]: (row["step"], json.loads(row["value"])) for row in rows}


def check_acknowledged(graph: graphmem.Graph, space: str, said: list[dict[str, Any]]) -> tuple[int, int]:
    """All that was said is in the ledger. How many outputs are there, and how many were acknowledged."""
    steps = {row["number"]: row for row in ledger(graph, space)}
    assert sorted(steps) == list(range(1, len(steps) + 1))
    written = values(graph, space)
    acknowledged = {line["i"]: line["step"] for line in said if "i" in line}
    for i, step in acknowledged.items():
        assert steps[step]["kind"] == "step"
        assert f"step {i}" in steps[step]["output"]
        assert written[f"s{i}"] == (step, {"i": i, "text": "é" * i})
    for line in said:
        if "of" in line:
            assert steps[line["of"] + 1]["kind"] == "observe"
    return len([row for row in steps.values() if row["kind"] == "step"]), len(acknowledged)


def check_nothing_acknowledged_is_lost(graph: graphmem.Graph, space: str, said: list[dict[str, Any]]) -> int:
    """Of a writer that is dead: the number of the last output that is in the ledger."""
    outputs, acknowledged = check_acknowledged(graph, space, said)
    assert outputs == len(values(graph, space))
    assert 0 <= outputs - acknowledged <= 1
    return outputs


def test_whatever_a_killed_client_was_told_is_in_the_ledger(
    graph: graphmem.Graph, space: graphmem.Space, server_env: Mapping[str, str]
) -> None:
    chance, said, first = random.Random(7), list[dict[str, Any]](), 1
    for _ in range(CLIENT_KILLS):
        process = start(server_env, space.name, first)
        said += lines_until(process, chance.randint(1, 6))
        time.sleep(chance.uniform(0, 0.05))
        said += kill(process)
        last = check_nothing_acknowledged_is_lost(graph, space.name, said)
        known = {line["i"] for line in said if "i" in line}
        said += [
            {"i": int(id_[1:]), "step": step}
            for id_, (step, _) in values(graph, space.name).items()
            if int(id_[1:]) not in known
        ]
        check_pending_calls_come_back(space.task("job"), last)
        first = last + 1
    assert list(audit(graph.connection, space.name)) == []
    assert first > CLIENT_KILLS


def check_pending_calls_come_back(task: graphmem.Task, last: int) -> None:
    """The task can be resumed: calls whose results were not stored are pending, those that were are not."""
    if last % 6 == 0:
        return
    status = task.open_request().status()
    cited = f"result of {last}"
    if status.pending is None:
        shown = [o.content for o in status.observation]
        assert shown == ([cited] if last % 2 else [])
        return
    assert [call.arguments for call in status.pending.calls] == [{"i": last}]
    with pytest.raises(graphmem.PendingCallsError):
        task.open_request().step(status, StepOutput(message="on"))


def test_a_client_that_dies_between_step_and_observe_finds_its_calls_pending(space: graphmem.Space) -> None:
    request = space.task("job").request("go")
    result = request.step(request.status(), output_for(1))
    again = space.task("job").open_request().status()
    assert again.pending is not None
    assert (again.pending.step, again.pending.calls) == (result.step, result.calls)
    assert again.observation == ()
    assert "Calls Without Results Yet" in again.text()
    space.task("job").open_request().observe(again.pending, [ToolResult.unknown(again.pending.calls[0].id)])
    assert [o.content for o in request.status().observation] == [None]


@contextlib.contextmanager
def reaped(process: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_killed_server_loses_nothing_and_a_patient_client_repeats_nothing(tmp_path: Path) -> None:
    chance, said, space = random.Random(11), list[dict[str, Any]](), f"crash-{uuid4().hex}"
    home = tmp_path / "home"
    with server.running(home=home) as up:
        environment = {"GRAPHMEM_URI": up.uri, "GRAPHMEM_USER": up.user, "GRAPHMEM_PASSWORD": up.password}
        graphmem.initialize(up.uri, up.user, up.password)
        with reaped(start(environment, space, 1, patient=True)) as client:
            for _ in range(SERVER_KILLS):
                said += lines_until(client, chance.randint(4, 9))
                time.sleep(chance.uniform(0, 0.05))
                os.kill(up.pid, signal.SIGKILL)
                up = server.up(home=home, short_lived=True)
            said += lines_until(client, 6)
            said += kill(client)
        with graphmem.connect(up.uri, up.user, up.password) as graph:
            last = check_nothing_acknowledged_is_lost(graph, space, said)
            acknowledged: dict[int, tuple[int, list[str]]] = {}
            for line in (line for line in said if "i" in line):
                told = acknowledged.setdefault(line["i"], (line["step"], line["added"]))
                assert told == (line["step"], line["added"]), "an output that was repeated was taken twice"
            assert list(acknowledged) == list(range(1, len(acknowledged) + 1))
            assert last - len(acknowledged) in (0, 1)
            assert list(audit(graph.connection, space)) == []


if __name__ == "__main__":
    drive(sys.argv[1], sys.argv[2], int(sys.argv[3]), patient=sys.argv[4] == "patient")
