"""`import-run`: files of recorded runs into tasks, trials into one tree, whatever interrupts it."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import graphmem
from graphmem.exchange.writer import NO_ANSWER
from graphmem_cli.group import cli

sys.path.insert(0, str(Path(__file__).parents[2]))  # also run as a program of its own
from tests.acceptance.recorded import booking, long_conversation, picture, result, says, user

pytestmark = pytest.mark.usefixtures("sound")


def trial(*, ends: list[dict[str, Any]], steps: int = 2) -> list[dict[str, Any]]:
    """A run whose first calls and results are the same in every trial."""
    messages: list[dict[str, Any]] = [user("Book H9ZU1C")]
    for i in range(steps):
        messages += [says(f"step {i}", ("a", "look", {"at": i})), result("a", f"seen {i}")]
    return messages + ends


FIRST = trial(ends=[says(None, ("b", "book", {"day": 1})), result("b", "taken"), says("It is taken.")])
SECOND = trial(ends=[says(None, ("b", "book", {"day": 2})), result("b", "booked"), says("Booked.")])
THIRD = trial(ends=[says(None, ("b", "book", {"day": 3}))], steps=1)


def write(path: Path, *runs: Any) -> Path:
    path.write_text("".join(json.dumps(run) + "\n" for run in runs), encoding="utf-8")
    return path


def command(server_env: Mapping[str, str], space: str, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of `graphmem import-run`."""
    done = CliRunner().invoke(cli, ["import-run", *arguments, "--space", space], env=dict(server_env))
    return done.exit_code, done.stdout, done.stderr


def test_a_run_becomes_a_task_as_record_makes_it(graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path) -> None:
    messages = booking()[:-1]
    done = space.import_runs(write(tmp_path / "chat.json", messages))
    assert (done.runs, done.known, done.tasks, done.unread) == (1, 0, ("chat-0",), ())
    graphmem.record(space.task("recorded"), messages)
    assert picture(graph, space.task("chat-0")) == picture(graph, space.task("recorded"))


def test_a_run_of_one_file_is_the_one_in_another_form(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"traj": FIRST}, indent=1), encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps([{"messages": FIRST, "id": "x"}]), encoding="utf-8")
    done = space.import_runs(tmp_path / "a.json", tmp_path / "b.json", task="t")
    assert (done.runs, done.known, done.tasks) == (2, 1, ("t",))
    assert len(picture(graph, space.task("t"))["requests"]) == 1


def test_trials_become_one_tree_that_forks_where_they_part(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path
) -> None:
    path = write(tmp_path / "runs.jsonl", *({"task_id": "t", "traj": run} for run in (FIRST, SECOND, THIRD)))
    done = space.import_runs(path)
    assert (done.runs, done.tasks) == (3, ("runs-t",))
    task = space.task("runs-t")
    seen = picture(graph, task)
    assert [(n["number"], n["parent"], n["on_path"]) for n in seen["tree"]] == [
        (0, None, True),
        (1, 0, True),
        (2, 1, False),
        (3, 2, False),
        (4, 2, False),
        (5, 1, True),
    ]
    assert [s["visited"] for s in seen["steps"] if s["kind"] == "observe"] == [1, 2, 3, 1, 2, 4, 1, 5]
    revises = [(s["world"], s["note"]) for s in seen["steps"] if s["kind"] == "revise"]
    assert revises == [("restored", "trial 1: It is taken."), ("restored", "trial 2: Booked.")]
    assert [raw["content"] for raw in seen["raw"]] == ["seen 0", "seen 1", "taken", "booked", None]
    assert task.path().hints.feedback == "trial 2: Booked."


