"""Conversations printed as text: `user: …`, `assistant: …`, `tool: …`, each beginning a line.

The text is a record's (`messages_display`) or a file's. It names no calls: where a tool answers, a call of unknown name
is put before it. Invariant: what a tool said is taken as it stands, up to the next speaker.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from graphmem.errors import UnreadableRunError
from graphmem.exchange.formats.openai import info_of, name_of
from graphmem.exchange.messages import conversation
from graphmem.exchange.values import Run

KEY: Final = "messages_display"
NOT_RECORDED: Final = "not_recorded"
_SPEAKER: Final = re.compile(r"^(system|developer|user|assistant|tool): ?", re.MULTILINE)
_NOTHING: Final = "None"


def matches(value: object) -> bool:
    """Whether a record is of this form."""
    return isinstance(value, Mapping) and isinstance(value.get(KEY), str)


def matches_text(start: str) -> bool:
    """Whether a file that begins like that is of this form."""
    return re.match(r"\s*(system|user|assistant): ", start) is not None


def read(value: Any, *, where: str, index: int) -> Run:
    """The run of a record.

    Raises:
        UnreadableRunError: no speaker is named at its beginning.
    """
    record = {key: item for key, item in value.items() if key != KEY}
    task, is_named = name_of(record, index)
    return replace(_run(value[KEY], where=where), task=task, is_named=is_named, info=info_of(record))


def read_text(text: str, *, where: str) -> Run:
    """The run of a file.

    Raises:
        UnreadableRunError: no speaker is named at its beginning.
    """
    return _run(text.removesuffix("\n"), where=where)


def _run(text: str, *, where: str) -> Run:
    found = conversation(_messages(text, where), record=where)
    return Run(task="", is_named=False, rounds=found.rounds, source=where, system=found.system)


def _messages(text: str, where: str) -> list[dict[str, Any]]:
    speakers = list(_SPEAKER.finditer(text))
    if not speakers or text[: speakers[0].start()].strip():
        raise UnreadableRunError("its first line names no speaker: user, assistant, tool", record=where)
    ends = [*(speaker.start() - 1 for speaker in speakers[1:]), len(text)]
    messages: list[dict[str, Any]] = []
    for speaker, end in zip(speakers, ends, strict=True):
        role, content = speaker[1], text[speaker.end() : max(end, speaker.end())]
        if role == "tool":
            _call(messages)
        is_null = role == "assistant" and content == _NOTHING
        messages.append({"role": role, "content": None if is_null else content})
    return messages


def _call(messages: list[dict[str, Any]]) -> None:
    """Let the assistant that spoke last make a call more, or one that said nothing."""
    before = next((m for m in reversed(messages) if m["role"] != "tool"), None)
    if before is None or before["role"] != "assistant":
        before = {"role": "assistant", "content": None}
        messages.append(before)
    before.setdefault("tool_calls", []).append({"id": "", "function": {"name": NOT_RECORDED, "arguments": {}}})
