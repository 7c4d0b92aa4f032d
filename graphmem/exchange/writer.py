"""The rule-based writer: the states that a recorded turn gives, without asking a model.

It stands in for the model of FlowState's loop where there is none, as in a recording: from the status that the model
would have been shown and from what it then did, it makes the output that belongs to it. Frugal: one state for a result,
whose summary names what a later step may need; the rest is in the raw result that it derives from. Invariant: it sees
the status and the turn, nothing else, and an id follows from them; so it goes on after a restart as it would have.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from graphmem.exchange import results
from graphmem.exchange.results import Result
from graphmem.exchange.values import Turn
from graphmem.state.values import Observation, Operation, Ref, StepOutput
from graphmem.task.status import Status
from graphmem.vocabulary import Relation, StateKind, short_name

_SUMMARY_CHARACTERS: Final = 240
_SAID_CHARACTERS: Final = 100
_CALL_CHARACTERS: Final = 160
_HEADING_CHARACTERS: Final = 400  # what the index shows of a request
_FIELDS_CHARACTERS: Final = 400
_NAME_CHARACTERS: Final = 100
_REFS: Final = 20


def output(status: Status, turn: Turn, *, is_answer: bool) -> StepOutput:
    """The turn as an output: its calls, or its text as the final response, with the states that belong to it.

    `is_answer`: the turn ends its request. A text beside calls is kept as a draft of the answer, which replaces it.
    """
    if not status.isu:
        return StepOutput(message=turn.text or "") if is_answer else StepOutput(tool_calls=turn.calls)
    delta = notes(status)
    mine = [state.id for state in status.active if state.own] + [op.id for op in delta if op.operation == "add"]
    refs = [Ref(relation=Relation.FOLLOWS, target=id_) for id_ in mine if id_.startswith("user-")]
    drafts = [id_ for id_ in mine if id_.startswith("draft-")]
    if is_answer:
        refs += [Ref(relation=Relation.DERIVES, target=id_) for id_ in mine if id_.startswith("result-")][-_REFS:]
        answer = _judgement(f"answer-{status.request}", turn.text or "", refs, status)
        removes = tuple(Operation(operation="remove", id=id_) for id_ in drafts)
        return StepOutput(delta=(*delta, *answer, *removes), message=turn.text or "")
    if turn.text:
        delta += _judgement(f"draft-{status.request}.{len(drafts) + 1}", turn.text, refs, status)
    return StepOutput(delta=delta, tool_calls=turn.calls)


def notes(status: Status) -> tuple[Operation, ...]:
    """What a status alone gives: what the user wants, and what the latest results say."""
    own = {state.id for state in status.active if state.own}
    found = {op.id: op for op in _preference(status) if op.id not in own}
    for observation in status.observation:
        for operation in _of_result(status, observation, own):
            found[operation.id] = operation
    return tuple(found.values())


def _preference(status: Status) -> Iterator[Operation]:
    """What the user's words give beyond the heading that the index shows: identifiers, or a text too long for it."""
    names = results.identifiers(status.query)
    is_long = len(status.query) > _HEADING_CHARACTERS
    if names or is_long:
        yield Operation(
            operation="add",
            id=f"user-{status.request}",
            kind=StateKind.PREFERENCE,
            summary=short_name(f"said {' '.join(names)}", characters=_SUMMARY_CHARACTERS),
            value=status.query if is_long else None,
            has_value=True,
        )


def _judgement(id_: str, text: str, refs: Sequence[Ref], status: Status) -> tuple[Operation, ...]:
    """What the assistant said: the beginning as summary, the text as value when that is not all."""
    if any(state.id == id_ for state in status.active):
        return ()
    summary = short_name(text, characters=_SAID_CHARACTERS) or "(nothing)"
    return (
        Operation(
            operation="add",
            id=id_,
            kind=StateKind.JUDGEMENT,
            summary=summary,
            value=None if summary == text else text,
            has_value=True,
            refs=tuple(refs),
        ),
    )


def _of_result(status: Status, observation: Observation, own: set[str]) -> Iterator[Operation]:
    """One state for a result: of an artifact that was made, of an entity, or knowledge."""
    result = results.read(observation.content or "")
    derives = Ref(relation=Relation.DERIVES, target=observation.id)
    id_ = observation.id.replace("obs:", "result-")
    if id_ in own:
        return
    is_made = results.is_write(observation.tool) and not result.is_error and observation.content is not None
    yield Operation(
        operation="add",
        id=id_,
        kind=StateKind.ARTIFACT if is_made else StateKind.KNOWLEDGE,
        summary=_summary(observation, result),
        value=None,
        has_value=True,
        refs=(derives,),
    )


def _summary(observation: Observation, result: Result) -> str:
    """The call with what its arguments say, then the fields and identifiers of the result."""
    arguments = " ".join(results.literals(observation.arguments))
    call = short_name(f"{observation.tool} {arguments}", characters=_CALL_CHARACTERS)
    known = set(results.identifiers(call))
    names = [name for name in result.identifiers if name not in known]
    keys = list(result.data) if isinstance(result.data, Mapping) else []
    said = " ".join([*keys, *names]) or short_name(result.content) or "no content"
    return short_name(f"{call}: {said}", characters=_SUMMARY_CHARACTERS)
