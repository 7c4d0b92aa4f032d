"""The rule-based writer: the states that a recorded turn gives, without asking a model.

It stands in for the model of FlowState's loop where there is none, as in a recording: from the status that the model
would have been shown and from what it then did, it makes the output that belongs to it. Frugal: one state for a result,
whose summary names what a later step may need and no status names yet; all else is in the raw result that the state
derives from. Invariant: it sees the status and the turn, nothing else, and an id follows from them; so it goes on after
a restart as it would have, and writes nothing twice.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from graphmem.exchange import results, verbs
from graphmem.exchange.results import Result
from graphmem.exchange.values import Turn
from graphmem.state.values import Observation, Operation, Ref, StepOutput
from graphmem.task.status import Status
from graphmem.vocabulary import Json, Relation, StateKind, short_name, value_fault

_SAID_CHARACTERS: Final = 60
_WISH_CHARACTERS: Final = 80
_ARGUMENT_CHARACTERS: Final = 48
_CALL_CHARACTERS: Final = 160
_FIELDS_CHARACTERS: Final = 300
_NAMES_CHARACTERS: Final = 300
_TOLD_CHARACTERS: Final = 80
_HEADING_CHARACTERS: Final = 400  # what the index shows of a request
_COURTESY_CHARACTERS: Final = 200
_VALUE_CHARACTERS: Final = 250_000  # what a state repeats of a text that the ledger has whole
_REFS: Final = 20
_NAMES: Final = 200

SAID: Final = ("user-", "draft-", "answer-")  # how ids of states begin that no result gave

# A wish that outlives the request that says it; what is asked for now stands in the heading of the request.
_WISH: Final = re.compile(
    r"\b(?:prefer\w*|always|never|(?:do not|don.t) want|must|only|at least|at most|(?:no |less |more |fewer )\w*\s?than"
    r"|under \$|within (?:\$|my)|budget|cheapest|avoid\w*|as long as|exceed\w*)\b",
    re.IGNORECASE,
)
NO_ANSWER: Final = "(no answer was recorded)"
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_COURTESY: Final = re.compile(
    r"\W*(?:you.re (?:very |most )?welcome|thank you|thanks|goodbye|have a|no problem|glad|happy to)\b", re.IGNORECASE
)


def output(status: Status, turn: Turn, *, is_answer: bool) -> StepOutput:
    """The turn as an output: its calls, or its text as the final response, with the states that belong to it.

    `is_answer`: the turn ends its request. A text beside calls is kept as a draft of the answer, which replaces it.
    """
    decision = StepOutput(message=turn.text or "") if is_answer else StepOutput(tool_calls=turn.calls)
    if not status.isu:
        return decision
    delta = notes(status)
    own = [state.id for state in status.active if state.own]
    mine = own + [op.id for op in delta if op.operation == "add"]
    text = turn.text or ""
    drafts = [id_ for id_ in mine if id_.startswith("draft-")]
    id_ = f"answer-{status.request}" if is_answer else f"draft-{status.request}.{len(drafts) + 1}"
    if id_ in own or _says_nothing(text, rests_on=_found(mine)):
        return replace(decision, delta=delta)
    removes = (Operation(operation="remove", id=draft) for draft in drafts) if is_answer else ()
    return replace(decision, delta=(*delta, _judgement(id_, text, mine), *removes))


def closing(status: Status) -> StepOutput:
    """The end of a request that was not answered: what its last results say is kept."""
    return StepOutput(delta=notes(status), message=NO_ANSWER)


def notes(status: Status) -> tuple[Operation, ...]:
    """What a status alone gives: what the user wishes beyond this request, and what the latest results say.

    For a step that only asks for history: a latest observation is shown once.
    """
    if not status.isu:
        return ()
    own = frozenset(state.id for state in status.active if state.own)
    found = {op.id: op for op in _preference(status) if op.id not in own}
    told = _told(status)
    for observation in status.observation:
        operation = _of_result(status, observation, own, told)
        if operation is not None:
            earlier = found.get(operation.id)
            found[operation.id] = operation if earlier is None else _joined(earlier, operation)
            told = f"{told}\n{operation.summary}"
    return tuple(found.values())


def _told(status: Status) -> str:
    """What is in view without being asked for: the request's text, and every line that the index has or will have."""
    lines = [status.query]
    for entry in status.index:
        lines += [entry.text, *(line.summary for line in entry.states)]
    return "\n".join((*lines, *(state.summary for state in status.active if state.own)))


def _found(ids: Sequence[str]) -> list[str]:
    """The ids of states of results."""
    return [id_ for id_ in ids if not id_.startswith(SAID)]


def _preference(status: Status) -> Iterator[Operation]:
    """Wishes that hold beyond the request, and the text of a request that is too long for its heading."""
    wishes = " ".join(sentence for sentence in _SENTENCE.split(status.query) if _WISH.search(sentence))
    is_long = len(status.query) > _HEADING_CHARACTERS
    if wishes or is_long:
        yield Operation(
            operation="add",
            id=f"user-{status.request}",
            kind=StateKind.PREFERENCE,
            summary=short_name(wishes or status.query, characters=_WISH_CHARACTERS),
            value=status.query if _HEADING_CHARACTERS < len(status.query) <= _VALUE_CHARACTERS else None,
            has_value=True,
        )


def _says_nothing(text: str, *, rests_on: Sequence[str]) -> bool:
    """Whether an answer decides nothing: a courtesy, or a question back that names nothing and rests on nothing."""
    if not text.strip():
        return True
    if rests_on or any(character.isdigit() for character in text):
        return False
    return text.rstrip().endswith("?") or (len(text) <= _COURTESY_CHARACTERS and bool(_COURTESY.match(text)))


