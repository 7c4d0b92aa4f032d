"""The file in which messages wait: what is appended is read back, in order, whatever happened in between."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmem.errors import InvalidValueError, LimitError
from graphmem.exchange.watching.buffer import Address, Buffer, buffer_folder, head_of
from graphmem.exchange.watching.unwritten import all_waiting, discard, examine_buffers, waiting_in
from graphmem.store import Connection

WHERE = Address(uri="bolt://127.0.0.1:7687", database="neo4j", space="alice", task="trip")


def buffer(folder: Path, **how: Any) -> Buffer:
    return Buffer(WHERE, folder / WHERE.file_name, **how)


def said(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user" if i % 2 == 0 else "assistant", "content": text} for i, text in enumerate(texts)]


def read(one: Buffer) -> list[list[str]]:
    return [[str(message["content"]) for message in found.messages] for found in one.conversations()]


def test_a_conversation_that_grows_is_one_conversation_and_is_written_once(tmp_path: Path) -> None:
    one = buffer(tmp_path)
    texts = [f"text {i} " + "é" * 500 for i in range(40)]
    for count in range(1, 41):
        one.append(said(*texts[:count]))
    assert read(one) == [texts]
    assert next(one.conversations()).exchanges == 40
    assert one.size() < 40 * 1_200


def test_a_conversation_that_is_another_one_does_not_take_its_place(tmp_path: Path) -> None:
    one = buffer(tmp_path)
    one.append(said("a", "b"))
    one.append(said("a", "c", "d"))
    one.append(said("a", "c", "d", "e"))
    assert read(one) == [["a", "b"], ["a", "c", "d", "e"]]


def test_what_two_processes_append_is_read_in_the_order_in_which_it_came(tmp_path: Path) -> None:
    one, other = buffer(tmp_path), buffer(tmp_path)
    one.append(said("a"))
    other.append(said("a", "b"))
    one.append(said("a", "b", "c"))
    assert read(one)[-1] == ["a", "b", "c"]
    assert [conversation[0] for conversation in read(one)] == ["a"] * len(read(one))


def test_every_text_comes_back_as_it_was(tmp_path: Path) -> None:
    texts = ["line\nline\r\n\u2028", "nul \x00", "lone \ud800 surrogate", "emoji 🙂", ""]
    one = buffer(tmp_path)
    one.append(said(*texts))
    assert read(one) == [texts]


@pytest.mark.parametrize("torn", [b'{"at": 1, "on": 3', b"\xff\xfe{", b'{"at":1}'])
def test_a_line_that_was_torn_is_no_line_and_hides_none(tmp_path: Path, torn: bytes) -> None:
    buffer(tmp_path).append(said("a"))
    one = buffer(tmp_path)
    with one.path.open("ab") as file:
        file.write(torn)
    assert read(one) == [["a"]]
    one.append(said("a", "b"))
    assert read(one)[-1] == ["a", "b"]


def test_a_file_cut_off_anywhere_gives_what_was_whole(tmp_path: Path) -> None:
    one = buffer(tmp_path)
    ends = []
    for count in range(1, 5):
        one.append(said(*"abcd"[:count]))
        ends.append(one.size())
    data = one.path.read_bytes()
    for cut in range(len(data)):
        one.path.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends)
        assert read(one) == ([list("abcd"[:whole])] if whole else [])


def test_lines_that_rest_on_a_damaged_one_are_left_out_until_a_whole_one(tmp_path: Path) -> None:
    one = buffer(tmp_path)
    one.append(said("a"))
    first = one.size()
    one.append(said("a", "b"))
    second = one.size()
    one.append(said("a", "b", "c"))
    data = bytearray(one.path.read_bytes())
    data[first + 1 : second - 1] = b"#" * (second - first - 2)
    one.path.write_bytes(data)
    assert read(one) == [["a"]]
    one = buffer(tmp_path)
    one.append(said("a", "b", "c", "d"))
    assert read(one)[-1] == ["a", "b", "c", "d"]


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    one = buffer(tmp_path / "new" / "folder")
    old = os.umask(0)
    try:
        one.append(said("a"))
    finally:
        os.umask(old)
    assert stat.S_IMODE(one.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(one.path.parent.stat().st_mode) == 0o700


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / WHERE.file_name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        buffer(tmp_path).append(said("a"))
    assert not (tmp_path / "elsewhere").exists()


def test_each_address_has_a_file_of_its_own_within_the_folder(tmp_path: Path) -> None:
    names = set()
    for space, task, run in [
        ("a", "b", ""),
        ("a", "..", ""),
        (".", "b", ""),
        ("a.b", "c", ""),
        ("a", "b.c", ""),
        ("a", "b", "2"),
        ("a" * 128, "b" * 128, ""),
    ]:
        path = tmp_path / Address(uri="bolt://x", database="neo4j", space=space, task=task, run=run).file_name
        assert path.resolve().parent == tmp_path.resolve()
        assert len(path.name) < 200
        names.add(path.name)
    assert len(names) == 7
    assert Address(uri="bolt://y", database="neo4j", space="a", task="b").file_name not in names


def test_it_is_removed_only_when_nothing_was_added_meanwhile(tmp_path: Path) -> None:
    one = buffer(tmp_path)
    one.append(said("a"))
    (found,) = one.conversations()
    one.append(said("a", "b"))
    assert not one.remove(found.end)
    (rest,) = one.conversations(after=found.end)
    assert (len(rest.messages), rest.exchanges) == (2, 1)
    assert one.remove(rest.end)
    assert list(tmp_path.iterdir()) == []
    assert one.remove(rest.end)
    one.append(said("a", "b", "c"))
    assert read(one) == [["a", "b", "c"]]


def test_a_full_one_takes_no_more_and_keeps_what_it_has(tmp_path: Path) -> None:
    one = buffer(tmp_path, limit_bytes=3_000)
    one.append(said("a" * 1_000))
    with pytest.raises(LimitError, match="3,000"):
        one.append(said("a" * 1_000, "b" * 2_000))
    assert read(one) == [["a" * 1_000]]
    one.append(said("a" * 1_000, "c"))
    assert read(one) == [["a" * 1_000, "c"]]


def test_one_process_at_a_time_brings_it_in(tmp_path: Path) -> None:
    one, other = buffer(tmp_path), buffer(tmp_path)
    one.append(said("a"))
    with one.reading(timeout_seconds=1) as first, other.reading(timeout_seconds=0.05) as second:
        assert (first, second) == (True, False)
        other.append(said("b"))  # nobody who has something to say waits
    with other.reading(timeout_seconds=0.05) as third:
        assert third
    assert [path.suffix for path in tmp_path.iterdir()] == [".jsonl"]


def test_threads_that_append_and_one_that_removes_lose_nothing(tmp_path: Path) -> None:
    seen: set[str] = set()
    over = threading.Event()

    def bring_in() -> None:
        one = buffer(tmp_path)
        while True:
            last = over.is_set()
            end = 0
            for found in one.conversations():
                seen.update(str(message["content"]) for message in found.messages)
                end = found.end
            one.remove(end)
            if last:
                return

    def speak(name: str) -> None:
        one = buffer(tmp_path)
        for i in range(40):
            one.append(said(*(f"{name}{j}" for j in range(i + 1))))

    speakers = [threading.Thread(target=speak, args=(name,)) for name in "abc"]
    reader = threading.Thread(target=bring_in)
    for thread in (reader, *speakers):
        thread.start()
    for thread in speakers:
        thread.join()
    over.set()
    reader.join()
    assert seen == {f"{name}{i}" for name in "abc" for i in range(40)}
    assert not (tmp_path / WHERE.file_name).exists()


SPEAKER = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.unit.test_buffer import buffer, said
one, texts = buffer(Path({folder!r})), []
for i in range(100_000):
    texts.append(f"{{i}} " + "x" * 2_000)
    one.append(said(*texts))
    print(i, flush=True)
"""


