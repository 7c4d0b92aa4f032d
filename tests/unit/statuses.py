"""Statuses and what stands in them, for the tests of the rule-based writer and of rule-based access."""

from collections.abc import Sequence

from graphmem import Relation, StateKind
from graphmem.llm.tokens import estimate
from graphmem.state.index import Index
from graphmem.state.values import ActiveState, IndexEntry, IndexLine, Observation, Related
from graphmem.task import Status
from graphmem.vocabulary import Json


def status_of(
    query: str = "Please look",
    *,
    request: int = 1,
    index: Sequence[tuple[str, str]] = (),
    active: Sequence[ActiveState] = (),
    observation: Sequence[Observation] = (),
    isu: bool = True,
    psa: bool = True,
) -> Status:
    lines = tuple(IndexLine(id=id_, summary=summary) for id_, summary in index)
    entries = (IndexEntry(request=1, text="earlier", states=lines),) if index else ()
    return Status(
        space="s",
        task="t",
        request=request,
        query=query,
        version=1,
        history=Index(entries=entries),
        active=tuple(active),
        observation=tuple(observation),
        reasons=(),
        pending=None,
        psa=psa,
        isu=isu,
        locked=True,
        p_b="",
        p_t="",
        tokenizer=estimate(),
    )


def saw(content: str | None, tool: str = "get_user", *, id_: str = "obs:1.1", **arguments: Json) -> Observation:
    return Observation(id=id_, tool=tool, arguments=arguments, content=content)


def active_state(id_: str, *, own: bool = True, raw: str = "", summary: str = "it") -> ActiveState:
    kind = StateKind.ATTRIBUTE if "@" in id_ else StateKind.KNOWLEDGE
    related = (Related(id=raw, relation=Relation.DERIVES),) if raw else ()
    return ActiveState(id=id_, kind=kind, summary=summary, value=None, related=related, own=own, request=1)
