"""Where MAGE's tree and FlowState's states meet (DESIGN, the join): each test states what would go wrong between them."""

import pytest

from graphmem import (
    AbandonedAttemptError,
    Graph,
    NoOpenRequestError,
    PendingCallsError,
    RequestClosedError,
    RequestOpenError,
    Space,
    StaleStatusError,
    StateKind,
    StepOutput,
    Task,
    ToolCall,
    ToolResult,
)
from graphmem.errors import NothingToReviseError
from graphmem.inspect import requests as request_lines
from graphmem.store import Connection
from tests.acceptance.speech import active_ids, add, index_ids, rejected, related, remove, say, update
from tests.acceptance.tree_speech import fails, grow, in_view, last_step, own, passes, subgoals, walked

pytestmark = pytest.mark.usefixtures("sound")
JUDGEMENT, ARTIFACT, PREFERENCE = StateKind.JUDGEMENT, StateKind.ARTIFACT, StateKind.PREFERENCE


# --- judgements, artifacts, the tree ---------------------------------------------------------------------------------


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


# --- attempts, pending calls, stale statuses -------------------------------------------------------------------------


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


# --- requests --------------------------------------------------------------------------------------------------------


def test_finishing_a_request_compresses_its_tail_with_the_final_response(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    result = say(request, message="the final response")
    (summary,) = task.path().summaries
    assert (summary.text, summary.verdict, summary.key) == ("the final response", "unchecked", result.summary)
    say(task.request("two"), message="nothing was done")
    assert subgoals(task.path()) == [(0, "the final response")]


def test_no_cover_spans_two_requests(space: Space) -> None:
    task = space.task("t")
    for number in (1, 2):
        request = task.request(f"q{number}")
        grow(request, f"r{number}")
        grow(request, f"s{number}")
        if number == 1:
            say(request, message="done 1")
    assert walked(task.path()) == [3, 4]
    task.compress("second")
    assert subgoals(task.path()) == [(0, "done 1"), (2, "second")]


def four_requests(space: Space) -> Task:
    """Requests 1 to 3 finished, the second with two subgoals, and 4 open; each with knowledge and a judgement."""
    task = space.task("t")
    for number in range(1, 5):
        request = task.request(f"query {number}")
        grow(request, f"result {number}")
        say(request, add(f"k{number}"), add(f"j{number}", kind=JUDGEMENT))
        if number == 2:
            task.compress("the middle of 2")
            grow(request, "more of 2")
            say(request, add("k2b"), add("j2b", kind=JUDGEMENT))
        if number < 4:
            say(request, message=f"response {number}")
    return task


def test_after_a_revise_into_an_earlier_request_the_index_lists_it_up_to_the_boundary_and_marks_abandoned_headings(
    space: Space, connection: Connection
) -> None:
    task = four_requests(space)
    revised = task.revise(task.path().summaries[2], feedback="wrong since the middle of 2")
    assert (revised.requests, revised.request) == ((3,), 4)
    assert set(revised.left) == {"j2b", "j3", "j4"}
    request = task.open_request()
    status = request.status()
    assert request.number == 4
    assert index_ids(status) == {1: ["k1", "j1"], 2: ["k2", "j2", "k2b"], 3: ["k3"]}
    assert [(entry.request, entry.abandoned) for entry in status.index] == [(1, False), (2, False), (3, True)]
    assert active_ids(status) == ["k4"]
    assert subgoals(task.path()) == [(0, "response 1"), (1, "the middle of 2")]
    lines = {line.number: line for line in request_lines(connection, space.name, "t")}
    assert lines[3].standing == "abandoned"


def test_with_nothing_of_an_abandoned_request_in_view_its_heading_is_gone_and_is_no_target(space: Space) -> None:
    task = four_requests(space)
    task.revise(task.path().summaries[2], feedback="wrong", world="restored")
    request = task.open_request()
    status = request.status()
    assert index_ids(status) == {1: ["k1", "j1"], 2: ["k2", "j2"]}
    assert "query 3" not in status.text()
    assert "access request:3" in rejected(say(request, see=("request:3",)))


def test_an_abandoned_heading_can_be_asked_for_while_something_of_it_is_in_view(space: Space) -> None:
    task = four_requests(space)
    task.revise(task.path().summaries[2], feedback="wrong")
    request = task.open_request()
    assert say(request, see=("k3",)).disclosed == ("k3",)
    assert say(request, see=("request:3",)).rejected == ()
    assert "k3" in active_ids(request.status())


def test_a_final_answer_that_is_rejected_reopens_the_last_request_with_its_disclosures(space: Space) -> None:
    task = space.task("t")
    say(task.request("one"), add("h"), message="done")
    request = task.request("two")
    say(request, see=("h",))
    grow(request, "a")
    task.compress("the good part")
    grow(request, "b")
    say(request, add("j", kind=JUDGEMENT), see=())
    say(request, message="a wrong answer")
    with pytest.raises(NoOpenRequestError):
        task.open_request()
    verdict = task.maintain(None, fails("the answer is wrong"))
    revised = task.revise(verdict.summary)
    again = task.open_request()
    assert (revised.request, again.number, again.text) == (2, 2, "two")
    assert active_ids(again.status()) == ["h"]
    assert subgoals(task.path()) == [(0, "the good part")]
    assert task.path().hints.feedback == "the answer is wrong"
    say(again, message="a right answer")
    with pytest.raises(RequestClosedError):
        again.status()
    assert task.request("three").number == 3


def test_a_disclosure_made_behind_the_boundary_leaves_with_its_step(space: Space) -> None:
    task = space.task("t")
    say(task.request("one"), add("h"), add("h2"), message="done")
    request = task.request("two")
    say(request, see=("h",))
    grow(request, "a")
    task.compress("did a")
    grow(request, "b")
    say(request, see=("h2",))
    assert active_ids(request.status()) == ["h", "h2"]
    task.revise(feedback="no")
    assert active_ids(request.status()) == ["h"]
    assert say(request, see=("h2",)).disclosed == ("h2",)
    assert active_ids(request.status()) == ["h", "h2"]


def test_a_request_finished_before_the_boundary_stays_finished(space: Space, connection: Connection) -> None:
    task = space.task("t")
    say(task.request("nothing to do"), message="done without a call")
    request = task.request("two")
    grow(request, "a")
    say(request, message="two")
    revised = task.revise(0, feedback="no")
    assert (revised.requests, revised.request) == ((), 2)
    assert index_ids(task.open_request().status()) == {1: []}
    assert [line.standing for line in request_lines(connection, space.name, "t")] == ["finished", "open"]


def test_a_finish_counts_as_the_boundary_even_with_nothing_to_compress(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    task.compress("did a")
    say(request, add("late", kind=JUDGEMENT))
    say(request, message="done")
    second = task.request("two")
    grow(second, "b")
    assert task.revise(feedback="no b").left == ()
    assert in_view(second) == {"late"}


def test_a_raw_result_cited_by_knowledge_that_survived_a_revise_can_still_be_asked_for(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    task.compress("did a")
    (raw, other) = grow(request, "the fees are 80 USD", "not cited")
    say(request, add("fees", raw), add("j", other, kind=JUDGEMENT))
    task.revise(feedback="no")
    result = say(request, see=(raw, other))
    assert result.disclosed == (raw,)
    assert f"access {other}" in rejected(result)
    assert [state.value for state in request.status().active if state.id == raw][0] == "the fees are 80 USD"


def test_a_raw_result_left_behind_can_be_cited_only_while_a_live_state_cites_it(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    (raw, other) = grow(request, "cited", "not cited")
    say(request, add("k", raw))
    task.revise(feedback="no")
    assert say(request, add("k2", raw)).added == ("k2",)
    assert "add k3" in rejected(say(request, add("k3", other)))
    assert grow(request, "cited", "not cited").merged  # walked again, it is on the path and of this request
    assert say(request, add("k3", other)).added == ("k3",)


def test_an_id_that_a_revise_abandoned_can_be_used_again(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a", delta=(add("j", kind=JUDGEMENT),))
    task.revise(feedback="no")
    assert say(request, add("j", kind=PREFERENCE, summary="another")).added == ("j",)
    assert [state.summary for state in request.status().active] == ["another"]
    assert say(request, update("j", summary="changed")).updated == ("j",)


def test_the_latest_observation_of_an_abandoned_step_is_not_shown(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a wrong result")
    task.revise(feedback="no")
    assert (request.status().observation, request.status().reasons) == ((), ())


def test_a_revise_needs_something_behind_it_in_every_request(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    with pytest.raises(NothingToReviseError):
        task.revise(feedback="no")
    grow(request, "a")
    say(request, message="done")
    task.request("two")
    with pytest.raises(NothingToReviseError, match="0: done"):
        task.revise(feedback="no")


def test_every_path_and_status_is_empty_for_another_space_with_the_same_names(space: Space, graph: Graph) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a", delta=(add("k"),))
    task.compress("did a")
    other = graph.space(f"{space.name}-other").task("t")
    try:
        second = other.request("one")
        assert (other.path().summaries, other.path().hints.tried, second.status().active) == ((), (), ())
        assert grow(second, "a").merged is False
        other.revise(feedback="no")
        assert (subgoals(task.path()), in_view(request)) == ([(0, "did a")], {"k"})
    finally:
        graph.connection.run(
            "tests/erase", "MATCH (n {space: $p.space}) DETACH DELETE n", {"space": f"{space.name}-other"}
        )
