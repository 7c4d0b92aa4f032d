"""A small rule in the place of a model: from a status and a recorded turn to an output in FlowState's protocol.

Owns which states are written (a preference of what the user said, knowledge of each tool result, an attribute for an
entity, judgements of what the assistant said) and which history is asked for before a call. It sees the status and the
turn, nothing else, so it can go on after a restart as a model would.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphmem import Access, Observation, Operation, Ref, Relation, StateKind, Status, StepOutput, ToolCall
from graphmem.vocabulary import Json, json_text, short_name

from .recording import Call, Turn

_SUMMARY_CHARACTERS: Final = 240
_SAID_CHARACTERS: Final = 100
_HEADING_CHARACTERS: Final = 400
_ATTRIBUTE_CHARACTERS: Final = 400
_REFS: Final = 20
_ACCESSES_AT_ONCE: Final = 2
_IDENTIFIER = re.compile(r"(?=[\w@.-]*[A-Za-z])(?=[\w@.-]*\d)[A-Za-z0-9][\w@.-]+\w")


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    """A value in the arguments of a call, with the words that say what it is."""

    text: str
    words: frozenset[str]


def literals(call: Call) -> tuple[Literal, ...]:
    """Every text and number in the arguments, however deep."""
    return tuple(_literals(call.arguments, _words(call.name)))


def _literals(value: Json, words: frozenset[str]) -> Iterator[Literal]:
    match value:
        case None | bool():
            return
        case str() | int() | float():
            yield Literal(text=value if isinstance(value, str) else json_text(value), words=words)
        case Mapping():
            for key, item in value.items():
                yield from _literals(item, words | _words(key))
        case _:
            for item in value:
                yield from _literals(item, words)


def occurs(literal: str, text: str) -> bool:
    """Whether the text names the literal as a word of its own."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(literal)}(?![A-Za-z0-9_])", text) is not None


def contents(status: Status) -> str:
    """Everything a status shows but ids and the protocol's own words."""
    parts = [status.query]
    for entry in status.index:
        parts += [entry.text, *(line.summary for line in entry.states)]
    for state in status.active:
        parts += [state.summary, _plain(state.value)]
    for observation in status.observation:
        parts += [json_text(observation.arguments), observation.content or ""]
    return "\n".join(parts)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.lower().replace("_", " "))) - {"id", "a", "the", "to", "of"}


def recall(
    status: Status, calls: tuple[Call, ...], missing: tuple[Literal, ...], asked: set[str]
) -> tuple[Access, ...]:
    """What to ask for before the calls: states, and raw results behind active ones.

    Those come first whose line shares most words with what is missing, or names another argument of the calls.
    """
    others = {literal.text for call in calls for literal in literals(call)} - {literal.text for literal in missing}
    wanted = frozenset[str]().union(*(literal.words | _words(literal.text) for literal in missing))
    scored = [
        (len(wanted & _words(line)) + 2 * sum(occurs(other, line) for other in others if len(other) > 2), target)
        for target, line in _askable(status)
        if target not in asked
    ]
    best = sorted((item for item in scored if item[0] > 0), key=lambda item: (-item[0], not item[1].startswith("obs:")))
    found = dict.fromkeys(target for _, target in best)
    reason = f"looking for {', '.join(literal.text for literal in missing[:3])}"
    return tuple(
        Access(target=target, reason=short_name(reason, characters=120)) for target in list(found)[:_ACCESSES_AT_ONCE]
    )


def _askable(status: Status) -> Iterator[tuple[str, str]]:
    active = {state.id for state in status.active}
    for entry in status.index:
        yield from ((line.id, f"{line.id} {line.summary}") for line in entry.states if line.id not in active)
    for state in status.active:
        for related in state.related:
            if related.id.startswith("obs:") and related.id not in active:
                yield related.id, f"{state.id} {state.summary}"


def notes(status: Status) -> tuple[Operation, ...]:
    """What a status makes the rule write down: what the user said, and what the latest results say."""
    own = {state.id for state in status.active if state.own}
    found = {op.id: op for op in _preference(status) if op.id not in own}
    for observation in status.observation:
        for operation in (_knowledge(observation), *_attribute(status, observation, own)):
            found[operation.id] = operation
    return tuple(found.values())


