"""ReAct-style logs: text with `Thought:`, `Action:` and `Observation:` at the beginning of lines, numbered or not.

Episodes are parted by a rule with a number (WebShop) or by `Question:` (HotpotQA); `BEGIN TRIAL n` says which trial
follows, and `Reflections:` what the agent told itself before it. An action is `tool[input]`, or a tool's name with
`Action Input:`; `finish[…]` and `Final Answer:` answer. Invariant: an observation is everything between its mark and
the next one, byte for byte, without the line ending that parts them.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from graphmem.errors import UnreadableRunError
from graphmem.exchange.messages import NOTHING_SAID
from graphmem.exchange.values import Round, Run, Turn
from graphmem.state.values import ToolCall
from graphmem.vocabulary import Json, digest, short_name, text_fault, value_fault

_MARK: Final = re.compile(
    r"^(Question|Reflections?|Thought|Action Input|Action|Observation|Final Answer|Correct answer)"
    r"(?: (\d+))?: ?",
    re.MULTILINE,
)
_EPISODE: Final = re.compile(r"^-{5,}\n(\d+)\n(?=Action|Thought|Question)", re.MULTILINE)
_QUESTION: Final = re.compile(r"^Question: ?", re.MULTILINE)
_TRIAL: Final = re.compile(r"^#+\s*\n?BEGIN TRIAL (\d+)|^BEGIN TRIAL (\d+)", re.MULTILINE)
_HEADING: Final = re.compile(r"\s*(?:-{5,}.*|#{5,}\s*|BEGIN TRIAL .*|Trial summary: .*)?\s*\Z")
_CALL: Final = re.compile(r"\s*([\w.-]{1,60})\[(.*?)\]?\s*\Z", re.DOTALL)
_INSTRUCTION: Final = re.compile(r"Instruction:\s*\n?(.+?)\s*\n\s*\[Search\]", re.DOTALL)
_SCORE: Final = re.compile(r"\n\n(\d+(?: -?[\d.]+)+)\n?\Z")
_RETRY: Final = re.compile(
    r"\s*You have attempted to answer (?:the )?following question before and failed.*", re.DOTALL
)
_FINISH: Final = "finish"
_ORDER: Final = ("Thought", "Action", "Action Input", "Observation")
_CHARACTERS: Final = 60
_NAME_CHARACTERS: Final = 40


def matches_text(start: str) -> bool:
    """Whether a file that begins like that is of this form."""
    marks = {found[1] for found in _MARK.finditer(start)}
    return {"Action", "Observation"} <= marks


def read_text(text: str, *, where: str, on_fault: Callable[[UnreadableRunError], None]) -> Iterator[Run]:
    """The runs of a file; what is wrong with one is told, and the others are read."""
    for index, part in enumerate(_parts(text)):
        record = f"{where}, record {index}"
        try:
            yield _run(part, record)
        except UnreadableRunError as error:
            on_fault(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """The text of one episode."""

    text: str
    number: str = ""
    trial: int = 0


def _parts(text: str) -> Iterator[_Part]:
    trials = [(found.start(), int(found[1] or found[2])) for found in _TRIAL.finditer(text)]
    starts = list(_EPISODE.finditer(text)) or list(_QUESTION.finditer(text))
    numbered = bool(starts) and starts[0].re is _EPISODE
    if not starts:
        yield _Part(text=text)
        return
    ends = [*(start.start() for start in starts[1:]), len(text)]
    for start, end in zip(starts, ends, strict=True):
        trial = max((number for at, number in trials if at < start.start()), default=0)
        begin = start.end() if numbered else start.start()
        yield _Part(text=_trimmed(text[begin:end]), number=start[1] if numbered else "", trial=trial)


def _trimmed(text: str) -> str:
    """An episode without the rules and headings that follow it."""
    end = len(text)
    while (start := text.rfind("\n", 0, max(end - 1, 0)) + 1) and _HEADING.match(text[start:end]):
        end = start
    return text if text[end:].isspace() else text[:end]


@dataclass(slots=True)
class _Draft:
    """What is known of a turn before its observation."""

    thoughts: list[str] = field(default_factory=list)
    action: str | None = None
    given: str | None = None

    def turn(self, observation: str | None) -> Turn:
        calls = () if self.action is None else (_call(self.action, self.given),)
        return Turn(text="\n".join(self.thoughts) or None, calls=calls, results=(observation,) if calls else ())


def _run(part: _Part, where: str) -> Run:
    fault = text_fault(part.text)
    if fault is not None:
        raise UnreadableRunError(f"{fault}; remove or replace it", record=where)
    body, info = _scored(part.text)
    question, lesson, answer = None, None, None
    turns: list[Turn] = []
    draft = _Draft()
    for line, mark, text in _marked(body, where):
        match mark:
            case "Question":
                question = text
            case "Reflection" | "Reflections":
                lesson = text.strip() or None
            case "Correct answer":
                info["correct_answer"] = text.strip()
            case "Thought":
                draft.thoughts.append(text)
            case "Action Input":
                draft.given = text
            case "Action":
                if draft.action is not None:
                    turns.append(draft.turn(None))
                    draft = _Draft()
                draft.action = text
            case "Observation":
                if draft.action is None:
                    raise UnreadableRunError(
                        "an observation without its action", record=where, position=line, unit="line"
                    )
                turns.append(draft.turn(text))
                answer = _finished(draft.action) or answer
                draft = _Draft()
            case _:
                answer = text.strip() or answer
    if draft.action is not None or draft.thoughts:
        turns.append(draft.turn(None))
    if not turns:
        raise UnreadableRunError("it has neither an action nor a thought", record=where)
    asked = _RETRY.sub("", question).strip() if question is not None else _instruction(turns)
    if answer is not None:
        turns.append(Turn(text=answer))
    return Run(
        task=part.number or _name(asked),
        rounds=(Round(text=asked or NOTHING_SAID, turns=tuple(turns), is_answered=answer is not None),),
        trial=part.trial,
        source=where,
        lesson=lesson,
        info=info,
    )


def _scored(text: str) -> tuple[str, dict[str, Json]]:
    """An episode and the line of figures at its end."""
    found = _SCORE.search(text)
    return (text, {}) if found is None else (text[: found.start()], {"figures": found[1]})


def _marked(text: str, where: str) -> Iterator[tuple[int, str, str]]:
    """What stands behind each mark, with its line. A number is the one of the turn, or text that looks like a mark."""
    marks = list(_numbered(list(_MARK.finditer(text))))
    if not marks:
        raise UnreadableRunError("it has no line that begins with Action: or Observation:", record=where)
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    is_parted = text[: marks[-1].start()].count("\n\nAction") > 0
    for mark, end in zip(marks, ends, strict=True):
        content = text[mark.end() : end]
        parting = "\n\n" if is_parted and mark[1] == "Observation" and content.endswith("\n\n") else "\n"
        yield text.count("\n", 0, mark.start()), mark[1], content.removesuffix(parting)


def _numbered(marks: Sequence[re.Match[str]]) -> Iterator[re.Match[str]]:
    """The marks of turns that go on: a line of an observation may begin like a mark, of an earlier turn or of none."""
    has_numbers = any(mark[2] is not None for mark in marks)
    turn, last = 0, -1
    for mark in marks:
        order = _ORDER.index(mark[1]) if mark[1] in _ORDER else -1
        if order < 0 or not has_numbers:
            yield mark
        elif mark[2] is not None and (turn, last) < (int(mark[2]), order) and int(mark[2]) <= turn + 1:
            turn, last = int(mark[2]), order
            yield mark


def _call(action: str, given: str | None) -> ToolCall:
    found = _CALL.match(action)
    if given is not None:
        return ToolCall(name=_short(action), arguments=_arguments(given))
    if found is not None:
        return ToolCall(name=found[1], arguments={"input": found[2]})
    return ToolCall(name=_short(action), arguments={})


def _arguments(given: str) -> dict[str, Json]:
    try:
        read = json.loads(given)
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) and value_fault(read) is None else {"input": given}


def _short(action: str) -> str:
    return short_name(action, characters=_CHARACTERS) or "action"


def _finished(action: str) -> str | None:
    """The answer that an action gives, where it gives one."""
    found = _CALL.match(action)
    return found[2].strip() or None if found is not None and found[1].lower() == _FINISH else None


def _instruction(turns: list[Turn]) -> str:
    """What was asked, where the first observation says it (WebShop)."""
    results = [result for turn in turns for result in turn.results if result]
    found = _INSTRUCTION.search(results[0]) if results else None
    return found[1].strip() if found is not None else ""


def _name(asked: str) -> str:
    """A name for a question, the same in every trial."""
    words = "-".join(re.findall(r"[a-z0-9]+", asked.lower()))[:_NAME_CHARACTERS].strip("-")
    return f"{words}-{digest(asked)[:8]}" if asked else ""
