"""Progressive State Access as a question: what would an access show, and if nothing, why.

The graph is asked for facts; whether an access is accepted is decided by the rules that decide it for a model
(`graphmem.state.rules`). Invariant: nothing is written, so nothing is disclosed to the agent by looking.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from graphmem.errors import InvalidValueError
from graphmem.inspect.reads import legible, require_task, task_params
from graphmem.inspect.values import Disclosure, Reader
from graphmem.state.rules import validate
from graphmem.state.values import Access, ActiveState, IndexLine, Related, StepOutput
from graphmem.state.view import View
from graphmem.store import query
from graphmem.vocabulary import Relation, StateKind, short_name

Row = Mapping[str, Any]


def disclose(reader: Reader, space: str, task: str, ids: Sequence[str]) -> tuple[Disclosure, ...]:
    """What an access to each id would get in the open request, or in the next one when none is open; in their order.

    An id is that of a state, `obs:ℓ.i`, or `request:k`.

    Raises:
        NotFoundError: there is no such task.
        InvalidValueError: no id was given.
    """
    if not ids:
        raise InvalidValueError("disclose needs at least one id")
    rows = reader.read(query("inspect/disclose"), task_params(space, task, ids=list(ids)))
    if not rows:
        require_task(reader, space, task)
    with legible(space, task):
        return tuple(_disclosure(row) for row in rows)


def _disclosure(row: Row) -> Disclosure:
    view = _view(row)
    target = row["id"]
    plan = validate(StepOutput(access=(Access(target=target),)), view)
    reason = plan.rejected[0].why if plan.rejected else None
    asked = reason is None and target.startswith("request:")
    return Disclosure(
        target=target,
        request=row["request"],
        accepted=reason is None,
        reason=reason,
        already=reason is None and not plan.disclosed,
        state=_state(row) if reason is None and row["node"] is not None else None,
        lines=tuple(IndexLine(**line) for line in row["states"]) if asked else (),
    )


def _view(row: Row) -> View:
    """S and IDs(G) as far as this one id is concerned."""
    target, request, home = row["id"], row["request"], row["state_request"]
    only = frozenset({target})
    return View(
        request=request,
        own={target: _state(row)} if home == request else {},
        disclosed=only if row["in_s"] and row["node"] is not None else frozenset(),
        historical=only if home is not None and home < request else frozenset(),
        tool_refs=only if row["raw"] and row["cited"] else frozenset(),
        headings=frozenset({_number(target)}) if row["heading"] else frozenset(),
        unfolded=frozenset({_number(target)}) if row["heading"] and row["in_s"] else frozenset(),
        psa=row["psa"],
    )


def _number(target: str) -> int:
    return int(target.removeprefix("request:"))


def _state(row: Row) -> ActiveState:
    node = row["node"]
    more: dict[str, int] = {}
    for name in row["rest"]:
        more[name] = more.get(name, 0) + 1
    related = tuple(
        Related(id=r["id"], relation=Relation(r["type"].lower()), incoming=r["incoming"]) for r in row["related"]
    )
    raw = row["kind"] is None
    return ActiveState(
        id=node["id"],
        kind=None if raw else StateKind(row["kind"]),
        summary=short_name(f"{node['tool']} {node['arguments']}", characters=200) if raw else node["summary"],
        value=node.get("content") if raw else json.loads(node["value"]),
        related=related,
        own=row["state_request"] == row["request"],
        request=row["state_request"] or 0,
        more=more,
    )
