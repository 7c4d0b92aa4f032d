"""Searching a task: every kind of text, in view and out of it, forks, long texts, patterns that run away."""

import time

import pytest

import graphmem
from graphmem import InvalidValueError, NotFoundError, StateKind, inspect
from graphmem.inspect.matching import Matcher
from graphmem.inspect.search import _split
from graphmem.store import Connection, Query, query
from tests.acceptance.speech import add, call, remove, say, update
from tests.acceptance.tree_speech import fails

MEBI = 1 << 20


def hits(
    connection: Connection, task: graphmem.Task, pattern: str, *, everything: bool = False
) -> list[tuple[str, str, int, bool]]:
    found = inspect.search(connection, task.space, task.name, pattern, everything=everything)
    return list(dict.fromkeys((hit.what, hit.id, hit.step, hit.in_view) for hit in found))


@pytest.fixture
def task(space: graphmem.Space) -> graphmem.Task:
    """`needle` is said everywhere: on the path in request 1, then on a branch that a revise left; steps 1 to 12."""
    task = space.task("t")
    request = task.request("find the needle")
    (raw,) = call(request, "needle in hay\nno such line", tool="needle_tool")
    say(request, add("needle_1", raw, summary="a sharp one"))
    summary = task.compress("the needle was found")
    call(request, "another needle")
    say(request, add("needle_2", kind=StateKind.JUDGEMENT, summary="not in view"), update("needle_1", summary="blunt"))
    task.maintain(summary, fails("not this needle"))
    task.revise(feedback="needle? look elsewhere")
    request.step(request.status(), "needle, and no output at all")
    return task


def test_every_kind_of_text_is_found_in_the_order_of_the_ledger(connection: Connection, task: graphmem.Task) -> None:
    everything = hits(connection, task, "needle", everything=True)
    assert everything == [
        ("request", "request:1", 1, True),
        ("call", "step:2", 2, True),
        ("raw result", "obs:1.1", 3, True),
        ("state", "needle_1", 4, False),
        ("summary", "0", 5, True),
        ("call", "step:6", 6, False),
        ("raw result", "obs:2.1", 7, False),
        ("state", "needle_1", 8, True),
        ("state", "needle_2", 8, False),
        ("feedback", "0", 9, True),
        ("summary", "1", 10, False),
        ("feedback", "1", 10, True),
        ("refused", "step:11", 11, False),
    ]
    assert hits(connection, task, "needle") == [hit for hit in everything if hit[3]]


def test_what_a_finished_request_said_and_a_removed_state_are_told_apart(
    connection: Connection, space: graphmem.Space
) -> None:
    task = space.task("t")
    request = task.request("one")
    say(request, add("gone", summary="needle"))
    say(request, remove("gone"), message="a needle, then")
    assert hits(connection, task, "needle") == [("message", "step:3", 3, True)]
    assert ("state", "gone", 2, False) in hits(connection, task, "needle", everything=True)


def test_each_line_is_a_hit_and_ends_of_lines_are_anchors(connection: Connection, task: graphmem.Task) -> None:
    found = inspect.search(connection, task.space, task.name, "^n.* (hay|line)$")
    assert [hit.line for hit in found] == ["needle in hay", "no such line"]
    assert inspect.search(connection, task.space, task.name, "^n.* (hay|line)$", limit=1) == found[:1]
    assert [h.line for h in inspect.search(connection, task.space, task.name, "NO SUCH", ignore_case=True)] == [
        "no such line"
    ]


def test_a_fork_is_searched_with_what_it_took_over(connection: Connection, task: graphmem.Task) -> None:
    fork = task.fork("f", at=7)
    assert hits(connection, fork, "needle") == [
        ("request", "request:1", 8, True),
        ("raw result", "obs:1.1", 8, True),
        ("raw result", "obs:2.1", 8, True),
        ("state", "needle_1", 8, True),
        ("summary", "0", 8, True),
    ]


