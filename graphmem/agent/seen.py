"""What a scripted agent sees: the prompt of a status, read back from its text.

The script works from this and from nothing else, as a model would. Invariant: a thing that the prompt does not show
raises; nothing is remembered from an earlier prompt.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphmem.errors import StoryError
from graphmem.llm.chat import Message

_RESULT = re.compile(r"^\[(obs:\d+\.\d+)\] ", re.M)


@dataclass(frozen=True, slots=True)
class Seen:
    """One prompt: `index` and `active` by state id, `reasons` by part, `results` by raw id in order; `hints` of H."""

    index: dict[str, str]
    active: dict[str, dict[str, Any]]
    reasons: dict[str, str]
    results: dict[str, str]
    query: str
    hints: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "Seen":
        """The prompt of the last message."""
        text = messages[-1].content
        index = _listed(text, "Historical State Index")
        return cls(
            index={line["state_id"]: line["summary"] for entry in index for line in entry.get("states", ())},
            active={entry["state_id"]: entry for entry in _listed(text, "Active State")},
            reasons={entry["what"]: entry["why"] for entry in _listed(text, "Not Accepted From Your Last Output")},
            results=_results(_block(text, "latest_observation")),
            query=_block(text, "user_query"),
            hints=tuple(_listed(text, "Hints From Earlier Attempts")),
        )

    def value(self, state_id: str) -> Any:
        """The value of a state in the Active State."""
        return self._entry(state_id)["value"]

    def related(self, state_id: str, beginning: str) -> str:
        """The id of a neighbour of an active state, by the beginning of that id."""
        found = [related["state_id"] for related in self._entry(state_id)["related_states"]]
        return self._only([id_ for id_ in found if id_.startswith(beginning)], f"neighbour {beginning}… of {state_id}")

    def state(self, beginning: str) -> str:
        """The id of an active state, by the beginning of that id."""
        return self._only([id_ for id_ in self.active if id_.startswith(beginning)], f"active state {beginning}…")

    def line(self, beginning: str) -> str:
        """The id of a historical state, by the beginning of that id."""
        return self._only([id_ for id_ in self.index if id_.startswith(beginning)], f"index line {beginning}…")

    @property
    def raw(self) -> list[str]:
        """The ids of the latest results."""
        return list(self.results)

    def result(self, number: int = 0) -> Any:
        """One of the latest results, as JSON."""
        return json.loads(list(self.results.values())[number])

    @property
    def words(self) -> str:
        """The first of the latest results, as text."""
        return next(iter(self.results.values()), "")

    @property
    def feedback(self) -> str:
        """Why the last attempt was left."""
        told = [hint["feedback"] for hint in self.hints if "feedback" in hint]
        return str(self._only(told, "feedback from an earlier attempt"))

    def needs_reason(self, what: str, word: str) -> None:
        """Make sure that the status tells why a part of the last output was not taken."""
        why = self.reasons.get(what, "")
        if word not in why:
            raise StoryError(
                f"the status does not say that {what!r} was left out because of {word!r}, but {self.reasons}"
            )

    def _entry(self, state_id: str) -> dict[str, Any]:
        if state_id not in self.active:
            raise StoryError(
                f"{state_id} is not in the Active State, which holds {', '.join(self.active) or 'nothing'}"
            )
        return self.active[state_id]

    @staticmethod
    def _only(found: list[str], what: str) -> str:
        if not found:
            raise StoryError(f"the prompt shows no {what}")
        return found[0]


def found(pattern: str, text: str) -> str:
    """The group of a pattern in a text that was shown."""
    match = re.search(pattern, text)
    if match is None:
        raise StoryError(f"{pattern!r} is not in what was shown: {text[:200]}")
    return match.group(1)


def number(pattern: str, text: str) -> int:
    """The number that a pattern finds, written with or without commas."""
    return int(found(pattern, text).replace(",", ""))


def _block(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.S)
    return found.group(1) if found else ""


def _listed(text: str, heading: str) -> list[dict[str, Any]]:
    status = _block(text, "agent_status")
    start = status.find(f"{heading}:\n")
    if start < 0:
        return []
    found: list[dict[str, Any]] = json.JSONDecoder().raw_decode(status, start + len(heading) + 2)[0]
    return found


def _results(text: str) -> dict[str, str]:
    starts = list(_RESULT.finditer(text))
    ends = [start.start() - 1 for start in starts[1:]] + [len(text)] * bool(starts)
    return {
        start.group(1): text[text.index("\n", start.end()) + 1 : end] for start, end in zip(starts, ends, strict=True)
    }
