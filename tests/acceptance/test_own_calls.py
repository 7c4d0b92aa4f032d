"""The model's own `compress` and `revise` in a step (DESIGN: one output, one step)."""

from typing import Any

import pytest

from graphmem import (
    AbandonedAttemptError,
    PendingCallsError,
    Request,
    RequestClosedError,
    Space,
    StaleStatusError,
    StateKind,
    StepOutput,
    Task,
    ToolCall,
    World,
)
from graphmem.inspect import show
from graphmem.inspect.values import RawResult
from graphmem.store import Connection
from tests.acceptance.speech import active_ids, add, rejected, related, remove, say, update
from tests.acceptance.tree_speech import grow, in_view, last_step, own, subgoals, walked

pytestmark = pytest.mark.usefixtures("sound")
JUDGEMENT, ARTIFACT = StateKind.JUDGEMENT, StateKind.ARTIFACT
OWN: dict[str, dict[str, Any]] = {"revise": {"feedback": "x"}, "compress": {"summary": "x"}}


def behind(space: Space) -> tuple[Task, Request]:
    """A finished subgoal (obs:1.1) with `k` and `j` in view, and one node (obs:2.1, obs:2.2) behind it."""
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    say(request, add("k", "obs:1.1"), add("j", kind=JUDGEMENT, summary="old", value={"n": 1}))
    task.compress("did a")
    grow(request, "b", "b2")
    return task, request


# --- the call ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["compress", "revise"])
def test_such_a_call_stands_alone_in_its_output(space: Space, name: str) -> None:
    task, request = behind(space)
    arguments: dict[str, Any] = {"summary": "x", "feedback": "x"}
    calls = (ToolCall(name="look", arguments={}), ToolCall(name=name, arguments=arguments))
    result = request.step(request.status(), StepOutput(delta=(add("new"),), tool_calls=calls))
    assert "stands alone" in (result.refused or "")
    assert (result.added, result.calls, walked(task.path())) == ((), (), [2])
    assert "stands alone" in request.status().text()
    assert request.status().pending is None
    assert [o.content for o in request.status().observation] == ["b", "b2"]


FAULTS = [
    pytest.param("compress", {}, "summary", id="compress without a summary"),
    pytest.param("compress", {"summary": "  "}, "summary", id="compress with a blank summary"),
    pytest.param("compress", {"summary": 7}, "summary", id="compress with a number"),
    pytest.param("revise", {}, "feedback", id="revise without feedback"),
    pytest.param("revise", {"feedback": ""}, "feedback", id="revise with empty feedback"),
    pytest.param("revise", {"feedback": "x", "step": "the first"}, "the first", id="revise to a word"),
    pytest.param("revise", {"feedback": "x", "step": True}, "True", id="revise to a bool"),
    pytest.param("revise", {"feedback": "x", "step": -1}, "-1", id="revise to a negative step"),
    pytest.param("revise", {"feedback": "x", "step": 1}, "those that are: 0", id="revise to a step off the path"),
    pytest.param("revise", {"feedback": "x", "world": "broken"}, "unchanged, restored", id="revise in another world"),
]


@pytest.mark.parametrize(("name", "arguments", "why"), FAULTS)
def test_what_is_wrong_with_the_call_is_a_reason_and_the_delta_is_committed(
    space: Space, name: str, arguments: dict[str, Any], why: str
) -> None:
    task, request = behind(space)
    result = own(request, name, add("new"), **arguments)
    assert why in rejected(result)[f"call {name}"]
    assert (result.added, result.refused, result.calls, result.revised) == (("new",), None, (), None)
    assert [reason.what for reason in request.status().reasons] == [f"call {name}"]
    assert (subgoals(task.path()), walked(task.path())) == ([(0, "did a")], [2])


def test_compress_and_revise_with_nothing_behind_are_reasons(space: Space) -> None:
    task, request = behind(space)
    task.compress("did b")
    assert "nothing was done" in rejected(own(request, "compress", add("n1"), summary="x"))["call compress"]
    assert "name the step of one: 0, 1" in rejected(own(request, "revise", add("n2"), feedback="x"))["call revise"]
    assert {"n1", "n2"} <= in_view(request)


def test_where_own_calls_are_the_callers_tools_they_are_left_to_it(space: Space) -> None:
    task, request = behind(space)
    call = ToolCall(name="compress", arguments={"summary": "x"})
    result = request.step(request.status(), StepOutput(tool_calls=(call,)), own_calls=False)
    assert [c.name for c in result.calls] == ["compress"]
    assert walked(task.path()) == [2]


