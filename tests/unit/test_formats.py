"""Files of recorded runs: each form is known by its content, and read exactly."""

import json
from pathlib import Path

import pytest

import graphmem
from graphmem.exchange import Round
from graphmem.exchange.formats import FORMATS

from .recorded_files import (
    CHAT,
    LANGCHAIN,
    REFLEXION,
    SWE_THOUGHTS,
    WEBSHOP,
    WHO_AND_WHEN,
    calls_of,
    read_runs,
    swe_functions,
)


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
        "\n".join(json.dumps(message) for message in CHAT),
        "\ufeff" + json.dumps(CHAT, indent=2),
        json.dumps({"messages": CHAT}, indent=2),
        json.dumps(CHAT, indent=2) + "\n" + json.dumps([CHAT], indent=2) + json.dumps(CHAT),
    ],
    ids=[
        "messages",
        "list",
        "key",
        "traj",
        "any-key",
        "lines",
        "lines-of-records",
        "lines-of-messages",
        "bom",
        "indented",
        "arrays",
    ],
)
def test_chat_messages_are_known_wherever_they_stand(tmp_path: Path, content: object) -> None:
    for run in read_runs(tmp_path, content):
        assert run.system == "policy"
        assert [(r.text, r.is_answered) for r in run.rounds] == [("How warm is it?", True)]
        assert calls_of(run) == [("weather", {"city": "Oslo"}, "12 °C\r\n")]


def test_a_record_says_its_task_its_trial_and_what_else_it_knows(tmp_path: Path) -> None:
    (run,) = read_runs(tmp_path, [{"task_id": 7, "trial": 2, "reward": 0.5, "long": "x" * 9000, "traj": CHAT}])
    assert (run.task, run.trial, run.info) == ("7", 2, {"task_id": 7, "trial": 2, "reward": 0.5})


def test_runs_without_a_name_have_their_number(tmp_path: Path) -> None:
    assert [run.task for run in read_runs(tmp_path, [{"traj": CHAT}, {"traj": CHAT}])] == ["0", "1"]


def test_a_transcript_names_no_calls(tmp_path: Path) -> None:
    text = "user: Hi\nthere\nassistant: None\ntool: {}\ntool: two\nlines\nassistant: Done\nuser: Bye"
    for content in ({"messages_display": text}, text + "\n"):
        (run,) = read_runs(tmp_path, content)
        assert [r.text for r in run.rounds] == ["Hi\nthere", "Bye"]
        assert calls_of(run) == [("not_recorded", {}, "{}"), ("not_recorded", {}, "two\nlines")]


def test_a_react_log_with_inputs_of_actions(tmp_path: Path) -> None:
    (run,) = read_runs(tmp_path, LANGCHAIN)
    assert [turn.text for turn in run.turns] == ["I should look.", "I know.", "12 degrees."]
    assert calls_of(run) == [("weather", {"city": "Oslo"}, "12 °C\n\nand sunny")]
    assert (run.rounds[0].text, run.rounds[0].is_answered) == ("How warm is it?", True)


def test_trials_with_reflections(tmp_path: Path) -> None:
    first, second, third = read_runs(tmp_path, REFLEXION)
    assert [(run.trial, run.rounds[0].text, run.lesson) for run in (first, second, third)] == [
        (1, "Who wrote it?", None),
        (1, "And when?", None),
        (2, "And when?", "- I guessed.\n- I should search."),
    ]
    assert second.task == third.task != first.task
    assert calls_of(first) == [
        (
            "Search",
            {"input": "it"},
            "It was written.\nThought 1: is a line of the page\n----- so is this -----\nBy Ann.",
        ),
        ("Finish", {"input": "Ann"}, "Answer is CORRECT"),
    ]
    assert (first.turns[-1].text, first.rounds[0].is_answered) == ("Ann", True)
    assert (calls_of(third), third.rounds[0].is_answered) == ([("Search", {"input": "when"}, "")], False)
    assert third.info == {"correct_answer": "2001"}


def test_trials_that_follow_one_another_in_one_record(tmp_path: Path) -> None:
    text = (
        "Context: \nQuestion: Where from?\nThought: Here.\nAction: Finish[Here]\nObservation: wrong\n"
        "Reflections: \n- Not here.\nThought: There.\nAction: Finish[There]\nObservation: right\n"
        "Reflections: \nCorrect answer: There\n\n"
        "Context: It is long.\n\nQuite. Question: Is it?\nThought: Yes.\nAction: Finish[Yes]\nObservation: right\n\n"
    )
    first, second, third = read_runs(tmp_path, text)
    assert [(run.trial, run.lesson, run.turns[-1].text) for run in (first, second, third)] == [
        (0, None, "Here"),
        (1, "- Not here.", "There"),
        (0, None, "Yes"),
    ]
    assert first.task == second.task
    assert third.rounds[0].text == "It is long.\n\nQuite. Question: Is it?"
    assert [calls_of(run)[0][2] for run in (first, second, third)] == ["wrong", "right", "right"]


def test_a_lesson_at_the_end_of_a_trial_is_for_the_next_one(tmp_path: Path) -> None:
    one = (
        "Question: q\nThought: t\nAction: Finish[a]\nObservation: wrong\nReflections:\n- Not a.\nCorrect answer: b\n\n"
    )
    text = f"BEGIN TRIAL 1\n\n{one}BEGIN TRIAL 2\n\n{one.replace('[a]', '[b]')}"
    assert [(run.trial, run.lesson) for run in read_runs(tmp_path, text)] == [(1, None), (2, "- Not a.")]


