"""The trajectory that a full-context agent would carry through the same run (FlowState, B.3 and §3.1), to compare with.

Owns its text and nothing of graphmem's. It holds user texts, tool calls, results and messages, without the state blocks
that such an agent does not write, so that the comparison does not flatter: what is counted is the least it could be.
"""

from collections.abc import Sequence

from graphmem.agent.prompts import fill, prompt
from graphmem.state.values import ToolCall, ToolResult
from graphmem.vocabulary import json_text


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
        self._observation = "\n".join(result.content or "" for result in results)

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
