"""Named queries: what they take, and how the text of a parameter is read. Nothing here needs a server."""

from typing import Any

import pytest

from graphmem import InvalidValueError, inspect
from graphmem.inspect.named import PARAMETERS, describe, inspect_query, parameters


def test_named_queries_say_what_they_take() -> None:
    about = {named.name: named for named in inspect.named_queries()}
    assert {"tasks", "requests", "states", "show", "disclose", "log", "why", "path", "live_graph", "counts"} <= set(
        about
    )
    assert about["log"].params == ("space", "task", "request", "first", "last", "limit")
    assert about["log"].optional == ("request", "first", "last", "limit")
    assert about["indexes"].params == ()
    assert all(set(named.params) <= set(PARAMETERS) for named in about.values())


@pytest.mark.parametrize(
    ("name", "given", "why"),
    [
        ("log", {"space": "s"}, "log needs task"),
        ("log", {"space": "s", "task": "t", "colour": "red"}, "no parameter colour"),
        ("log", {"space": "s", "task": "t", "limit": "many"}, "limit: 'many' is not a whole number"),
        ("log", {"space": "s", "task": 7}, "task must be a text"),
        ("indexes", {"space": "s"}, "it takes no parameter"),
        ("nothing", {}, "there is no query 'nothing'"),
        ("../task/step", {}, "there is no query"),
        ("disclose", {"space": "s", "task": "t", "ids": "[1]"}, "not a list of texts"),
    ],
)
def test_a_wrong_parameter_is_named(name: str, given: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidValueError, match=why):
        parameters(inspect_query(name), given)


def test_a_missing_parameter_is_answered_with_the_whole_line_to_type() -> None:
    with pytest.raises(InvalidValueError) as raised:
        parameters(inspect_query("show"), {"space": "s", "id": "it's"})
    assert raised.value.command == "graphmem cypher show -p space=s -p task=TASK -p 'id=it'\"'\"'s'"


def test_text_is_read_as_its_parameter_needs_it() -> None:
    given: dict[str, Any] = {"space": "7", "task": "2024", "ids": "a, obs:1.1"}
    assert parameters(inspect_query("disclose"), given) == {"space": "7", "task": "2024", "ids": ["a", "obs:1.1"]}
    assert parameters(inspect_query("disclose"), given | {"ids": '["a, b"]'})["ids"] == ["a, b"]
    assert parameters(inspect_query("log"), {"space": "s", "task": "t", "limit": "3"})["limit"] == 3
    assert parameters(inspect_query("log"), {"space": "s", "task": "t"})["request"] is None
    assert describe(inspect_query("audit_path")).optional == ("space", "limit")