def test_a_models_text_is_read_like_a_step_output(space: Space) -> None:
    task, request = behind(space)
    result = request.step(
        task.prompt(),
        """<state_focus>[]</state_focus>
<state_delta>[{"state_set":"knowledge","operation":"add","state_id":"why","summary":"b is closed","value":{},"refs":[]}]
</state_delta>
<tool_calls>[{"name":"revise","arguments":{"step":"0","feedback":"b is closed","world":"restored"}}]</tool_calls>
<assistant_message>{"content":null}</assistant_message>""",
    )
    assert result.revised is not None
    assert (result.added, task.path().summaries, task.path().hints.feedback) == (("why",), (), "b is closed")


# --- compress ---------------------------------------------------------------------------------------------------------


def test_with_compress_the_delta_is_committed_first_and_belongs_to_the_subgoal(space: Space) -> None:
    task, request = behind(space)
    result = own(request, "compress", add("mine", "obs:2.1", kind=JUDGEMENT), update("j", summary="new"), summary="b")
    assert (result.added, result.updated, result.calls) == (("mine",), ("j",), ())
    (_, made) = task.path().summaries
    assert (made.key, made.text, made.verdict, made.boundary) == (result.summary, "b", "unchecked", 1)
    grow(request, "c")
    task.revise(feedback="no c")
    assert {"mine"} <= in_view(request)
    assert [s.summary for s in request.status().active if s.id == "j"] == ["new"]


def test_repeating_an_output_with_compress_gives_the_first_answer(space: Space, connection: Connection) -> None:
    task, request = behind(space)
    status = request.status()
    first = own(request, "compress", add("n"), shown=status, summary="b")
    before = last_step(connection, task)
    again = own(request, "compress", add("n"), shown=status, summary="b")
    assert (again.step, again.summary, again.added, again.replayed) == (first.step, first.summary, ("n",), True)
    assert (last_step(connection, task), len(task.path().summaries)) == (before, 2)


# --- revise: the restoration first, then the delta --------------------------------------------------------------------


def test_the_delta_that_came_with_revise_is_in_view_afterwards(space: Space) -> None:
    task, request = behind(space)
    say(request, add("wrong", kind=JUDGEMENT))
    result = own(request, "revise", add("lesson", kind=JUDGEMENT), add("also", "derives>lesson"), feedback="no b")
    assert result.revised is not None
    assert (result.added, result.revised.to_dict()["left"]) == (("lesson", "also"), ["wrong"])
    assert active_ids(request.status()) == ["k", "j", "lesson", "also"]
    assert related(request.status(), "also") == {"derives>lesson"}
    assert (walked(task.path()), task.path().hints.feedback) == ([], "no b")
    grow(request, "c")
    assert task.revise(feedback="nor c").left == ()  # it belongs to the step that became the top again


def test_a_partial_update_of_a_state_that_comes_back_keeps_its_other_fields_in_one_version(
    space: Space, connection: Connection
) -> None:
    task, request = behind(space)
    say(request, update("j", "supports>k", summary="new"))
    result = own(request, "revise", update("j", summary="newest"), feedback="no b")
    (state,) = [state for state in request.status().active if state.id == "j"]
    assert (state.summary, state.value, result.updated) == ("newest", {"n": 1}, ("j",))
    assert related(request.status(), "j") == set()  # the refs of the boundary, which had none
    versions = show(connection, space.name, "t", "j")
    assert not isinstance(versions, RawResult)
    assert sorted(version.from_step for version in versions if version.from_step == result.step) == [result.step]
    assert len(versions) == 3
    assert task.at(result.step).states()[1].summary == "newest"


def test_a_remove_of_a_state_that_comes_back_removes_it(space: Space, connection: Connection) -> None:
    task, request = behind(space)
    say(request, update("j", summary="new"))
    result = own(request, "revise", remove("j"), feedback="no b")
    assert result.removed == ("j",)
    assert in_view(request) == {"k"}
    versions = show(connection, space.name, "t", "j")
    assert not isinstance(versions, RawResult)
    assert len(versions) == 2
    assert [state.id for state in task.at(result.step).states()] == ["k"]
    assert say(request, add("j")).added == ("j",)


