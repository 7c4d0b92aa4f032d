"""Hours of what the crash tests do in seconds: nothing acknowledged is lost, and nothing grows that should not.

Each part prints its figures. They are told in the README as they were measured.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis.stateful import run_state_machine_as_test

import graphmem
from graphmem import StepOutput, server
from graphmem.inspect import audit
from graphmem.store import Connection
from tests.acceptance import test_crash as crash
from tests.acceptance.random_runs import random_runs
from tests.acceptance.speech import add, remove
from tests.acceptance.test_flowstate_machine import FlowMachine
from tests.acceptance.test_mage_machine import MageMachine
from tests.acceptance.test_races import at_once
from tests.acceptance.test_tree_readers import DOCUMENTED, MIXED
from tests.acceptance.tree_speech import grow
from tests.acceptance.tree_writer import check_ledger

WRITERS, TASKS, THREADS = 4, 8, 24
IN_VIEW = 40
ROUNDS_A_TASK = 5
OF_THE_SERVER = 0.1
RUNS_AT_ONCE = 10
MACHINES = {"m-": FlowMachine, "mm-": MageMachine}  # by how their spaces begin
_ERASE = """
MATCH (n) WHERE n.space STARTS WITH $p.begins AND NOT n.space IN $p.but
CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 1000 ROWS
"""
_SPACES = "MATCH (t:Task) WHERE t.space STARTS WITH $p.begins RETURN collect(DISTINCT t.space) AS names"


class Writer:
    """A process that goes on with a task of its own, and all that it was told; `outputs` of it were acknowledged."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.space = f"soak-{uuid4().hex[:12]}"
        self.said: list[dict[str, Any]] = []
        self.outputs = 0
        self.start(1)

    def start(self, first: int) -> None:
        self._process = crash.start(self._environment, self.space, first, patient=True)

    def listen(self, lines: int) -> None:
        self._hear(crash.lines_until(self._process, lines))

    def kill(self) -> None:
        self._hear(crash.kill(self._process))

    def check(self, graph: graphmem.Graph) -> int:
        """After a kill: nothing that it was told is lost. The last output that the graph has."""
        return crash.check_nothing_acknowledged_is_lost(graph, self.space, self.said)

    def go_on(self, graph: graphmem.Graph) -> None:
        """After a kill: from behind the last output that the graph has."""
        last = self.check(graph)
        told = {line["i"] for line in self.said if "i" in line}
        written = crash.values(graph, self.space)
        self.said += [{"i": int(id_[1:]), "step": at} for id_, (at, _) in written.items() if int(id_[1:]) not in told]
        self.start(last + 1)

    def _hear(self, lines: list[dict[str, Any]]) -> None:
        self.said += lines
        self.outputs += sum("i" in line for line in lines)


def test_kills_of_writers_and_of_the_server_lose_nothing(tmp_path: Path, kills: int) -> None:
    """Round by round: some of the writers are killed at once, or the server under all of them."""
    chance, done, rounds = random.Random(5), Counter[str](), 0
    home = tmp_path / "home"
    with server.running(home=home) as up:
        environment = {"GRAPHMEM_URI": up.uri, "GRAPHMEM_USER": up.user, "GRAPHMEM_PASSWORD": up.password}
        graphmem.initialize(up.uri, up.user, up.password)
        with graphmem.connect(up.uri, up.user, up.password) as graph:
            writers: list[Writer] = []
            try:
                while done["kills of the server"] + done["kills of a writer"] < kills:
                    if rounds % ROUNDS_A_TASK == 0:
                        done["outputs acknowledged"] += _end(graph, writers)
                        writers = [Writer(environment) for _ in range(WRITERS)]
                    for writer in writers:
                        writer.listen(chance.randint(1, 3))
                    time.sleep(chance.uniform(0, 0.05))
                    if chance.random() < OF_THE_SERVER:
                        os.kill(up.pid, 9)
                        up = server.up(home=home, short_lived=True)
                        done["kills of the server"] += 1
                    else:
                        killed = chance.sample(writers, chance.randint(1, WRITERS))
                        for writer in killed:
                            writer.kill()
                        for writer in killed:
                            writer.go_on(graph)
                        done["kills of a writer"] += len(killed)
                    for writer in writers:
                        crash.check_acknowledged(graph, writer.space, writer.said)
                    assert list(audit(graph.connection)) == []
                    rounds += 1
                    if rounds % 10 == 0:
                        print(f"{rounds} rounds: {dict(done)}", flush=True)
                done["outputs acknowledged"] += _end(graph, writers)
                writers = []
            finally:
                for writer in writers:
                    writer.kill()
    print(f"nothing of it lost, the audit clean after each: {dict(done)}")


