"""The text of a status: the input prompt of FlowState, Appendix B.3.

Pure. The order is stable from its start, so that providers' prefix caches keep working: the index, which is fixed
during a request; active states in the order of their appearance; then what is new. Invariant: what stands in a block
can neither close it nor open another.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from graphmem.state.index import Index
from graphmem.state.values import ActiveState, IndexEntry, Observation, Reason, Related, ToolCall
from graphmem.vocabulary import json_text

_TAG: Final = re.compile(r"<(\s*/?\s*(?:agent_status|latest_observation|user_query)\s*)>", re.IGNORECASE)
_REASONS: Final = 50
UNKNOWN_OUTCOME: Final = "(outcome unknown: the call may or may not have run)"


def input_prompt(*, status: str, observation: str, query: str) -> str:
    """The three blocks of B.3's input prompt."""
    # A tag of the frame that stands in a text closes and opens nothing: in the JSON of the status its `<` is written
    # \u003c, which is the same text, and elsewhere it is broken by a backslash.
    blocks = (
        ("agent_status", _TAG.sub(r"\\u003c\1>", status)),
        ("latest_observation", _TAG.sub(r"<\\\1>", observation)),
        ("user_query", _TAG.sub(r"<\\\1>", query)),
    )
    return "\n\n".join(f"<{tag}>\n{text}\n</{tag}>" for tag, text in blocks)


def agent_status(
    index: Index | None,
    active: Sequence[ActiveState],
    reasons: Sequence[Reason],
    pending: Sequence[ToolCall],
    *,
    path: tuple[str, str, str] = ("", "", ""),
) -> str:
    """The agent_status block. Without PSA there is no index. `path`: the blocks of C, R and H, where told too."""
    completed, recent, hints = path
    parts = [] if index is None else [f"Historical State Index:\n{_list(_index_lines(index))}"]
    parts += [block for block in (completed, recent) if block]
    parts.append(f"Active State:\n{_list(_state_line(state) for state in active)}")
    parts += [hints] if hints else []
    if reasons:
        parts.append(f"Not Accepted From Your Last Output:\n{_list(_reason_lines(reasons))}")
    if pending:
        calls = (json_text({"name": call.name, "arguments": call.arguments}) for call in pending)
        parts.append(f"Calls Without Results Yet:\n{_list(calls)}")
    return "\n\n".join(parts)


def _reason_lines(reasons: Sequence[Reason]) -> Iterable[str]:
    for reason in reasons[:_REASONS]:
        yield json_text(reason.to_dict())
    if len(reasons) > _REASONS:
        yield json_text({"and_more": len(reasons) - _REASONS})


def _list(lines: Iterable[str]) -> str:
    text = ",\n".join(lines)
    return f"[\n{text}\n]" if text else "[]"


def _index_lines(index: Index) -> Iterable[str]:
    if index.folded_ranges:
        names = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in index.folded_ranges)
        yield json_text({"folded_queries": names, "to_list_one": 'access "request:<query_id>"'})
    for entry in index.entries:
        yield _entry_line(entry)


def _entry_line(entry: IndexEntry) -> str:
    head = {"user_query": entry.text, "query_id": entry.request}
    marks = {
        name: True for name, is_set in (("abandoned", entry.abandoned), ("older_states_folded", entry.cut)) if is_set
    }
    states = ",\n".join(json_text({"state_id": line.id, "summary": line.summary}) for line in entry.states)
    body = f"[\n{states}\n]" if states else "[]"
    return f'{json_text(head | marks)[:-1]},"states":{body}}}'


def _state_line(state: ActiveState) -> str:
    value = state.version.value_text if state.version is not None else json_text(state.value or UNKNOWN_OUTCOME)
    head = {
        "state_id": state.id,
        "type": "observation" if state.kind is None else state.kind.word,
        "related_states": [_related(related) for related in state.related],
    }
    more = {"related_states_left_out": dict(state.more)} if state.more else {}
    return f'{json_text(head | more | {"summary": state.summary})[:-1]},"value":{value}}}'


def _related(related: Related) -> dict[str, str]:
    entry = {"state_id": related.id, "rel": related.relation.value}
    return entry | {"direction": "incoming"} if related.incoming else entry


def observation_text(observations: Sequence[Observation]) -> str:
    """The latest observation: each raw result verbatim below a line with its id, tool and arguments."""
    return "\n".join(
        f"[{o.id}] {o.tool} {json_text(o.arguments)}\n{UNKNOWN_OUTCOME if o.content is None else o.content}"
        for o in observations
    )
