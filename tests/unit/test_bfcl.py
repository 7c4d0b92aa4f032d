"""BFCL's simulators as the experiments use them: real ones, from the pinned wheel."""

import copy

import pytest

from experiments import bfcl
from graphmem import ToolCall

_PARAMETERS = {"sort": ("file_name",), "move": ("source", "destination")}


@pytest.mark.parametrize("category", bfcl.CATEGORIES)
def test_the_gold_calls_of_a_task_run_in_its_simulators(category: str) -> None:
    for task in bfcl.sample(category, 3, seed=5):
        run = bfcl.run(task)
        assert [tuple(call for turn in r.turns for call in turn.calls) for r in run.rounds] == list(task.gold)
        assert [r.text for r in run.rounds] == list(task.questions)
        results = [result for turn in run.turns for result in turn.results]
        assert results
        assert not [text for text in results if text is None or text.startswith("Error")]
        assert bfcl.run(task) == run
        assert {call.name for call in run.calls} <= {tool.name for tool in task.tools}


def test_a_world_differs_from_its_copy_only_after_a_call_that_changes_it() -> None:
    task = next(task for task in bfcl.tasks("base") if "GorillaFileSystem" in task.classes)
    world = task.simulator()
    before = copy.deepcopy(world)
    world.call(ToolCall(name="ls", arguments={}))
    assert world == before == task.simulator()
    world.call(ToolCall(name="mkdir", arguments={"dir_name": "a-new-folder"}))
    assert world != before
    assert before == task.simulator()


def test_a_call_that_cannot_be_made_is_an_answer() -> None:
    world = bfcl.tasks("base")[0].simulator()
    assert "is not defined" in world.call(ToolCall(name="_load_scenario", arguments={"scenario": {}}))
    assert "is not defined" in world.call(ToolCall(name="no_such_tool"))
    assert world.call(ToolCall(name="cd", arguments={"wrong": 1})).startswith("Error during execution")


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("sort('a.txt')", ToolCall(name="sort", arguments={"file_name": "a.txt"})),
        ("move('a', destination='b')", ToolCall(name="move", arguments={"source": "a", "destination": "b"})),
    ],
)
def test_a_call_written_as_python_is_read(text: str, call: ToolCall) -> None:
    assert bfcl.parsed_call(text, _PARAMETERS.__getitem__) == call


@pytest.mark.parametrize("text", ["sort(open('x'))", "os.remove('x')", "sort", "sort(**{})", "move('a', source='b')"])
def test_what_is_no_call_with_literals_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        bfcl.parsed_call(text, _PARAMETERS.__getitem__)