def test_an_operation_is_valid_before_the_restoration_and_after_it(space: Space) -> None:
    _, request = behind(space)
    say(request, remove("j"), add("left", kind=JUDGEMENT))
    result = own(
        request,
        "revise",
        add("j"),  # it returns, so the id is in use afterwards
        update("left", summary="x"),  # it leaves
        add("left2", "derives>left"),  # so does what this refers to
        add("good"),
        feedback="no b",
    )
    assert set(rejected(result)) == {"add j", "update left", "add left2"}
    assert (result.added, in_view(request)) == (("good",), {"k", "j", "good"})
    assert [s.summary for s in request.status().active if s.id == "j"] == ["old"]


def test_an_update_of_a_state_that_returns_is_rejected_since_it_was_not_in_view(space: Space) -> None:
    _, request = behind(space)
    say(request, remove("j"))
    result = own(request, "revise", update("j", summary="x"), remove("j"), add("j2", "derives>j"), feedback="no b")
    assert set(rejected(result)) == {"update j", "remove j", "add j2"}
    assert in_view(request) == {"k", "j"}


def test_an_add_of_an_id_that_leaves_is_rejected_since_it_was_in_use(space: Space) -> None:
    _, request = behind(space)
    say(request, add("x", kind=JUDGEMENT))
    result = own(request, "revise", add("x"), feedback="no b")
    assert "in use" in rejected(result)["add x"]
    assert in_view(request) == {"k", "j"}


def test_raw_results_left_behind_are_cited_only_where_a_survivor_cites_them(space: Space) -> None:
    _, request = behind(space)
    say(request, add("fact", "obs:2.1"), add("opinion", "obs:2.2", kind=JUDGEMENT))
    result = own(request, "revise", add("n1", "obs:1.1"), add("n2", "obs:2.1"), add("n3", "obs:2.2"), feedback="no b")
    assert (result.added, set(rejected(result))) == (("n1", "n2"), {"add n3"})


def test_a_raw_result_of_the_latest_observation_that_is_left_behind_cannot_be_cited(space: Space) -> None:
    _, request = behind(space)
    result = own(request, "revise", add("n", "obs:2.1"), feedback="no b")
    assert set(rejected(result)) == {"add n"}


def test_access_that_came_with_revise_is_open_afterwards_by_what_is_in_view_then(space: Space) -> None:
    _, request = behind(space)
    say(request, add("fact", "obs:2.1"), add("opinion", "obs:2.2", kind=JUDGEMENT))
    result = own(request, "revise", see=("obs:1.1", "obs:2.1", "obs:2.2"), feedback="no b")
    assert result.disclosed == ("obs:1.1", "obs:2.1")
    assert "access obs:2.2" in rejected(result)
    assert active_ids(request.status()) == ["k", "j", "fact", "obs:1.1", "obs:2.1"]


def test_what_the_version_that_ends_cites_is_not_open_and_what_the_returning_one_cites_is(space: Space) -> None:
    _, request = behind(space)
    say(request, update("j", "obs:2.1", summary="new"), remove("k"))
    result = own(request, "revise", add("n", "obs:2.1"), see=("obs:2.1",), feedback="no b")
    assert (set(rejected(result)), result.disclosed) == ({"add n", "access obs:2.1"}, ())
    assert say(request, add("n", "obs:1.1"), see=("obs:1.1",)).disclosed == ("obs:1.1",)


def test_access_to_what_an_abandoned_step_had_disclosed_discloses_it_again(space: Space) -> None:
    task = space.task("t")
    say(task.request("one"), add("h"), add("h2"), message="done")
    request = task.request("two")
    grow(request, "a")
    say(request, see=("h", "h2"))
    result = own(request, "revise", see=("h",), feedback="no a")
    assert result.disclosed == ("h",)
    assert active_ids(request.status()) == ["h"]


def test_a_ref_to_a_state_that_only_an_abandoned_step_had_disclosed_is_still_a_ref_to_what_is_in_view(
    space: Space,
) -> None:
    task = space.task("t")
    say(task.request("one"), add("h"), message="done")
    request = task.request("two")
    grow(request, "a")
    say(request, see=("h",))
    assert own(request, "revise", add("k", "supports>h"), feedback="no a").added == ("k",)
    assert related(request.status(), "k") == {"supports>h"}