def _judgement(id_: str, text: str, mine: Sequence[str]) -> Operation:
    """What the assistant said: the beginning as summary, the text as value when that is not all, nor too much."""
    summary = short_name(text, characters=_SAID_CHARACTERS)
    follows = [Ref(relation=Relation.FOLLOWS, target=target) for target in mine if target.startswith("user-")]
    derives = [Ref(relation=Relation.DERIVES, target=target) for target in _found(mine)[-_REFS:]]
    return Operation(
        operation="add",
        id=id_,
        kind=StateKind.JUDGEMENT,
        summary=summary,
        value=None if summary == text or len(text) > _VALUE_CHARACTERS else text,
        has_value=True,
        refs=tuple(follows + derives),
    )


def _of_result(status: Status, observation: Observation, own: frozenset[str], told: str) -> Operation | None:
    """The one state of a result: an artifact that was made, an attribute of the thing it is about, else knowledge."""
    result = results.read(observation.content)
    id_ = observation.id.replace("obs:", "result-")
    is_write = verbs.is_write(observation.tool)
    is_unknown = observation.content is None
    if id_ in own or (result.is_empty and not is_write and not is_unknown):
        return None
    is_made = is_write and not result.is_error and not is_unknown
    entity = None if result.is_error else _entity(observation, result)
    before = _states_of(entity, status)
    if entity is not None and not is_made:
        id_ = f"{entity}@{status.request}"
    refs = _refs_so_far(id_, status)
    refs.append(Ref(relation=Relation.DERIVES, target=observation.id))
    refs += [Ref(relation=Relation.SUPERSEDES, target=target) for target in before[-1:] if target != id_]
    summary = _summary(status, observation, result, told)
    return Operation(
        operation="update" if id_ in own else "add",
        id=id_,
        kind=StateKind.ARTIFACT if is_made else StateKind.KNOWLEDGE if entity is None else StateKind.ATTRIBUTE,
        summary=summary,
        value=_value(result, f"{told}\n{summary}") if entity is not None else None,
        has_value=True,
        refs=tuple(dict.fromkeys(refs)),
    )


def _entity(observation: Observation, result: Result) -> str | None:
    """The one thing that a result is about: as its first field for a name says, else the only argument of the call."""
    if not isinstance(result.data, Mapping):
        return None
    given = list(results.literals(observation.arguments))
    only = given[0] if len(given) == 1 and results.is_name("", given[0]) else None
    return result.entity or only


def _states_of(entity: str | None, status: Status) -> list[str]:
    """The ids of the attributes of an entity, oldest first."""
    ids = [line.id for entry in status.index for line in entry.states]
    ids += [state.id for state in status.active if state.own]
    return [id_ for id_ in ids if entity is not None and id_.rpartition("@")[0] == entity]


def _refs_so_far(id_: str, status: Status) -> list[Ref]:
    """What an attribute of this request that is seen again rests on already."""
    return [
        Ref(relation=related.relation, target=related.id)
        for state in status.active
        if state.own and state.id == id_
        for related in state.related[-_REFS:]
        if not related.incoming
    ]


def _value(result: Result, told: str) -> Json:
    """The plain fields of the thing, but what is told already; null where nothing is left."""
    fields: dict[str, Json] = {}
    for key, value in list(result.plain.items())[:_NAMES]:
        text = str(value)
        if len(text) <= _TOLD_CHARACTERS and not (isinstance(value, str) and results.occurs(text, told)):
            fields[key] = value
    return fields if fields and value_fault(fields) is None else None


def _joined(first: Operation, second: Operation) -> Operation:
    """Two results about one thing in one observation: the later one counts, and rests on both."""
    refs = tuple(dict.fromkeys((*(first.refs or ()), *(second.refs or ()))))
    return replace(second, operation=first.operation, refs=refs)


def _summary(status: Status, observation: Observation, result: Result, told: str) -> str:
    """The call and what its arguments say; then what the result names that is not told yet.

    The fields of a tool's results are named once, in brackets, where first seen: later lines need not repeat them.
    """
    arguments = (short_name(text, characters=_ARGUMENT_CHARACTERS) for text in results.literals(observation.arguments))
    call = short_name(" ".join((observation.tool, *arguments)), characters=_CALL_CHARACTERS)
    if observation.content is None:
        return f"{call}: outcome unknown"
    if result.is_error or len(result.content) <= _TOLD_CHARACTERS:
        return f"{call}: {short_name(result.content, characters=_TOLD_CHARACTERS) or 'done'}"
    known = f"{told}\n{call}"
    names = " ".join(name for name in result.names[:_NAMES] if not results.occurs(name, known))
    fields = "" if observation.tool in fields_told(status, told) else " ".join(result.fields)
    said = short_name(names, characters=_NAMES_CHARACTERS)
    if fields:
        said = f"({short_name(fields, characters=_FIELDS_CHARACTERS)}) {said}".rstrip()
    return f"{call}: {said or ' '.join(result.names[:1]) or short_name(result.content)}"


def fields_told(status: Status, told: str | None = None) -> dict[str, frozenset[str]]:
    """Which fields the results of a tool have, as the lines in view say."""
    found: dict[str, frozenset[str]] = {}
    for line in (_told(status) if told is None else told).split("\n"):
        match = _FIELDS.match(line)
        if match is not None:
            found[match[1]] = found.get(match[1], frozenset()) | frozenset(match[2].rstrip("…").split())
    return found


_FIELDS: Final = re.compile(r"(\S+?):?(?: [^\n]*?)?: \(([^()\n]*)\)")
