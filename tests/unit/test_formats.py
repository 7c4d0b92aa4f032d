"""Files of recorded runs: each form is known by its content, read exactly, and what is wrong is told with its place."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.exchange import Round, Run
from graphmem.exchange.formats import FORMATS, read, source
from graphmem.exchange.importing import task_name

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "policy"},
    {"role": "user", "content": "How warm is it?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "12 °C\r\n"},
    {"role": "assistant", "content": "12 degrees."},
]

LANGCHAIN = """\
Question: How warm is it?
Thought: I should look.
Action: weather
Action Input: {"city": "Oslo"}
Observation: 12 °C

and sunny
Thought: I know.
Final Answer: 12 degrees.
"""

REFLEXION = """\
########################################
BEGIN TRIAL 1
Trial summary: Correct: 1, Incorrect: 1, Halted: 0
#######################################
------------- BEGIN CORRECT AGENTS -------------

Question: Who wrote it?
Thought 1: Search.
Action 1: Search[it]
Observation 1: It was written.
Thought 1: is a line of the page
----- so is this -----
By Ann.
Thought 2: Ann.
Action 2: Finish[Ann]
Observation 2: Answer is CORRECT
Correct answer: Ann

------------- BEGIN INCORRECT AGENTS -----------

Question: And when?
Thought 1: Guess.
Action 1: Finish[1999]
Observation 1: Answer is INCORRECT
Correct answer: 2001

########################################
BEGIN TRIAL 2
Trial summary: Correct: 1, Incorrect: 0, Halted: 1
#######################################
------------- BEGIN HALTED AGENTS --------------

Question: And when? You have attempted to answer following question before and failed. Use the reflection(s).
Reflections:
- I guessed.
- I should search.
Thought 1: Search.
Action 1: Search[when]
Observation 1:{space}
Correct answer: 2001

