"""Rule-based access to history: which states a call that is about to be made may need (PSA without a model).

Decides from the request's text, the name of the tool and the names of its parameters; it never sees a value of an
argument. What a model is shown may be folded; a rule reads the whole index all the same, which costs no tokens, since a
folded id is in view and can be asked for. Pure. Invariant: it asks only for what the status offers: ids of the index,
requests that are folded, and raw results behind active states; and for nothing that is active already, so that asking
again comes to an end.
"""

import math
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
    said: frozenset[str]

    def worth(self, parameters: Sequence[str]) -> float:
        """How many of the parameters its fields name: as they are, or by a word that they share, which counts half."""
        return sum(1.0 if name in self.fields else 0.5 for name in parameters if self.names(name))

    def names(self, parameter: str) -> bool:
        """Whether one of its fields is, or shares a word with, the parameter."""
        own = {word for field in self.fields for word in words(field)} - _COMMON
        return parameter in self.fields or bool(set(words(parameter)) - _COMMON & own)


def wanted(status: Status, *, tool: str, parameters: Sequence[str], whole: Status | None = None) -> tuple[Access, ...]:
    """What to ask for before a call of `tool`; nothing when the status shows what its parameters need.

    Of what was disclosed for it, the raw results behind; else the state of a result whose fields match most parameters
    (among equals the one that says most words of the request, then the newest); and the last answer, where a short
    request lets a writing tool go ahead. `whole`: the same status with an index that is not folded, for one that is.
    Then names of things and the last answer are asked for, too, and where nothing matches, the folded request that says
    most words of this one, of the tool and of what it needs: once.
    """
    if not status.psa:
        return ()
    whole = whole or status
    needed = _needed(status, parameters)
    targets = list(_behind(status, needed)) or [*_state(whole, needed), *_answer(status, whole, tool)]
    if needed and not targets:
        targets = list(_folded(status, whole, (tool, *needed)))
    reason = f"{tool}: {' '.join(needed)}" if needed else f"what {tool} was agreed to do"
    return tuple(Access(target=target, reason=reason[:200]) for target in dict.fromkeys(targets))


def _needed(status: Status, parameters: Sequence[str]) -> list[str]:
    """Parameters that no field in view is called like; but names of things, where a whole index has these."""
    shown: set[str] = set()
    for observation in status.observation:
        shown |= {*results.parameters(results.read(observation.content).data)}
        shown |= {*results.parameters(observation.arguments)}
    for state in status.active:
        value = results.read(state.value).data if isinstance(state.value, str) else state.value
        shown |= {*results.parameters(value)}
    return [
        name
        for name in dict.fromkeys(parameters)
        if name not in shown and (status.history.folded or (words(name) or ("",))[-1] not in _NAMING)
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


def _state(status: Status, needed: Sequence[str]) -> Iterator[str]:
    offers = list(_offers(status))
    shared = _shared(frozenset(words(status.query)), [offer.said for offer in offers])
    ranked = [(offer.worth(needed), said, i) for i, (offer, said) in enumerate(zip(offers, shared, strict=True))]
    worth, _, i = max(ranked, default=(0.0, 0.0, 0))
    if worth >= 1:
        yield offers[i].target


def _offers(status: Status) -> Iterator[_Offer]:
    """Every state of a result that is not disclosed, oldest first."""
    fields = fields_told(status)
    active = {state.id for state in status.active}
    for entry in status.index:
        for line in entry.states:
            if line.id not in active and not line.id.startswith(SAID):
                yield _offer(line.id, f"{line.id} {line.summary}", _fields(line.summary, fields))
    for state in status.active:
        raw = _raw(state, status) if state.own and not state.id.startswith(SAID) else ()
        for target in raw:
            yield _offer(target, f"{state.id} {state.summary}", _fields(state.summary, fields))


def _offer(target: str, said: str, fields: frozenset[str]) -> _Offer:
    return _Offer(target=target, fields=fields, said=frozenset(words(said)))


def _fields(summary: str, told: dict[str, frozenset[str]]) -> frozenset[str]:
    """The fields of the tool that a summary begins with; the words of the summary where its tool has told none."""
    tool = re.split(r"[\s:]", summary, maxsplit=1)[0]
    return told.get(tool) or frozenset(words(summary))


def _answer(status: Status, whole: Status, tool: str) -> Iterator[str]:
    """The last answer: what a short request says to go ahead with stands there, and what a folded index leaves out."""
    if status.history.folded or (len(status.query) <= _SHORT_CHARACTERS and verbs.is_write(tool)):
        active = {state.id for state in status.active}
        answers = [line.id for entry in whole.index for line in entry.states if line.id.startswith("answer-")]
        yield from (id_ for id_ in answers[-1:] if id_ not in active)


def _folded(status: Status, whole: Status, named: Sequence[str]) -> Iterator[str]:
    """Of the requests that are not shown whole, the one with most of the words; nothing once one was unfolded."""
    shown = {entry.request for entry in status.index if not entry.cut}
    texts = [frozenset(words(" ".join((e.text, *(line.summary for line in e.states))))) for e in whole.index]
    shared = _shared(frozenset(words(" ".join((status.query, *named)))), texts)
    hidden = [(n, e.request) for n, e in zip(shared, whole.index, strict=True) if e.request not in shown]
    if hidden and not status.history.unfolded:
        yield f"request:{max(hidden)[1]}"


def _shared(asked: frozenset[str], texts: Sequence[frozenset[str]]) -> list[float]:
    """How much of what is asked each text says, a word counting the more the fewer texts say it (BM25's idf)."""
    in_texts = {word: sum(word in text for text in texts) for word in asked}
    rarity = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in in_texts.items()}
    return [sum(rarity[word] for word in asked & text) for text in texts]
