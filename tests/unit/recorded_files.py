"""Small files of recorded runs, one of each form, and how they are read."""

import json
from pathlib import Path
from typing import Any

from graphmem.exchange import Run
from graphmem.exchange.formats import read

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


def swe_functions() -> dict[str, Any]:
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


def read_runs(folder: Path, content: object, **options: Any) -> list[Run]:
    path = folder / "runs"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read(path, **options))


def calls_of(run: Run) -> list[tuple[str, Any, str | None]]:
    return [
        (call.name, call.arguments, result)
        for turn in run.turns
        for call, result in zip(turn.calls, turn.results, strict=True)
    ]
