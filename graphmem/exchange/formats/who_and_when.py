"""Who&When logs (Zhang et al. 2025): several agents that failed together, with the step that a person blames.

A message to an agent is a call of it, and what that agent says next is the result; a terminal answers whoever spoke
before it. Other messages are turns without calls. A thought between a call and its result stands before the call, since
it was there first. `info["turn_of"]` has the turn of each entry of the history (None where it has none), by which the
blamed step is found. Invariant: every entry is the question, a turn, or a turn's result.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from graphmem.errors import UnreadableRunError
from graphmem.exchange.formats.openai import info_of, name_of
from graphmem.exchange.values import Round, Run, Turn
from graphmem.state.values import ToolCall
from graphmem.vocabulary import text_fault

_TO: Final = re.compile(r"(.*?)\s*\(->\s*(.+?)\)\s*\Z")
_ASIDE: Final = re.compile(r"(.*?)\s*\(.+\)\s*\Z")
_CODE: Final = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_TERMINALS: Final = ("computer_terminal", "computerterminal")
_END: Final = "TERMINATE"

Item = Mapping[str, Any]


def matches(value: object) -> bool:
    """Whether a record is of this form."""
    if not isinstance(value, Mapping) or not isinstance(value.get("history"), list):
        return False
    return "mistake_step" in value or "mistake_agent" in value


def read(value: Any, *, where: str, index: int) -> Run:
    """The run of a record.

    Raises:
        UnreadableRunError: an entry is no message, or cannot be stored.
    """
    record = {key: item for key, item in value.items() if key not in ("history", "system_prompt")}
    history = value["history"]
    reading = _Reading()
    question = value.get("question")
    for i, item in enumerate(history):
        speaker, content = _entry(item, i, where)
        if i == 0 and speaker == "human":
            question = content
            reading.of.append(None)
        else:
            reading.entry(speaker, content, is_last=i == len(history) - 1)
    if not isinstance(question, str) or not question.strip():
        raise UnreadableRunError("it has no question, and nobody asks one", record=where)
    turns, turn_of = reading.turns()
    answered = bool(turns) and not turns[-1].calls
    task, is_named = name_of(record, index)
    return Run(
        task=task,
        is_named=is_named,
        rounds=(Round(text=question, turns=turns, is_answered=answered),),
        source=where,
        system=_system(value.get("system_prompt")),
        info=info_of(record) | {"turn_of": turn_of},
    )


@dataclass(slots=True)
class _Turn:
    """A turn in the making. `awaits`: the agent that it called."""

    author: str
    text: str
    call: ToolCall | None = None
    result: str | None = None
    awaits: str | None = None
    entries: list[int] = field(default_factory=list)


class _Reading:
    """Entries read so far; `of` has the turn of each."""

    def __init__(self) -> None:
        self.of: list[_Turn | None] = []
        self._turns: list[_Turn] = []

    def entry(self, speaker: str, content: str, *, is_last: bool) -> None:
        """Take the next entry."""
        to = _TO.match(speaker)
        asked = self._awaiting(speaker)
        if is_last and content.strip() == _END:
            self.of.append(None)
        elif to is not None:
            call = ToolCall(name=to[2], arguments={"request": content})
            self._add(_Turn(to[1] or speaker, "", call=call, awaits=to[2]))
        elif asked is not None:
            asked.result, asked.awaits = content, None
            self.of.append(asked)
        elif speaker.lower() in _TERMINALS:
            self._answered(speaker, content)
        else:
            aside = _ASIDE.match(speaker)
            self._add(_Turn(aside[1] if aside else speaker, content))

    def turns(self) -> tuple[tuple[Turn, ...], list[int | None]]:
        """The turns, and the index of the turn of each entry."""
        made = tuple(
            Turn(
                text=turn.text or None,
                calls=() if turn.call is None else (turn.call,),
                results=() if turn.call is None else (turn.result,),
                author=turn.author or None,
            )
            for turn in self._turns
        )
        index = {id(turn): i for i, turn in enumerate(self._turns)}
        return made, [None if turn is None else index[id(turn)] for turn in self.of]

    def _awaiting(self, speaker: str) -> _Turn | None:
        return next((turn for turn in reversed(self._turns) if turn.awaits == speaker), None)

    def _add(self, turn: _Turn) -> None:
        self.of.append(turn)
        waits = next((i for i, before in enumerate(self._turns) if before.awaits is not None), None)
        if waits is None or turn.call is not None:
            for before in self._turns:
                before.awaits = None  # somebody else was asked: the answer never came
            self._turns.append(turn)
        else:
            self._turns.insert(waits, turn)

    def _answered(self, speaker: str, content: str) -> None:
        """A terminal ran the code of the message before it."""
        last = self._turns[-1] if self._turns else None
        if last is None or last.call is not None:
            last = _Turn(speaker, "")
            self._turns.append(last)
        last.call = ToolCall(name=speaker, arguments={"code": "\n\n".join(_CODE.findall(last.text))})
        last.result = content
        self.of.append(last)


def _entry(item: object, i: int, where: str) -> tuple[str, str]:
    """Who speaks, and what."""
    if not isinstance(item, Mapping):
        raise UnreadableRunError(f"it is {type(item).__name__}, not a message", record=where, position=i)
    speaker, content = item.get("name") or item.get("role"), item.get("content")
    if not isinstance(speaker, str) or not isinstance(content, str):
        raise UnreadableRunError("it says no name or role, or has no text as its content", record=where, position=i)
    fault = text_fault(content) or text_fault(speaker)
    if fault is not None:
        raise UnreadableRunError(fault, record=where, position=i)
    return speaker, content


def _system(prompts: object) -> str | None:
    if isinstance(prompts, Mapping):
        said: Sequence[str] = [f"{name}: {text}" for name, text in prompts.items() if text]
        return "\n\n".join(said) or None
    return prompts if isinstance(prompts, str) and prompts else None
