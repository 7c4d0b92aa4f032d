"""Where MAGE's tree and FlowState's states meet: each test states what would go wrong between them."""

from dataclasses import replace

import pytest

from graphmem import (
    AbandonedAttemptError,
    PendingCallsError,
    RequestOpenError,
    Space,
    StaleStatusError,
    StateKind,
    StepOutput,
    ToolCall,
    ToolResult,
)
from graphmem.store import Connection
from tests.acceptance.speech import active_ids, add, related, remove, say, update
from tests.acceptance.tree_speech import fails, grow, in_view, last_step, own, passes, walked

pytestmark = pytest.mark.usefixtures("sound")
JUDGEMENT, ARTIFACT, PREFERENCE = StateKind.JUDGEMENT, StateKind.ARTIFACT, StateKind.PREFERENCE


# --- judgements, artifacts, the tree ----------------------------------------------------------------------------------


def test_the_judgement_written_in_the_same_output_as_the_wrong_call_is_out_of_view_after_the_revise(
    space: Space,
) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    task.compress("did a")
    grow(request, "the wrong call", delta=(add("it-will-work", kind=JUDGEMENT),))
    assert task.revise(feedback="it did not").left == ("it-will-work",)
    assert in_view(request) == set()


def test_a_judgement_written_together_with_compress_stays(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    assert own(request, "compress", add("a-is-good", kind=JUDGEMENT), summary="did a").summary is not None
    grow(request, "b")
    assert task.revise(feedback="b was wrong").left == ()
    assert in_view(request) == {"a-is-good"}


@pytest.mark.parametrize(
    ("world", "in_view_after", "kept"), [("unchanged", {"booking"}, ("booking",)), ("restored", set(), ())]
)
def test_a_booking_that_was_really_made_is_in_view_and_named_unless_the_world_was_restored(
    space: Space, world: str, in_view_after: set[str], kept: tuple[str, ...]
) -> None:
    task = space.task("t")
    request = task.request("one")
    (raw,) = grow(request, "booked", tool="book")
    say(request, add("booking", raw, kind=ARTIFACT))
    revised = task.revise(feedback="the wrong hotel", world=world)
    assert revised.kept == kept
    assert in_view(request) == in_view_after


def test_revise_lists_the_irreversible_calls_behind_it_that_really_ran(space: Space) -> None:
    task = space.task("t", irreversible=("book",))
    request = task.request("one")
    grow(request, "room 1", tool="book")
    task.compress("booked 1")
    grow(request, "room 2", "a look", tool="book")
    grow(request, None, tool="mail", irreversible=("mail",))
    grow(request, "looked")
    first = task.revise(feedback="no")
    assert [(ran.tool, ran.id, ran.known) for ran in first.irreversible] == [
        ("book", "obs:2.1", True),
        ("book", "obs:2.2", True),
        ("mail", "obs:3.1", False),
    ]
    second = task.revise(0, feedback="nor that")
    assert [ran.id for ran in second.irreversible] == ["obs:1.1", "obs:2.1", "obs:2.2", "obs:3.1"]


def test_merging_back_into_an_abandoned_node_restores_no_state_and_h_says_which_were_written_there(
    space: Space,
) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    say(request, add("j", kind=JUDGEMENT))
    grow(request, "b")
    say(request, add("j2", kind=JUDGEMENT))
    task.revise(feedback="no")
    (tried,) = task.path().hints.tried
    assert (tried.number, tried.wrote) == (1, ("j",))
    assert '"states_written_there":["j"]' in task.path().text()
    assert grow(request, "a").merged
    assert in_view(request) == set()
    (node,) = task.path().recent
    (further,) = task.path().hints.tried
    assert (node.wrote, further.number, further.wrote) == (("j",), 2, ("j2",))


def test_h_names_the_states_that_came_in_one_output_with_the_call_which_is_walked_into_again(
    space: Space, connection: Connection
) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a", delta=(add("before", kind=JUDGEMENT),))
    task.compress("did a")
    grow(request, "b", delta=(add("choice", kind=JUDGEMENT), update("before", summary="changed")))
    grow(request, "c", delta=(add("next", kind=JUDGEMENT),))
    before = last_step(connection, task)
    task.revise(feedback="no b")
    (tried,) = task.path().hints.tried
    assert (tried.number, set(tried.wrote)) == (2, {"choice", "before", "next"})
    assert grow(request, "b").merged
    path = task.path()
    assert [set(node.wrote) for node in path.recent] == [{"choice", "before", "next"}]
    assert [t.wrote for t in path.hints.tried] == [("next",)]
    assert in_view(request) == {"before"}
    assert replace(task.at(last_step(connection, task)).path(), at=None) == path
    assert [node.wrote for node in task.at(before).path().recent] == [(), ()], "nothing was abandoned then"


def test_a_call_that_was_made_before_the_boundary_left_nothing_at_its_node(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    asked = StepOutput(delta=(add("j", kind=JUDGEMENT),), tool_calls=(ToolCall(name="look", arguments={"of": "b"}),))
    result = request.step(request.status(), asked)
    task.compress("did a")  # the fallback, while the call waits
    request.observe(result, [ToolResult(call_id=result.calls[0].id, content="b")])
    task.revise(feedback="no b")
    assert [tried.wrote for tried in task.path().hints.tried] == [()]
    assert in_view(request) == {"j"}


def test_a_neighbour_that_a_revise_took_out_of_view_is_named_nowhere(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    say(request, add("k"))
    task.compress("did a")
    grow(request, "b")
    say(request, add("j", "supports>k", kind=JUDGEMENT), add("k2", "derives>k"))
    assert related(request.status(), "k") == {"supports<j", "derives<k2"}
    task.revise(feedback="no")
    status = request.status()
    assert (active_ids(status), related(status, "k")) == (["k", "k2"], {"derives<k2"})
    assert {r.id for state in request.status().active for r in state.related} <= in_view(request)


def test_an_outgoing_ref_to_a_state_that_left_is_not_shown_and_shows_again_when_that_lineage_returns(
    space: Space,
) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    say(request, add("j", kind=JUDGEMENT), add("k", "supports>j"))
    task.compress("did a")
    grow(request, "b")
    say(request, remove("j"))
    assert related(request.status(), "k") == set()
    task.revise(feedback="no")
    assert related(request.status(), "k") == {"supports>j"}


# --- attempts, pending calls, stale statuses --------------------------------------------------------------------------


def test_repeating_the_attempt_key_of_an_abandoned_step_commits_nothing_and_says_so(
    space: Space, connection: Connection
) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    output = StepOutput(delta=(add("k"),))
    request.step(request.status(), output, attempt="mine")
    summary = task.compress("did a", attempt="c")
    task.maintain(summary, passes, attempt="m")
    inner = grow(request, "b")
    task.revise(feedback="no b", attempt="r")
    task.revise(summary, feedback="no")
    before = last_step(connection, task)
    status = request.status()
    for again in (
        lambda: request.step(status, output, attempt="mine"),
        lambda: task.compress("did a", attempt="c"),
        lambda: task.maintain(summary, passes, attempt="m"),
        lambda: task.revise(feedback="no b", attempt="r"),
    ):
        with pytest.raises(AbandonedAttemptError, match="a revise left behind"):
            again()
    assert inner.number == 2
    assert last_step(connection, task) == before


def test_repeating_a_revise_by_its_attempt_gives_the_first_result(space: Space, connection: Connection) -> None:
    task = space.task("t", irreversible=("look",))
    request = task.request("one")
    grow(request, "a", delta=(add("j", kind=JUDGEMENT),))
    first = task.revise(feedback="no", attempt="r", world="restored")
    grow(request, "b")
    before = last_step(connection, task)
    assert task.revise(feedback="no", attempt="r", world="restored") == first
    assert (last_step(connection, task), walked(task.path())) == (before, [2])


def test_the_attempt_that_opened_a_request_which_goes_on_is_not_abandoned(space: Space) -> None:
    task = space.task("t")
    grow(task.request("one", attempt="o1"), "a")
    say(task.open_request(), message="done one")
    request = task.request("two", attempt="o2")
    grow(request, "b")
    task.revise(0, feedback="all of it")
    assert task.request("two", attempt="o2").number == 2
    assert task.open_request().number == 2


def test_the_attempt_that_opened_a_request_which_was_abandoned_is_refused(space: Space) -> None:
    task = space.task("t")
    for number in (1, 2, 3):
        request = task.request(f"q{number}", attempt=f"o{number}")
        grow(request, f"r{number}")
        if number < 3:
            say(request, message=f"done {number}")
    assert task.revise(task.path().summaries[0], feedback="all").requests == (2,)
    say(request, message="done 3")
    with pytest.raises(AbandonedAttemptError):
        task.request("q2", attempt="o2")


def test_a_step_or_revise_while_calls_are_pending_is_refused_and_the_calls_come_back_as_pending(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    call = ToolCall(name="book", arguments={"n": 1})
    request.step(request.status(), StepOutput(tool_calls=(call,)))
    # The process ends here; another one goes on.
    resumed = space.task("t").open_request()
    pending = resumed.status().pending
    assert pending is not None
    assert [(c.name, c.arguments) for c in pending.calls] == [("book", {"n": 1})]
    with pytest.raises(PendingCallsError):
        resumed.step(resumed.status(), StepOutput(delta=(add("k"),)))
    with pytest.raises(PendingCallsError):
        task.revise(feedback="no")
    assert walked(task.path()) == [1]
    grown = resumed.observe(pending, [ToolResult.unknown(pending.calls[0].id)])
    assert (grown.number, resumed.status().observation[0].content) == (2, None)


def test_a_compress_or_a_verdict_between_observe_and_status_does_not_hide_the_observation(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "what the model waits for")
    task.maintain(task.compress("did it"), passes)
    assert [o.content for o in request.status().observation] == ["what the model waits for"]
    text = task.prompt().text()
    assert text.count("what the model waits for") == text.count('"of":"what the model waits for"') + 1


def test_a_late_verdict_does_not_make_a_status_stale_but_a_compress_and_a_revise_do(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    summary = task.compress("a")
    status = request.status()
    task.maintain(summary, fails("late"))
    assert request.step(status, StepOutput(delta=(add("k"),))).added == ("k",)
    grow(request, "b")
    for move in (lambda: task.compress("b"), lambda: task.revise(summary, feedback="no")):
        status = request.status()
        move()
        with pytest.raises(StaleStatusError):
            request.step(status, StepOutput(delta=(add("k2"),)))
    assert in_view(request) == {"k"}


def test_a_second_request_while_one_is_open_is_an_error_that_names_open_request(space: Space) -> None:
    task = space.task("t")
    task.request("one")
    with pytest.raises(RequestOpenError, match=r"open_request\(\)"):
        task.request("two")
