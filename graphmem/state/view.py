"""What an output is validated against, and what comes of it: S and IDs(G) as a view, and a plan.

Frozen values; the rules that lead from one to the other are in `graphmem.state.rules`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from graphmem.state.values import ActiveState, Reason, Ref
from graphmem.vocabulary import StateKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What the graph says of an id that the status did not show.

    `request`: of the live state with that id; `raw`: a raw result has it; `observed`: in this request, on the path;
    `cited_by`: live states that refer to it; `heading`: an earlier request that can be asked for; `abandoned`: one that
    a revise left behind, of which `live` states are in view.
    """

    id: str
    request: int | None = None
    raw: bool = False
    observed: bool = False
    cited_by: tuple[str, ...] = ()
    heading: bool = False
    abandoned: bool = False
    live: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """S and IDs(G) as an output is validated against them.

    `own`: states created in this request; `disclosed`: historical states and raw results in S; `historical`: ids of
    IDs(G) that are known; `tool_refs`: ToolRefs(S), eq. 5; `citable`: raw results that a ref may name; `headings`:
    requests that may be asked for; `folded`: IDs(G) holds more than `historical`.
    """

    request: int
    own: Mapping[str, ActiveState]
    disclosed: frozenset[str] = frozenset()
    historical: frozenset[str] = frozenset()
    tool_refs: frozenset[str] = frozenset()
    citable: frozenset[str] = frozenset()
    headings: frozenset[int] = frozenset()
    unfolded: frozenset[int] = frozenset()
    folded: bool = False
    raw_folded: bool = False
    psa: bool = True
    isu: bool = True

    def with_facts(self, facts: Iterable[Fact]) -> "View":
        """The view with what was found out about further ids."""
        view = self
        in_s = frozenset(view.own) | view.disclosed
        for fact in facts:
            if fact.request is not None and fact.id not in view.own:
                view = replace(view, historical=view.historical | {fact.id})
            if fact.raw and (fact.observed or fact.cited_by):
                view = replace(view, citable=view.citable | {fact.id})
            if fact.raw and in_s & set(fact.cited_by):
                view = replace(view, tool_refs=view.tool_refs | {fact.id})
            if fact.heading:
                view = replace(view, headings=view.headings | {request_number(fact.id)})
        return view


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A version to be created; `previous` is the one that it replaces, None for an added state."""

    id: str
    kind: StateKind
    summary: str
    value_text: str
    position: int
    previous: ActiveState | None = None
    refs: tuple[Ref, ...] = ()
    keeps_refs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The validated delta and access: what one transaction commits, and why the rest is not in it."""

    versions: tuple[NewVersion, ...] = ()
    removed: tuple[ActiveState, ...] = ()
    disclosed: tuple[str, ...] = ()
    rejected: tuple[Reason, ...] = ()

    @property
    def added(self) -> tuple[str, ...]:
        """Ids of states that begin."""
        return tuple(version.id for version in self.versions if version.previous is None)

    @property
    def updated(self) -> tuple[str, ...]:
        """Ids of states that get a new version."""
        return tuple(version.id for version in self.versions if version.previous is not None)


def request_number(id_: str) -> int:
    """The number in `request:<number>`; 0 when it is no such id."""
    found = re.fullmatch(r"request:([1-9][0-9]{0,8})", id_)
    return int(found[1]) if found else 0
