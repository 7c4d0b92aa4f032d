"""Runs as a measure sees them: which arguments were said before, by whom, and what a model without memory is shown."""

import pytest

from graphmem import ToolCall
from graphmem.exchange import Round, Run, Turn
from graphmem.exchange.measuring import baselines
from graphmem.exchange.measuring.figures import Figure, Measured, table
from graphmem.exchange.measuring.script import Literal, Script, literals
from graphmem.llm.tokens import estimate


def _call(name: str, **arguments: object) -> ToolCall:
    return ToolCall(name=name, arguments=arguments)  # type: ignore[arg-type]  # JSON in every test


def _run() -> Run:
    """Hotels are looked for, then one of them is booked for a person who was named long before."""
    look = Turn(calls=(_call("search", city="Oslo", stars=4),), results=('[{"id": "H-1", "price": 80}]',))
    book = Turn(
        text="I book it",
        calls=(_call("book", hotel="H-1", guest="Ada", nights=3), _call("note", text="H-1")),
        results=("done", None),
    )
    return Run(
        task="t",
        rounds=(
            Round(text="I am Ada. Find a hotel in Oslo", turns=(look, Turn(text="H-1 is there")), is_answered=True),
            Round(text="Book it", turns=(book,)),
        ),
    )


def test_a_moment_is_a_turn_with_calls_and_asks_for_what_was_said_before_it() -> None:
    first, second = Script(_run()).moments
    assert [x.text for x in first.literals] == ["Oslo"]
    assert [(x.tool, x.parameter, x.text) for x in second.literals] == [
        ("book", "hotel", "H-1"),
        ("book", "guest", "Ada"),
        ("note", "text", "H-1"),
    ]
    assert (second.tools, second.parameters) == (("book", "note"), ("hotel", "guest", "nights", "text"))


def test_where_a_literal_was_said_last_is_told() -> None:
    script = Script(_run())
    first, second = script.moments
    assert [script.kind(first, x) for x in first.literals] == ["user, this request"]
    assert [script.kind(second, x) for x in second.literals] == [
        "assistant, an earlier request",
        "user, an earlier request",
        "assistant, an earlier request",
    ]
    assert script.kind(second, Literal(tool="x", parameter="y", text="Oslo")) == "argument, an earlier request"
    assert script.kind(second, Literal(tool="x", parameter="y", text="80")) == "result, an earlier request"
    assert script.kind(second, Literal(tool="x", parameter="y", text="Bergen")) == "nowhere"


def test_literals_are_texts_and_numbers_at_every_depth() -> None:
    found = literals(_call("f", a=[{"b": "x"}, {"b": 2.5}], c=True, d=None, e="", g={"h": 0}))
    assert [(x.parameter, x.text) for x in found] == [("b", "x"), ("b", "2.5"), ("h", "0")]


@pytest.mark.parametrize(
    ("text", "shown", "there"),
    [
        ('say "hi"', r'{"a": "say \"hi\""}', True),
        ("two\nlines", r'{"a": "two\nlines"}', True),
        ("10", "100", False),
    ],
)
def test_a_literal_is_found_as_it_is_or_as_json_writes_it(text: str, shown: str, *, there: bool) -> None:
    assert Literal(tool="t", parameter="p", text=text).said_in(shown) is there


def test_the_whole_history_is_everything_before() -> None:
    script = Script(_run())
    shown = baselines.full(script, script.moments[1])
    assert [(m.kind, m.round) for m in shown] == [
        ("user", 0),
        ("call", 0),
        ("result", 0),
        ("assistant", 0),
        ("user", 1),
    ]
    assert shown[1].shown == 'assistant: \n{"name":"search","arguments":{"city":"Oslo","stars":4}}\n'


def test_last_messages_fill_the_budget_from_the_end_and_always_hold_the_request() -> None:
    script = Script(_run())
    moment = script.moments[1]
    size = {m.shown: 10 for m in script.messages}

    def last(budget: int) -> list[str]:
        return [m.text for m in baselines.last(script, moment, budget, lambda text: size[text])]

    assert last(0) == ["Book it"]
    assert last(20) == ["H-1 is there", "Book it"]
    assert last(29) == ["H-1 is there", "Book it"]
    assert last(10**6) == [m.text for m in script.messages[:5]]


def test_bm25_takes_the_best_messages_that_fit() -> None:
    assert baselines.has_bm25()
    rounds = [Round(text=f"Tell me of {word}", turns=(Turn(text=f"{word} it is"),), is_answered=True) for word in "xyz"]
    ask = Round(text="what of y", turns=(Turn(calls=(_call("get", y=1),), results=("1",)),))
    script = Script(Run(task="t", rounds=(*rounds, ask)))
    (moment,) = script.moments
    shown = baselines.bm25(script, moment, 30, lambda _text: 10)
    assert [m.text for m in shown] == ["Tell me of y", "y it is", "what of y"]
    assert len(baselines.bm25(script, moment, 10**6, lambda _text: 10)) == moment.seen


def test_figures_of_parts_add_up() -> None:
    one = Figure(way="w", moments=2, literals=4, found=3, tokens=100)
    one.misses["user, this request"] += 1
    both = one + Figure(way="w", moments=2, literals=0, found=0, tokens=50)
    assert (both.recall, both.tokens_per_moment, dict(both.misses)) == (0.75, 37.5, {"user, this request": 1})
    assert Figure(way="w").recall == 1.0


def test_the_table_of_nothing_is_a_table() -> None:
    counter = estimate()
    nothing = Measured(runs=0, calls=0, tokenizer=counter.name, exact=counter.exact, figures=())
    assert table(nothing).startswith(
        "0 runs, 0 calls, 0 arguments that were said before; tokens before a call (estimate"
    )
