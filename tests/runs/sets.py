"""What a status must show, from the paper's sets alone: G and S of the open request, ToolRefs(S), relations in view.

A model in memory of one task, written from FlowState §2 and B.4, for runs without revise. It is fed with the outputs
and results of a run, and compares each status, its text included, with what the sets say.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from graphmem import Status, StepOutput, StepResult
from graphmem.state.render import UNKNOWN_OUTCOME

_FRAME = re.compile(r"<\\(\s*/?\s*(?:agent_status|latest_observation|user_query)\s*)>", re.IGNORECASE)
_PROMPT: Final = re.compile(
    r"<agent_status>\n(.*)\n</agent_status>\n\n<latest_observation>\n(.*)\n</latest_observation>\n\n<user_query>\n(.*)\n</user_query>",
    re.DOTALL,
)
_OBSERVATION_HEAD: Final = re.compile(r"^\[(obs:\d+\.\d+)\] ", re.MULTILINE)

Neighbours = set[tuple[str, str, bool]]


class Sets:
    """The sets of one task."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.states: dict[str, int] = {}
        self.refs: dict[str, tuple[tuple[str, str], ...]] = {}
        self.active: list[str] = []
        self.unfolded: set[int] = set()
        self.results: dict[str, str | None] = {}
        self.latest: tuple[str, ...] = ()
        self.reasons: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """The number of the latest request."""
        return len(self.requests)

    def open(self, text: str) -> None:
        """The next request: S is empty, nothing was observed in it."""
        self.requests.append(text)
        self.active, self.unfolded, self.latest, self.reasons = [], set(), (), ()

    def apply(self, output: StepOutput, result: StepResult) -> None:
        """An output whose operations are all valid; its access is judged against S before it (eq. 5)."""
        disclosed, rejected = self._judged([access.target for access in output.access])
        assert (result.disclosed, result.refused) == (tuple(disclosed), None)
        assert [reason.what for reason in result.rejected] == [f"access {target}" for target in rejected]
        assert result.added == tuple(op.id for op in output.delta if op.operation == "add")
        assert set(result.updated) == {op.id for op in output.delta if op.operation == "update"}
        for op in output.delta:
            if op.operation == "remove":
                del self.states[op.id], self.refs[op.id]
                self.active.remove(op.id)
                continue
            if op.operation == "add":
                self.states[op.id] = self.number
                self.active.append(op.id)
            if op.refs is not None:
                self.refs[op.id] = tuple((ref.relation.value, ref.target) for ref in op.refs)
        self.active += [target for target in disclosed if target not in self._requests()]
        self.unfolded |= {self._requests()[target] for target in disclosed if target in self._requests()}
        self.latest = ()
        self.reasons = tuple(reason.what for reason in result.rejected)

    def observe(self, ids: Sequence[str], contents: Sequence[str | None]) -> None:
        """The results of the latest calls."""
        assert not set(ids) & set(self.results), "an id of a raw result was given twice"
        self.results |= dict(zip(ids, contents, strict=True))
        self.latest = tuple(ids)

    def _judged(self, targets: Sequence[str]) -> tuple[list[str], list[str]]:
        """Which of R is newly disclosed, and which is outside IDs(G) ∪ ToolRefs(S) and names no earlier request."""
        tool_refs = {target for id_ in self.active for _, target in self.refs.get(id_, ()) if target in self.results}
        history = {id_ for id_, request in self.states.items() if request < self.number}
        shown = {id_ for id_ in self.active if self.states.get(id_) != self.number}
        shown |= {target for target, request in self._requests().items() if request in self.unfolded}
        allowed = history | tool_refs | shown | self._requests().keys()
        unique = list(dict.fromkeys(targets))
        return [t for t in unique if t in allowed and t not in shown], [t for t in targets if t not in allowed]

    def _requests(self) -> dict[str, int]:
        """Earlier requests by the names that they are asked for by."""
        return {f"request:{number}": number for number in range(1, self.number)}

    @property
    def cited(self) -> set[str]:
        """The raw results that a state in view refers to: those that can be asked for."""
        return {target for refs in self.refs.values() for _, target in refs if target in self.results}

    def neighbours(self, id_: str) -> Neighbours:
        """(id, relation, incoming) of all that is in view and related to a state or raw result."""
        outgoing = {(target, relation, False) for relation, target in self.refs.get(id_, ()) if self._in_view(target)}
        return outgoing | {
            (source, rel, True) for source, refs in self.refs.items() for rel, target in refs if target == id_
        }

    def _in_view(self, id_: str) -> bool:
        return id_ in self.states or id_ in self.results

    def check(self, status: Status) -> None:
        """The status and its text show exactly what the sets say."""
        assert status.request == self.number
        assert status.query == self.requests[-1]
        self._check_index(status)
        assert [state.id for state in status.active] == self.active
        for state in status.active:
            assert {(r.id, r.relation.value, r.incoming) for r in state.related} == self.neighbours(state.id), state.id
            assert state.own == (self.states.get(state.id) == self.number)
            assert state.kind is not None or state.value == self.results[state.id]
        assert [(o.id, o.content) for o in status.observation] == [(id_, self.results[id_]) for id_ in self.latest]
        assert tuple(reason.what for reason in status.reasons) == self.reasons
        self._check_text(status)

    def _check_index(self, status: Status) -> None:
        """Everything of earlier requests, or its newest part where the index is folded; whole what was asked for."""
        assert set(status.history.unfolded) == self.unfolded
        past = {id_: request for id_, request in self.states.items() if request < self.number}
        lines = {line.id: entry.request for entry in status.index for line in entry.states}
        assert all(id_ in lines for id_, request in past.items() if request in self.unfolded)
        expected = [id_ for id_, request in past.items() if request not in self.unfolded]
        shown = [id_ for id_, request in lines.items() if request not in self.unfolded]
        assert shown == expected[len(expected) - len(shown) :]
        requests = [entry.request for entry in status.index]
        folded = {number for a, b in status.history.folded_ranges for number in range(a, b + 1)}
        assert sorted(requests) == [number for number in range(1, self.number) if number not in folded]
        assert status.history.folded or len(lines) == len(past)
        for entry in status.index:
            text = self.requests[entry.request - 1]
            assert entry.text == text or " ".join(text.split()).startswith(entry.text.removesuffix("…"))
            assert all(self.states[line.id] == entry.request for line in entry.states)

    def _check_text(self, status: Status) -> None:
        """The prompt, read as a model reads it, names the ids of the status and no other."""
        prompt = _PROMPT.fullmatch(status.text())
        assert prompt is not None
        agent_status, observation, query = prompt.groups()
        observation = _FRAME.sub(r"<\1>", observation)
        index = [entry for entry in _section(agent_status, "Historical State Index") if "states" in entry]
        assert [(entry["query_id"], [state["state_id"] for state in entry["states"]]) for entry in index] == [
            (entry.request, [line.id for line in entry.states]) for entry in status.index
        ]
        active = _section(agent_status, "Active State")
        assert [state["state_id"] for state in active] == self.active
        for state in active:
            assert set(_related(state)) == self.neighbours(state["state_id"])
            if state["type"] == "observation":
                assert state["value"] == (self.results[state["state_id"]] or UNKNOWN_OUTCOME)
        assert tuple(_OBSERVATION_HEAD.findall(observation)) == self.latest
        assert all((self.results[id_] or "") in observation for id_ in self.latest)
        assert _FRAME.sub(r"<\1>", query) == self.requests[-1]


def _section(text: str, heading: str) -> list[dict[str, Any]]:
    start = text.index(f"{heading}:\n") + len(heading) + 2
    found, _ = json.JSONDecoder().raw_decode(text, start)
    assert isinstance(found, list)
    return found


def _related(state: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    return ((related["state_id"], related["rel"], "direction" in related) for related in state["related_states"])