def test_what_append_returned_from_outlives_a_kill(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    for pause in (0.0, 0.01):
        (tmp_path / WHERE.file_name).unlink(missing_ok=True)
        code = SPEAKER.format(root=root, folder=str(tmp_path))
        speaker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert speaker.stdout is not None
        for _ in range(5):
            speaker.stdout.readline()
        time.sleep(pause)
        speaker.kill()
        rest = speaker.communicate()[0].split("\n")[:-1]
        (found,) = buffer(tmp_path).conversations()
        assert 5 + len(rest) <= len(found.messages) <= 6 + len(rest)
        assert all(str(message["content"]).startswith(f"{i} ") for i, message in enumerate(found.messages))


def test_what_waits_is_told_without_a_word_of_it(tmp_path: Path) -> None:
    before = time.time()
    one = buffer(tmp_path, handle={"irreversible": ["book"]})
    one.append(said("a secret"))
    one.append(said("a secret", "b"))
    (found,) = all_waiting(tmp_path)
    assert (found.space, found.task, found.exchanges, found.bytes) == ("alice", "trip", 2, one.size())
    assert before - 0.01 <= found.since <= found.until <= time.time()
    assert head_of(one.path) == (WHERE, {"irreversible": ["book"]})
    check = examine_buffers(tmp_path)
    assert (check.verdict, check.command) == ("ok", "graphmem catch-up")  # it was said a moment ago
    _age(one.path)
    check = examine_buffers(tmp_path)
    assert (check.verdict, check.command) == ("wrong", "graphmem catch-up")
    assert str(one.path) in check.what
    assert "alice/trip" in check.what
    assert "secret" not in json.dumps(check.to_dict())


def test_what_waits_for_a_task_that_is_forgotten_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    here = Connection(WHERE.uri, user="neo4j", password="x")
    others = [replace(WHERE, task="other"), replace(WHERE, space="bob"), replace(WHERE, uri="bolt://elsewhere:1")]
    for where in (WHERE, replace(WHERE, run="2"), *others):
        Buffer(where, tmp_path / where.file_name).append(said("a"))
    assert discard(here, "alice", ["trip"], folder=tmp_path) == 2
    assert {Path(one.path).name for one in all_waiting(tmp_path)} == {where.file_name for where in others}
    here.close()


def _age(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([lines[0], *(line.replace('"at":1', '"at":-1') for line in lines[1:])]), encoding="utf-8")


def test_where_nothing_waits_nothing_is_wrong(tmp_path: Path) -> None:
    assert examine_buffers(tmp_path / "none").verdict == "ok"
    (tmp_path / "x.jsonl").write_text("no buffer\n")
    assert all_waiting(tmp_path) == ()
    assert waiting_in(tmp_path / "none.jsonl") is None
    with pytest.raises(InvalidValueError, match="messages wait"):
        head_of(tmp_path / "x.jsonl")


def test_one_of_another_format_is_left_alone(tmp_path: Path) -> None:
    one = buffer(tmp_path)
    one.append(said("a"))
    one.path.write_text(one.path.read_text().replace('"graphmem":1', '"graphmem":2'))
    with pytest.raises(InvalidValueError, match="another graphmem"):
        head_of(one.path)


def test_its_folder_is_in_the_home_that_was_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHMEM_HOME", str(tmp_path))
    assert buffer_folder() == tmp_path.resolve() / "unwritten"
