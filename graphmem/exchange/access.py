"""Rule-based access to history: which states a call that is about to be made may need (PSA without a model).

Decides from the request's text, the name of the tool and the names of its parameters; it never sees a value of an
argument. Pure. Invariant: it asks only for what the status offers: ids of the index, and raw results behind active
states; and for nothing that is active already, so that asking again comes to an end.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from graphmem.exchange import results, verbs
from graphmem.exchange.results import words
from graphmem.exchange.writer import SAID, fields_told
from graphmem.state.values import Access, ActiveState
from graphmem.task.status import Status

_SHORT_CHARACTERS: Final = 90
_NAMING: Final = frozenset(("id", "ids", "number", "code", "symbol", "key", "username", "email", "reference"))
_COMMON: Final = frozenset(
    ("id", "ids", "number", "name", "type", "list", "the", "of", "to", "a", "is", "get", "value")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offer:
    """A state of a result that may be asked for: by `target`, itself or the raw result behind it."""

    target: str
    fields: frozenset[str]

    def worth(self, parameters: Sequence[str]) -> float:
        """How many of the parameters its fields name: as they are, or by a word that they share, which counts half."""
        return sum(1.0 if name in self.fields else 0.5 for name in parameters if self.names(name))

    def names(self, parameter: str) -> bool:
        """Whether one of its fields is, or shares a word with, the parameter."""
        own = {word for field in self.fields for word in words(field)} - _COMMON
        return parameter in self.fields or bool(set(words(parameter)) - _COMMON & own)


def wanted(status: Status, *, tool: str, parameters: Sequence[str], at_once: int = 1) -> tuple[Access, ...]:
    """What to ask for before a call of `tool`; nothing when the status shows what its parameters need.

    Of what was disclosed for it, the raw results behind; else at most `at_once` states of results, those whose fields
    match most parameters, newest first; and the last answer, where a short request lets a writing tool go ahead.
    """
    if not status.psa:
        return ()
    needed = _needed(status, parameters)
    targets = list(_behind(status, needed)) or [*_states(status, needed, at_once), *_answer(status, tool)]
    reason = f"{tool}: {' '.join(needed)}" if needed else f"what {tool} was agreed to do"
    return tuple(Access(target=target, reason=reason[:200]) for target in dict.fromkeys(targets))


def _needed(status: Status, parameters: Sequence[str]) -> list[str]:
    """Parameters that no field in view is called like; but names of things, since the index has these."""
    shown: set[str] = set()
    for observation in status.observation:
        shown |= {*results.parameters(results.read(observation.content).data)}
        shown |= {*results.parameters(observation.arguments)}
    for state in status.active:
        value = results.read(state.value).data if isinstance(state.value, str) else state.value
        shown |= {*results.parameters(value)}
    return [
        name for name in dict.fromkeys(parameters) if name not in shown and (words(name) or ("",))[-1] not in _NAMING
    ]


def _behind(status: Status, needed: Sequence[str]) -> Iterator[str]:
    """Raw results behind disclosed states, as long as something is needed."""
    if needed:
        for state in status.active:
            if not state.own and state.kind is not None and not state.id.startswith(SAID):
                yield from _raw(state, status)


def _raw(state: ActiveState, status: Status) -> list[str]:
    active = {other.id for other in status.active}
    return [r.id for r in state.related if r.id.startswith("obs:") and not r.incoming and r.id not in active]


def _states(status: Status, needed: Sequence[str], at_once: int) -> Iterator[str]:
    left = list(needed)
    offers = list(_offers(status))
    for _ in range(at_once):
        best = max(enumerate(offers), key=lambda item: (item[1].worth(left), item[0]), default=None)
        if best is None or best[1].worth(left) < 1:
            return
        yield best[1].target
        left = [name for name in left if not best[1].names(name)]
        offers.remove(best[1])


def _offers(status: Status) -> Iterator[_Offer]:
    """Every state of a result that is not disclosed, oldest first."""
    fields = fields_told(status)
    active = {state.id for state in status.active}
    for entry in status.index:
        for line in entry.states:
            if line.id not in active and not line.id.startswith(SAID):
                yield _Offer(target=line.id, fields=_fields(line.summary, fields))
    for state in status.active:
        raw = _raw(state, status) if state.own and not state.id.startswith(SAID) else ()
        for target in raw:
            yield _Offer(target=target, fields=_fields(state.summary, fields))


def _fields(summary: str, told: dict[str, frozenset[str]]) -> frozenset[str]:
    """The fields of the tool that a summary begins with; the words of the summary where its tool has told none."""
    tool = re.split(r"[\s:]", summary, maxsplit=1)[0]
    return told.get(tool) or frozenset(words(summary))


def _answer(status: Status, tool: str) -> Iterator[str]:
    """The last answer, when the request is short: what it says to go ahead with stands there."""
    if len(status.query) <= _SHORT_CHARACTERS and verbs.is_write(tool):
        active = {state.id for state in status.active}
        answers = [line.id for entry in status.index for line in entry.states if line.id.startswith("answer-")]
        yield from (id_ for id_ in answers[-1:] if id_ not in active)
