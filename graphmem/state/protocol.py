"""Model output y = (ΔS, R, z) in the four blocks of the runtime prompt (FlowState, B.3), or as one JSON object
(`schema`): text in, `StepOutput` out.

Owns the fields of operations, accesses, calls and the message, and the limits of each. Judges nothing against a state:
that is `rules`. Invariants: no text of a model raises; one operation or access that cannot be read becomes one with a
`fault` and does not stop the others; a call or message that cannot be read makes the whole output a fault, since a
decision is not half executed. Strict reading is this code with every leniency forbidden.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Final, TypeVar

from graphmem.state.blocks import BLOCKS, CALLS, DELTA, FOCUS, MESSAGE, Block, read_blocks
from graphmem.state.fields import EntryError, FieldReader, Words, shown
from graphmem.state.repair import Repairs, UnreadableError, read_json
from graphmem.state.values import Access, Operation, OperationName, Ref, StepOutput, ToolCall
from graphmem.vocabulary import Limits, Relation, StateKind, json_text, text_fault

T = TypeVar("T")
_LIMITS: Final = Limits()
_FAULT_CHARACTERS: Final = 500
_ID_IN_REST = re.compile(r'"(?:state_id|target_id)"\s*:\s*"([^"\\\x00\ud800-\udfff]{1,200})"')

# The fields of B.3, each with the spellings that models use instead.
_OPERATION_FIELDS: Final = {
    "state_set": ("type", "state_type", "kind"),
    "operation": ("op", "action"),
    "state_id": ("id", "target_id"),
    "summary": (),
    "value": (),
    "refs": ("ref", "references", "relations"),
}
_ACCESS_FIELDS: Final = {"target_id": ("id", "state_id", "target"), "reason": ()}
_CALL_FIELDS: Final = {
    "name": ("tool", "tool_name", "function"),
    "arguments": ("args", "parameters", "input"),
}
_REF_FIELDS: Final = {
    "rel": ("relation", "type", "relation_type"),
    "state_id": ("id", "target", "target_id", "ref", "source_state_id"),
}
_MESSAGE_FIELDS: Final = {"content": ("message", "text")}
_NEEDED: Final[Mapping[OperationName, tuple[str, ...]]] = {
    "unknown": (),
    "add": ("state_set", "state_id", "summary"),
    "update": ("state_id",),
    "remove": ("state_id",),
}


_OPERATIONS: Final[Words[OperationName]] = Words({"add": "add", "update": "update", "remove": "remove"}, {})
_KINDS: Final = Words(
    {kind.word: kind for kind in StateKind},
    {
        "preferences": StateKind.PREFERENCE,
        "attributes": StateKind.ATTRIBUTE,
        "judgements": StateKind.JUDGEMENT,
        "judgment": StateKind.JUDGEMENT,
        "judgments": StateKind.JUDGEMENT,
        "artifact": StateKind.ARTIFACT,
        "artefact": StateKind.ARTIFACT,
        "artefacts": StateKind.ARTIFACT,
    },
)
_RELATIONS: Final = Words(
    {relation.value: relation for relation in Relation},
    {
        "support": Relation.SUPPORTS,
        "derive": Relation.DERIVES,
        "derives_from": Relation.DERIVES,
        "derived_from": Relation.DERIVES,
        "follow": Relation.FOLLOWS,
        "supersede": Relation.SUPERSEDES,
    },
)


def parse(text: str, *, strict: bool = False, limits: Limits = _LIMITS) -> StepOutput:
    """The output that a model's text stands for; never raises for what the text says.

    Lenient reading takes the four blocks and the one object of `schema`, mends what real models do wrong and lists it
    in `repairs`. `strict` takes B.3 literally and nothing else: four blocks in order, valid JSON, the fields of its
    example and no other, nothing outside the blocks.
    """
    repairs = Repairs(strict)
    reader = _Reader(repairs, limits)
    try:
        size = len(text.encode("utf-8", "surrogatepass"))
        if size > limits.text_bytes:
            raise UnreadableError(f"the output has {size:,} bytes; the limit is {limits.text_bytes:,}")
        blocks = read_blocks(text, repairs)
        reader.nulls_are_slips = not any(block.in_object for block in blocks.values())
        return StepOutput(
            delta=tuple(reader.entries(DELTA, blocks[DELTA], reader.operation, _failed_operation)),
            access=tuple(reader.entries(FOCUS, blocks[FOCUS], reader.access, _failed_access)),
            tool_calls=tuple(reader.entries(CALLS, blocks[CALLS], reader.call, _failed_call)),
            message=reader.message(blocks[MESSAGE].value),
            text=text,
            repairs=repairs.sentences,
        )
    except (UnreadableError, EntryError) as error:
        return StepOutput(text=text, repairs=repairs.sentences, fault=_sentence(f"{error}"))


def render_output(output: StepOutput) -> str:
    """The output as B.3's four blocks. Strict reading gives it back, but for ids of calls, which B.3 does not have.

    An add is written with all its fields, as B.3 asks; faults, repairs and `text` are not part of the protocol.
    """
    values: dict[str, object] = {
        FOCUS: [{"target_id": access.target, "reason": access.reason} for access in output.access],
        DELTA: [_operation_fields(operation) for operation in output.delta],
        CALLS: [{"name": call.name, "arguments": call.arguments} for call in output.tool_calls],
        MESSAGE: {"content": output.message},
    }
    return "\n".join(f"<{name}>\n{json_text(values[name])}\n</{name}>" for name in BLOCKS)


def _operation_fields(operation: Operation) -> dict[str, object]:
    is_add = operation.operation == "add"
    fields: dict[str, object] = {"state_set": operation.kind.word} if operation.kind else {}
    fields |= {"operation": operation.operation, "state_id": operation.id}
    if is_add or operation.summary is not None:
        fields["summary"] = operation.summary or ""
    if is_add or operation.has_value:
        fields["value"] = operation.value
    if is_add or operation.refs is not None:
        fields["refs"] = [{"rel": ref.relation.value, "state_id": ref.target} for ref in operation.refs or ()]
    return fields


def _sentence(fault: str) -> str:
    return fault if len(fault) <= _FAULT_CHARACTERS else fault[: _FAULT_CHARACTERS - 1] + "…"


def _readable_id(item: object) -> str:
    """The id of an entry that could not be read, so that the reason can name it; blank when that is not fit either."""
    given = [item[key] for key in ("state_id", "target_id", "id") if key in item] if isinstance(item, dict) else [item]
    found = given[0] if given else ""
    is_fit = isinstance(found, str) and len(found) <= _LIMITS.id_characters and text_fault(found) is None
    return str(found) if is_fit else ""


def _failed_operation(item: object, fault: str) -> Operation:
    given = item.get("operation") if isinstance(item, dict) else None
    operation = _OPERATIONS.words.get(given.strip().lower(), "unknown") if isinstance(given, str) else "unknown"
    return Operation(operation=operation, id=_readable_id(item), fault=fault)


def _failed_access(item: object, fault: str) -> Access:
    return Access(target=_readable_id(item), fault=fault)


def _failed_call(_item: object, fault: str) -> ToolCall:
    raise UnreadableError(f"{fault}; nothing of this output was taken")


class _Reader(FieldReader):
    """Reads the values of the blocks, within limits, and notes what it mends."""

    def entries(
        self, name: str, block: Block, read: Callable[[str, object], T], failed: Callable[[object, str], T]
    ) -> Iterator[T]:
        """Every entry of a block, one that cannot be read as `failed` makes it.

        Raises:
            UnreadableError: the block is no list or too long a one, or strict reading met another shape than B.3's.
        """
        items = self.list(name, block.value)
        if len(items) > self.limits.entries:
            raise UnreadableError(f"{name} has {len(items):,} entries; the limit is {self.limits.entries:,}")
        for index, item in enumerate(items):
            where = f"{name}[{index}]"
            try:
                yield read(where, item)
            except EntryError as error:
                if self.repairs.strict and error.is_shape:
                    raise UnreadableError(f"{where}: {error}") from None
                yield failed(item, _sentence(f"{where}: {error}"))
        if block.rest:
            found = _ID_IN_REST.search(block.rest)
            yield failed({"state_id": found.group(1) if found else ""}, f"{name}: the output ended inside this entry")

    def operation(self, where: str, item: object) -> Operation:
        """One operation of ΔS."""
        fields = self.fields(
            where, self.unpacked(where, item, "value", may_be_text=True), _OPERATION_FIELDS, may_be_null=("value",)
        )
        operation = self.word(where, "operation", fields.get("operation"), _OPERATIONS)
        is_strict_add = self.repairs.strict and operation == "add"
        for name in _OPERATION_FIELDS if is_strict_add else _NEEDED[operation]:
            if name not in fields:
                raise EntryError(f"{operation} needs {name}")
        if operation == "update" and not fields.keys() & {"summary", "value", "refs"}:
            raise EntryError("update changes nothing; give summary, value or refs", is_shape=False)
        return Operation(
            operation=operation,
            id=self.id(where, "state_id", fields["state_id"]),
            kind=self.word(where, "state_set", fields["state_set"], _KINDS) if "state_set" in fields else None,
            summary=self._summary(fields["summary"]) if "summary" in fields else None,
            value=self.value("value", fields.get("value")),
            has_value="value" in fields,
            refs=self._refs(where, fields["refs"]) if "refs" in fields else None,
        )

    def access(self, where: str, item: object) -> Access:
        """One entry of R."""
        if isinstance(item, str):
            self.repairs.note(f"{where}: an id alone was read as an access without a reason")
            item = {"target_id": item, "reason": ""}
        fields = self.fields(where, item, _ACCESS_FIELDS)
        if "target_id" not in fields:
            raise EntryError("target_id is missing")
        if "reason" not in fields:
            self.repairs.note(f"{where}: no reason was given")
        reason = self.text("reason", fields.get("reason", ""))
        return Access(target=self.id(where, "target_id", fields["target_id"]), reason=reason)

    def call(self, where: str, item: object) -> ToolCall:
        """One tool call. Its id is given at commit, since models repeat theirs from step to step."""
        if isinstance(item, dict) and isinstance(item.get("function"), dict):
            self.repairs.note(f"{where}: the call was wrapped in 'function'")
            item = item["function"]
        fields = self.fields(where, self.unpacked(where, item, "arguments"), _CALL_FIELDS)
        name = self.text("name", fields.get("name"))
        if not name.strip() or len(name) > self.limits.id_characters:
            raise EntryError(f"the name of a tool has 1 to {self.limits.id_characters} characters")
        if "arguments" not in fields:
            self.repairs.note(f"{where}: no arguments were given")
        arguments = fields.get("arguments", {})
        if isinstance(arguments, str):
            self.repairs.note(f"{where}: the arguments were a JSON string")
            text = arguments if arguments.strip() else "{}"
            arguments = read_json(f"{where}.arguments", text, self.repairs, allow_unknown=False)
        if not isinstance(arguments, dict):
            raise EntryError(f"arguments are {shown(arguments)}, not an object")
        self.value("arguments", arguments)
        return ToolCall(name=name, arguments=arguments)

    def message(self, value: object) -> str | None:
        """The message to the user; None when it is null or blank."""
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            self.repairs.note(f"{MESSAGE} stood in a list")
            value = value[0]
        if value is None or isinstance(value, str):
            self.repairs.note(f"{MESSAGE} was not an object with content")
            value = {"content": value}
        fields = self.fields(MESSAGE, value, _MESSAGE_FIELDS, may_be_null=("content",))
        if "content" not in fields:
            self.repairs.note(f"{MESSAGE} had no content and was read as none")
        content = fields.get("content")
        message = None if content is None else self.text(f"{MESSAGE}.content", content)
        if message is not None and not message.strip():
            self.repairs.note(f"{MESSAGE}.content was blank and was read as null")
            return None
        return message

    def _summary(self, given: object) -> str:
        found = self.text("summary", given)
        limit = self.limits.summary_characters
        if len(found) > limit:
            raise EntryError(f"summary has {len(found):,} characters; the limit is {limit:,}", is_shape=False)
        return found

    def _refs(self, where: str, given: object) -> tuple[Ref, ...]:
        if isinstance(given, dict):
            self.repairs.note(f"{where}: refs was one object instead of a list")
            given = [given]
        if not isinstance(given, list):
            raise EntryError(f"refs is {shown(given)}, not a list of objects with rel and state_id")
        read = (ref for index, item in enumerate(given) for ref in self._ref(f"{where}.refs[{index}]", item))
        refs = tuple(islice(read, self.limits.refs + 1))
        if len(refs) > self.limits.refs:
            raise EntryError(f"too many refs were given; the limit is {self.limits.refs:,}", is_shape=False)
        return refs

    def _ref(self, where: str, item: object) -> Iterator[Ref]:
        if isinstance(item, dict) and item and item.keys() <= _RELATIONS.words.keys():
            self.repairs.note(f"{where}: relations as keys were read as refs")
            for word, targets in item.items():
                for target in targets if isinstance(targets, list) else [targets]:
                    yield Ref(relation=_RELATIONS.words[word], target=self.id(where, "state_id", target))
            return
        fields = self.fields(where, item, _REF_FIELDS)
        relation = self.word(where, "rel", fields.get("rel"), _RELATIONS)
        yield Ref(relation=relation, target=self.id(where, "state_id", fields.get("state_id")))
