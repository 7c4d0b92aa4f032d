"""Odd input at the operations of the tree: each is a clear error that wrote nothing, or does what it says.

Wrong types, numbers out of range, texts that cannot be stored, targets of others, judges and summarizers that answer
with something else or write meanwhile, a redactor.
"""

from collections.abc import Callable
from typing import Any, Final

import pytest

import graphmem
from graphmem import (
    InvalidValueError,
    NotFoundError,
    OffPathError,
    Prompt,
    Ruling,
    Space,
    StepOutput,
    Summary,
    ToolCall,
    ToolResult,
)
from graphmem.store import Connection
from graphmem.vocabulary import Json
from tests.acceptance.speech import add
from tests.acceptance.tree_speech import own, passes
from tests.acceptance.tree_walk import NO_TEXT, Walk, refused, walked_in

HUGE: Final = (2**63, 2**70, -1, -(2**70))
NO_NUMBER: Final = (*HUGE, True, 1.5, float("nan"), "1", b"1", [1], {"a": 1})


@pytest.fixture
def walk(space: Space) -> Walk:
    """One summary on the path, one node after it."""
    return walked_in(space.task("t"))


# --- arguments --------------------------------------------------------------------------------------------------------

NUMBERS: Final[dict[str, Callable[[Walk, Any], object]]] = {
    "path.text": lambda w, v: w.task.path().text(budget_tokens=v),
    "prompt": lambda w, v: w.task.prompt(budget_tokens=v),
    "prompt by hand": lambda w, v: Prompt(status=w.request.status(), path=w.task.path(), budget_tokens=v),
    "prompt at": lambda w, v: w.task.prompt(at=v),
    "at": lambda w, v: w.task.at(v),
    "fork at": lambda w, v: w.task.fork("f", at=v),
    "compress_long": lambda w, v: w.task.compress_long(above_tokens=v),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_whole_number_in_range_is_refused(walk: Walk, connection: Connection, name: str) -> None:
    for given in NO_NUMBER:
        refused(walk, connection, lambda v: NUMBERS[name](walk, v), given, InvalidValueError)


TEXTS: Final[dict[str, Callable[[Walk, Any], object]]] = {
    "compress": lambda w, v: w.task.compress(v),
    "compress attempt": lambda w, v: w.task.compress("x", attempt=v),
    "compress author": lambda w, v: w.task.compress("x", author=v),
    "compress author dry": lambda w, v: w.task.compress("x", author=v, dry_run=True),
    "maintain attempt": lambda w, v: w.task.maintain(w.summary, passes, attempt=v),
    "maintain author": lambda w, v: w.task.maintain(w.summary, passes, author=v),
    "revise feedback": lambda w, v: w.task.revise(w.summary, feedback=v),
    "revise attempt": lambda w, v: w.task.revise(w.summary, feedback="x", attempt=v),
    "revise author": lambda w, v: w.task.revise(w.summary, feedback="x", author=v),
    "revise world": lambda w, v: w.task.revise(w.summary, feedback="x", world=v),
    "fork name": lambda w, v: w.task.fork(v),
    "fork author": lambda w, v: w.task.fork("f", author=v),
}


@pytest.mark.parametrize("name", TEXTS)
def test_what_is_no_text_that_can_be_stored_is_refused(walk: Walk, connection: Connection, name: str) -> None:
    for given in NO_TEXT:
        refused(walk, connection, lambda v: TEXTS[name](walk, v), given, InvalidValueError)


@pytest.mark.parametrize("given", ["", "  \n\t", " "])
def test_a_blank_text_is_no_summary_and_no_feedback(walk: Walk, connection: Connection, given: str) -> None:
    refused(walk, connection, walk.task.compress, given, InvalidValueError)
    refused(walk, connection, lambda v: walk.task.revise(walk.summary, feedback=v), given, InvalidValueError)


@pytest.mark.parametrize("given", ["", "a/b", "a b", "é", "x" * 129, ".\n"])
def test_a_fork_needs_a_name_of_a_task(walk: Walk, connection: Connection, given: str) -> None:
    refused(walk, connection, walk.task.fork, given, InvalidValueError)


NO_TARGETS: Final = (
    *(v for v in NO_NUMBER if not isinstance(v, str)),
    "a\x00",
    "\ud800",
    Ruling(passed=True),
    object(),
)


@pytest.mark.usefixtures("sound")
def test_a_target_that_is_none_never_means_the_tail(walk: Walk, connection: Connection) -> None:
    for given in NO_TARGETS:
        refused(walk, connection, lambda v: walk.task.revise(v, feedback="x"), given, InvalidValueError)
        refused(walk, connection, lambda v: walk.task.maintain(v, passes), given, InvalidValueError)


def test_a_target_of_another_task_or_space_is_off_the_path(
    walk: Walk, space: Space, graph: graphmem.Graph, connection: Connection
) -> None:
    other = walked_in(space.task("other"))
    elsewhere = walked_in(graph.space(f"{space.name}-x").task("t"))
    try:
        for stranger in (other.summary, elsewhere.summary):
            given: Summary | str
            for given in (stranger, stranger.key):
                refused(walk, connection, lambda v: walk.task.revise(v, feedback="x"), given, OffPathError)
                refused(walk, connection, lambda v: walk.task.maintain(v, passes), given, NotFoundError)
        node = walk.task.path().recent[0].key
        refused(walk, connection, lambda v: walk.task.revise(v, feedback="x"), node, OffPathError)
        refused(walk, connection, lambda v: walk.task.maintain(v, passes), node, NotFoundError)
        assert [len(w.task.path().summaries) for w in (other, elsewhere)] == [1, 1]
    finally:
        connection.run("test", "MATCH (n {space: $p.space}) DETACH DELETE n", {"space": f"{space.name}-x"})


def test_numbers_that_name_nothing_are_refused_with_what_there_is(walk: Walk, connection: Connection) -> None:
    for given in (1, 7, 2**63 - 1):
        refused(walk, connection, lambda v: walk.task.revise(v, feedback="x"), given, OffPathError)
        refused(walk, connection, lambda v: walk.task.maintain(v, passes), given, OffPathError)
    for step in (7, 2**63 - 1):
        refused(walk, connection, lambda v: walk.task.fork("f", at=v), step, NotFoundError)
        refused(walk, connection, lambda v: walk.task.at(v).path(), step, NotFoundError)
        refused(walk, connection, lambda v: walk.task.prompt(at=v), step, NotFoundError)


def test_a_task_that_is_not_there_is_named_by_every_operation(space: Space, connection: Connection) -> None:
    task = space.task("nothing")
    calls: list[Callable[[], object]] = [
        task.path,
        task.compress,
        lambda: task.compress_long(),
        lambda: task.maintain(None, passes),
        lambda: task.revise(feedback="x"),
        lambda: task.fork("f"),
        task.origin,
        task.prompt,
        lambda: task.at(1).path(),
        lambda: task.at(1).states(),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match="nothing"):
            call()
    assert connection.run("test", "MATCH (n {space: $p.space}) RETURN n.key", {"space": space.name}) == []


@pytest.mark.parametrize("given", ["book", b"book", 5, None, [5], ["a\x00"], [None], object()])
def test_irreversible_tools_are_names_in_a_collection(walk: Walk, space: Space, given: Any) -> None:
    with pytest.raises(InvalidValueError, match="irreversible"):
        space.task("u", irreversible=given)
    result = walk.request.step(walk.request.status(), StepOutput(tool_calls=(ToolCall(name="book"),)))
    results = [ToolResult(call_id=result.calls[0].id, content="x")]
    with pytest.raises(InvalidValueError, match="irreversible"):
        walk.request.observe(result, results, irreversible=given)
    assert walk.request.status().pending is not None
    walk.request.observe(result, results, irreversible={"book"})
    assert [ran.tool for ran in walk.task.revise(feedback="x", dry_run=True).irreversible] == ["book"]


@pytest.mark.parametrize("option", ["psa", "isu", "compress", "maintain", "revise", "isolate_states"])
def test_a_mechanism_is_on_or_off(space: Space, option: str) -> None:
    odd: tuple[object, ...] = (0, 1, "no", "", [], {})
    for given in odd:
        with pytest.raises(InvalidValueError, match=option):
            space.task("t", **{option: given})  # type: ignore[arg-type]


# --- the model's own calls --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["9" * 5_000, "9" * 19, 2**62, "٣", "-1", " ", 1.5, True, [1], {"a": 1}, "x" * 9_000])
def test_an_odd_step_in_the_models_revise_is_a_short_reason(walk: Walk, step: Json) -> None:
    result = own(walk.request, "revise", add("b"), step=step, feedback="wrong")
    assert (result.revised, result.added, [reason.what for reason in result.rejected]) == (
        None,
        ("b",),
        ["call revise"],
    )
    assert len(result.rejected[0].why) < 200
    assert [node.number for node in walk.task.path().recent] == [2]


def test_an_odd_world_in_the_models_revise_is_a_short_reason(walk: Walk) -> None:
    for world in ("x" * 9_000, 5, None, ["restored"], "RESTORED"):
        result = own(walk.request, "revise", step=0, feedback="wrong", world=world)
        assert result.revised is None
        assert len(result.rejected[0].why) < 200


@pytest.mark.usefixtures("sound")
def test_what_cannot_be_stored_in_the_models_own_calls_stops_nothing(walk: Walk) -> None:
    for name, arguments in (
        ("compress", r'{"summary":"a\u0000"}'),
        ("compress", r'{"summary":"\ud800"}'),
        ("revise", r'{"feedback":"a\u0000"}'),
        ("revise", '{"feedback":"x","step":' + "9" * 40 + "}"),
    ):
        text = f'<state_delta>[]</state_delta><tool_calls>[{{"name":"{name}","arguments":{arguments}}}]</tool_calls>'
        result = walk.request.step(walk.request.status(), text)
        assert (result.revised, result.summary, result.calls) == (None, None, ())
        assert result.refused or result.rejected
    assert [node.number for node in walk.task.path().recent] == [2]


# --- loading ----------------------------------------------------------------------------------------------------------


def test_what_is_no_pair_of_calls_and_results_is_not_loaded(walk: Walk, connection: Connection) -> None:
    call = ToolCall(name="look")
    for pairs in (
        5,
        None,
        [5],
        [()],
        [((call,), "x")],
        ["ab"],
        [((5,), ("x",))],
        [((call,), ())],
        [((), ())],
        [(call, "x")],
    ):
        refused(walk, connection, lambda v: walk.task.grow_many(v, attempt="l"), pairs, InvalidValueError)
    for content in (5, b"x", "a\x00", ["x"]):
        refused(
            walk, connection, lambda v: walk.task.grow_many([((call,), (v,))], attempt="l"), content, InvalidValueError
        )
    for attempt in (5, None, "a\x00"):
        refused(walk, connection, lambda v: walk.task.grow_many([], attempt=v), attempt, InvalidValueError)
    for batch in (*NO_NUMBER, 0):
        refused(walk, connection, lambda v: walk.task.grow_many([], attempt="l", batch=v), batch, InvalidValueError)
