"""Rule-based access to history: which states a call that is about to be made may need (PSA without a model).

Decides from the request's text, the name of the tool and the names of its parameters; it never sees a value of an
argument. Pure. Invariant: it asks only for what the status shows: ids of the index, and raw results behind active
states.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from graphmem.exchange.results import words
from graphmem.state.values import Access
from graphmem.task.status import Status

_AT_ONCE: Final = 2
_COMMON: Final = frozenset(
    "a an and any are as at be by can do for from have i id if in is it me my of on or so that the them then this to us we with you your".split()
)


def wanted(status: Status, *, tool: str, parameters: Sequence[str], at_once: int = _AT_ONCE) -> tuple[Access, ...]:
    """What to ask for before a call of `tool` with these parameters: at most `at_once` states, the best ones first."""
    asked = set(words(tool)) | {word for name in parameters for word in words(name)} | set(words(status.query))
    asked -= _COMMON
    scored = [(len(asked & set(words(line))), index, target) for index, (target, line) in enumerate(_askable(status))]
    best = sorted((item for item in scored if item[0] > 0), key=lambda item: (-item[0], -item[1]))
    reason = f"what {tool} may need"
    return tuple(Access(target=target, reason=reason) for _, _, target in best[:at_once])


def _askable(status: Status) -> Iterator[tuple[str, str]]:
    """Ids that may be asked for, with the line that tells of each."""
    active = {state.id for state in status.active}
    for entry in status.index:
        yield from ((line.id, line.summary) for line in entry.states if line.id not in active)
    for state in status.active:
        for related in state.related:
            if related.id.startswith("obs:") and related.id not in active:
                yield related.id, state.summary
