"""The output as one JSON object: a schema that strict structured outputs take, and that says what the parser takes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from graphmem.state.protocol import parse
from graphmem.state.schema import OutputObject, render_object, step_output_schema
from graphmem.state.values import Access, Operation, Ref, StepOutput, ToolCall
from graphmem.vocabulary import Relation, StateKind, text_fault

SCHEMA = step_output_schema()

# What strict structured outputs know; anything else is refused by the endpoint.
KEYWORDS = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "enum",
    "description",
    "$ref",
    "$defs",
}

texts = st.text(max_size=20).filter(lambda text: text_fault(text) is None)
ids = st.text(min_size=1, max_size=12).filter(lambda text: text_fault(text) is None)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
refs = st.tuples(st.sampled_from(Relation), ids).map(lambda pair: Ref(relation=pair[0], target=pair[1]))


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    name = draw(st.sampled_from(("add", "update", "remove")))
    needed = name == "add"
    has_value = draw(st.booleans())
    return Operation(
        operation=name,  # type: ignore[arg-type]  # one of the three
        id=draw(ids),
        kind=draw(st.sampled_from(StateKind) if needed else st.none() | st.sampled_from(StateKind)),
        summary=draw(texts if needed or name == "update" else st.none() | texts),
        value=draw(values) if has_value else None,
        has_value=has_value,
        refs=draw(st.none() | st.lists(refs, max_size=3).map(tuple)),
    )


outputs = st.builds(
    StepOutput,
    delta=st.lists(operations(), max_size=3).map(tuple),
    access=st.lists(st.builds(Access, target=ids, reason=texts), max_size=3).map(tuple),
    tool_calls=st.lists(
        st.builds(
            ToolCall,
            name=ids.filter(lambda name: bool(name.strip())),
            arguments=st.dictionaries(texts, values, max_size=3),
        ),
        max_size=3,
    ).map(tuple),
    message=st.none() | texts.filter(lambda text: bool(text.strip())),
)


def nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every subschema."""
    if isinstance(schema, list):
        for item in schema:
            yield from nodes(item)
    elif isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            if key in ("properties", "$defs"):
                for inner in value.values():
                    yield from nodes(inner)
            elif key in ("items", "anyOf"):
                yield from nodes(value)