def _preference(status: Status) -> Iterator[Operation]:
    """What the user's words give beyond the heading that the index shows: identifiers, or a text too long for it."""
    names = dict.fromkeys(_IDENTIFIER.findall(status.query))
    if names or len(status.query) > _HEADING_CHARACTERS:
        yield Operation(
            operation="add",
            id=f"user-{status.request}",
            kind=StateKind.PREFERENCE,
            summary=short_name(f"said {' '.join(names)}".strip(), characters=_SUMMARY_CHARACTERS),
            value=status.query if len(status.query) > _HEADING_CHARACTERS else None,
            has_value=True,
        )


def _judgement(id_: str, text: str, refs: tuple[Ref, ...]) -> Operation:
    """What the assistant said: the beginning as summary, the text as value when that is not all."""
    summary = short_name(text, characters=_SAID_CHARACTERS)
    value = None if summary == text else text
    return Operation(
        operation="add", id=id_, kind=StateKind.JUDGEMENT, summary=summary, value=value, has_value=True, refs=refs
    )


def _knowledge(observation: Observation) -> Operation:
    """One state for a result: the call, the keys and the identifiers in it. The rest stays in the raw result."""
    data = _json(observation.content)
    keys = " ".join(data) if isinstance(data, dict) else ""
    known = set(_IDENTIFIER.findall(json_text(observation.arguments)))
    names = [name for name in dict.fromkeys(_IDENTIFIER.findall(observation.content or "")) if name not in known]
    result = f"{keys} {' '.join(names)}".strip() or observation.content or "no content"
    call = short_name(
        f"{observation.tool} {' '.join(_plain(v) for v in observation.arguments.values())}", characters=100
    )
    return Operation(
        operation="add",
        id=observation.id.replace("obs:", "result-"),
        kind=StateKind.KNOWLEDGE,
        summary=short_name(f"{call}: {result}", characters=_SUMMARY_CHARACTERS),
        has_value=True,
        refs=(Ref(relation=Relation.DERIVES, target=observation.id),),
    )


def _attribute(status: Status, observation: Observation, own: set[str]) -> Iterator[Operation]:
    """The plain fields of a result about one entity; in a later request a new state supersedes the earlier one."""
    data = _json(observation.content)
    key, entity = next(iter(data.items()), ("", None)) if isinstance(data, dict) else ("", None)
    if not isinstance(data, dict) or not key.endswith("_id") or not isinstance(entity, str):
        return
    fields = {name: value for name, value in data.items() if isinstance(value, str | int | float | bool)}
    if len(json_text(fields)) > _ATTRIBUTE_CHARACTERS:
        return
    id_ = f"{short_name(entity, characters=100)}@{status.request}"
    earlier = [
        line.id
        for entry in status.index
        for line in entry.states
        if line.id.rpartition("@")[0] == id_.rpartition("@")[0]
    ]
    derives = Ref(relation=Relation.DERIVES, target=observation.id)
    supersedes = tuple(Ref(relation=Relation.SUPERSEDES, target=target) for target in earlier[-1:])
    summary = f"{key} {entity}: {' '.join(name for name in fields if name != key)}"
    yield Operation(
        operation="update" if id_ in own else "add",
        id=id_,
        kind=StateKind.ATTRIBUTE,
        summary=short_name(summary, characters=_SUMMARY_CHARACTERS),
        value=fields,
        has_value=True,
        refs=(derives,) if id_ in own else (derives, *supersedes),
    )


def _json(content: str | None) -> Any:
    try:
        return json.loads(content or "")
    except ValueError:
        return None


def output(status: Status, turn: Turn) -> StepOutput:
    """The recorded turn as an output: its calls, or its answer, with the states that belong to it."""
    delta = notes(status)
    mine = [state.id for state in status.active if state.own] + [op.id for op in delta if op.operation == "add"]
    drafts = [id_ for id_ in mine if id_.startswith("draft-")]
    refs = [Ref(relation=Relation.FOLLOWS, target=id_) for id_ in mine if id_.startswith("user-")]
    if turn.is_answer:
        refs += [Ref(relation=Relation.DERIVES, target=id_) for id_ in mine if id_.startswith("result-")][-_REFS:]
        answer = _judgement(f"answer-{status.request}", turn.text or "", tuple(refs))
        removes = (Operation(operation="remove", id=id_) for id_ in drafts)
        return StepOutput(delta=(*delta, answer, *removes), message=turn.text)
    if turn.text is not None:
        delta += (_judgement(f"draft-{status.request}.{len(drafts) + 1}", turn.text, tuple(refs)),)
    return StepOutput(delta=delta, tool_calls=tuple(ToolCall(name=c.name, arguments=c.arguments) for c in turn.calls))
