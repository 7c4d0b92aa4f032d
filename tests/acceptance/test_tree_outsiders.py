"""What comes into the tree from outside: judges and summarizers that answer with something else or write meanwhile, odd
texts, a redactor. Each is a clear error that wrote nothing, or what was said, byte for byte.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

import graphmem
from graphmem import (
    Case,
    InvalidValueError,
    JudgeError,
    NothingToCompressError,
    Ruling,
    Space,
    StaleStatusError,
)
from graphmem.store import Connection
from graphmem.task import Context
from tests.acceptance.speech import add, say
from tests.acceptance.tree_speech import fails, grow, last_step, own, passes
from tests.acceptance.tree_walk import NO_TEXT, Walk, refused, walked_in


@pytest.fixture
def walk(space: Space) -> Walk:
    """One summary on the path, one node after it."""
    return walked_in(space.task("t"))


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


@pytest.mark.usefixtures("sound")
def test_a_judge_that_goes_back_while_it_judges_gives_a_verdict_about_what_is_off_the_path(walk: Walk) -> None:
    def judge(case: Case) -> Ruling:
        assert case.summary is not None
        walk.task.revise(case.summary, feedback="while judging")
        return Ruling(passed=True)

    verdict = walk.task.maintain(walk.summary, judge)
    assert (verdict.passed, verdict.stands, verdict.on_path) == (True, True, False)
    hints = walk.task.path().hints
    assert (hints.feedback, [s.verdict for s in hints.subgoals]) == ("while judging", ["passed"])


@pytest.mark.usefixtures("sound")
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


@pytest.mark.usefixtures("sound")
def test_a_summarizer_that_never_stops_writing_is_told_so(walk: Walk) -> None:
    def summarizer(_: Any) -> str:
        grow(walk.request, "more")
        return "never"

    with pytest.raises(StaleStatusError):
        walk.task.compress(summarizer=summarizer)
    assert len(walk.task.path().summaries) == 1
    assert walk.task.compress("now").text == "now"


@pytest.mark.usefixtures("sound")
def test_a_summarizer_that_compresses_leaves_nothing_to_compress(walk: Walk) -> None:
    def summarizer(_: Any) -> str:
        walk.task.compress("inner")
        return "outer"

    with pytest.raises(NothingToCompressError):
        walk.task.compress(summarizer=summarizer)
    assert [s.text for s in walk.task.path().summaries] == ["did one", "inner"]


@pytest.mark.usefixtures("sound")
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


@pytest.mark.usefixtures("sound")
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


@pytest.mark.usefixtures("sound")
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


@pytest.mark.usefixtures("sound")
def test_a_redactor_that_leaves_nothing_or_no_text_is_refused_and_nothing_is_written(
    graph: graphmem.Graph, walk: Walk, space: Space, connection: Connection
) -> None:
    made: Any = ""
    task = through(graph, space, lambda text: made if "x" in text else text).task("t")
    for made in ("", 5, None, "a\x00"):  # noqa: B007  # the redactor reads it
        refused(walk, connection, task.compress, "x", InvalidValueError)
        refused(walk, connection, lambda v: task.revise(walk.summary, feedback=v), "x", InvalidValueError)
        refused(walk, connection, lambda v: task.maintain(walk.summary, fails(v)), "x", InvalidValueError)
        refused(walk, connection, lambda v: task.fork("f", author=v), "x", InvalidValueError)