def test_a_trial_that_ended_without_an_answer_is_closed_before_the_next(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path
) -> None:
    path = write(tmp_path / "runs.jsonl", *({"task_id": "t", "traj": run} for run in (THIRD, FIRST)))
    space.import_runs(path)
    seen = picture(graph, space.task("runs-t"))
    assert [s["message"] for s in seen["steps"] if s["kind"] == "step" and s["message"]] == [NO_ANSWER, "It is taken."]
    assert [s["note"] for s in seen["steps"] if s["kind"] == "revise"] == [f"trial 1: {NO_ANSWER}"]


def test_what_the_agent_told_itself_is_the_feedback(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path
) -> None:
    text = "BEGIN TRIAL 1\n\nQuestion: q\nThought 1: t\nAction 1: Search[a]\nObservation 1: o\n\n"
    text += "BEGIN TRIAL 2\n\nQuestion: q\nReflections:\n- Look elsewhere.\n"
    text += "Thought 1: t\nAction 1: Search[b]\nObservation 1: o\nAction 2: Finish[x]\nObservation 2: right\n"
    (tmp_path / "log.txt").write_text(text, encoding="utf-8")
    done = space.import_runs(tmp_path / "log.txt", task="t")
    assert done.runs == 2
    seen = picture(graph, space.task("t"))
    assert [s["note"] for s in seen["steps"] if s["kind"] == "revise"] == ["- Look elsewhere."]
    assert [r["finished_step"] is not None for r in seen["requests"]][-1]


