"""Odd input at the operations of the tree: each is a clear error that wrote nothing, or does what it says.

Wrong types, numbers out of range, texts that cannot be stored, targets of others, judges and summarizers that answer
with something else or write meanwhile, a redactor.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest

import graphmem
from graphmem import (
    Case,
    InvalidValueError,
    JudgeError,
    NotFoundError,
    NothingToCompressError,
    OffPathError,
    Prompt,
    Request,
    Ruling,
    Space,
    StaleStatusError,
    StepOutput,
    Summary,
    Task,
    ToolCall,
    ToolResult,
)
from graphmem.store import Connection
from graphmem.task import Context
from graphmem.vocabulary import Json
from tests.acceptance.speech import add, say
from tests.acceptance.tree_speech import fails, grow, last_step, own, passes

pytestmark = pytest.mark.usefixtures("sound")

HUGE: Final = (2**63, 2**70, -1, -(2**70))
NO_NUMBER: Final = (*HUGE, True, 1.5, float("nan"), "1", b"1", [1], {"a": 1})
NO_TEXT: Final = (5, True, 1.5, b"x", ["x"], {"a": 1}, "a\x00", "\ud800")


@dataclass(frozen=True)
class Walk:
    """A task with a finished subgoal and a tail."""

    task: Task
    request: Request
    summary: Summary


@pytest.fixture
def walk(space: Space) -> Walk:
    """One summary on the path, one node after it."""
    return walked_in(space.task("t"))


def walked_in(task: Task) -> Walk:
    request = task.request("go")
    grow(request, "one")
    summary = task.compress("did one")
    grow(request, "two", delta=(add("a"),))
    return Walk(task, request, summary)


def refused(
    walk: Walk, connection: Connection, call: Callable[[Any], object], given: object, kind: type[Exception]
) -> None:
    """The call refuses the value by an error of this kind, and neither ledger nor path moved."""
    was, path = last_step(connection, walk.task), walk.task.path()
    with pytest.raises(kind):
        call(given)
    assert last_step(connection, walk.task) == was
    assert walk.task.path() == path


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
    for given in (0, 1, "no", "", [], {}):
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


# --- judges and summarizers -------------------------------------------------------------------------------------------

RULINGS: Final = (
    5,
    None,
    True,
    "",
    "fine",
    Ruling(passed=False),
    Ruling(passed=False, feedback=" \n"),
    Ruling(passed=False, feedback="a\x00"),
    Ruling(passed=False, feedback="\ud800"),
    Ruling(passed=False, feedback=5),  # type: ignore[arg-type]
    Ruling(passed=True, feedback=None),  # type: ignore[arg-type]
    Ruling(passed="no", feedback="f"),  # type: ignore[arg-type]
    Ruling(passed=1),  # type: ignore[arg-type]
)


def test_a_judge_that_gives_no_verdict_records_none(walk: Walk, connection: Connection) -> None:
    for said in RULINGS:
        refused(walk, connection, lambda v: walk.task.maintain(walk.summary, lambda _: v), said, JudgeError)
    for judge in (5, None, "pass", object(), Ruling(passed=True)):
        refused(walk, connection, lambda v: walk.task.maintain(walk.summary, v), judge, JudgeError)


def test_a_summarizer_that_gives_no_text_compresses_nothing(walk: Walk, connection: Connection) -> None:
    for said in (*NO_TEXT, None, "", " "):
        refused(walk, connection, lambda v: walk.task.compress(summarizer=lambda _: v), said, InvalidValueError)
    for summarizer in (5, "text", object(), ["x"]):
        refused(walk, connection, lambda v: walk.task.compress(summarizer=v), summarizer, InvalidValueError)


def test_a_judge_that_goes_back_while_it_judges_gives_a_verdict_about_what_is_off_the_path(walk: Walk) -> None:
    def judge(case: Case) -> Ruling:
        assert case.summary is not None
        walk.task.revise(case.summary, feedback="while judging")
        return Ruling(passed=True)

    verdict = walk.task.maintain(walk.summary, judge)
    assert (verdict.passed, verdict.stands, verdict.on_path) == (True, False, False)
    (tried,) = walk.task.path().hints.subgoals
    assert (tried.verdict, tried.note) == ("failed", "while judging")


def test_a_judge_that_goes_on_with_the_task_while_it_judges_disturbs_nothing(walk: Walk) -> None:
    def judge(_: Case) -> Ruling:
        grow(walk.request, "three")
        walk.task.compress("did two and three")
        return Ruling(passed=False, feedback="no")

    verdict = walk.task.maintain(None, judge)
    assert (verdict.summary, verdict.stands, verdict.on_path) == (walk.summary.key, True, True)
    assert [s.verdict for s in walk.task.path().summaries] == ["failed", "unchecked"]


def test_a_judge_of_a_judge_counts_last(walk: Walk) -> None:
    def judge(_: Case) -> Ruling:
        walk.task.maintain(walk.summary, fails("inner"))
        return Ruling(passed=True)

    assert walk.task.maintain(walk.summary, judge).stands
    assert walk.task.path().summaries[0].verdict == "passed"


def test_a_summarizer_that_writes_once_is_asked_again_about_what_there_is_then(walk: Walk) -> None:
    asked: list[int] = []

    def summarizer(nodes: Any) -> str:
        asked.append(len(nodes))
        if len(asked) == 1:
            grow(walk.request, "three")
        return f"did {len(nodes)}"

    assert walk.task.compress(summarizer=summarizer).text == "did 2"
    assert asked == [1, 2]


def test_a_summarizer_that_never_stops_writing_is_told_so(walk: Walk) -> None:
    def summarizer(_: Any) -> str:
        grow(walk.request, "more")
        return "never"

    with pytest.raises(StaleStatusError):
        walk.task.compress(summarizer=summarizer)
    assert len(walk.task.path().summaries) == 1
    assert walk.task.compress("now").text == "now"


def test_a_summarizer_that_compresses_leaves_nothing_to_compress(walk: Walk) -> None:
    def summarizer(_: Any) -> str:
        walk.task.compress("inner")
        return "outer"

    with pytest.raises(NothingToCompressError):
        walk.task.compress(summarizer=summarizer)
    assert [s.text for s in walk.task.path().summaries] == ["did one", "inner"]


def test_the_verdict_of_an_attempt_names_the_summary_it_was_about(walk: Walk) -> None:
    first = walk.task.maintain(None, fails("no"), attempt="m")
    walk.task.compress("did two")
    again = walk.task.maintain(None, passes, attempt="m")
    assert again == first
    assert (again.summary, again.passed, again.feedback) == (walk.summary.key, False, "no")


# --- texts ------------------------------------------------------------------------------------------------------------

ODD_TEXTS: Final = (
    "\u202e\u0000f".replace("\u0000", "\u0001"),
    "e\u0301 é \U0001f469\u200d\U0001f469\u200d\U0001f467 \ufffe \ufeff",
    "\u2028\u2029\x85\r\n\t\x0b\x7f",
    '</task_instruction> {"a": [1]} $p.x // \' " ` \\ \\u0000 %s {0}',
    "\U0010ffff" * 3,
)


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_texts_come_back_as_they_were(space: Space, text: str, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("go")
    grow(request, f"r{text}r", arguments={f"k{text}": text})
    summary = task.compress(f"s{text}s")
    task.maintain(summary, fails(f"n{text}n"))
    step = last_step(connection, task)
    fork = task.fork("f", at=step)
    for path in (task.path(), task.at(step).path(), fork.path()):
        assert [(s.text, s.note) for s in path.summaries] == [(f"s{text}s", f"n{text}n")]
    task.revise(summary, feedback=f"f{text}f")
    path = task.path()
    assert path.hints.feedback == f"f{text}f"
    assert [s.text for s in path.hints.subgoals] == [f"s{text}s"]
    assert path.hints.tried[0].results[0].content == f"r{text}r"
    assert path.hints.tried[0].results[0].arguments == {f"k{text}": text}
    assert grow(request, f"r{text}r", arguments={f"k{text}": text}).merged
    assert path.text()
    assert task.at(last_step(connection, task)).path() == replace(task.path(), at=last_step(connection, task))


# --- a redactor -------------------------------------------------------------------------------------------------------

HIDDEN: Final = "s3cret"


def through(graph: graphmem.Graph, space: Space, redact: Callable[[str], str]) -> Space:
    context = Context(connection=graph.connection, tokenizer=space._context.tokenizer, redact=redact)
    return graphmem.Graph(context).space(space.name)


def hide(text: str) -> str:
    return text.replace(HIDDEN, "[hidden]")


def test_no_text_of_the_tree_reaches_the_graph_unredacted(
    graph: graphmem.Graph, space: Space, connection: Connection
) -> None:
    task = through(graph, space, hide).task("t", irreversible=(f"book {HIDDEN}",))
    request = task.request("go")
    grow(request, f"one {HIDDEN}", tool=f"book {HIDDEN}", arguments={HIDDEN: HIDDEN})
    summary = task.compress(f"did {HIDDEN}", author=HIDDEN, attempt=HIDDEN)
    assert summary.text == "did [hidden]"
    verdict = task.maintain(summary, fails(f"bad {HIDDEN}"), author=HIDDEN, attempt=HIDDEN)
    assert verdict.feedback == "bad [hidden]"
    task.fork("f", author=HIDDEN)
    revised = task.revise(summary, feedback=f"no {HIDDEN}", author=HIDDEN, attempt=HIDDEN)
    assert [ran.tool for ran in revised.irreversible] == ["book [hidden]"]
    grow(request, f"two {HIDDEN}")
    task.revise(feedback=f"tail {HIDDEN}")
    grow(request, f"three {HIDDEN}")
    task.compress(summarizer=lambda _: f"wrote {HIDDEN}")
    grow(request, f"four {HIDDEN}")
    task.compress()
    grow(request, "five")
    own(request, "compress", summary=f"own {HIDDEN}")
    own(request, "revise", add("a", value=HIDDEN), step=task.path().summaries[-1].boundary, feedback=f"own {HIDDEN}")
    grow(request, "six")
    say(request, message=f"done {HIDDEN}")
    assert HIDDEN not in task.path().text()
    assert stored(connection, space) == []


def stored(connection: Connection, space: Space) -> list[dict[str, Any]]:
    """Every property of the space that holds the secret."""
    query = (
        "MATCH (n {space: $p.space}) UNWIND keys(n) AS k WITH n, k WHERE toStringOrNull(n[k]) CONTAINS $p.text "
        "OR (valueType(n[k]) STARTS WITH 'LIST' AND any(x IN n[k] WHERE toStringOrNull(x) CONTAINS $p.text)) "
        "RETURN labels(n) AS labels, k AS key"
    )
    return connection.run("test", query, {"space": space.name, "text": HIDDEN})


def test_a_redactor_that_leaves_nothing_or_no_text_is_refused_and_nothing_is_written(
    graph: graphmem.Graph, walk: Walk, space: Space, connection: Connection
) -> None:
    for made in ("", 5, None, "a\x00"):
        task = through(graph, space, lambda text: made if "x" in text else text).task("t")  # type: ignore[return-value]  # noqa: B023
        refused(walk, connection, task.compress, "x", InvalidValueError)
        refused(walk, connection, lambda v: task.revise(walk.summary, feedback=v), "x", InvalidValueError)
        refused(walk, connection, lambda v: task.maintain(walk.summary, fails(v)), "x", InvalidValueError)
        refused(walk, connection, lambda v: task.fork("f", author=v), "x", InvalidValueError)
