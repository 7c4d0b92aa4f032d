"""`why` and `impact` on real runs: through summaries, steps, revises and forks."""

import json
from typing import Any

import pytest

import graphmem
from graphmem import InvalidValueError, NotFoundError, StepOutput, inspect
from graphmem.inspect import Affected, RawReason, StepReason, SummaryReason
from graphmem.store import Connection
from tests.acceptance.asked_run import Run, wrong_turn
from tests.acceptance.speech import add, call, remove, say, update
from tests.acceptance.tree_speech import fails, passes

pytestmark = pytest.mark.usefixtures("sound")


@pytest.fixture
def run(connection: Connection, space: graphmem.Space) -> Run:
    """A run with a wrong turn."""
    return wrong_turn(connection, space)


def ids(node: Affected) -> dict[str, Any]:
    return {child.id: ids(child) for child in node.below}


def test_a_state_names_its_step_request_and_the_subgoal_that_covers_it(run: Run) -> None:
    use, pick = run.state("use"), run.state("pick")
    assert use.written is not None
    assert (use.written.number, use.written.author, use.written.request) == (8, "model", 1)
    assert (use.written.asked, use.written.summary) == ("Find out", None)
    run.task.compress("Looked at two")
    written = run.state("pick").written
    assert written is not None
    assert written.summary is not None
    assert (written.summary.boundary, written.summary.text, written.summary.on_path) == (1, "Looked at two", True)
    assert pick.written is not None
    (fact, wrong) = pick.below
    assert (fact.id, wrong.id) == ("fact", "wrong")
    assert wrong.evidence[0].id == "obs:2.1"


def test_a_state_that_was_left_names_the_revise_and_its_feedback(run: Run) -> None:
    first = run.task.path().summaries[0]
    second = run.task.compress("Looked at two")
    run.task.maintain(second, fails("two was wrong"))
    run.task.revise(second)
    pick, use = run.state("pick"), run.state("use")
    assert not pick.in_view
    assert pick.written is not None
    assert (pick.written.abandoned_step, pick.written.feedback) == (11, "two was wrong")
    assert pick.written.summary is not None
    assert (pick.written.summary.verdict, pick.written.summary.on_path) == ("failed", False)
    assert use.written is not None
    assert (use.summary, use.written.kind) == ("summary of use", "revise")
    assert use.written.summary is not None
    assert use.written.summary.key == first.key


def test_a_subgoal_tells_what_it_covers_and_what_was_said_of_it(run: Run) -> None:
    summary = run.task.compress("Looked at two")
    run.task.maintain(summary, passes)
    run.task.maintain(summary, fails("not so"))
    run.task.revise(summary)
    by_boundary = run.why("summary:1")
    assert isinstance(by_boundary, SummaryReason)
    assert by_boundary == run.why(summary.key)
    assert (by_boundary.text, by_boundary.verdict, by_boundary.note) == ("Looked at two", "failed", "not so")
    assert [(node.node, [raw.id for raw in node.results]) for node in by_boundary.covers] == [(2, ["obs:2.1"])]
    assert [told.kind for told in by_boundary.told] == ["compress", "maintain", "maintain", "revise"]
    assert [told.verdict for told in by_boundary.told] == [None, "passed", "failed", None]
    assert by_boundary.written is not None
    assert by_boundary.written.number == 9
    assert run.why("summary:0").on_path


def test_of_siblings_the_one_on_the_path_is_meant_and_the_others_are_named(run: Run) -> None:
    run.task.revise(feedback="two was wrong")
    failed = run.why("summary:1")
    assert (failed.on_path, failed.siblings) == (False, ())
    call(run.request, "three")
    good = run.task.compress("Looked at three")
    found = run.why("summary:1")
    assert (found.key, found.on_path, found.siblings) == (good.key, True, (failed.key,))
    assert run.why(failed.key).note == "two was wrong"


def test_a_raw_result_names_the_step_that_called_for_it(run: Run) -> None:
    found = run.why("obs:2.1")
    assert isinstance(found, RawReason)
    assert (found.result.content, found.result.node) == ("two", 2)
    assert found.called is not None
    assert (found.called.number, found.called.request) == (6, 1)


def test_a_step_tells_what_it_did(run: Run) -> None:
    made = run.why("step:8")
    assert isinstance(made, StepReason)
    assert {state.id for state in made.wrote} == {"wrong", "pick", "fact", "use"}
    called = run.why("step:6")
    assert (called.observed_step, called.observed_node, [raw.id for raw in called.results]) == (7, 2, ["obs:2.1"])
    run.task.revise(feedback="two was wrong")
    gone = run.why("step:9")
    assert (gone.step.kind, gone.boundary_step, gone.note) == ("revise", 5, "two was wrong")
    assert set(gone.left) == {"pick"}
    assert set(gone.returned) == {"use"}
    assert run.why("step:8").step.abandoned_step == 9


