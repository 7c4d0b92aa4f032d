"""Export and import while others write, when killed, and of random runs: what comes back is whole and one moment."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis.stateful import run_state_machine_as_test

import graphmem
from graphmem import Space, ToolCall
from graphmem.errors import TaskHeldError
from graphmem.inspect import audit
from graphmem.store import Connection, query
from tests.acceptance.carried import erase, full_task, told
from tests.acceptance.random_runs import random_runs
from tests.acceptance.test_mage_machine import MageMachine
from tests.acceptance.tree_speech import grow
from tests.acceptance.tree_writer import writing
from tests.acceptance.whole_space import nodes, whole


@pytest.fixture
def other(space: Space, connection: Connection) -> Iterator[str]:
    """The name of a second space, erased afterwards."""
    name = f"{space.name}-other"
    yield name
    erase(connection, name)


CHILD = """
import sys, pathlib, graphmem
with graphmem.connect() as graph:
    graph.space(sys.argv[1]).load(pathlib.Path(sys.argv[2]), progress=lambda line: print(line, flush=True))
"""


def test_an_import_that_was_killed_goes_on_and_nobody_writes_meanwhile(
    space: Space, connection: Connection, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    task = space.task("t")
    task.request("load")
    task.grow_many([((ToolCall(name="look", arguments={"i": i}),), [f"result {i}"]) for i in range(700)], attempt="a")
    before = whole(connection, space.name)
    space.export(tmp_path / "t.jsonl")
    erase(connection, space.name)
    for kill in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, space.name, str(tmp_path / "t.jsonl")],
            env={**os.environ, **server_env}, stdout=subprocess.PIPE, text=True,
        ) as child:  # fmt: skip
            assert child.stdout is not None
            for _ in range(kill + 1):
                child.stdout.readline()
            child.send_signal(signal.SIGKILL)
        assert 0 < len(whole(connection, space.name)) < len(before)
        for call in (lambda: task.request("me too"), task.open_request, lambda: task.fork("f"), task.now):
            with pytest.raises(TaskHeldError, match="Run `graphmem import` again"):
                call()
        for hidden in (task.path, lambda: task.compress("x"), lambda: task.revise(feedback="x")):
            with pytest.raises(graphmem.NotFoundError):
                hidden()
        assert [f.key for f in audit(connection, space.name) if "was interrupted" in f.what] == [f"{space.name}/t"]
        with pytest.raises(TaskHeldError):
            space.export(tmp_path / "half.jsonl")
    space.load(tmp_path / "t.jsonl")
    assert whole(connection, space.name) == before
    assert audit(connection, space.name) == ()


def test_what_is_exported_while_others_write_is_one_moment(
    space: Space, other: str, graph: graphmem.Graph, connection: Connection, tmp_path: Path
) -> None:
    task = space.task("t")
    request = task.request("go")
    grow(request, "a")
    task.compress("a")
    for i in range(3):
        with writing(task) as wrote:
            while len(wrote) < 3:
                time.sleep(0.01)
            space.export(tmp_path / f"{i}.jsonl")
        graph.space(other).load(tmp_path / f"{i}.jsonl")
        assert audit(connection, other) == ()
        copy = graph.space(other).task("t")
        step = copy.now().step
        assert copy.path().text() == task.at(step).path().text()
        assert told(copy.now().states()) == told(task.at(step).states())
        erase(connection, other)


def test_a_page_seeks_and_scans_nothing(space: Space, connection: Connection) -> None:
    full_task(space, connection)
    few = {"space": space.name, "task": "t", "after": 10, "until": 14}
    hits = connection.profile(query("exchange/export_page"), few)
    task = space.task("u")
    task.request("load")
    task.grow_many([((ToolCall(name="look", arguments={"i": i}),), [f"result {i}"]) for i in range(300)], attempt="a")
    assert connection.profile(query("exchange/export_page"), few) == hits


class Carried(MageMachine):
    """Random runs with forks, carried into another space at their end and back."""

    environment: Mapping[str, str]
    folder: Path

    def teardown(self) -> None:
        file, back, name = self.folder / uuid4().hex, self.folder / uuid4().hex, f"{self.space.name}-other"
        connection, elsewhere = self.graph.connection, self.graph.space(name)
        try:
            if not nodes(connection, self.space.name):
                return
            before = whole(connection, self.space.name)
            self.space.export(file)
            elsewhere.load(file)
            assert audit(connection, name) == ()
            elsewhere.export(back)
            erase(connection, self.space.name)
            self.space.load(back)
            assert whole(connection, self.space.name) == before
        finally:
            erase(connection, self.space.name)
            erase(connection, name)
            self.graph.close()


@pytest.mark.usefixtures("graph")  # so that the schema is in place
def test_random_runs_and_their_forks_come_back_from_another_space(
    server_env: Mapping[str, str], tmp_path: Path
) -> None:
    machine = type("Machine", (Carried,), {"environment": server_env, "folder": tmp_path})
    run_state_machine_as_test(machine, settings=random_runs(4, steps=12, fixed=True))