def test_a_file_that_is_read_twice_adds_nothing(
    graph: graphmem.Graph, space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    path = write(tmp_path / "runs.jsonl", *({"task_id": "t", "traj": run} for run in (FIRST, SECOND, THIRD, FIRST)))
    space.import_runs(path)
    before = picture(graph, space.task("runs-t"))
    assert space.import_runs(path).known == 4
    code, out, _ = command(server_env, space.name, str(path), "--json")
    assert (code, json.loads(out)["known"], json.loads(out)["new"]["turns"]) == (0, 4, 0)
    assert picture(graph, space.task("runs-t")) == before


def test_a_file_that_has_grown_goes_on(graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path) -> None:
    for end in (1, 3, 5, len(FIRST)):
        space.import_runs(write(tmp_path / "chat.jsonl", {"task_id": "t", "traj": FIRST[:end]}))
    space.import_runs(write(tmp_path / "whole.jsonl", {"task_id": "t", "traj": FIRST}))
    assert picture(graph, space.task("chat-t")) == picture(graph, space.task("whole-t"))


def test_trials_of_several_files_are_put_together_by_name(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path
) -> None:
    space.import_runs(write(tmp_path / "monday.json", FIRST), task="t")
    space.import_runs(write(tmp_path / "tuesday.json", SECOND), write(tmp_path / "again.json", FIRST), task="t")
    assert [n["parent"] for n in picture(graph, space.task("t"))["tree"]] == [None, 0, 1, 2, 2]


def test_a_dry_run_says_what_would_be_new_and_writes_nothing(
    graph: graphmem.Graph, space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    path = write(tmp_path / "runs.jsonl", {"task_id": "t", "traj": FIRST})
    code, out, _ = command(server_env, space.name, str(path), "--dry-run")
    assert code == 0
    assert "would be new: 1 requests, 4 turns, 3 results" in out
    assert picture(graph, space.task("runs-t"))["steps"] == []
    space.import_runs(path)
    write(path, {"task_id": "t", "traj": FIRST}, {"task_id": "t", "traj": SECOND})
    done = space.import_runs(path, dry_run=True)
    assert (done.known, done.new.turns, done.new.results) == (1, 4, 3)


BAD = [
    {"task_id": "good-1", "traj": FIRST},
    {"task_id": "late", "traj": [user("q"), result("a", "x")]},
    {"task_id": "large", "traj": [*FIRST[:2], result("a", "x" * (1 << 20) + "x")]},
    {"task_id": "name", "traj": [user("q"), says(None, ("a", "n" * 300, {}))]},
    {"task_id": "good-2", "traj": SECOND},
]


def test_bad_runs_are_told_and_the_good_ones_kept(
    graph: graphmem.Graph, space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    path = write(tmp_path / "runs.jsonl", *BAD)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"task_id": "cut", "traj": [{"ro')
    code, out, err = command(server_env, space.name, str(path), str(tmp_path / "none"), "--keep-going", "--json")
    answer = json.loads(out)
    assert (code, answer["runs"], answer["tasks"]) == (1, 2, ["runs-good-1", "runs-good-2"])
    told = [(Path(unread["record"]).name, unread["place"], unread["reason"]) for unread in answer["unread"]]
    assert [(record, place) for record, place, _ in told] == [
        ("runs.jsonl, line 2", "message 1"),
        ("runs.jsonl, line 3", ""),
        ("runs.jsonl, line 4", ""),
        ("runs.jsonl, line 6", ""),
        ("none", ""),
    ]
    assert "which no message before it makes" in told[0][2]
    assert "message 1: a result has 1,048,577 bytes; the limit is 1,048,576" in told[1][2]
    assert "its name has 300 characters" in told[2][2]
    assert "cut off" in told[3][2]
    assert f"not read: {path}, line 2, message 1: a result for the call 'a'" in err
    names = {row["name"] for row in graph.connection.run("tests/tasks", _TASKS, {"space": space.name})}
    assert names == {"runs-good-1", "runs-good-2"}


_TASKS = "MATCH (t:Task {space: $p.space}) RETURN t.name AS name"


def test_the_first_bad_run_ends_the_import_with_a_sentence(
    space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path
) -> None:
    code, out, err = command(server_env, space.name, str(write(tmp_path / "runs.jsonl", *BAD)))
    assert (code, out) == (1, "")
    assert err.startswith(f"graphmem: {tmp_path / 'runs.jsonl'}, line 2, message 1: a result for the call 'a', which")
    assert space.task("runs-good-1").now().step > 0


def test_wrong_usage_is_said(space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path) -> None:
    path = str(write(tmp_path / "runs.jsonl", FIRST))
    assert command(server_env, space.name, path, "--format", "csv")[0] == 2
    assert command(server_env, space.name)[0] == 2
    code, _, err = command(server_env, space.name, path, "--task", "a b")
    assert (code, "is not a name" in err) == (1, True)


def test_a_table_says_what_came_in(space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", *({"task_id": i, "traj": FIRST} for i in range(12)))
    code, out, _ = command(server_env, space.name, str(path))
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "12 runs of 12 tasks, 0 of them there already"
    assert lines[1].startswith("new: 12 requests, 48 turns, 36 results, ")
    assert (lines[2], lines[-1]) == ("  runs-0", "  and 2 more: graphmem tasks")


def test_a_result_of_a_mebibyte_and_odd_texts_come_back(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path
) -> None:
    odd = ["é" * (1 << 19), "\r\n\u2028\u0085 </query>", "", " ", "\ufeff", "\U0001f600", '{"a": 1e400}', "[obs:1.1]"]
    messages = [user("q")]
    for i, text in enumerate(odd):
        messages += [says(None, ("a", "get", {"i": i})), result("a", text)]
    space.import_runs(write(tmp_path / "odd.jsonl", {"task_id": "t", "traj": messages}))
    assert [raw["content"] for raw in picture(graph, space.task("odd-t"))["raw"]] == odd


def test_an_import_goes_into_a_task_of_other_work_as_a_further_trial(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path
) -> None:
    task = space.task("t")
    request = task.request("by hand")
    step = request.step(request.status(), graphmem.StepOutput(tool_calls=(graphmem.ToolCall(name="look"),)))
    request.observe(step, [graphmem.ToolResult.unknown(step.calls[0].id)])
    space.import_runs(write(tmp_path / "a.json", FIRST), task="t")
    seen = picture(graph, task)
    assert [s["note"] for s in seen["steps"] if s["kind"] == "revise"] == [f"trial 1: {NO_ANSWER}"]
    assert [n["parent"] for n in seen["tree"]] == [None, 0, 0, 2, 3]


def test_a_run_without_a_name_is_a_trial_only_where_it_begins_alike_or_somebody_says_so(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path
) -> None:
    files = []
    for folder, text in (("a", "Book it"), ("b", "Cancel it"), ("c", "Book it")):
        (tmp_path / folder).mkdir()
        files.append(write(tmp_path / folder / "log.json", [user(text), says(f"Done, says {folder}.")]))
    space.import_runs(files[0])
    with pytest.raises(graphmem.UnreadableRunError, match=r"b/log.json.*begins with another request.*--task"):
        space.import_runs(files[1])
    assert space.import_runs(files[1], keep_going=True).runs == 0
    assert space.import_runs(files[2]).tasks == ("log-0",)
    assert space.import_runs(files[1], task="log-0").new.requests == 1
    texts = [line.text for line in graphmem.inspect.requests(graph.connection, space.name, "log-0")]
    assert texts == ["Book it", "Book it", "Cancel it"]


# --- killed ----------------------------------------------------------------------------------------------------------


def _runs() -> list[dict[str, Any]]:
    conversations = [long_conversation(12, seed=seed) for seed in range(3)]
    return [{"task_id": i % 2, "traj": c} for i, c in enumerate([*conversations, FIRST, SECOND, THIRD, FIRST])]


def in_processes(server_env: Mapping[str, str], space: str, path: Path, how: str) -> None:
    """Import in children of a process of its own: killed at any time, or several at once."""
    process = subprocess.run(
        [sys.executable, __file__, space, str(path), how],
        env={**os.environ, **server_env},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize("how", ["killed", "raced"])
def test_an_import_that_is_killed_at_any_time_or_made_by_several_at_once_is_the_same(
    graph: graphmem.Graph, space: graphmem.Space, server_env: Mapping[str, str], tmp_path: Path, how: str
) -> None:
    done = space.import_runs(write(tmp_path / "whole.jsonl", *_runs()))
    in_processes(server_env, space.name, write(tmp_path / f"{how}.jsonl", *_runs()), how)
    for name in done.tasks:
        mine = picture(graph, space.task(name.replace("whole", how)))
        assert mine == picture(graph, space.task(name))


def test_a_trial_that_another_process_wrote_and_left_behind_meanwhile_is_known(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, file = (write(tmp_path / f"{name}.jsonl", *_runs()) for name in ("whole", "raced"))
    done = space.import_runs(whole)
    step = graphmem.Request.step

    def overtaken(*args: Any, **options: Any) -> graphmem.StepResult:
        monkeypatch.undo()
        space.import_runs(file)
        return step(*args, **options)

    monkeypatch.setattr(graphmem.Request, "step", overtaken)
    assert space.import_runs(file).new.turns == 0
    for name in done.tasks:
        assert picture(graph, space.task(name.replace("whole", "raced"))) == picture(graph, space.task(name))


def _child(space: str, path: str) -> int:
    child = os.fork()
    if child == 0:
        try:
            with graphmem.connect() as graph:
                graph.space(space).import_runs(path)
            os._exit(0)
        except graphmem.GraphmemError as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:  # the child must not go on as the parent
            os._exit(1)
    return child


def _killed(space: str, path: str, drawn: random.Random) -> int:
    kills = 0
    for _ in range(12):
        child = _child(space, path)
        time.sleep(drawn.uniform(0.05, 0.4))
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    last = os.waitpid(_child(space, path), 0)[1]
    return 0 if kills >= 4 and last == 0 else 1


def _raced(space: str, path: str) -> int:
    children = [_child(space, path) for _ in range(3)]
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


if __name__ == "__main__":
    _space, _path, _how = sys.argv[1:]
    sys.exit(_killed(_space, _path, random.Random(7)) if _how == "killed" else _raced(_space, _path))