def test_a_fork_finds_the_reasons_of_its_origin_and_none_that_came_later(run: Run) -> None:
    fork = run.task.fork("plan-b", at=5)
    say(run.request, add("late", "fact"), remove("use"))
    run.task.compress("Looked at two")
    request = fork.open_request()
    call(request, "three")
    say(request, add("mine", "obs:2.1", "fact"), add("ground", "supports>fact"))
    mine = run.state("mine", "plan-b")
    assert mine.written is not None
    assert mine.written.origin is None
    (fact,) = mine.below
    assert (fact.summary, fact.in_view) == ("summary of fact", True)
    assert fact.evidence[0].id == "obs:1.1"
    assert fact.written is not None
    assert (fact.written.number, fact.written.origin) == (4, "t")
    assert fact.written.summary is not None
    assert fact.written.summary.key == fork.path().summaries[0].key
    assert [(child.id, child.incoming) for child in fact.below] == [("ground", True)]
    with pytest.raises(NotFoundError):
        run.why("late", "plan-b")
    with pytest.raises(NotFoundError):
        run.why("step:99", "plan-b")
    assert run.why("step:4", "plan-b").step.origin == "t"
    assert [node.node for node in run.why("summary:0", "plan-b").covers] == [1]
    assert run.why("obs:1.1", "plan-b").result.on_path


def test_a_state_that_was_out_of_view_at_the_fork_is_found_where_it_ended(run: Run) -> None:
    say(run.request, remove("wrong"))
    fork = run.task.fork("plan-b")
    run.task.revise(feedback="two was wrong")
    wrong = next(child for child in run.state("pick", "plan-b").below if child.id == "wrong")
    assert (wrong.in_view, wrong.to_step) == (False, 9)
    assert wrong.written is not None
    assert (wrong.written.number, wrong.written.abandoned_step) == (8, None)
    assert run.state("pick").written is not None
    assert fork.path().recent[-1].number == 2


def test_impact_of_a_raw_result_reaches_all_that_rests_on_it(run: Run) -> None:
    found = run.impact("obs:1.1")
    assert ids(found.top) == {"fact": {"use": {}, "pick": {}}}
    assert found.states == ("fact", "pick", "use")
    assert [request.standing for request in found.requests] == ["open"]
    say(run.request, message="done")
    run.task.request("More")
    after = run.impact("obs:1.1")
    assert [summary.boundary for summary in after.summaries] == [0, 1]
    assert [(request.number, request.standing) for request in after.requests] == [(1, "finished")]


def test_impact_of_a_state_says_what_is_in_view_still(run: Run) -> None:
    run.task.revise(feedback="two was wrong")
    found = run.impact("fact")
    assert ids(found.top) == {"use": {}, "pick": {}}
    assert {child.id: child.in_view for child in found.top.below} == {"use": True, "pick": False}
    assert found.states == ("use",)


def test_impact_of_a_step_is_what_it_wrote_and_what_its_calls_brought(run: Run) -> None:
    assert ids(run.impact("step:6").top) == {"obs:2.1": {"wrong": {"pick": {}}}}
    wrote = run.impact("step:4")
    assert [child.by for child in wrote.top.below] == ["wrote", "wrote"]
    assert set(wrote.states) == {"fact", "use", "pick"}
    assert run.impact("step:5").summaries[0].text == "Looked at one"
    for id_ in ("step:99", "nothing", "obs:9.9"):
        with pytest.raises(NotFoundError):
            run.impact(id_)
    with pytest.raises(InvalidValueError):
        run.impact("summary:0")


def test_impact_follows_what_a_state_supports_and_ends_at_cycles(connection: Connection, space: graphmem.Space) -> None:
    run = Run(connection, space)
    say(run.request, add("a", "supports>b"), add("b", "follows>c"), add("c", "b"))
    found = run.impact("a")
    (b,) = found.top.below
    (c,) = b.below
    assert (b.by, c.id, [(child.id, child.again) for child in c.below]) == ("supports", "c", [("b", True)])
    assert run.impact("b").states == ("c",)


def test_impact_is_bounded_and_says_so(connection: Connection, space: graphmem.Space) -> None:
    run = Run(connection, space)
    say(run.request, add("s0"), *(add(f"s{i}", f"s{i - 1}") for i in range(1, 9)))
    found = inspect.impact(connection, space.name, "t", "s0", depth=3)
    (one,) = found.top.below
    (two,) = one.below
    assert (two.id, two.more, two.below) == ("s2", True, ())
    for depth in (0, 101):
        with pytest.raises(InvalidValueError):
            inspect.impact(connection, space.name, "t", "s0", depth=depth)


