"""Where a revise crosses requests: headings, disclosures, raw results and what can be asked for afterwards."""

import pytest

from graphmem import (
    Graph,
    NoOpenRequestError,
    RequestClosedError,
    Space,
    StateKind,
    Task,
)
from graphmem.errors import NothingToReviseError
from graphmem.inspect import requests as request_lines
from graphmem.store import Connection
from tests.acceptance.speech import active_ids, add, index_ids, rejected, related, say, update
from tests.acceptance.tree_speech import fails, grow, in_view, subgoals, walked

pytestmark = pytest.mark.usefixtures("sound")
JUDGEMENT, ARTIFACT, PREFERENCE = StateKind.JUDGEMENT, StateKind.ARTIFACT, StateKind.PREFERENCE


# --- requests ---------------------------------------------------------------------------------------------------------


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
    assert '"query_id":3,"abandoned":true' in status.text()
    assert status.text().count('"abandoned":true') == 1
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
    assert next(state.value for state in request.status().active if state.id == raw) == "the fees are 80 USD"


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


def test_without_isu_the_response_of_a_request_that_a_revise_reopened_is_one_state_of_its_own_results(
    space: Space,
) -> None:
    task = space.task("t", isu=False)
    request = task.request("one")
    grow(request, "a")
    task.compress("did a")
    grow(request, "b")
    say(request, message="wrong")
    task.revise(task.path().summaries[-1], feedback="no")
    request = task.open_request()
    grow(request, "c")
    say(request, message="right")
    request = task.request("two")
    assert index_ids(request.status()) == {1: ["response-1"]}
    say(request, see=("response-1",))
    (state,) = request.status().active
    assert state.value == {"response": "right"}
    assert related(request.status(), "response-1") == {"derives>obs:1.1", "derives>obs:3.1"}
