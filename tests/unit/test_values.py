"""Values refuse what they cannot be, say so in a sentence, and come out as JSON."""

import json

import pytest

from graphmem import Access, InvalidValueError, Limits, Operation, Ref, Relation, StateKind, StepOutput, ToolCall


def test_kinds_and_relations_may_be_given_as_their_texts() -> None:
    made = Operation(operation="add", id="a", kind="knowledge", refs=[Ref(relation="derives", target="obs:1.1")])  # type: ignore[arg-type]  # what a user types
    assert made == Operation(
        operation="add", id="a", kind=StateKind.KNOWLEDGE, refs=(Ref(relation=Relation.DERIVES, target="obs:1.1"),)
    )


def test_a_value_that_is_given_counts_and_null_needs_to_be_said() -> None:
    assert Operation(operation="update", id="a", value=0).has_value
    assert not Operation(operation="update", id="a").has_value
    assert Operation(operation="update", id="a", has_value=True).has_value


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Operation(operation="add", id="a", kind="thing"), "preference, knowledge"),  # type: ignore[arg-type]
        (lambda: Ref(relation="causes", target="a"), "supports, derives"),  # type: ignore[arg-type]
        (lambda: Operation(operation="add", id="a", refs=Ref(relation=Relation.DERIVES, target="b")), "tuple of Ref"),  # type: ignore[arg-type]
        (lambda: StepOutput(delta=Operation(operation="remove", id="a")), "tuple of Operation"),  # type: ignore[arg-type]
        (lambda: StepOutput(access=("a",)), "tuple of Access"),  # type: ignore[arg-type]
        (lambda: StepOutput(tool_calls=({"name": "x"},)), "tuple of ToolCall"),  # type: ignore[arg-type]
        (lambda: Limits(result_bytes=-1), "result_bytes"),
    ],
)
def test_what_a_value_cannot_hold_is_named(make: object, named: str) -> None:
    with pytest.raises(InvalidValueError, match=named):
        make()  # type: ignore[operator]  # a lambda of the list above


def test_every_value_comes_out_as_json() -> None:
    output = StepOutput(
        delta=(Operation(operation="add", id="a", kind=StateKind.ARTIFACT, summary="s", value={"x": [1.0, None]}),),
        access=(Access(target="h"),),
        tool_calls=(ToolCall(name="f", arguments={"é": 1}),),
    )
    assert json.loads(json.dumps(output.to_dict()))["delta"][0]["kind"] == "artifact"
