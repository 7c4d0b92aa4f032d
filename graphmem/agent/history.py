"""The trajectory that a full-context agent would carry through the same run (FlowState, B.3 and §3.1), to compare with.

Owns its text and nothing of graphmem's. It holds user texts, tool calls, results and messages, without the state blocks
that such an agent does not write, so that the comparison does not flatter: what is counted is the least it could be.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from graphmem.agent.prompts import fill, prompt
from graphmem.inspect import Reader, log
from graphmem.state.render import UNKNOWN_OUTCOME
from graphmem.state.values import ToolCall, ToolResult
from graphmem.store import query
from graphmem.vocabulary import json_text

_ALL: Final = 2**31 - 1
_NEAR: Final = 5  # between a step with calls and their observation stands a compression at most


class History:
    """Everything said and done so far, in the form of B.3's full-context prompt."""

    def __init__(self) -> None:
        self._entries: list[str] = []
        self._observation = ""
        self._query = ""
        self._asked_at = 0

    def ask(self, text: str) -> None:
        """The user's next request."""
        self._settle()
        if self._query:
            self._entries.insert(self._asked_at, f"User: {self._query}")
        self._query, self._asked_at = text, len(self._entries)

    def act(self, calls: Sequence[ToolCall], results: Sequence[ToolResult], message: str | None) -> None:
        """A decision of the model and what came of it; nothing for a step that only kept its own state."""
        if not calls and message is None:
            return
        self._settle()
        told = [{"name": call.name, "arguments": call.arguments} for call in calls]
        self._entries.append(f"Assistant: {message if message is not None else json_text(told)}")
        self._observation = "\n".join(_content(result) for result in results)

    def refuse(self, what: str, why: str) -> None:
        """What was not taken of the model's last output is told below the latest observation."""
        self._observation = f"{self._observation}\nNot accepted from your last output: {what}: {why}".lstrip()

    @property
    def last(self) -> str:
        """The last entry of the trajectory."""
        return self._entries[-1] if self._entries else ""

    def text(self) -> str:
        """The input prompt with the whole trajectory."""
        fields = {
            "full_trajectory": "\n\n".join(self._entries),
            "observation": self._observation,
            "query": self._query,
        }
        return fill(prompt("full_context_input"), fields)

    def _settle(self) -> None:
        if self._observation:
            self._entries.append(f"Observation: {self._observation}")
            self._observation = ""


def told(reader: Reader, space: str, task: str) -> History:
    """The history of a task as its ledger has it; what a revise left behind is not in it.

    Of a fork, what came with it stands there as far as it did: requests and recent results.
    """
    p = {"space": space, "task": task, "first": 1, "limit": _ALL, "characters": _ALL, "all": False}
    history, calls, called = History(), tuple[ToolCall, ...](), 0
    for step, same_step in groupby(reader.read(query("inspect/texts"), p), key=lambda row: row["step"]):
        rows: dict[str, list[Mapping[str, Any]]] = {}
        for found in same_step:
            rows.setdefault(found["what"], []).append(found)
        if calls and rows.keys() & {"raw result", "request", "call", "message"}:
            history.act(calls, _results(reader, space, task, called, calls, rows.get("raw result", ())), None)
            calls = ()
        for row in rows.get("request", ()):
            history.ask(row["text"])
        for row in rows.get("call", ()):
            calls, called = tuple(ToolCall(**call) for call in json.loads(row["text"])), step
        for row in rows.get("message", ()):
            history.act((), (), row["text"])
    if calls:
        history.act(calls, _results(reader, space, task, called, calls, ()), None)
    return history


def _results(
    reader: Reader, space: str, task: str, step: int, calls: Sequence[ToolCall], rows: Sequence[Mapping[str, Any]]
) -> list[ToolResult]:
    """The results of the calls of a step, those that no row has as unknown; none where they stand further up."""
    lines = () if rows else log(reader, space, task, first=step, last=step + _NEAR)
    if any(line.of_step == step and line.merged for line in lines):
        return []
    found = {int(row["id"].rpartition(".")[2]): row["text"] for row in rows}
    return [ToolResult(call_id=call.id, content=found.get(i)) for i, call in enumerate(calls, 1)]


def _content(result: ToolResult) -> str:
    return UNKNOWN_OUTCOME if result.content is None else result.content