def test_ids_that_a_folded_index_hides_are_known_when_the_output_goes_back(space: Space) -> None:
    task = space.task("t")
    say(task.request("one"), *(add(f"h{i}") for i in range(6)), message="done")
    request = task.request("two")
    grow(request, "a")
    status = request.status(index_lines=1)
    assert status.history.folded
    result = own(request, "revise", add("k", "supports>h2"), add("h3"), see=("h1",), shown=status, feedback="no a")
    assert (result.added, result.disclosed) == (("k",), ("h1",))
    assert "in use" in rejected(result)["add h3"]


def test_an_own_revise_names_what_became_of_states_and_goes_to_the_step_it_names(space: Space) -> None:
    task, request = behind(space)
    say(request, add("ticket", kind=ARTIFACT), add("opinion", kind=JUDGEMENT))
    task.compress("did b")
    grow(request, "c")
    result = own(request, "revise", add("lesson"), step=1, feedback="no b", world="unchanged")
    assert result.revised is not None
    told = result.revised.to_dict()
    assert (told["kept"], told["left"], told["world"]) == (["ticket"], ["opinion"], World.UNCHANGED)
    assert subgoals(task.path()) == [(0, "did a")]
    assert in_view(request) == {"k", "j", "ticket", "lesson"}


def test_an_own_revise_across_requests_goes_on_in_the_open_one(space: Space) -> None:
    task = space.task("t")
    first = task.request("one")
    grow(first, "a", delta=(add("j1", kind=JUDGEMENT),))
    say(first, message="done")
    request = task.request("two")
    grow(request, "b", delta=(add("j2", kind=JUDGEMENT),))
    result = own(request, "revise", add("lesson", "derives>j2"), add("l2"), step=0, feedback="all of it")
    assert (result.added, set(rejected(result))) == (("l2",), {"add lesson"})
    assert (task.open_request().number, in_view(request), task.path().summaries) == (2, {"l2"}, ())


# --- attempts, stale statuses -----------------------------------------------------------------------------------------


def test_repeating_an_output_with_revise_gives_the_first_answer(space: Space, connection: Connection) -> None:
    task, request = behind(space)
    say(request, add("wrong", kind=JUDGEMENT))
    status = request.status()
    first = own(request, "revise", add("n"), see=("obs:1.1",), shown=status, feedback="no b")
    before = last_step(connection, task)
    again = own(request, "revise", add("n"), see=("obs:1.1",), shown=status, feedback="no b")
    assert again.to_dict() == first.to_dict() | {"replayed": True}
    assert last_step(connection, task) == before


def test_repeating_an_output_whose_revise_was_a_reason_gives_that_answer(space: Space, connection: Connection) -> None:
    task, request = behind(space)
    status = request.status()
    first = own(request, "revise", add("n"), shown=status, attempt="mine", step=9, feedback="x")
    before = last_step(connection, task)
    again = own(request, "revise", add("n"), shown=status, attempt="mine", step=9, feedback="x")
    assert (again.step, again.rejected, again.added) == (first.step, first.rejected, ("n",))
    assert last_step(connection, task) == before


def test_an_own_revise_against_an_old_status_is_stale_and_writes_nothing(space: Space, connection: Connection) -> None:
    task, request = behind(space)
    status = request.status()
    say(request, add("meanwhile"))
    before = last_step(connection, task)
    for name, arguments in OWN.items():
        with pytest.raises(StaleStatusError):
            own(request, name, add("n"), shown=status, **arguments)
    assert (last_step(connection, task), walked(task.path())) == (before, [2])


def test_an_own_revise_while_calls_are_pending_is_refused(space: Space) -> None:
    task, request = behind(space)
    request.step(request.status(), StepOutput(tool_calls=(ToolCall(name="look", arguments={}),)))
    for name, arguments in OWN.items():
        with pytest.raises(PendingCallsError):
            own(request, name, add("n"), **arguments)
    assert walked(task.path()) == [2]


def test_an_own_revise_of_a_closed_request_or_an_abandoned_attempt_is_refused(space: Space) -> None:
    task, request = behind(space)
    own(request, "revise", feedback="no b", attempt="r")
    grow(request, "c")
    task.revise(0, feedback="all")
    with pytest.raises(AbandonedAttemptError):
        own(request, "revise", feedback="no b", attempt="r")
    status = request.status()
    say(request, message="done")
    with pytest.raises(RequestClosedError):
        own(request, "revise", shown=status, feedback="x")
