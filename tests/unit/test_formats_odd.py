"""Files of recorded runs that are bad, or large: what is wrong is told with its place, and the rest is read."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.exchange.formats import read, source
from graphmem.exchange.importing import task_name

from .recorded_files import CHAT, SWE_THOUGHTS, WHO_AND_WHEN, read_runs

BAD_LINES = "\n".join(
    [
        json.dumps({"messages": CHAT}),
        json.dumps({"messages": CHAT})[:-30],
        json.dumps({"messages": [*CHAT, {"role": "critic", "content": "no"}]}),
        json.dumps({"messages": [*CHAT[:2], CHAT[3]]}),
        json.dumps({"messages": [*CHAT[:4], CHAT[3]]}),
        json.dumps({"messages": [CHAT[0]]}),
        json.dumps({"rows": [1, 2]}),
        "[" * 100_000,
        json.dumps({"messages": [{"role": "user", "content": "\ud800"}]}),
        json.dumps({"messages": CHAT}),
    ]
)


def test_bad_lines_are_told_and_the_others_read(tmp_path: Path) -> None:
    faults: list[graphmem.UnreadableRunError] = []
    runs = read_runs(tmp_path, BAD_LINES, on_fault=faults.append)
    assert [Path(run.source).name for run in runs] == ["runs, line 1", "runs, line 10"]
    told = [(Path(fault.record).name, fault.place, fault.reason) for fault in faults]
    assert [(record, place) for record, place, _ in told] == [
        ("runs, line 2", ""),
        ("runs, line 3", "message 5"),
        ("runs, line 4", "message 2"),
        ("runs, line 5", "message 4"),
        ("runs, line 6", ""),
        ("runs, line 7", ""),
        ("runs, line 8", ""),
        ("runs, line 9", "message 0"),
    ]
    reasons = [reason for _, _, reason in told]
    for reason, part in zip(
        reasons,
        [
            "cut off at line 1",
            "unknown role 'critic'",
            "which no message before it makes",
            "a second result",
            "nobody says anything",
            "none of the formats",
            "nested too deeply",
            "a lone surrogate",
        ],
        strict=True,
    ):
        assert part in reason


def test_the_first_bad_run_is_raised_where_nobody_is_told(tmp_path: Path) -> None:
    with pytest.raises(graphmem.UnreadableRunError, match=r"runs, line 2: the JSON is cut off"):
        read_runs(tmp_path, BAD_LINES)


def test_a_first_line_that_is_cut_spoils_itself_alone(tmp_path: Path) -> None:
    faults: list[graphmem.UnreadableRunError] = []
    lines = [json.dumps({"messages": CHAT})[:40], json.dumps({"messages": CHAT}), json.dumps({"messages": CHAT})]
    assert len(read_runs(tmp_path, "\n".join(lines), on_fault=faults.append)) == 2
    assert [Path(fault.record).name for fault in faults] == ["runs, line 1"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (json.dumps({"messages": CHAT}, indent=1)[:-9], "cut off at line"),
        (json.dumps([{"messages": CHAT}, {"messages": CHAT}])[:-9], "record 1: the JSON is cut off"),
        (json.dumps([{"messages": CHAT}])[:-1] + ", oops]", "record 1: Expecting value before 'oops]'"),
        (json.dumps(CHAT)[:-9], "the JSON is cut off"),
        (json.dumps(CHAT, indent=1) + " oops", "'oops' follows the array"),
        ("", "the file is empty"),
        (" \n\n", "the file is empty"),
        ("name,value\n1,2\n", "none of the formats"),
        ("[]", None),
        (b"\xff\xfe{}", "UTF-16; write it as UTF-8"),
        (gzip.compress(b"{}"), "compressed; unpack it first (gunzip)"),
        (json.dumps({"a": CHAT, "b": CHAT}), "messages under several keys ('a', 'b')"),
        ("\n".join([json.dumps(CHAT[0]), json.dumps(CHAT[1])[:-9]]), "line 2: the JSON is cut off"),
        (
            json.dumps({"rows": 1}, indent=1) * 2,
            "another JSON value begins at line 3, column 2; give one record a line",
        ),
        (b'{"messages": "\xff"}', "byte 14 is not UTF-8"),
        ("Action: a\nAction: b\nObservation: 1\nObservation: 2\n", "line 3: an observation without its action"),
        ("tool: x\nuser: y\n", "none of the formats"),
    ],
    ids=[
        "object",
        "array",
        "garbage",
        "messages",
        "behind",
        "empty",
        "blank",
        "csv",
        "no-runs",
        "utf16",
        "gzip",
        "keys",
        "lines-of-messages",
        "behind-one-another",
        "latin",
        "react",
        "tool",
    ],
)
def test_files_that_cannot_be_read_say_why(tmp_path: Path, content: Any, reason: str | None) -> None:
    faults: list[graphmem.UnreadableRunError] = []
    path = tmp_path / "runs"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    try:
        runs = list(read(path, on_fault=faults.append))
    except graphmem.UnreadableRunError as error:
        faults.append(error)
        runs = []
    assert [reason in str(fault) for fault in faults if reason is not None] == ([True] if reason else [])
    assert len(runs) == (1 if "record 1" in (reason or "") or "follows" in (reason or "") else 0)


def test_messages_behind_what_is_none_are_no_run_of_their_own(tmp_path: Path) -> None:
    faults: list[graphmem.UnreadableRunError] = []
    assert read_runs(tmp_path, [{"type": "function_call"}, *CHAT], on_fault=faults.append) == []
    assert "a message stands among other things" in faults[-1].reason


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(graphmem.UnreadableRunError, match="cannot be read: No such file"):
        list(read(tmp_path / "none"))
    with pytest.raises(graphmem.UnreadableRunError, match="cannot be read: Is a directory"):
        list(read(tmp_path))


def test_a_file_of_entries_that_are_no_messages_is_refused(tmp_path: Path) -> None:
    histories: list[list[Any]] = [[3], [{"role": "x"}], [{"role": "human", "content": "a\x00"}]]
    for history in histories:
        with pytest.raises(graphmem.UnreadableRunError, match="message 0"):
            read_runs(tmp_path, {**WHO_AND_WHEN, "history": history})
    with pytest.raises(graphmem.UnreadableRunError, match="step 1: it is int"):
        read_runs(tmp_path, {**SWE_THOUGHTS, "trajectory": [SWE_THOUGHTS["trajectory"][0], 3]})


def _large_array(path: Path, count: int) -> None:
    record = json.dumps({"messages": [*CHAT[:3], {**CHAT[3], "content": "é" * 500_000}, CHAT[4]]}, ensure_ascii=False)
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for i in range(count):
            file.write(("," if i else "") + record)
        file.write("]")


@pytest.mark.parametrize("form", ["array", "lines"])
def test_a_large_file_is_not_held_in_memory(tmp_path: Path, form: str) -> None:
    path = tmp_path / "large"
    if form == "array":
        _large_array(path, 60)
    else:
        with path.open("w", encoding="utf-8") as file:
            for _ in range(60):
                file.write(
                    json.dumps({"messages": [{"role": "user", "content": "é" * 500_000}]}, ensure_ascii=False) + "\n"
                )
    size = path.stat().st_size
    tracemalloc.start()
    count = sum(1 for _ in read(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 60
    assert size > 50_000_000
    assert peak < 25_000_000


def test_a_record_that_is_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "RECORD_BYTES", 2_000)
    faults: list[graphmem.UnreadableRunError] = []
    long = json.dumps({"messages": [{"role": "user", "content": "x" * 5_000}]})
    short = json.dumps({"messages": [{"role": "user", "content": "x"}]})
    assert len(read_runs(tmp_path, f"{short}\n{long}\n{short}\n", on_fault=faults.append)) == 2
    assert read_runs(tmp_path, long, on_fault=faults.append) == []
    messages = [{"role": "user", "content": "x" * 500}] * 9
    assert read_runs(tmp_path, messages, on_fault=faults.append) == []
    assert read_runs(tmp_path, "\n".join(map(json.dumps, messages)), on_fault=faults.append) == []
    assert ["the most that one record is read of" in fault.reason for fault in faults] == [True] * 4


@pytest.mark.parametrize(
    ("stem", "run", "name"),
    [
        ("runs", "", "runs"),
        ("runs", "7", "runs-7"),
        ("a b", "", "a-b-c8687a08"),
        ("x" * 200, "", "x" * 100 + "-4bbb1efa"),
    ],
)
def test_names_of_tasks(stem: str, run: str, name: str) -> None:
    made = task_name(stem, run)
    assert made.startswith(name.rpartition("-")[0]) or made == name
    assert len(made) <= 128
    assert graphmem.vocabulary.check_name("task", made) == made


def test_names_that_differ_in_what_no_name_may_hold_stay_apart() -> None:
    assert len({task_name("runs", run) for run in ("a b", "a/b", "a-b", "é", "ß")}) == 5
