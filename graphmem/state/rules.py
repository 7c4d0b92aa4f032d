"""The execution rules P of FlowState (Appendix B.4): Validate_upd and Validate_acc, and what a valid delta commits.

Pure: everything is decided against a `View` of S before the delta, so no operation sees the effect of another one of
the same output. Invariant: one bad operation never stops the others; each that is left out has a reason the model can
act on.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from graphmem.state.values import Access, ActiveState, Operation, Reason, Ref, StepOutput
from graphmem.state.view import NewVersion, Plan, View, request_number
from graphmem.vocabulary import RESERVED_PREFIXES, Relation, StateKind, json_text, short_name

_HISTORICAL: Final = "it belongs to an earlier request; add a new state and link it to this one through refs"


def refusal(output: StepOutput) -> str | None:
    """Why an output cannot be taken at all (eq. 3: y ≠ (∅, ∅, ∅), and z is one decision); None when it can."""
    if output.fault is not None:
        return output.fault
    if output.message is not None and output.tool_calls:
        return "tool_calls and assistant_message are one decision: give one of them, not both"
    if not (output.delta or output.access or output.tool_calls or output.message is not None):
        return "every block is empty: give at least one state operation, access, tool call or message"
    return None


def unknown_ids(output: StepOutput, view: View) -> tuple[str, ...]:
    """The ids named whose standing the status did not show, so that the graph has to be asked."""
    added = {op.id for op in output.delta if op.operation == "add" and not op.id.startswith(RESERVED_PREFIXES)}
    named = {ref.target for op in output.delta for ref in _refs(op)} - added
    asked = {access.target for access in output.access}
    unknown = {id_ for id_ in named | asked if not _shown(id_, view) and _could_exist(id_, view)}
    unknown |= {id_ for id_ in named if id_.startswith("obs:") and id_ not in view.citable}
    if view.raw_folded:
        unknown |= {id_ for id_ in asked if id_.startswith("obs:") and id_ not in view.tool_refs}
    return tuple(sorted(unknown))


def unseen_adds(output: StepOutput, view: View) -> tuple[str, ...]:
    """The ids of adds that a folded index may hide: presumed unused, to be looked at under the lock."""
    added = {op.id for op in output.delta if op.operation == "add" and op.fault is None}
    return tuple(sorted(id_ for id_ in added if not _shown(id_, view) and _could_exist(id_, view)))


def _shown(id_: str, view: View) -> bool:
    return id_ in view.own or id_ in view.historical or id_ in view.disclosed


def _could_exist(id_: str, view: View) -> bool:
    if id_.startswith("request:"):
        return request_number(id_) not in view.headings and view.folded
    return view.folded and not id_.startswith(RESERVED_PREFIXES)


def validate(output: StepOutput, view: View) -> Plan:
    """Validate_upd and Validate_acc of one output against S (B.4; equations 1, 2 and 5)."""
    reasons: list[Reason] = []
    accepted = valid_operations(output.delta, view, reasons)
    disclosed = tuple(_valid_access(output.access, view, reasons))
    removed = {op.id for op in accepted if op.operation == "remove"}
    return Plan(
        versions=tuple(_versions(accepted, removed, view)),
        removed=tuple(view.own[id_] for id_ in dict.fromkeys(op.id for op in accepted if op.operation == "remove")),
        disclosed=disclosed,
        rejected=tuple(reasons),
    )


def validate_across(output: StepOutput, before: View, after: View) -> Plan:
    """The plan of an output that goes back: valid in S before the restoration and after it, for the latter."""
    reasons: list[Reason] = []
    accepted = valid_operations(output.delta, before, reasons)
    # What S held already may have been disclosed by a step that is left behind, so it is asked for again.
    access = tuple(_without_fault(output.access, before, reasons))
    plan = validate(replace(output, delta=tuple(accepted), access=access), after)
    return replace(plan, rejected=tuple(reasons) + plan.rejected)


def valid_operations(delta: tuple[Operation, ...], view: View, reasons: list[Reason]) -> list[Operation]:
    """The largest set of operations that hold together: each valid by itself, none resting on one that is not."""
    first_add = {op.id: i for i, op in reversed(list(enumerate(delta))) if op.operation == "add"}
    found: dict[int, str] = {}
    for i, op in enumerate(delta):
        why = _own_fault(op, view, is_second_add=op.operation == "add" and first_add[op.id] != i)
        if why is not None:
            found[i] = why
    removed = {op.id for i, op in enumerate(delta) if op.operation == "remove" and i not in found}
    rest_on: dict[str, list[int]] = {}
    for i, op in enumerate(delta):
        if i not in found:
            why, adds = _refs_fault(op, view, removed=removed, adds=first_add)
            if why is not None:
                found[i] = why
            for id_ in adds:
                rest_on.setdefault(id_, []).append(i)
    _reject_what_rests_on(list(found), delta, first_add, rest_on, found)
    reasons += [
        Reason(what=f"{op.operation} {op.id}".strip(), why=found[i]) for i, op in enumerate(delta) if i in found
    ]
    return [op for i, op in enumerate(delta) if i not in found]


def _reject_what_rests_on(
    lost: list[int],
    delta: tuple[Operation, ...],
    first_add: Mapping[str, int],
    rest_on: Mapping[str, list[int]],
    found: dict[int, str],
) -> None:
    """Reject what refers to a rejected add, and what refers to that, until nothing more falls."""
    while lost:
        i = lost.pop()
        if first_add.get(delta[i].id) != i:
            continue
        for j in rest_on.get(delta[i].id, ()):
            if j not in found:
                found[j] = f"it refers to {delta[i].id}, whose add was rejected"
                lost.append(j)


def _own_fault(op: Operation, view: View, *, is_second_add: bool) -> str | None:
    """What is wrong with an operation whatever the others are."""
    if op.fault is not None:
        return op.fault
    if not view.isu:
        return "this task runs without state updates; leave state_delta empty"
    if op.operation == "add":
        return _add_fault(op, view, is_second_add=is_second_add)
    if op.id not in view.own:
        if op.id in view.historical or op.id in view.disclosed:
            return f"{op.id} cannot be changed: {_HISTORICAL}"
        return f"{op.id} is not in the Active State"
    if op.operation == "update":
        if op.kind is not None and op.kind is not view.own[op.id].kind:
            return f"the kind of {op.id} cannot change; remove it and add another state"
        if op.summary is None and not op.has_value and op.refs is None:
            return "the update gives neither summary, value nor refs"
    return None


def _add_fault(op: Operation, view: View, *, is_second_add: bool) -> str | None:
    if op.id.startswith(RESERVED_PREFIXES):
        return f"ids that begin with {', '.join(RESERVED_PREFIXES)} are reserved; choose another id"
    if op.id in view.own or op.id in view.historical or op.id in view.disclosed:
        return f"the id {op.id} is in use; update that state or choose another id"
    if is_second_add:
        return f"{op.id} is added twice in this delta; only the first counts"
    if op.kind is None or op.summary is None:
        return "an added state needs a state_set and a summary"
    return None


def _refs_fault(
    op: Operation, view: View, *, removed: set[str], adds: Mapping[str, int]
) -> tuple[str | None, tuple[str, ...]]:
    """What is wrong with the refs of an operation; and the adds of the same delta that it rests on."""
    rests: list[str] = []
    for ref in _refs(op):
        target = ref.target
        if target == op.id:
            return "a state cannot refer to itself", ()
        if target in removed:
            return f"it refers to {target}, which the same delta removes", ()
        if target in view.own or target in view.historical or target in view.citable:
            continue
        if target in view.disclosed and not target.startswith("obs:"):
            continue
        if target not in adds:
            return f"it refers to {target}, which is not the id of a visible state or raw result", ()
        rests.append(target)
    return None, tuple(rests)


def _refs(op: Operation) -> tuple[Ref, ...]:
    """The relations that an operation proposes; a remove proposes none."""
    return () if op.operation == "remove" else op.refs or ()


def _versions(accepted: list[Operation], removed: set[str], view: View) -> Iterator[NewVersion]:
    by_id: dict[str, list[Operation]] = {}
    for op in accepted:
        if op.id not in removed:
            by_id.setdefault(op.id, []).append(op)
    position = 0
    for id_, operations in by_id.items():
        folded = _fold(operations, view.own.get(id_), position)
        position += folded.previous is None
        yield folded


def _fold(operations: list[Operation], previous: ActiveState | None, position: int) -> NewVersion:
    """One version for all operations of an output on one id: each field as the last that gave it."""
    summary, value_text, refs, kind = "", "{}", None, StateKind.KNOWLEDGE
    if previous is not None and previous.version is not None and previous.kind is not None:
        summary, value_text, kind = previous.summary, previous.version.value_text, previous.kind
        position = previous.version.position
    for op in operations:
        summary = op.summary if op.summary is not None else summary
        value_text = json_text(op.value) if op.has_value else value_text
        refs = op.refs if op.refs is not None else refs
        kind = op.kind or kind
    unique = tuple(dict.fromkeys(refs or ()))
    keeps = previous is not None and (refs is None or _same_refs(unique, previous))
    return NewVersion(
        id=operations[0].id,
        kind=kind,
        summary=summary,
        value_text=value_text,
        position=position,
        previous=previous,
        refs=() if keeps else unique,
        keeps_refs=keeps,
    )


def _same_refs(refs: tuple[Ref, ...], previous: ActiveState) -> bool:
    known = previous.version.refs if previous.version is not None else None
    return known is not None and known == frozenset((ref.relation, ref.target) for ref in refs)


def _valid_access(access: tuple[Access, ...], view: View, reasons: list[Reason]) -> Iterator[str]:
    """R̂ ⊆ R ∩ (IDs(G) ∪ ToolRefs(S)), without what S holds already (equations 2 and 5)."""
    done: set[str] = set()
    for item in _without_fault(access, view, reasons):
        if item.target not in view.disclosed and request_number(item.target) not in view.unfolded:
            if item.target not in done:
                yield item.target
            done.add(item.target)


def _without_fault(access: tuple[Access, ...], view: View, reasons: list[Reason]) -> Iterator[Access]:
    for item in access:
        why = _access_fault(item, view)
        if why is None:
            yield item
        else:
            reasons.append(Reason(what=f"access {short_name(item.target, characters=200)}".strip(), why=why))


def _access_fault(access: Access, view: View) -> str | None:
    target = access.target
    if access.fault is not None:
        return access.fault
    if not view.psa:
        return "this task runs without access to history: every state is in the Active State already"
    if target.startswith("request:"):
        return (
            None
            if request_number(target) in view.headings
            else f"there is no earlier {target} in the Historical State Index"
        )
    if target in view.own:
        return f"{target} is in the Active State already"
    if target in view.historical or target in view.tool_refs:
        return None
    if target.startswith("obs:"):
        return f"no state of the Active State refers to {target}; disclose one that does first"
    return f"{target} is not in the Historical State Index"


def response_state(number: int, text: str, raw_ids: Iterable[str], view: View) -> NewVersion:
    """Without ISU: the state that a rule makes of the final response, linked to the request's raw results (B.5).

    A request that was reopened has one of an earlier response perhaps, which is then updated.
    """
    previous = view.own.get(f"response-{number}")
    return NewVersion(
        id=f"response-{number}",
        kind=StateKind.ARTIFACT,
        summary=short_name(text, characters=200) or f"response to request {number}",
        value_text=json_text({"response": text}),
        position=0 if previous is None or previous.version is None else previous.version.position,
        previous=previous,
        refs=tuple(Ref(relation=Relation.DERIVES, target=id_) for id_ in raw_ids),
    )
