"""ReAct-style logs: text with `Thought:`, `Action:` and `Observation:` at the beginning of lines, numbered or not.

`BEGIN TRIAL n` says which trial follows; `Reflections:` is what the agent told itself before one, and begins another
where it comes after actions. An action is `tool[input]`, words of which the first names the tool, or a tool's name with
`Action Input:`; `finish[…]` and `Final Answer:` answer. Invariant: an observation is taken byte for byte.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from graphmem.errors import UnreadableRunError
from graphmem.exchange.formats.react_text import Episode, Mark, episodes, marks, names
from graphmem.exchange.messages import NOTHING_SAID
from graphmem.exchange.values import Round, Run, Turn
from graphmem.state.values import ToolCall
from graphmem.vocabulary import Json, digest, short_name, text_fault, value_fault

_CALL: Final = re.compile(r"\s*([\w.-]{1,60})\[(.*?)\]?\s*\Z", re.DOTALL)
_WORDS: Final = re.compile(r"\s*([\w.-]{1,60})[:\s]\s*(\S.*?)\s*\Z", re.DOTALL)
_INSTRUCTION: Final = re.compile(r"Instruction:\s*\n?(.+?)\s*\n\s*\[Search\]", re.DOTALL)
_FIGURES: Final = re.compile(r"\n\n(\d+(?: -?[\d.]+)+)\n?\Z")
_RETRY: Final = re.compile(
    r"\s*You have attempted to answer (?:the )?following question before and failed.*", re.DOTALL
)
_FINISH: Final = "finish"
_CHARACTERS: Final = 60
_NAME_CHARACTERS: Final = 40


def matches_text(start: str) -> bool:
    """Whether a file that begins like that is of this form."""
    return {"Action", "Observation"} <= names(start)


def read_text(text: str, *, where: str, on_fault: Callable[[UnreadableRunError], None]) -> Iterator[Run]:
    """The runs of a file; what is wrong with one is told, and the others are read."""
    lessons: dict[str, str] = {}
    for index, episode in enumerate(episodes(text)):
        record = f"{where}, record {index}"
        try:
            reading, info = _read(episode, record)
            runs = reading.runs(episode, info)
        except UnreadableRunError as error:
            on_fault(error)
            continue
        for run in runs:
            said = lessons.pop(run.task, None)  # at the end of the trial before
            yield run if run.lesson is not None else replace(run, lesson=said)
        if reading.left is not None:
            lessons[runs[-1].task] = reading.left


def _read(episode: Episode, where: str) -> tuple["_Reading", dict[str, Json]]:
    """An episode, and the figures at its end where it has some."""
    fault = text_fault(episode.text)
    if fault is not None:
        raise UnreadableRunError(f"{fault}; remove or replace it", record=where)
    figures = _FIGURES.search(episode.text) if episode.number else None
    text = episode.text if figures is None else episode.text[: figures.start()]
    opening, found = marks(text, is_alone=episode.is_alone)
    if not found:
        raise UnreadableRunError("none of its lines begins with Question:, Action: or Observation:", record=where)
    reading = _Reading(where, opening)
    for mark in found:
        reading.take(mark)
    return reading, {} if figures is None else {"figures": figures[1]}


@dataclass(slots=True)
class _Trial:
    """A trial in the making; the thoughts, the action and what it is given wait for their observation."""

    lesson: str | None = None
    turns: list[Turn] = field(default_factory=list)
    answer: str | None = None
    thoughts: list[str] = field(default_factory=list)
    action: str | None = None
    given: str | None = None

    @property
    def is_new(self) -> bool:
        return not (self.turns or self.thoughts or self.action)

    def close(self, observation: str | None) -> None:
        """The turn is over."""
        calls = () if self.action is None else (_call(self.action, self.given),)
        if calls or self.thoughts:
            text = "\n".join(self.thoughts) or None
            self.turns.append(Turn(text=text, calls=calls, results=(observation,) if calls else ()))
        self.answer = (_finished(self.action) if self.action is not None else None) or self.answer
        self.thoughts, self.action, self.given = [], None, None


class _Reading:
    """An episode as it is read, mark by mark."""

    def __init__(self, where: str, opening: str) -> None:
        self._where = where
        self._opening = opening.strip()
        self._question: str | None = None
        self._context = ""
        self._correct: str | None = None
        self._trials = [_Trial()]

    def take(self, mark: Mark) -> None:
        """Take the next mark."""
        trial = self._trials[-1]
        match mark.name:
            case "Context":
                self._context = mark.text.strip()
            case "Question":
                self._question = mark.text
            case "Reflections":
                if not trial.is_new:
                    trial.close(None)
                    trial = _Trial()
                    self._trials.append(trial)
                trial.lesson = mark.text.strip() or None
            case "Correct answer":
                self._correct = mark.text.strip()
            case "Final Answer":
                trial.answer = mark.text.strip() or trial.answer
            case "Thought":
                if trial.action is not None:
                    trial.close(None)
                trial.thoughts.append(mark.text)
            case "Action":
                if trial.action is not None:
                    trial.close(None)
                trial.action = mark.text
            case "Action Input":
                trial.given = mark.text
            case _:
                self._observed(trial, mark)

    @property
    def left(self) -> str | None:
        """A lesson after which nothing was done."""
        last = self._trials[-1]
        return last.lesson if len(self._trials) > 1 and not last.turns else None

    def runs(self, episode: Episode, info: dict[str, Json]) -> list[Run]:
        """The trials that were read: one, but where a reflection begins another."""
        self._trials[-1].close(None)
        asked, name = self._asked()
        if not asked and all(not trial.turns for trial in self._trials):
            raise UnreadableRunError("nothing is asked in it, and nothing done", record=self._where)
        if self._correct is not None:
            info["correct_answer"] = self._correct
        trials = [trial for trial in self._trials if trial.turns] or self._trials[:1]
        return [
            self._run(trial, asked, episode.number or name, episode.trial + i, info) for i, trial in enumerate(trials)
        ]

    def _run(self, trial: _Trial, asked: str, task: str, number: int, info: dict[str, Json]) -> Run:
        answer = () if trial.answer is None else (Turn(text=trial.answer),)
        turns = (*trial.turns, *answer)
        return Run(
            task=task,
            rounds=(Round(text=asked or NOTHING_SAID, turns=turns, is_answered=trial.answer is not None),),
            trial=number,
            source=self._where,
            lesson=trial.lesson,
            info=info,
        )

    def _asked(self) -> tuple[str, str]:
        """What is asked, with its context, and a name for it that is the same in every trial."""
        question = "" if self._question is None else _RETRY.sub("", self._question).strip()
        if not question and self._context:
            question = _RETRY.sub("", self._context.rpartition("Question:")[2]).strip()
        asked = "\n".join(filter(None, (_RETRY.sub("", self._context), question if self._question else "")))
        if not asked:
            results = [result for turn in self._trials[0].turns for result in turn.results if result]
            found = _INSTRUCTION.search(results[0]) if results else None
            asked = question = found[1].strip() if found is not None else self._opening
        words = "-".join(re.findall(r"[a-z0-9]+", question.lower()))[:_NAME_CHARACTERS].strip("-")
        return asked, f"{words}-{digest(question)[:8]}".strip("-") if question else ""

    def _observed(self, trial: _Trial, mark: Mark) -> None:
        if trial.action is None:
            raise UnreadableRunError(
                "an observation without its action", record=self._where, position=mark.line, unit="line"
            )
        trial.close(mark.text)


def _call(action: str, given: str | None) -> ToolCall:
    if given is not None:
        return ToolCall(name=_short(action), arguments=_arguments(given))
    found = _CALL.match(action) or _WORDS.match(action)
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
