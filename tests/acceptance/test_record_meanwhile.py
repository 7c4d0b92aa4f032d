"""Recording while something goes wrong: processes that are killed or race, and a graph that gives way."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem import StaleStatusError, record
from graphmem.exchange.events import Event
from graphmem.exchange.recording import Recording

sys.path.insert(0, str(Path(__file__).parents[2]))  # also run as a program of its own

from tests.acceptance.recorded import long_conversation, picture, says, user

pytestmark = pytest.mark.usefixtures("sound")


def in_processes(server_env: Mapping[str, str], space: str, task: str, how: str, seed: int = 0) -> None:
    """Record `long_conversation` in children of a process of its own: killed at any time, or several at once."""
    done = subprocess.run(
        [sys.executable, __file__, space, task, how, str(seed)],
        env={**os.environ, **server_env},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_recording_that_is_killed_at_any_time_is_completed(
    graph: graphmem.Graph, server_env: Mapping[str, str], space: graphmem.Space
) -> None:
    record(space.task("whole"), long_conversation(40))
    in_processes(server_env, space.name, "killed", "killed")
    assert picture(graph, space.task("killed")) == picture(graph, space.task("whole"))


def test_processes_that_record_the_same_run_at_once_write_it_once(
    graph: graphmem.Graph, server_env: Mapping[str, str], space: graphmem.Space
) -> None:
    record(space.task("whole"), long_conversation(30))
    in_processes(server_env, space.name, "raced", "raced")
    assert picture(graph, space.task("raced")) == picture(graph, space.task("whole"))


def _child(space: str, task: str, messages: list[dict[str, Any]], *, grows: bool) -> int:
    """The process id of a child that records the messages."""
    child = os.fork()
    if child == 0:
        try:
            with graphmem.connect() as graph:
                on = graph.space(space).task(task)
                for end in range(len(messages) + 1) if grows else (len(messages),):
                    record(on, messages[:end])
            os._exit(0)
        except graphmem.GraphmemError as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:  # the child must not go on as the parent
            os._exit(1)
    return child


def _killed(space: str, task: str, drawn: random.Random) -> int:
    messages, kills = long_conversation(40), 0
    for _ in range(12):
        child = _child(space, task, messages, grows=drawn.random() < 0.5)
        time.sleep(drawn.uniform(0.03, 0.3))
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    last = os.waitpid(_child(space, task, messages, grows=False), 0)[1]
    return 0 if kills >= 4 and last == 0 else 1


def _raced(space: str, task: str) -> int:
    children = [_child(space, task, long_conversation(30), grows=i % 2 == 0) for i in range(4)]
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def test_a_graph_that_lets_a_recording_get_no_further_ends_it(
    space: graphmem.Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written is found one event short each time, as where somebody deletes it: there is no end to that."""
    written = Counter[str]()

    def write(self: Recording, event: Event) -> None:
        written[event.kind] += 1
        assert written.total() < 100
        if event.kind != "open":
            raise StaleStatusError("it has moved on")
        self._place = replace(self._place, done=1)

    monkeypatch.setattr(Recording, "_write", write)
    with pytest.raises(StaleStatusError):
        record(space.task("t"), [user("go"), says("done")])
    assert written["turn"] > 2


if __name__ == "__main__":
    _space, _task, _how, _seed = sys.argv[1:]
    sys.exit(_killed(_space, _task, random.Random(int(_seed))) if _how == "killed" else _raced(_space, _task))