""".replace("{space}", " ")

WEBSHOP = (
    "-----------------\n0\nAction: reset\nObservation: \nWebshop \nInstruction:  \ni need a lamp \n[Search] \n\n"
    "Action: search[lamp]\nObservation: \n[Back] \n[B01] \nLamp \n$9.98 \n\n"
    "Action: think[it is, I think\nObservation: OK.\n\n"
    "Action: click[Buy Now]\nObservation: Your score: 1.0\n\n1 1.0 1.0 0.0\n-------------\n"
    "-----------------\n1\nAction: reset\nObservation: \nInstruction:  \ni need a rug \n[Search] \n\n"
    "Action: exit\nObservation: \n\n2 0.5 0.5 0.0\n-------------\n"
)

WHO_AND_WHEN: dict[str, Any] = {
    "question": "How many?",
    "question_ID": "q-1",
    "mistake_agent": "Coder",
    "mistake_step": "1",
    "system_prompt": {"Coder": "You code."},
    "history": [
        {"role": "human", "content": "How many are there?"},
        {"role": "Orchestrator (thought)", "content": "Plan"},
        {"role": "Orchestrator (-> WebSurfer)", "content": "Please look."},
        {"role": "Orchestrator (thought)", "content": "Next speaker WebSurfer"},
        {"role": "WebSurfer", "content": "I see four."},
        {"role": "user", "name": "Coder", "content": "Run:\n```python\nprint(4)\n```"},
        {"role": "user", "name": "Computer_terminal", "content": "exitcode: 0\n4\n"},
        {"role": "assistant", "name": "Checker", "content": "Four it is."},
        {"role": "user", "name": "Checker", "content": "TERMINATE"},
    ],
}

SWE_THOUGHTS: dict[str, Any] = {
    "environment": "main",
    "trajectory": [
        {"action": "ls -F\n", "observation": "a\nb", "response": "Look.\n```\nls -F\n```", "thought": "Look.\n"},
        {"action": "submit\n", "observation": "\ndiff", "response": "Done.", "thought": "Done."},
    ],
    "history": [
        {"role": "system", "content": "SETTING", "agent": "main"},
        {"role": "user", "content": "a demonstration", "agent": "main", "is_demo": True},
        {"role": "user", "content": "Fix it.", "agent": "main"},
        {"role": "assistant", "content": "Look.", "thought": "Look.\n", "action": "ls -F\n", "agent": "main"},
        {"role": "user", "content": "a\nb\n(Open file: n/a)", "agent": "main"},
        {"role": "assistant", "content": "Done.", "thought": "Done.", "action": "submit\n", "agent": "main"},
    ],
    "info": {"exit_status": "submitted", "submission": "diff"},
}


def _swe_functions() -> dict[str, Any]:
    call = {"id": "x", "type": "function", "function": {"name": "open", "arguments": '{"path":"a.py"}'}}
    said = {"role": "assistant", "content": "Look.", "thought": "Look.", "action": "open a.py", "agent": "main"}
    return {
        "trajectory": [{"action": "open a.py", "observation": "1: a", "response": "Look.", "thought": "Look."}],
        "history": [
            {"role": "user", "content": "Fix it.", "agent": "main"},
            {**said, "tool_calls": [call]},
            {"role": "tool", "content": "1: a\n(Open file: a.py)", "agent": "main", "tool_call_ids": ["x"]},
        ],
    }


def _read(folder: Path, content: object, **options: Any) -> list[Run]:
    path = folder / "runs"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read(path, **options))


def _calls(run: Run) -> list[tuple[str, Any, str | None]]:
    return [
        (call.name, call.arguments, result)
        for turn in run.turns
        for call, result in zip(turn.calls, turn.results, strict=True)
    ]


@pytest.mark.parametrize(
    "content",
    [
        CHAT,
        [CHAT],
        {"messages": CHAT},
        [{"traj": CHAT, "task_id": 0}],
        {"id": "0", "whatever": CHAT},
        json.dumps(CHAT) + "\n" + json.dumps(CHAT) + "\n",
        json.dumps({"messages": CHAT}) + "\n\n" + json.dumps({"messages": CHAT}),
        "\ufeff" + json.dumps(CHAT, indent=2),
        json.dumps({"messages": CHAT}, indent=2),
        json.dumps(CHAT, indent=2) + "\n" + json.dumps([CHAT], indent=2) + json.dumps(CHAT),
    ],
    ids=["messages", "list", "key", "traj", "any-key", "lines", "lines-of-records", "bom", "indented", "arrays"],
)
def test_chat_messages_are_known_wherever_they_stand(tmp_path: Path, content: object) -> None:
    for run in _read(tmp_path, content):
        assert run.system == "policy"
        assert [(r.text, r.is_answered) for r in run.rounds] == [("How warm is it?", True)]
        assert _calls(run) == [("weather", {"city": "Oslo"}, "12 °C\r\n")]


def test_a_record_says_its_task_its_trial_and_what_else_it_knows(tmp_path: Path) -> None:
    (run,) = _read(tmp_path, [{"task_id": 7, "trial": 2, "reward": 0.5, "long": "x" * 9000, "traj": CHAT}])
    assert (run.task, run.trial, run.info) == ("7", 2, {"task_id": 7, "trial": 2, "reward": 0.5})


def test_runs_without_a_name_have_their_number(tmp_path: Path) -> None:
    assert [run.task for run in _read(tmp_path, [{"traj": CHAT}, {"traj": CHAT}])] == ["0", "1"]


def test_a_transcript_names_no_calls(tmp_path: Path) -> None:
    text = "user: Hi\nthere\nassistant: None\ntool: {}\ntool: two\nlines\nassistant: Done\nuser: Bye"
    for content in ({"messages_display": text}, text + "\n"):
        (run,) = _read(tmp_path, content)
        assert [r.text for r in run.rounds] == ["Hi\nthere", "Bye"]
        assert _calls(run) == [("not_recorded", {}, "{}"), ("not_recorded", {}, "two\nlines")]


def test_a_react_log_with_inputs_of_actions(tmp_path: Path) -> None:
    (run,) = _read(tmp_path, LANGCHAIN)
    assert [turn.text for turn in run.turns] == ["I should look.", "I know.", "12 degrees."]
    assert _calls(run) == [("weather", {"city": "Oslo"}, "12 °C\n\nand sunny")]
    assert (run.rounds[0].text, run.rounds[0].is_answered) == ("How warm is it?", True)


def test_trials_with_reflections(tmp_path: Path) -> None:
    first, second, third = _read(tmp_path, REFLEXION)
    assert [(run.trial, run.rounds[0].text, run.lesson) for run in (first, second, third)] == [
        (1, "Who wrote it?", None),
        (1, "And when?", None),
        (2, "And when?", "- I guessed.\n- I should search."),
    ]
    assert second.task == third.task != first.task
    assert _calls(first) == [
        (
            "Search",
            {"input": "it"},
            "It was written.\nThought 1: is a line of the page\n----- so is this -----\nBy Ann.",
        ),
        ("Finish", {"input": "Ann"}, "Answer is CORRECT"),
    ]
    assert (first.turns[-1].text, first.rounds[0].is_answered) == ("Ann", True)
    assert (_calls(third), third.rounds[0].is_answered) == ([("Search", {"input": "when"}, "")], False)
    assert third.info == {"correct_answer": "2001"}


def test_trials_that_follow_one_another_in_one_record(tmp_path: Path) -> None:
    text = (
        "Context: \nQuestion: Where from?\nThought: Here.\nAction: Finish[Here]\nObservation: wrong\n"
        "Reflections: \n- Not here.\nThought: There.\nAction: Finish[There]\nObservation: right\n"
        "Reflections: \nCorrect answer: There\n\n"
        "Context: It is long.\n\nQuite. Question: Is it?\nThought: Yes.\nAction: Finish[Yes]\nObservation: right\n\n"
    )
    first, second, third = _read(tmp_path, text)
    assert [(run.trial, run.lesson, run.turns[-1].text) for run in (first, second, third)] == [
        (0, None, "Here"),
        (1, "- Not here.", "There"),
        (0, None, "Yes"),
    ]
    assert first.task == second.task
    assert third.rounds[0].text == "It is long.\n\nQuite. Question: Is it?"
    assert [_calls(run)[0][2] for run in (first, second, third)] == ["wrong", "right", "right"]


def test_a_lesson_at_the_end_of_a_trial_is_for_the_next_one(tmp_path: Path) -> None:
    one = (
        "Question: q\nThought: t\nAction: Finish[a]\nObservation: wrong\nReflections:\n- Not a.\nCorrect answer: b\n\n"
    )
    text = f"BEGIN TRIAL 1\n\n{one}BEGIN TRIAL 2\n\n{one.replace('[a]', '[b]')}"
    assert [(run.trial, run.lesson) for run in _read(tmp_path, text)] == [(1, None), (2, "- Not a.")]


def test_steps_parted_by_blank_lines(tmp_path: Path) -> None:
    text = (
        "12 Question: Who?\nThought 1: a\nAction 1: Search[x]\nObservation 1: one\n\ntwo\n\n"
        "Thought 2: b\nAction 2: Finish[y]\nObservation 2: Episode finished\n\n"
        "13 Claim: It is.\nThought 1: c\nAction 1: Finish[SUPPORTS]\nObservation 1: reward = 1\n"
    )
    first, second = _read(tmp_path, text)
    assert [result for _, _, result in _calls(first)] == ["one\n\ntwo", "Episode finished"]
    assert [run.rounds[0].text for run in (first, second)] == ["Who?", "It is."]
    assert (_calls(second)[0][2], second.turns[-1].text) == ("reward = 1", "SUPPORTS")


def test_episodes_of_a_text_world(tmp_path: Path) -> None:
    text = (
        "put/one\nYour task is to: put it away.\nAct 1: think: where is it?\nObs 1: OK.\n"
        "Act 2: go to desk 1\nObs 2: A desk.\n"
        "------------\nclean/two\nYour task is to: clean it.\nAct 1: look\nObs 1: Nothing.\n------------\n"
    )
    first, second = _read(tmp_path, text)
    assert _calls(first) == [("think", {"input": "where is it?"}, "OK."), ("go", {"input": "to desk 1"}, "A desk.")]
    assert (first.rounds[0].text, _calls(second)) == (
        "put/one\nYour task is to: put it away.",
        [("look", {}, "Nothing.")],
    )


def test_a_question_that_nothing_was_done_about_is_a_run(tmp_path: Path) -> None:
    text = "Question: a?\nCorrect answer: b\n\nQuestion: c?\nAction: Finish[d]\nObservation: right\n"
    first, second = _read(tmp_path, text, form="react")
    assert (first.rounds, first.info) == ((Round(text="a?"),), {"correct_answer": "b"})
    assert len(second.turns) == 2


def test_episodes_of_webshop(tmp_path: Path) -> None:
    first, second = _read(tmp_path, WEBSHOP)
    assert _calls(first) == [
        ("reset", {}, "\nWebshop \nInstruction:  \ni need a lamp \n[Search] "),
        ("search", {"input": "lamp"}, "\n[Back] \n[B01] \nLamp \n$9.98 "),
        ("think", {"input": "it is, I think"}, "OK."),
        ("click", {"input": "Buy Now"}, "Your score: 1.0"),
    ]
    assert (first.task, first.rounds[0].text, first.info) == ("0", "i need a lamp", {"figures": "1 1.0 1.0 0.0"})
    assert _calls(second)[-1] == ("exit", {}, "")


def test_agents_that_call_each_other(tmp_path: Path) -> None:
    (run,) = _read(tmp_path, json.dumps(WHO_AND_WHEN) + "\n" + json.dumps(WHO_AND_WHEN))[:1]
    assert [(turn.author, turn.text) for turn in run.turns] == [
        ("Orchestrator", "Plan"),
        ("Orchestrator", "Next speaker WebSurfer"),
        ("Orchestrator", None),
        ("Coder", "Run:\n```python\nprint(4)\n```"),
        ("Checker", "Four it is."),
    ]
    assert _calls(run) == [
        ("WebSurfer", {"request": "Please look."}, "I see four."),
        ("Computer_terminal", {"code": "print(4)\n"}, "exitcode: 0\n4\n"),
    ]
    assert run.info["turn_of"] == [None, 0, 2, 1, 2, 3, 3, 4, None]
    assert (run.task, run.rounds[0].text, run.rounds[0].is_answered) == ("q-1", "How many are there?", True)
    assert (run.system, run.info["mistake_step"]) == ("Coder: You code.", "1")


def test_swe_agent_that_thinks_and_acts(tmp_path: Path) -> None:
    (run,) = _read(tmp_path, SWE_THOUGHTS)
    assert (run.system, run.rounds[0].text) == ("SETTING", "Fix it.")
    assert [turn.text for turn in run.turns] == ["Look.\n", "Done."]
    assert _calls(run) == [
        ("ls", {"command": "ls -F\n"}, "a\nb"),
        ("submit", {"command": "submit\n"}, "\ndiff"),
    ]
    assert run.info["exit_status"] == "submitted"


def test_swe_agent_that_calls_functions(tmp_path: Path) -> None:
    value = _swe_functions()
    (run,) = _read(tmp_path, value)
    assert _calls(run) == [("open", {"path": "a.py"}, "1: a")]
    del value["trajectory"]
    (run,) = _read(tmp_path, value)
    assert _calls(run) == [("open", {"path": "a.py"}, "1: a\n(Open file: a.py)")]


def test_swe_agent_without_a_trajectory_takes_what_was_shown(tmp_path: Path) -> None:
    (run,) = _read(tmp_path, {"history": SWE_THOUGHTS["history"]})
    assert _calls(run) == [
        ("ls", {"command": "ls -F\n"}, "a\nb\n(Open file: n/a)"),
        ("submit", {"command": "submit\n"}, None),
    ]


def test_a_form_may_be_named(tmp_path: Path) -> None:
    (run,) = _read(tmp_path, LANGCHAIN, form="react")
    assert len(run.calls) == 1
    for form in FORMATS:
        if form != "openai":
            with pytest.raises(graphmem.UnreadableRunError):
                _read(tmp_path, {"messages": CHAT}, form=form)
    with pytest.raises(graphmem.InvalidValueError, match="no format 'csv'; those that are read: openai"):
        _read(tmp_path, CHAT, form="csv")


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
    runs = _read(tmp_path, BAD_LINES, on_fault=faults.append)
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
        _read(tmp_path, BAD_LINES)


def test_a_first_line_that_is_cut_spoils_itself_alone(tmp_path: Path) -> None:
    faults: list[graphmem.UnreadableRunError] = []
    lines = [json.dumps({"messages": CHAT})[:40], json.dumps({"messages": CHAT}), json.dumps({"messages": CHAT})]
    assert len(_read(tmp_path, "\n".join(lines), on_fault=faults.append)) == 2
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
        (b"\xff\xfe{}", "none of the formats"),
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


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(graphmem.UnreadableRunError, match="cannot be read: No such file"):
        list(read(tmp_path / "none"))
    with pytest.raises(graphmem.UnreadableRunError, match="cannot be read: Is a directory"):
        list(read(tmp_path))


def test_a_file_of_entries_that_are_no_messages_is_refused(tmp_path: Path) -> None:
    histories: list[list[Any]] = [[3], [{"role": "x"}], [{"role": "human", "content": "a\x00"}]]
    for history in histories:
        with pytest.raises(graphmem.UnreadableRunError, match="message 0"):
            _read(tmp_path, {**WHO_AND_WHEN, "history": history})
    with pytest.raises(graphmem.UnreadableRunError, match="step 1: it is int"):
        _read(tmp_path, {**SWE_THOUGHTS, "trajectory": [SWE_THOUGHTS["trajectory"][0], 3]})


def _large_array(path: Path, count: int) -> None:
    record = json.dumps({"messages": [*CHAT[:3], {**CHAT[3], "content": "é" * 500_000}, CHAT[4]]}, ensure_ascii=False)
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for i in range(count):
            file.write((",\n" if i else "") + record)
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
    assert len(_read(tmp_path, f"{short}\n{long}\n{short}\n", on_fault=faults.append)) == 2
    assert _read(tmp_path, long, on_fault=faults.append) == []
    assert ["the most that one record is read of" in fault.reason for fault in faults] == [True, True]


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
