"""Forks (DESIGN of the graph, rules in the README): what one takes over, and that neither reaches the other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import graphmem
from graphmem import StateKind, StepOutput, ToolCall, ToolResult
from graphmem.inspect import audit
from graphmem.store import Connection, query

from .speech import active_ids, add, call, index_ids, rejected, related, say, update
from .tree_speech import own


@pytest.fixture
def task(space: graphmem.Space) -> graphmem.Task:
    """Request 1 finished with `wish` and `fact`; request 2 open: a subgoal, then one action and two states.

    Steps: 2-3 look, 4 states, 5 done, 6 open, 7-8 price, 9 compress, 10-11 book, 12 states with an access.
    """
    made = space.task("origin", irreversible=("book",))
    first = made.request("find a hotel")
    (raw,) = call(first, "A is quiet")
    say(first, add("wish", kind=StateKind.PREFERENCE), add("fact", raw))
    say(first, message="A is quiet")
    second = made.request("book it")
    call(second, "80 USD")
    made.compress("looked up the price")
    (booked,) = call(second, "booked A", tool="book")
    say(
        second,
        add("booking", booked, kind=StateKind.ARTIFACT),
        add("choice", "fact", kind=StateKind.JUDGEMENT),
        see=("fact",),
    )
    return made


def everything(task: graphmem.Task) -> dict[str, object]:
    """All that a task shows, but its name and version."""
    status, path = task.open_request().status(), task.path()
    return {
        "index": index_ids(status),
        "active": [(state.id, state.summary, state.value, related(status, state.id)) for state in status.active],
        "observation": [(o.id, o.content) for o in status.observation],
        "reasons": status.reasons,
        "query": status.query,
        "summaries": [(s.boundary, s.text, s.verdict, s.note) for s in path.summaries],
        "recent": [(node.number, node.results) for node in path.recent],
        "feedback": path.hints.feedback,
    }


def test_a_fork_at_the_last_step_shows_what_its_origin_shows(task: graphmem.Task) -> None:
    assert everything(task.fork("f")) == everything(task)


@pytest.mark.parametrize("step", [7, 8, 9, 11, 12])
def test_a_fork_at_a_past_step_shows_what_its_origin_showed(
    task: graphmem.Task, connection: Connection, space: graphmem.Space, step: int
) -> None:
    if step == 7:
        with pytest.raises(graphmem.PendingCallsError, match="step 7"):
            task.fork("f", at=step)
        return
    then = task.at(step)
    call(task.open_request(), "later")
    fork = task.fork("f", at=step)
    status = fork.open_request().status()
    past = then.status()
    assert [(s.id, s.value) for s in status.active] == [(s.id, s.value) for s in past.active]
    assert index_ids(status) == index_ids(past)
    assert status.observation == past.observation
    assert [s.text for s in fork.path().summaries] == [s.text for s in then.path().summaries]
    assert [n.results for n in fork.path().recent] == [n.results for n in then.path().recent]
    assert audit(connection, space.name) == ()


def test_neither_reaches_the_other(task: graphmem.Task) -> None:
    fork = task.fork("f")
    before = everything(task)
    request = fork.open_request()
    call(request, "only in the fork")
    say(request, update("choice", summary="another"), add("mine"))
    fork.compress("went on")
    assert everything(task) == before
    there = everything(fork)
    mine = task.open_request()
    call(mine, "only in the origin")
    say(mine, update("choice", summary="a third"), add("mine", summary="of the origin"))
    task.revise(0, feedback="all of it")
    assert everything(fork) == there


def test_numbers_go_on_and_do_not_clash(task: graphmem.Task) -> None:
    fork = task.fork("f")
    (theirs,) = call(fork.open_request(), "fork")
    (mine,) = call(task.open_request(), "origin")
    assert theirs == mine == "obs:4.1"
    assert [n.results[0].content for n in fork.path().recent] == ["booked A", "fork"]
    assert [n.results[0].content for n in task.path().recent] == ["booked A", "origin"]
    assert fork.open_request().status().observation[0].content == "fork"


def test_a_raw_result_of_the_origin_can_be_cited_and_asked_for(task: graphmem.Task) -> None:
    fork = task.fork("f")
    request = fork.open_request()
    result = say(request, add("later", "obs:3.1"), see=("obs:1.1",))
    assert (result.added, result.disclosed, result.rejected) == (("later",), ("obs:1.1",), ())
    status = request.status()
    assert {state.id: state.value for state in status.active}["obs:1.1"] == "A is quiet"
    assert related(status, "later") == {"derives>obs:3.1"}
    assert rejected(say(request, add("bad", "obs:99.1"))) != {}


def test_relations_that_were_given_in_the_origin_stand_in_the_fork(task: graphmem.Task) -> None:
    fork = task.fork("f")
    status = fork.open_request().status()
    assert related(status, "choice") == {"derives>fact"}
    assert related(status, "fact") == {"derives>obs:1.1", "derives<choice"}
    say(fork.open_request(), update("choice", "supports>fact"))
    assert related(fork.open_request().status(), "fact") == {"derives>obs:1.1", "supports<choice"}
    assert related(task.open_request().status(), "fact") == {"derives>obs:1.1", "derives<choice"}


def test_what_was_copied_cannot_be_revised_and_the_error_names_the_origin(task: graphmem.Task) -> None:
    fork = task.fork("f")
    for target in (None, 0, 1):
        with pytest.raises(graphmem.NothingToReviseError, match=r"origin with the fork at step 12"):
            fork.revise(target, feedback="x")
    assert task.revise(0, feedback="it can be revised there").boundary_step


def test_with_nothing_of_its_own_behind_a_fork_names_its_origin_also_after_a_revise(space: graphmem.Space) -> None:
    task = space.task("origin")
    request = task.request("one")
    first = task.fork("first")
    with pytest.raises(graphmem.NothingToReviseError, match="nothing was done since the boundary"):
        first.revise(feedback="nothing was ever done")
    call(request, "A")
    task.compress("did A")
    compressed = task.fork("compressed")
    with pytest.raises(graphmem.NothingToReviseError, match="origin with the fork at step 4"):
        compressed.revise(feedback="not A")
    with pytest.raises(graphmem.OffPathError, match="there is no summary on it that can be gone back to"):
        compressed.revise(7, feedback="x")
    call(request, "B")
    fork = task.fork("f")
    call(fork.open_request(), "C")
    fork.revise(feedback="not C")
    for _ in range(2):
        with pytest.raises(graphmem.NothingToReviseError, match="origin with the fork at step 6"):
            fork.revise(feedback="not B")
    reason = own(fork.open_request(), "revise", feedback="not B").rejected[0].why
    assert "this one is a fork of" in reason


def test_a_revise_in_the_fork_goes_back_to_the_fork_point(task: graphmem.Task, connection: Connection) -> None:
    fork = task.fork("f")
    then = everything(fork)
    request = fork.open_request()
    call(request, "wrong way")
    say(request, add("conclusion", kind=StateKind.JUDGEMENT), update("choice", summary="changed"))
    gone = fork.revise(feedback="not this way")
    assert (gone.left, gone.returned, gone.boundary_step) == (("conclusion",), ("choice",), 13)
    now = everything(fork)
    assert now.pop("feedback") == "not this way"
    then.pop("feedback")
    # What was disclosed and the reasons stand; the observation of then was seen.
    assert {k: v for k, v in now.items() if k != "observation"} == {k: v for k, v in then.items() if k != "observation"}
    call(request, "right way")
    summary = fork.compress("went the right way")
    assert summary.boundary == 2
    fork.revise(summary, feedback="nor that")
    assert [n.number for n in fork.path().recent] == [3]
    assert audit(connection, fork.space) == ()


def test_a_fork_of_a_fork_reaches_raw_results_of_both(task: graphmem.Task, connection: Connection) -> None:
    middle = task.fork("m")
    (raw,) = call(middle.open_request(), "of the middle")
    say(middle.open_request(), add("m1", raw))
    last = middle.fork("l")
    call(last.open_request(), "of the last")
    result = say(last.open_request(), add("all", "obs:3.1", raw, "obs:5.1"), see=("obs:1.1",))
    assert (result.added, result.rejected) == (("all",), ())
    origin = last.origin()
    assert origin is not None
    assert origin.task == "m"
    assert audit(connection, task.space) == ()


def test_a_fork_between_requests_has_none_open(space: graphmem.Space) -> None:
    made = space.task("t")
    request = made.request("one")
    call(request, "x")
    say(request, add("k"), message="done")
    fork = made.fork("f")
    with pytest.raises(graphmem.NoOpenRequestError):
        fork.open_request()
    second = fork.request("two")
    assert second.number == 2
    assert index_ids(second.status()) == {1: ["k"]}
    assert made.request("another two").text == "another two"


def test_a_step_before_the_fork_is_in_the_origin(task: graphmem.Task) -> None:
    fork = task.fork("f", at=11)
    assert fork.at(12).path().recent[0].number == 3
    with pytest.raises(graphmem.NotFoundError, match=r"fork of .*origin, where step 11 is"):
        fork.at(11).path()


def test_every_step_of_a_fork_can_be_looked_back_to(task: graphmem.Task) -> None:
    fork = task.fork("f")
    seen: dict[int, tuple[object, list[str]]] = {}

    def note() -> None:
        step = fork.now().step
        seen[step] = (fork.path().to_dict(), active_ids(fork.open_request().status()))

    request = fork.open_request()
    note()
    for i in range(3):
        call(request, f"r{i}")
        note()
        say(request, add(f"s{i}", kind=StateKind.JUDGEMENT))
        note()
    fork.revise(feedback="again")
    note()
    for step, (path, active) in seen.items():
        then = fork.at(step)
        assert {**then.path().to_dict(), "at": None} == path
        assert active_ids(then.status()) == active


def test_repeating_the_call_gives_the_same_fork_and_another_step_is_an_error(task: graphmem.Task) -> None:
    fork = task.fork("f", at=12)
    call(fork.open_request(), "x")
    assert len(task.fork("f", at=12).path().recent) == 2
    with pytest.raises(graphmem.TaskExistsError, match="another name"):
        task.fork("f", at=11)
    with pytest.raises(graphmem.TaskExistsError):
        task.fork("origin")


def test_eight_that_fork_at_once_get_one_fork(task: graphmem.Task, connection: Connection) -> None:
    with ThreadPoolExecutor(8) as pool:
        forks = list(pool.map(lambda _: task.fork("f", at=12), range(8)))
    assert {fork.name for fork in forks} == {"f"}
    assert len(forks[0].path().recent) == 1
    assert audit(connection, task.space) == ()


def test_irreversible_calls_after_the_step_are_listed(task: graphmem.Task) -> None:
    origin = task.fork("f", at=9).origin()
    assert origin is not None
    assert [(ran.tool, ran.step, ran.known) for ran in origin.irreversible] == [("book", 11, True)]
    assert (task.fork("g", at=12).origin() or origin).irreversible == ()
    assert task.origin() is None


def test_disclosures_reasons_and_headings_come_along(task: graphmem.Task) -> None:
    say(task.open_request(), update("nothing", summary="x"))
    status = task.fork("f").open_request().status()
    assert "fact" in active_ids(status)
    assert [reason.what for reason in status.reasons] == ["update nothing"]
    assert [entry.text for entry in status.index] == ["find a hotel"]


def test_a_verdict_or_note_of_the_origin_that_came_later_is_not_in_the_fork(task: graphmem.Task) -> None:
    summary = task.path().summaries[-1]
    task.maintain(summary, lambda _case: graphmem.Ruling(passed=False, feedback="no"))
    assert [s.verdict for s in task.fork("f", at=12).path().summaries] == ["unchecked", "unchecked"]
    assert [s.verdict for s in task.fork("g").path().summaries] == ["unchecked", "failed"]


def test_many_forks_cost_the_path_of_their_origin_nothing(task: graphmem.Task, connection: Connection) -> None:
    """On one side of the dense-node limit of 50 relations: below it a server reads all relations of a node."""

    def hits() -> int:
        return connection.profile(query("task/path"), {"space": task.space, "task": task.name, "hints": 50})

    for i in range(60):
        task.fork(f"f{i}")
    before = hits()
    for i in range(60, 80):
        task.fork(f"f{i}")
    assert hits() == before


def test_a_fork_after_a_revise_takes_what_is_in_view(task: graphmem.Task) -> None:
    task.revise(1, feedback="too dear")
    fork = task.fork("f")
    assert everything(fork) == everything(task)
    assert fork.path().hints.feedback == "too dear"
    say(fork.open_request(), message="nothing was booked")
    assert fork.request("next").number == 3


def observed(request: graphmem.Request, tool: str) -> Callable[[str], graphmem.Grown]:
    result = request.step(request.status(), StepOutput(tool_calls=(ToolCall(name=tool),)))
    return lambda content: request.observe(result, [ToolResult(call_id=result.calls[0].id, content=content)])


def test_what_is_grown_again_in_a_fork_merges_there(task: graphmem.Task) -> None:
    fork = task.fork("f")
    request = fork.open_request()
    first = observed(request, "look")("x")
    fork.revise(feedback="again")
    again = observed(request, "look")("x")
    assert (again, again.merged, again.notes) == (first, True, ("again",))
