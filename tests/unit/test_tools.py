"""Tools: what a model is told of a function, and in which forms they are given."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from graphmem.agent import Tool, tools_of
from graphmem.errors import InvalidValueError

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SCHEMA = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": PARAMETERS}}


@dataclass
class Place:
    """Where."""

    city: str


PLACE = {
    "type": "object",
    "title": "Place",
    "description": "Where.",
    "properties": {"city": {"title": "City", "type": "string"}},
    "required": ["city"],
}


def look(city: str) -> str:
    """Look at a city."""
    return city


def properties(function: Callable[..., object]) -> Any:
    return Tool.of(function).parameters["properties"]


def test_type_hints_become_json_schema() -> None:
    def book(
        city: str,
        nights: int,
        days: list[int],
        how: Literal["cheap", "good"],
        most: float | None = None,
        **more: object,
    ) -> None:
        del city, nights, days, how, most, more

    found = properties(book)
    assert found == {
        "city": {"type": "string"},
        "nights": {"type": "integer"},
        "days": {"type": "array", "items": {"type": "integer"}},
        "how": {"enum": ["cheap", "good"], "type": "string"},
        "most": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    }
    assert Tool.of(book).parameters["required"] == ["city", "nights", "days", "how"]


def test_a_type_of_ones_own_is_told_in_its_place() -> None:
    def go(start: Place, end: Place) -> None:
        del start, end

    assert properties(go) == {"start": PLACE, "end": PLACE}


def test_references_inside_a_list_lead_to_the_root_of_the_schema() -> None:
    def go(places: list[Place]) -> None:
        del places

    parameters: Any = Tool.of(go).parameters
    assert parameters["properties"]["places"]["items"] == {"$ref": "#/$defs/Place"}
    assert parameters["$defs"] == {"Place": PLACE}


def test_a_type_that_no_json_stands_for_is_told_as_a_text() -> None:
    def odd(what: Callable[[], int], event: object) -> None:
        del what, event

    assert properties(odd)["what"] == {"type": "string"}


def test_a_function_whose_hints_cannot_be_read_is_refused() -> None:
    def broken(city: "NoSuchType") -> None:  # type: ignore[name-defined]  # noqa: F821  that is the point
        del city

    with pytest.raises(InvalidValueError, match="NoSuchType"):
        Tool.of(broken)


@pytest.mark.parametrize("schema", [SCHEMA, SCHEMA["function"], {"type": "function", **SCHEMA["function"]}])  # type: ignore[dict-item]
def test_a_tool_is_made_of_an_openai_schema_and_its_function(schema: Any) -> None:
    tool = Tool.from_openai(schema, look, irreversible=True)
    assert (tool.name, tool.description, tool.parameters, tool.irreversible) == ("look", "Look.", PARAMETERS, True)


@pytest.mark.parametrize("schema", [{}, {"function": {}}, {"function": "look"}, {"name": ""}, [], "look", {"name": 3}])
def test_a_schema_without_a_name_is_refused(schema: Any) -> None:
    with pytest.raises(InvalidValueError, match="a tool schema is"):
        Tool.from_openai(schema, look)


def test_a_schema_needs_a_function_that_can_be_called() -> None:
    with pytest.raises(InvalidValueError, match="look needs a function"):
        Tool.from_openai(SCHEMA, "look")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InvalidValueError, match="needs its function"):
        tools_of([SCHEMA])


def test_an_asynchronous_function_is_refused_since_nobody_would_wait_for_it() -> None:
    async def look(city: str) -> str:
        return city

    with pytest.raises(InvalidValueError, match="is asynchronous"):
        Tool.of(look)


def test_tools_are_given_in_many_forms() -> None:
    made = Tool.of(look, name="made")
    given = [look, made, (SCHEMA | {"function": {**SCHEMA["function"], "name": "told"}}, look), {"named": look}, []]  # type: ignore[dict-item]
    assert [tool.name for tool in tools_of(given)] == ["look", "made", "told", "named"]
    assert [tool.name for tool in tools_of(look)] == ["look"]


@pytest.mark.parametrize("given", [3, None, "look", [look, 3], {"look": 3}, functools.partial(look, "x"), Place("x")])
def test_what_is_no_tool_is_refused(given: object) -> None:
    with pytest.raises(InvalidValueError):
        tools_of(given)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="called look"):
        tools_of([look, (SCHEMA, look)])