class Pages:
    """A connection that tells how much each page of texts held."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.characters: list[int] = []

    def read(self, found: Query, p: dict[str, object]) -> list[dict[str, object]]:
        rows = self._connection.read(found, p)
        self.characters.append(sum(len(str(row["text"])) for row in rows if "text" in row))
        return rows


def test_long_texts_are_found_to_their_end_a_few_megabytes_at_a_time(
    connection: Connection, space: graphmem.Space
) -> None:
    task = space.task("t")
    request = task.request("go")
    for i in range(12):
        call(request, f"{i:02}" + "x" * (MEBI - 20) + f"needle {i:02}")
    pages = Pages(connection)
    found = inspect.search(pages, space.name, "t", r"needle \d\d$")  # type: ignore[arg-type]  # it reads
    assert [hit.line[-2:] for hit in found] == [f"{i:02}" for i in range(12)]
    assert all(len(hit.line) < 200 for hit in found)
    assert max(pages.characters) < 5 * MEBI


def test_runs_keep_the_texts_of_a_step_together() -> None:
    rows = [{"step": step, "size": size} for step, size in ((1, 4), (1, 4), (2, 4), (3, 20), (3, 1), (4, 1))]
    assert [[row["step"] for row in run] for run in _split(rows, 10)] == [[1, 1], [2], [3, 3], [4]]
    assert [[row["step"] for row in run] for run in _split(rows, 12)] == [[1, 1, 2], [3, 3], [4]]
    assert list(_split([], 10)) == []


def test_a_pattern_that_runs_away_is_stopped(connection: Connection, space: graphmem.Space) -> None:
    task = space.task("t")
    call(task.request("go"), "a" * 60 + "!")
    begin = time.monotonic()
    with pytest.raises(InvalidValueError, match="takes longer than"):
        inspect.search(connection, space.name, "t", "(a+)+$", seconds=0.3)
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(?P<x", "*", "[z-a]", "(" * 5_000, "\\"])
def test_what_is_no_pattern_is_said_to_be_none(connection: Connection, task: graphmem.Task, pattern: str) -> None:
    with pytest.raises(InvalidValueError, match="no regular expression"):
        inspect.search(connection, task.space, task.name, pattern)


@pytest.mark.parametrize("pattern", ["\ud800", "\x00", "\x1b", "x{0}\x85", "[[a]", "(?i)NO SUCH.*|(?s:.)\u2028"])
def test_an_odd_pattern_is_a_pattern(connection: Connection, task: graphmem.Task, pattern: str) -> None:
    inspect.search(connection, task.space, task.name, pattern, everything=True)


def test_an_empty_pattern_and_a_task_that_is_not_there_are_errors(connection: Connection, task: graphmem.Task) -> None:
    with pytest.raises(InvalidValueError, match="empty"):
        inspect.search(connection, task.space, task.name, "")
    with pytest.raises(NotFoundError, match="no task"):
        inspect.search(connection, f"{task.space}-other", task.name, "needle")


def test_a_match_of_nothing_is_one_hit_a_line() -> None:
    with Matcher("x*") as matcher:
        assert matcher.places(["", "a\nxx\n"], most=9) == [[(0, 0)], [(0, 0), (2, 4), (5, 5)]]
        assert matcher.places(["a\nb\nc"], most=2) == [[(0, 0), (2, 2)]]
    with Matcher("(?s)b.c") as matcher:
        assert matcher.places(["ab\ncb\nc b\n"], most=9) == [[(1, 4)]]


def test_a_page_costs_what_it_answers_and_not_what_the_task_holds(
    connection: Connection, space: graphmem.Space
) -> None:
    costs = []
    for size in (4, 24):
        task = space.task(f"t{size}")
        request = task.request("go")
        for i in range(size):
            (raw,) = call(request, f"result {i}")
            say(request, add(f"k{i}", raw))
            if i % 2:
                task.compress(f"did {i}")
        p = {"space": space.name, "task": task.name, "first": 2, "limit": 7, "characters": None, "all": None}
        costs.append(connection.profile(query("inspect/texts"), p))
    assert costs[0] == costs[1]
