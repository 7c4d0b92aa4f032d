"""`blame` on real runs: which step and words wrote each part of a state, through revises and forks."""

import pytest

import graphmem
from graphmem.inspect.said import said_at
from graphmem.store import Connection
from tests.acceptance.asked_run import Run, wrong_turn
from tests.acceptance.speech import say, update
from tests.acceptance.tree_speech import own

pytestmark = pytest.mark.usefixtures("sound")


@pytest.fixture
def run(connection: Connection, space: graphmem.Space) -> Run:
    """A run with a wrong turn."""
    return wrong_turn(connection, space)


def test_blame_names_the_step_of_each_part(run: Run) -> None:
    say(run.request, graphmem.Operation(operation="update", id="fact", value={"a": 1, "b": 3}, has_value=True))
    parts = run.parts("fact")
    assert {name: part.step for name, part in parts.items()} == {
        "id": 4,
        "kind": 4,
        "summary": 8,
        "value": 9,
        "value.a": 4,
        "value.b": 9,
        "derives obs:1.1": 4,
    }
    assert (parts["summary"].said, parts["summary"].author) == ('"summary":"the fact, again"', "model")
    assert parts["derives obs:1.1"].said == '{"rel":"derives","state_id":"obs:1.1"}'


def test_a_raw_result_has_no_blame_and_the_error_names_what_tells_of_it(run: Run) -> None:
    with pytest.raises(graphmem.NotFoundError, match="is a raw result, and blame tells the parts of a state") as caught:
        run.parts("obs:1.1")
    assert "graphmem why t obs:1.1" in str(caught.value.command)


def test_blame_of_what_a_revise_brought_back_names_it_and_who_wrote_it_first(run: Run) -> None:
    run.task.revise(feedback="two was wrong")
    parts = run.parts("use")
    assert {(part.step, part.returned_step) for part in parts.values()} == {(4, 9)}
    say(run.request, update("use", summary="a third time"))
    assert (run.parts("use")["summary"].step, run.parts("use")["summary"].returned_step) == (10, None)
    assert run.parts("use")["kind"].returned_step == 9


def test_blame_of_what_came_with_the_models_own_revise_is_its_output(run: Run) -> None:
    own(run.request, "revise", update("use", summary="as I now see it"), step=None, feedback="two was wrong")
    parts = run.parts("use")
    assert (parts["summary"].step, parts["summary"].returned_step) == (9, None)
    assert parts["summary"].said == '"summary":"as I now see it"'
    assert (parts["kind"].step, parts["kind"].returned_step) == (4, 9)


def test_blame_goes_through_forks_to_the_origins(run: Run) -> None:
    second = run.task.fork("plan-b").fork("plan-c")
    say(second.open_request(), update("fact", summary="in plan-c"))
    parts = run.parts("fact", "plan-c")
    assert (parts["kind"].step, parts["kind"].origin) == (4, "t")
    assert (parts["summary"].step, parts["summary"].origin) == (11, None)
    say(run.request, update("use", summary="later in t"))
    assert run.parts("use", "plan-c")["summary"].content == "used otherwise"


def test_the_line_is_that_of_the_models_own_text(run: Run) -> None:
    text = """<state_focus>[]</state_focus>
<state_delta>[
  {"state_set": "knowledge", "operation": "add", "state_id": "other", "summary": "x", "value": 1,
   "refs": [{"rel": "derives", "state_id": "told"}]},
  {"state_set": "knowledge", "operation": "add", "state_id": "told",
   "summary": "said \\u00e9",
   "value": {"summary": 1,
             "deep": {"k": 2}}, "refs": []}
]</state_delta>
<tool_calls>[]</tool_calls>
<assistant_message>{"content": "done"}</assistant_message>"""
    result = run.request.step(run.request.status(), text)
    assert result.committed
    parts = run.parts("told")
    assert {name: part.line for name, part in parts.items()} == {
        "id": 5,
        "kind": 5,
        "summary": 6,
        "value": 7,
        "value.summary": 7,
        "value.deep": 8,
    }
    assert parts["value.deep"].said == '"deep": {"k": 2}'


@pytest.mark.parametrize("text", ["", "{", '"a', '{"state_id": "x"', "<state_delta>[{'id': 'x'}]", "x" * 10])
def test_a_text_that_cannot_be_read_has_a_line_or_none(text: str) -> None:
    found = said_at(text, "x", "summary")
    assert found is None or found[0] == 1
