"""Processes: who is signalled, who is not, and who waits. The processes are shells that sleep."""

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from graphmem.errors import StartError
from graphmem.server.archive import Archive
from graphmem.server.processes import Process, alive, detach, end, exclusive, identify

WORDS = "sleep 300.25"


def _sleeper(folder: Path, command: tuple[str, ...] = ("sleep", "300.25")) -> Process:
    return detach(command, log=folder / "log", folder=folder, environment={"PATH": os.environ["PATH"]})


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Process]:
    """A process that sleeps, ended by its own identity afterwards."""
    process = _sleeper(tmp_path)
    yield process
    end(process, words="", grace_seconds=5)


def test_the_process_is_ended_and_gone_when_end_returns(sleeper: Process) -> None:
    time.sleep(0.2)
    assert alive(sleeper, words=WORDS)
    assert end(sleeper, words=WORDS, grace_seconds=5)
    assert not alive(sleeper, words="")
    assert not end(sleeper, words=WORDS, grace_seconds=5)


def test_a_pid_with_another_start_time_is_not_signalled(sleeper: Process) -> None:
    time.sleep(0.2)
    assert not end(replace(sleeper, started="1"), words=WORDS, grace_seconds=5)
    assert alive(sleeper, words=WORDS)


def test_a_process_with_another_command_line_is_not_signalled(sleeper: Process) -> None:
    time.sleep(0.2)
    assert not end(sleeper, words="@/home/run/java.args", grace_seconds=5)
    assert alive(sleeper, words=WORDS)


def test_a_process_that_ignores_the_request_is_killed(tmp_path: Path) -> None:
    process = _sleeper(tmp_path, ("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"))
    while "ready" not in (tmp_path / "log").read_text():
        time.sleep(0.02)
    assert end(process, words="trap", grace_seconds=0.3)
    assert not alive(process, words="trap")


def test_a_child_that_waits_to_be_reaped_counts_as_gone() -> None:
    with subprocess.Popen(("sleep", "300.25")) as child:
        process = identify(child.pid)
        time.sleep(0.2)
        assert alive(process, words=WORDS)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not alive(process, words="")


def test_the_second_waits_for_the_lock_and_says_so(tmp_path: Path) -> None:
    order: list[str] = []

    def second() -> None:
        with exclusive(tmp_path / "lock", waiting=lambda: order.append("waits")):
            order.append("second")

    with exclusive(tmp_path / "lock"):
        thread = threading.Thread(target=second)
        thread.start()
        while not order:
            time.sleep(0.01)
        order.append("first")
    thread.join(timeout=10)
    assert order == ["waits", "first", "second"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(StartError, match=r"file/home cannot be written"),
        exclusive(tmp_path / "file" / "home" / "lock"),
    ):
        pass


def test_a_failed_archive_leaves_nothing_that_a_start_would_take(tmp_path: Path) -> None:
    recording = tmp_path / "classes.list"
    recording.write_text("java/lang/Object id: 0\n")
    archive = Archive(path=tmp_path / "classes-1.jsa", java=Path("/bin/false"), class_path="x.jar")
    assert archive.flags(recording) == (f"-XX:DumpLoadedClassList={recording}",)
    assert archive.make(recording)
    deadline = time.monotonic() + 10
    while (tmp_path / "classes-1.claim").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [file.name for file in tmp_path.iterdir()] == ["classes-1.log"]


def test_only_one_process_makes_an_archive(tmp_path: Path) -> None:
    (tmp_path / "classes-1.claim").touch()
    recording = tmp_path / "classes.list"
    recording.touch()
    assert not Archive(path=tmp_path / "classes-1.jsa", java=Path("/bin/false"), class_path="").make(recording)