def instances(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """What follows the schema, made from the schema alone."""
    if "$ref" in schema:
        return instances(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return st.one_of(*map(instances, schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "object":
            return st.fixed_dictionaries({name: instances(inner) for name, inner in schema["properties"].items()})
        case "array":
            return st.lists(instances(schema["items"]), max_size=3)
        case "null":
            return st.none()
        case _:
            return texts


def taken(output: StepOutput) -> tuple[object, ...]:
    return (output.fault, output.access, output.delta, output.tool_calls, output.message)


# --- the schema -------------------------------------------------------------------------------------------------------


def test_the_schema_is_one_that_strict_structured_outputs_take() -> None:
    for node in nodes(SCHEMA):
        assert node.keys() <= KEYWORDS
        if "$ref" in node:
            assert len(node) == 1
        if node.get("type") == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
    assert SCHEMA["type"] == "object"
    assert list(SCHEMA["properties"]) == ["state_focus", "state_delta", "tool_calls", "assistant_message"]


def test_the_closed_sets_of_the_schema_are_those_of_the_graph() -> None:
    defs = SCHEMA["$defs"]
    assert set(defs["DeltaObject"]["properties"]["state_set"]["anyOf"][0]["enum"]) == {kind.word for kind in StateKind}
    assert set(defs["RefObject"]["properties"]["rel"]["enum"]) == {relation.value for relation in Relation}


def test_only_tools_that_there_are_can_be_called_where_they_are_named() -> None:
    named = step_output_schema(tools=["pay", "look"])
    assert named["$defs"]["CallObject"]["properties"]["name"]["enum"] == ["look", "pay"]
    assert "enum" not in step_output_schema()["$defs"]["CallObject"]["properties"]["name"]


def test_an_object_of_another_shape_does_not_follow_the_schema() -> None:
    good = json.loads(render_object(StepOutput(message="x")))
    OutputObject.model_validate(good)
    wrong: list[dict[str, Any]] = [{**good, "more": 1}, {"tool_calls": []}, {**good, "assistant_message": "x"}]
    for bad in wrong:
        with pytest.raises(ValidationError):
            OutputObject.model_validate(bad)


# --- both ways --------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(outputs)
def test_an_output_written_as_an_object_follows_the_schema_and_is_read_back_without_a_repair(
    output: StepOutput,
) -> None:
    text = render_object(output)
    OutputObject.model_validate_json(text)
    read = parse(text)
    assert read.repairs == ()
    assert taken(read) == taken(output)


@settings(deadline=None)
@given(instances(SCHEMA))
def test_whatever_follows_the_schema_is_read_and_what_it_says_wrong_is_said_of_its_part_alone(object_: Any) -> None:
    for call in object_["tool_calls"]:  # JSON in a text is beyond a schema; it is tried below
        call["name"], call["arguments_json"] = f"t{call['name']}", '{"a": [1]}'
    read = parse(json.dumps(object_))
    assert read.fault is None
    assert len(read.delta) == len(object_["state_delta"])
    assert [a.target for a in read.access if a.fault is None] == [
        f["target_id"] for f in object_["state_focus"] if f["target_id"]
    ]
    assert [dict(call.arguments) for call in read.tool_calls] == [{"a": [1]}] * len(object_["tool_calls"])
    for given_, operation in zip(object_["state_delta"], read.delta, strict=True):
        if operation.fault is None:
            assert (operation.operation, operation.id) == (given_["operation"], given_["state_id"])
            assert operation.summary == given_["summary"]
            assert (operation.refs is None) == (given_["refs"] is None)


@settings(deadline=None)
@given(st.text())
def test_no_text_after_the_opening_of_an_object_raises(text: str) -> None:
    parse('{"state_focus": [], "state_delta": ' + text)


# --- what models write ------------------------------------------------------------------------------------------------


def delta(**fields: Any) -> tuple[Operation, StepOutput]:
    """The one operation of an object with these fields, and the output."""
    entry = {"operation": "add", "state_id": "a", "state_set": "knowledge", "summary": "s", "refs": None, **fields}
    good = json.loads(render_object(StepOutput()))
    output = parse(json.dumps({**good, "state_delta": [entry]}))
    (operation,) = output.delta
    return operation, output


def test_null_leaves_a_field_as_it_is_and_the_text_null_is_a_value() -> None:
    unset, output = delta(value_json=None)
    assert (unset.has_value, output.repairs) == (False, ())
    null, output = delta(value_json="null")
    assert (null.has_value, null.value, output.repairs) == (True, None, ())


def test_a_value_as_b3_writes_it_is_taken_in_an_object_too() -> None:
    operation, output = delta(value={"usd": 80})
    assert (operation.value, output.repairs) == ({"usd": 80}, ())


@pytest.mark.parametrize(
    ("value_json", "value", "said"),
    [
        ("80 USD", "80 USD", "read as a text"),
        ("{'usd': 80}", {"usd": 80}, "single quotes"),
        ('{"usd": 80,}', {"usd": 80}, "trailing comma"),
        ({"usd": 80}, {"usd": 80}, "instead of a text"),
    ],
)
def test_slips_inside_value_json_are_mended_and_said(value_json: Any, value: Any, said: str) -> None:
    operation, output = delta(value_json=value_json)
    assert operation.value == value
    assert any(said in repair for repair in output.repairs)


def test_a_value_that_cannot_be_read_rejects_its_operation_alone() -> None:
    operation, output = delta(value_json="[" * 200)
    assert operation.fault is not None
    assert output.fault is None


def test_a_call_whose_arguments_cannot_be_read_makes_the_whole_output_a_fault() -> None:
    good = json.loads(render_object(StepOutput()))
    for arguments in ("pay 5", "[1]", '{"a": ?}'):
        output = parse(json.dumps({**good, "tool_calls": [{"name": "pay", "arguments_json": arguments}]}))
        assert output.fault is not None, arguments
    blank = parse(json.dumps({**good, "tool_calls": [{"name": "pay", "arguments_json": ""}]}))
    assert blank.tool_calls == (ToolCall(name="pay", arguments={}),)
    assert blank.repairs


def test_an_object_that_was_cut_off_is_no_half_decision() -> None:
    pay = ToolCall(name="pay", arguments={"usd": 5})
    for whole in (StepOutput(tool_calls=(pay,)), StepOutput(message="Send 500 to Anna")):
        text = render_object(whole)
        for end in range(1, len(text)):
            cut = parse(text[:end])
            assert cut.tool_calls in ((), whole.tool_calls)
            assert cut.message in (None, whole.message)


def test_fences_reasoning_and_end_tokens_around_an_object_are_mended() -> None:
    text = render_object(StepOutput(message="done"))
    for around in (f"```json\n{text}\n```", f"<think>hm</think>{text}", f"{text}<|im_end|>", f"Here:\n{text}"):
        output = parse(around)
        assert (output.fault, output.message) == (None, "done")
        assert output.repairs