def test_steps_parted_by_blank_lines(tmp_path: Path) -> None:
    text = (
        "12 Question: Who?\nThought 1: a\nAction 1: Search[x]\nObservation 1: one\n\ntwo\n\n"
        "Thought 2: b\nAction 2: Finish[y]\nObservation 2: Episode finished\n\n"
        "13 Claim: It is.\nThought 1: c\nAction 1: Finish[SUPPORTS]\nObservation 1: reward = 1\n"
    )
    first, second = read_runs(tmp_path, text)
    assert [result for _, _, result in calls_of(first)] == ["one\n\ntwo", "Episode finished"]
    assert [run.rounds[0].text for run in (first, second)] == ["Who?", "It is."]
    assert (calls_of(second)[0][2], second.turns[-1].text) == ("reward = 1", "SUPPORTS")


def test_episodes_of_a_text_world(tmp_path: Path) -> None:
    text = (
        "put/one\nYour task is to: put it away.\nAct 1: think: where is it?\nObs 1: OK.\n"
        "Act 2: go to desk 1\nObs 2: A desk.\n"
        "------------\nclean/two\nYour task is to: clean it.\nAct 1: look\nObs 1: Nothing.\n------------\n"
    )
    first, second = read_runs(tmp_path, text)
    assert calls_of(first) == [("think", {"input": "where is it?"}, "OK."), ("go", {"input": "to desk 1"}, "A desk.")]
    assert (first.rounds[0].text, calls_of(second)) == (
        "put/one\nYour task is to: put it away.",
        [("look", {}, "Nothing.")],
    )


def test_a_question_that_nothing_was_done_about_is_a_run(tmp_path: Path) -> None:
    text = "Question: a?\nCorrect answer: b\n\nQuestion: c?\nAction: Finish[d]\nObservation: right\n"
    first, second = read_runs(tmp_path, text, form="react")
    assert (first.rounds, first.info) == ((Round(text="a?"),), {"correct_answer": "b"})
    assert len(second.turns) == 2


def test_episodes_of_webshop(tmp_path: Path) -> None:
    first, second = read_runs(tmp_path, WEBSHOP)
    assert calls_of(first) == [
        ("reset", {}, "\nWebshop \nInstruction:  \ni need a lamp \n[Search] "),
        ("search", {"input": "lamp"}, "\n[Back] \n[B01] \nLamp \n$9.98 "),
        ("think", {"input": "it is, I think"}, "OK."),
        ("click", {"input": "Buy Now"}, "Your score: 1.0"),
    ]
    assert (first.task, first.rounds[0].text, first.info) == ("0", "i need a lamp", {"figures": "1 1.0 1.0 0.0"})
    assert calls_of(second)[-1] == ("exit", {}, "")


def test_agents_that_call_each_other(tmp_path: Path) -> None:
    (run,) = read_runs(tmp_path, json.dumps(WHO_AND_WHEN) + "\n" + json.dumps(WHO_AND_WHEN))[:1]
    assert [(turn.author, turn.text) for turn in run.turns] == [
        ("Orchestrator", "Plan"),
        ("Orchestrator", "Next speaker WebSurfer"),
        ("Orchestrator", None),
        ("Coder", "Run:\n```python\nprint(4)\n```"),
        ("Checker", "Four it is."),
    ]
    assert calls_of(run) == [
        ("WebSurfer", {"request": "Please look."}, "I see four."),
        ("Computer_terminal", {"code": "print(4)\n"}, "exitcode: 0\n4\n"),
    ]
    assert run.info["turn_of"] == [None, 0, 2, 1, 2, 3, 3, 4, None]
    assert (run.task, run.rounds[0].text, run.rounds[0].is_answered) == ("q-1", "How many are there?", True)
    assert (run.system, run.info["mistake_step"]) == ("Coder: You code.", "1")


def test_swe_agent_that_thinks_and_acts(tmp_path: Path) -> None:
    (run,) = read_runs(tmp_path, SWE_THOUGHTS)
    assert (run.system, run.rounds[0].text) == ("SETTING", "Fix it.")
    assert [turn.text for turn in run.turns] == ["Look.\n", "Done."]
    assert calls_of(run) == [
        ("ls", {"command": "ls -F\n"}, "a\nb"),
        ("submit", {"command": "submit\n"}, "\ndiff"),
    ]
    assert run.info["exit_status"] == "submitted"


def test_swe_agent_that_calls_functions(tmp_path: Path) -> None:
    value = swe_functions()
    (run,) = read_runs(tmp_path, value)
    assert calls_of(run) == [("open", {"path": "a.py"}, "1: a")]
    del value["trajectory"]
    (run,) = read_runs(tmp_path, value)
    assert calls_of(run) == [("open", {"path": "a.py"}, "1: a\n(Open file: a.py)")]


def test_swe_agent_without_a_trajectory_takes_what_was_shown(tmp_path: Path) -> None:
    (run,) = read_runs(tmp_path, {"history": SWE_THOUGHTS["history"]})
    assert calls_of(run) == [
        ("ls", {"command": "ls -F\n"}, "a\nb\n(Open file: n/a)"),
        ("submit", {"command": "submit\n"}, None),
    ]


def test_a_form_may_be_named(tmp_path: Path) -> None:
    (run,) = read_runs(tmp_path, LANGCHAIN, form="react")
    assert len(run.calls) == 1
    for form in FORMATS:
        if form != "openai":
            with pytest.raises(graphmem.UnreadableRunError):
                read_runs(tmp_path, {"messages": CHAT}, form=form)
    with pytest.raises(graphmem.InvalidValueError, match="no format 'csv'; those that are read: openai"):
        read_runs(tmp_path, CHAT, form="csv")
