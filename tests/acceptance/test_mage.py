"""MAGE on a real server (§3 and Algorithm 1): each test states what an easy implementation of the tree gets wrong."""

from collections.abc import Sequence

import pytest

from graphmem import (
    NothingToCompressError,
    Space,
    StepOutput,
    ToolCall,
    ToolResult,
)
from graphmem.errors import InvalidValueError
from graphmem.store import Connection
from graphmem.trace import TraceNode
from tests.acceptance.speech import add, say
from tests.acceptance.tree_speech import fails, grow, last_step, passes, subgoals, walked

pytestmark = pytest.mark.usefixtures("sound")


# --- Grow (lines 4-17) ------------------------------------------------------------------------------------------------


def test_two_identical_consecutive_actions_make_two_nodes_parent_and_child(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    first, second = grow(request, "same"), grow(request, "same")
    assert (first.number, first.merged, second.number, second.merged) == (1, False, 2, False)
    assert walked(task.path()) == [1, 2]
    assert (first[0], second[0]) == ("obs:1.1", "obs:2.1")


def test_the_same_first_action_after_a_revise_merges_and_allocates_no_number(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    grow(request, "b")
    task.revise(feedback="b was wrong")
    again = grow(request, "a")
    assert (again.number, again.merged, tuple(again)) == (1, True, ("obs:1.1",))
    assert request.status().observation[0].content == "a"
    other = grow(request, "c")
    assert (other.number, other.merged) == (3, False)
    assert walked(task.path()) == [1, 3]


def test_grow_reports_a_merge_and_the_note_of_the_failed_subgoal_over_it(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    assert grow(request, "a").notes == ()
    grow(request, "b")
    summary = task.compress("walked a and b")
    assert task.maintain(summary, fails("b breaks the policy")).feedback == "b breaks the policy"
    task.revise(summary)
    first, second, third = grow(request, "a"), grow(request, "b"), grow(request, "new")
    assert (first.merged, first.notes) == (True, ("b breaks the policy",))
    assert (second.merged, second.notes) == (True, ("b breaks the policy",))
    assert (third.merged, third.notes) == (False, ())


def test_a_passed_subgoal_over_a_merged_node_gives_no_note(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    good = task.compress("fine")
    task.maintain(good, passes)
    grow(request, "b")
    bad = task.compress("not fine")
    task.revise(bad, feedback="b is wrong")
    assert grow(request, "b").notes == ("b is wrong",)
    assert [s.verdict for s in task.path().summaries] == ["passed"]


def test_identity_of_a_node_is_the_exact_content_whatever_the_order_of_keys_in_arguments(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")

    def walk(arguments: dict[str, object], content: str) -> tuple[int, bool]:
        grown = grow(request, content, arguments=arguments)  # type: ignore[arg-type]  # JSON all the same
        task.revise(feedback="again")
        return grown.number, grown.merged

    assert walk({"a": 1, "b": {"x": 1, "y": [1, 2]}}, "r") == (1, False)
    assert walk({"b": {"y": [1, 2], "x": 1}, "a": 1}, "r") == (1, True)
    assert walk({"a": 1.0, "b": {"x": 1, "y": [1, 2]}}, "r") == (2, False)
    assert walk({"a": True, "b": {"x": 1, "y": [1, 2]}}, "r") == (3, False)
    assert walk({"a": 1, "b": {"x": 1, "y": [2, 1]}}, "r") == (4, False)
    assert walk({"a": 1, "b": {"x": 1, "y": [1, 2]}}, "r ") == (5, False)


def test_all_calls_of_one_output_are_one_node_and_their_ids_are_not_its_content(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    assert tuple(grow(request, "x", "y")) == ("obs:1.1", "obs:1.2")
    task.revise(feedback="again")
    calls = tuple(ToolCall(name="look", arguments={"of": text}, id=f"mine-{text}") for text in ("x", "y"))
    result = request.step(request.status(), StepOutput(tool_calls=calls))
    grown = request.observe(result, [ToolResult(call_id=f"mine-{text}", content=text) for text in ("y", "x")][::-1])
    assert (grown.number, grown.merged) == (1, True)


def test_an_unknown_outcome_is_another_node_than_any_text(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, None, arguments={"n": 1})
    task.revise(feedback="again")
    assert grow(request, "null", arguments={"n": 1}).merged is False
    task.revise(feedback="again")
    assert grow(request, None, arguments={"n": 1}).merged is True


# --- Compress (lines 19-35) -------------------------------------------------------------------------------------------


def test_the_first_compress_has_the_root_as_boundary_and_revising_to_it_leaves_c_empty(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    root = task.path()
    grow(request, "a")
    summary = task.compress("did a")
    assert (summary.boundary, summary.verdict) == (0, "unchecked")
    assert subgoals(task.path()) == [(0, "did a")]
    revised = task.revise(summary, feedback="wrong")
    path = task.path()
    assert (path.summaries, path.recent, path.boundary) == ((), (), 0)
    assert (path.p_b, path.p_t) == (root.p_b, root.p_t)
    assert revised.about == summary.key


def test_the_boundary_of_a_summary_is_the_last_node_that_its_parent_covers(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    grow(request, "b")
    task.compress("first")
    grow(request, "c")
    task.compress("second")
    assert subgoals(task.path()) == [(0, "first"), (2, "second")]
    assert (task.path().boundary, task.path().recent) == (3, ())


def test_compress_is_refused_when_r_is_empty(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    with pytest.raises(NothingToCompressError):
        task.compress("nothing")
    grow(request, "a")
    task.compress("a")
    with pytest.raises(NothingToCompressError):
        task.compress("nothing again")
    grow(request, "b")
    with pytest.raises(InvalidValueError):
        task.compress(" ")


def test_walking_the_same_nodes_again_and_compressing_reuses_the_summary_with_the_new_text_unchecked(
    space: Space, connection: Connection
) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    first = task.compress("the first text")
    task.maintain(first, fails("too short"))
    judged = last_step(connection, task)
    task.revise(first)
    grow(request, "a")
    second = task.compress("the second text")
    assert (second.key, second.text, second.verdict, second.note) == (first.key, "the second text", "unchecked", None)
    assert [s.key for s in task.path().summaries] == [first.key]
    then = task.at(judged).path().summaries[0]
    assert (then.text, then.verdict, then.note) == ("the first text", "failed", "too short")


def test_a_longer_walk_over_the_same_nodes_is_a_sibling_and_not_the_same_summary(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    short = task.compress("a alone")
    task.revise(short, feedback="go on")
    grow(request, "a")
    grow(request, "b")
    long = task.compress("a and b")
    assert (long.key != short.key, long.boundary, short.boundary) == (True, 0, 0)


def test_an_attempt_names_a_compress_so_that_repeating_it_changes_nothing(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    first = task.compress("text", attempt="c1")
    grow(request, "b")
    assert task.compress("text", attempt="c1").key == first.key
    assert walked(task.path()) == [2]


def test_a_dry_compress_writes_nothing(space: Space, connection: Connection) -> None:
    task = space.task("t")
    grow(task.request("one"), "a")
    before = last_step(connection, task)
    assert task.compress("text", dry_run=True).text == "text"
    assert (last_step(connection, task), walked(task.path())) == (before, [1])


def test_a_dry_compress_of_an_empty_r_is_refused_without_the_lock_of_the_task(
    space: Space, connection: Connection
) -> None:
    task = space.task("t")
    task.request("one")
    lock = "MATCH (t:Task {key: $p.key}) RETURN t.lock AS lock"
    before = connection.run("tests/lock", lock, {"key": f"{space.name}/t"})
    with pytest.raises(NothingToCompressError):
        task.compress("text", dry_run=True)
    assert connection.run("tests/lock", lock, {"key": f"{space.name}/t"}) == before


def test_a_fallback_compress_never_hides_an_observation_that_the_model_has_not_seen_yet(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "long " * 200)
    assert task.compress_long(above_tokens=10) is None
    assert walked(task.path()) == [1]
    say(request, add("k"))  # the model was shown the result and answered
    summary = task.compress_long(above_tokens=10)
    assert summary is not None
    assert subgoals(task.path()) == [(0, summary.text)]
    assert summary.text.startswith("look(of=long long")


def test_a_fallback_hides_nothing_that_comes_in_while_it_is_written(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "long " * 100)
    say(request, add("k"))

    def slow(nodes: Sequence[TraceNode]) -> str:
        if len(nodes) == 1:
            grow(request, "new")
        return "what was done"

    assert task.compress_long(above_tokens=10, summarizer=slow) is None
    assert walked(task.path()) == [1, 2]


def test_the_fallback_leaves_a_short_r_alone(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "short")
    say(request, add("k"))
    assert task.compress_long() is None
    assert walked(task.path()) == [1]


def test_a_summarizer_writes_the_text_of_the_fallback(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "long " * 100)
    say(request, add("k"))
    made = task.compress_long(above_tokens=10, summarizer=lambda nodes: f"{len(nodes)} node of {nodes[0].number}")
    assert made is not None
    assert made.text == "1 node of 1"
