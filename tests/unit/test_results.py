"""What results and names of tools say: names, parameters, whether a tool writes. No server is needed."""

import json
import time
from collections.abc import Mapping

import pytest

from graphmem.exchange import results
from graphmem.exchange.verbs import is_write
from graphmem.vocabulary import Json


@pytest.mark.parametrize(
    ("tool", "writes"),
    [
        ("book_hotel", True),
        ("api.orders.cancelOrder", True),
        ("get_booking", False),
        ("list_orders_to_cancel", False),
        ("weather", False),
        ("", False),
    ],
)
def test_the_first_verb_of_a_name_says_whether_it_writes(tool: str, *, writes: bool) -> None:
    assert is_write(tool) is writes


@pytest.mark.parametrize(
    ("literal", "text", "there"),
    [("1", "10", False), ("1", "a 1.", True), ("a-1", "x a-1 y", True), ("user", "user_id", False), ("é", "é", True)],
)
def test_a_literal_occurs_as_a_word_of_its_own(literal: str, text: str, *, there: bool) -> None:
    assert results.occurs(literal, text) is there


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"order_id": "#W4923227", "created_at": "2024-05-14T10:44:24"}, ("#W4923227",)),
        ({"id": 17, "price": 4421}, ("17",)),
        ({"origin": "JFK", "date": "2024-05-24", "dob": "1990-04-05"}, ("JFK", "2024-05-24")),
        ({"payment_methods": {"card_77": {}}, "tags": ["red"]}, ("card_77", "red")),
        ([True, None, 3.5, ""], ()),
    ],
)
def test_what_a_result_names(value: Json, names: tuple[str, ...]) -> None:
    assert results.read(json.dumps(value)).names == names


def test_parameters_are_the_names_at_every_depth() -> None:
    arguments: Mapping[str, Json] = {"a": [{"b": 1}, {"c": {"d": None}}], "e": True}
    assert list(results.parameters(arguments)) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("row", ["x", "-", ".", "_", "ACGT", "=-", "7", "a1"])
def test_a_long_row_of_one_kind_of_character_is_read_as_fast_as_any_other_text(row: str) -> None:
    text = (row * 20_000)[:20_000]
    started = time.process_time()
    results.read(text).names  # noqa: B018  # what is found does not matter here
    assert time.process_time() - started < 5.0  # it was half a minute, in which no other thread can run