def test_impact_in_a_fork_is_that_of_the_fork(run: Run) -> None:
    fork = run.task.fork("plan-b", at=5)
    say(fork.open_request(), add("mine", "fact"))
    say(run.request, add("late", "fact"))
    assert ids(run.impact("obs:1.1", "plan-b").top) == {"fact": {"use": {}, "mine": {}}}
    assert run.impact("obs:1.1", "plan-b").top.in_view
    assert ids(run.impact("fact").top) == {"use": {}, "pick": {}, "late": {}}


def test_every_answer_is_plain_json(run: Run) -> None:
    run.task.revise(feedback="two was wrong")
    for id_ in ("pick", "obs:1.1", "summary:0", "step:9"):
        assert json.loads(json.dumps(run.why(id_).to_dict()))
    for id_ in ("fact", "obs:1.1", "step:4"):
        assert json.loads(json.dumps(run.impact(id_).to_dict()))
    assert json.loads(json.dumps(inspect.blame(run.connection, run.space, "t", "use").to_dict()))


def test_the_log_and_the_list_of_requests_tell_of_the_tree(run: Run, space: graphmem.Space) -> None:
    run.task.maintain(None, passes)
    run.task.revise(feedback="two was wrong")
    lines = {line.number: line for line in inspect.log(run.connection, run.space, "t")}
    assert {n for n, line in lines.items() if line.abandoned_step == 10} == {6, 7, 8, 9}
    assert (lines[5].kind, lines[5].about, lines[5].text) == ("compress", 0, "Looked at one")
    assert (lines[9].verdict, lines[9].of_step, lines[9].answered) == ("passed", 5, ())
    assert (lines[10].note, lines[10].boundary_step, lines[10].about) == ("two was wrong", 5, 1)
    assert (lines[10].left, lines[10].returned) == (("pick",), ("use",))
    say(run.request, message="done")
    with space.task("t").request("More") as request:
        call(request, "three")
        say(request, message="done too")
    run.task.revise(0, feedback="all wrong")
    standings = [line.standing for line in inspect.requests(run.connection, run.space, "t")]
    assert standings == ["cut", "open"]
    run.task.fork("plan-b")
    for task in ("t", "plan-b"):
        assert [request.standing for request in inspect.tree(run.connection, run.space, task).requests] == standings
    (fork,) = inspect.log(run.connection, run.space, "plan-b")
    assert (fork.kind, fork.origin) == ("fork", "t")


def test_reads_of_a_fork_know_what_came_from_the_origin(run: Run) -> None:
    fork = run.task.fork("plan-b")
    say(run.request, update("fact", summary="later in t"), remove("use"))
    shown = inspect.show(run.connection, run.space, "plan-b", "fact")
    assert isinstance(shown, tuple)
    assert [(v.from_step, v.to_step, v.in_view, v.summary) for v in shown] == [
        (4, 8, False, "summary of fact"),
        (8, 9, False, "the fact, again"),
        (9, None, True, "the fact, again"),
    ]
    raw = inspect.show(run.connection, run.space, "plan-b", "obs:1.1")
    assert isinstance(raw, inspect.RawResult)
    assert (raw.node, raw.on_path, raw.cited_by) == (1, True, ("fact",))
    say(fork.open_request(), message="done")
    request = fork.request("More")
    (fact,) = inspect.disclose(run.connection, run.space, "plan-b", ["fact"])
    say(request, see=("fact",))
    shown_then = next(state for state in request.status().active if state.id == "fact")
    assert fact.state is not None
    assert {related.id for related in fact.state.related} == {"obs:1.1", "use", "pick"}
    assert fact.state.related == shown_then.related
    (raw_access,) = inspect.disclose(run.connection, run.space, "plan-b", ["obs:1.1"])
    assert raw_access.accepted


def test_a_failed_branch_is_listed_with_its_note(run: Run) -> None:
    run.task.revise(feedback="two was wrong")
    found = inspect.run_named(run.connection, "failed_branches", {"space": run.space, "task": "t"})
    (row,) = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    assert (row["boundary"], row["note"], row["nodes"], row["left_in"]) == (1, "two was wrong", [2], 9)


def test_a_finish_is_a_step_of_the_subgoal_that_it_writes(run: Run) -> None:
    run.request.step(run.request.status(), StepOutput(delta=(add("end", "fact"),), message="All done"))
    written = run.state("end").written
    assert written is not None
    assert written.summary is not None
    assert written.summary.text == "All done"