def _end(graph: graphmem.Graph, writers: list[Writer]) -> int:
    """Kill them all, look once more, and forget them. How many outputs were acknowledged to them."""
    for writer in writers:
        writer.kill()
        writer.check(graph)
        graph.space(writer.space).forget()
    return sum(writer.outputs for writer in writers)


def test_24_threads_on_8_tasks(space: graphmem.Space, connection: Connection, seconds: int) -> None:
    tasks = [space.task(f"t{i}") for i in range(TASKS)]
    for task in tasks:
        task.request("go")
    until, done = time.monotonic() + seconds, Counter[str]()

    def work(i: int) -> None:
        chance = random.Random(i)
        while time.monotonic() < until:
            name = chance.choice(list(MIXED))
            try:
                MIXED[name](chance.choice(tasks), chance)
                done[name] += 1
            except DOCUMENTED as error:
                done[type(error).__name__] += 1

    assert at_once(THREADS, work) == [None] * THREADS
    assert set(MIXED) <= set(done), done
    assert all(check_ledger(connection, space, task.name) for task in tasks)
    assert list(audit(connection, space.name)) == []
    space.forget()  # in batches: it is too much for the fixture's one statement
    print(f"{done.total():,} operations in {seconds} s, the ledger whole and the audit clean: {dict(done)}")


def test_memory_and_connections_are_flat(space: graphmem.Space, steps: int) -> None:
    """Of a task with forty states in view, so that what grows is a leak."""
    request = space.task("t").request("go")
    taken: list[tuple[int, float, int]] = []
    for number in range(1, steps + 1):
        if number % 2:
            grow(request, f"result {number}")
        else:
            old = (remove(f"s{number - 2 * IN_VIEW}"),) if number > 2 * IN_VIEW else ()
            request.step(request.status(), StepOutput(delta=(add(f"s{number}"), *old)))
        if number % max(1, steps // 10) == 0:
            taken.append((number, _megabytes(), _sockets()))
            print("after {:,} steps: {:.0f} MB, {} sockets".format(*taken[-1]), flush=True)
    settled, last = taken[1], taken[-1]
    assert last[1] <= settled[1] * 1.1
    assert last[2] <= settled[2]


@pytest.mark.parametrize("begins", MACHINES)
def test_random_runs_are_what_their_models_say(
    connection: Connection, server_env: Mapping[str, str], begins: str, statements: int
) -> None:
    """Half of the statements for each machine: what it reads and writes of tasks, held against its model.

    The first runs stay until the end: where a graph empties and fills, the server plans its statements anew and does
    little else.
    """
    machine, done, runs = MACHINES[begins], Counter[str](), 0
    first: list[str] = []

    def trace(name: str, _rows: int, _milliseconds: float) -> None:
        done[name] += name.startswith("task/")

    drawn = type("Drawn", (machine,), {"environment": server_env, "trace": staticmethod(trace)})
    try:
        while done.total() < statements / 2:
            run_state_machine_as_test(drawn, settings=random_runs(RUNS_AT_ONCE, steps=30, fixed=False))
            first = first or connection.run("soak/spaces", _SPACES, {"begins": begins})[0]["names"]
            connection.run("soak/erase", _ERASE, {"begins": begins, "but": first})
            runs += RUNS_AT_ONCE
            print(f"{machine.__name__}: {done.total():,} statements in {runs} random runs", flush=True)
    finally:
        connection.run("soak/erase", _ERASE, {"begins": begins, "but": []})
    print(f"{machine.__name__}: {dict(done.most_common())}")


def _megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _sockets() -> int:
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the folder's own, by now
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return count
