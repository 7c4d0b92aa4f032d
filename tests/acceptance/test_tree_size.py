"""Large trees: a chain of 10,000 steps, 300 branches of one node, 300 subgoals, contents of 1 MiB, names alike.

What is read of them stays right, and what a prompt shows of them does not grow with them.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest

import graphmem
from graphmem import LimitError, Limits, Path, Ruling, Space, StateKind, Task, ToolCall
from graphmem.inspect import tree
from graphmem.store import Connection
from graphmem.vocabulary import json_text
from tests.acceptance.speech import add, say
from tests.acceptance.tree_speech import fails, grow, last_step, passes, subgoals, walked

pytestmark = pytest.mark.usefixtures("sound")

LONG, MANY, SHOWN = 10_000, 300, 50
MIB: Final = 1 << 20


def pairs(first: int, last: int) -> Iterator[tuple[tuple[ToolCall, ...], tuple[str, ...]]]:
    """Calls that differ, with their results."""
    for i in range(first, last):
        yield (ToolCall(name="look", arguments={"n": i}),), (f"result {i}",)


def test_a_chain_of_ten_thousand_steps_is_read_revised_and_forked_as_a_short_one(
    space: Space, connection: Connection
) -> None:
    task = space.task("t")
    request = task.request("go")
    task.grow_many(pairs(1, LONG), attempt="load")
    grow(request, f"result {LONG}", delta=(add("a", f"obs:{LONG - 1}.1"),))
    check_chain(task.path(), 1, LONG)
    prompt = task.prompt(budget_tokens=1_000)
    assert prompt.tokens < 2_000
    assert f"result {LONG}" in prompt.text()
    half = task.at(1 + LONG).path()
    check_chain(half, 1, LONG // 2)
    assert half.version == 1 + LONG
    check_fork(task)
    summary = task.compress("did it all")
    assert (task.path().recent, subgoals(task.path())) == ((), [(0, "did it all")])
    task.maintain(summary, lambda case: Ruling(passed=len(case.trace) == LONG))
    assert task.path().summaries[0].trusted
    shown = tree(connection, space.name, "t")
    assert (len(shown.nodes), len(shown.summaries)) == (LONG + 1, 1)
    revised = task.revise(summary, feedback="all wrong", world="restored")
    assert (revised.boundary_step, revised.left) == (1, ("a",))
    path = task.path()
    assert (path.recent, path.summaries, [tried.number for tried in path.hints.tried]) == ((), (), [1])
    assert grow(request, "result 1", arguments={"n": 1}).number == 1
    check_chain(task.at(2 * LONG + 1).path(), 1, LONG)


def check_chain(path: Path, first: int, last: int) -> None:
    assert walked(path) == list(range(first, last + 1))
    assert [o.content for node in path.recent for o in node.results] == [f"result {i}" for i in range(first, last + 1)]


def check_fork(task: Task) -> None:
    """A fork in a chain, all of which until there is its R."""
    fork = task.fork("f", at=1 + LONG // 2)
    check_chain(fork.path(), 1, LONG // 4)
    assert grow(fork.open_request(), "of its own").number == LONG // 4 + 1
    assert walked(task.path())[-1] == LONG


def test_of_three_hundred_branches_the_newest_are_shown_and_the_rest_counted(
    space: Space, connection: Connection
) -> None:
    task = space.task("t")
    request = task.request("go")
    grow(request, "first")
    task.compress("the start")
    for i in range(MANY):
        task.grow_many(pairs(i, i + 1), attempt=f"branch {i}")
        if i % 100 == 0:
            middle = last_step(connection, task)
        task.revise(feedback=f"not {i}")
    hints = task.path().hints
    assert hints.feedback == f"not {MANY - 1}"
    assert [tried.number for tried in hints.tried] == list(range(MANY + 1, MANY + 1 - SHOWN, -1))
    assert [tried.notes for tried in hints.tried] == [(f"not {MANY - 1 - i}",) for i in range(SHOWN)]
    assert (hints.more_tried, len(hints.subgoals), hints.more_subgoals) == (MANY - SHOWN, SHOWN, MANY - SHOWN)
    then = task.at(middle).path()
    assert (walked(then), then.hints.feedback) == ([202], "not 199")
    before = task.at(middle - 2).path().hints
    assert (before.more_tried, before.more_subgoals) == (200 - SHOWN, 200 - SHOWN)
    assert task.prompt().tokens < 20_000
    assert task.prompt(budget_tokens=100).tokens < 400
    shown = tree(connection, space.name, "t")
    assert (len(shown.nodes), len(shown.summaries)) == (MANY + 2, MANY + 1)
    again = grow(request, "result 7", arguments={"n": 7})
    assert (again.number, again.merged, again.notes) == (9, True, ("not 7",))
    task.revise(0, feedback="all of it")
    assert [tried.number for tried in task.path().hints.tried] == [1]
    fork = task.fork("f", at=middle)
    assert (walked(fork.path()), fork.path().hints.tried) == ([202], ())


def test_three_hundred_subgoals_are_kept_judged_and_gone_back_through(space: Space, connection: Connection) -> None:
    task = space.task("t")
    task.request("go")
    for i in range(MANY):
        task.grow_many(pairs(i, i + 1), attempt=f"load {i}")
        task.compress(f"did {i}")
    told = [(i, f"did {i}") for i in range(MANY)]
    path = task.path()
    assert subgoals(path) == told
    text = path.text(budget_tokens=1_000)
    assert path.tokenizer.count(text) <= 1_000
    assert f'"summary":"did {MANY - 1}"' in text
    assert subgoals(task.at(1 + 3 * 100).path()) == told[:100]
    assert task.maintain(150, fails("wrong")).on_path
    dry = task.revise(250, feedback="no", dry_run=True)
    revised = task.revise(150)
    assert (dry.boundary_step, revised.boundary_step) == (1 + 3 * 250, 1 + 3 * 150)
    assert (subgoals(task.path()), task.path().hints.feedback) == (told[:150], "wrong")
    fork = task.fork("f", at=1 + 3 * 200)
    assert subgoals(fork.path()) == told[:200]
    shown = tree(connection, space.name, "t")
    assert (len(shown.nodes), len(shown.summaries)) == (MANY + 1, MANY)
    assert [s.text for s in task.path().hints.subgoals] == ["did 150"]


def test_a_mebibyte_comes_back_byte_for_byte(space: Space, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("go")
    content, text, note, back = (letter * (MIB // len(letter.encode())) for letter in ("é", "\U0001f469", "x", "\n<"))
    grow(request, content, content + "", delta=(add("a"),))
    summary = task.compress(text)
    task.maintain(summary, fails(note))
    step = last_step(connection, task)
    assert summary.text == text
    for past in (task.path(), task.at(step).path(), task.fork("f", at=step).path()):
        assert [(s.text, s.note) for s in past.summaries] == [(text, note)]
    for then in (task.at(3).path(), task.fork("g", at=3).path()):
        assert [o.content for o in then.recent[0].results] == [content, content]
    task.revise(summary, feedback=back)
    assert task.path().hints.feedback == back.strip()
    again = grow(request, content, content)
    assert (again.merged, again.notes) == (True, (back.strip(),))
    assert [o.content for o in task.path().recent[0].results] == [content, content]
    short = task.path().text(budget_tokens=2_000)
    assert len(short) < len(json_text(back)) + 10_000
    say(request, add("k", kind=StateKind.JUDGEMENT), message=text)
    assert task.path().summaries[-1].text == text


def test_what_is_too_large_is_refused_where_it_comes_in(space: Space) -> None:
    context = replace(space._context, limits=Limits(text_bytes=1_000, result_bytes=100))
    task = graphmem.Graph(context).space(space.name).task("t")
    request = task.request("go")
    grow(request, "x" * 100)
    for call in (
        lambda: task.compress("é" * 501),
        lambda: task.compress(summarizer=lambda _: "x" * 1_001),
        lambda: task.revise(feedback="x" * 1_001),
        lambda: grow(request, "é" * 51),
    ):
        with pytest.raises(LimitError):
            call()
    (pending,) = [request.status().pending]
    assert pending is not None
    request.observe(pending, [graphmem.ToolResult.unknown(call.id) for call in pending.calls])
    summary = task.compress("x" * 1_000)
    with pytest.raises(LimitError):
        task.maintain(summary, fails("x" * 1_001))
    assert task.maintain(summary, passes).stands
    assert task.path().summaries[0].text == "x" * 1_000


def test_what_an_empty_result_says_is_not_that_nobody_knows(space: Space) -> None:
    task = space.task("t")
    request = task.request("go")
    grow(request, "", None, " ")
    assert [o.content for o in task.path().recent[0].results] == ["", None, " "]
    task.compress("x")
    task.revise(0, feedback="x")
    assert [o.content for o in task.path().hints.tried[0].results] == ["", None, " "]
    assert not grow(request, "", "", " ", arguments={"of": "?"}).merged


def test_names_that_look_alike_are_not_the_same(space: Space, graph: graphmem.Graph, connection: Connection) -> None:
    """Spaces and tasks of alike names, forks named like parts of their origin."""
    here, beside = space.name, f"{space.name}.b"
    names = [(here, "b"), (beside, "b"), (here, "b.b"), (here, "step:1"), (here, "B")]
    try:
        tasks = [graph.space(s).task(name) for s, name in names]
        for i, task in enumerate(tasks):
            grow(task.request("go"), "the same", delta=(add("a", summary=f"of {i}"),))
            task.compress(f"by {i}")
        assert len({task.path().summaries[0].key for task in tasks}) == len(tasks)
        for i, task in enumerate(tasks):
            assert subgoals(task.path()) == [(0, f"by {i}")]
            assert [state.summary for state in task.open_request().status().active] == [f"of {i}"]
        forks = [tasks[0].fork(name, at=4) for name in ("b.step:4", "obs:1.1", "request:1", "state:a@2", "b:c")]
        for fork in forks:
            assert grow(fork.open_request(), "the same").number == 2
        tasks[0].revise(0, feedback="x")
        assert [subgoals(fork.path()) for fork in forks] == [[(0, "by 0")]] * len(forks)
    finally:
        connection.run("test", "MATCH (n {space: $p.space}) DETACH DELETE n", {"space": beside})
