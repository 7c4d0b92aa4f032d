"""Time travel: what `at(n)` says of every step of a long mixed run is what was said then, recorded as it happened."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from graphmem import (
    NoOpenRequestError,
    NotFoundError,
    Path,
    Prompt,
    Request,
    Ruling,
    Space,
    StateKind,
    Status,
    StepOutput,
    StepResult,
    Task,
    ToolCall,
    ToolResult,
)
from graphmem.errors import InvalidValueError
from graphmem.store import Connection
from tests.acceptance.speech import access, active_ids, add, remove, say, update
from tests.acceptance.tree_speech import fails, grow, last_step, own, passes, subgoals, walked

pytestmark = pytest.mark.usefixtures("sound")
JUDGEMENT, ARTIFACT, PREFERENCE = StateKind.JUDGEMENT, StateKind.ARTIFACT, StateKind.PREFERENCE


def plain_path(path: Path) -> dict[str, Any]:
    """A path without the step as of which it is."""
    return {name: value for name, value in path.to_dict().items() if name != "at"}


def plain_status(status: Status) -> dict[str, Any]:
    """A status without whether it was read under the lock."""
    return {name: value for name, value in status.to_dict().items() if name != "locked"}


@dataclass
class Recorder:
    """What path and status said after each step, and the texts that were shown to a model."""

    task: Task
    connection: Connection
    paths: dict[int, tuple[dict[str, Any], str]] = field(default_factory=dict)
    statuses: dict[int, tuple[dict[str, Any], str] | None] = field(default_factory=dict)
    shown: dict[int, str] = field(default_factory=dict)

    def note(self) -> int:
        """Record what is said now; the number of the last step."""
        step = last_step(self.connection, self.task)
        path = self.task.path()
        self.paths[step] = (plain_path(path), path.text())
        try:
            status = self.task.open_request().status()
            self.statuses[step] = (plain_status(status), status.text())
        except NoOpenRequestError:
            self.statuses[step] = None
        return step

    def does(self, action: Callable[[], object]) -> None:
        """One write, recorded."""
        before = last_step(self.connection, self.task)
        action()
        assert self.note() == before + 1, "a step went by unrecorded"

    def says(self, request: Request, output: StepOutput, shown: Status | Prompt | None = None) -> None:
        """A model's output against what it was shown, both recorded; its calls are observed."""
        seen = shown if shown is not None else self.task.prompt()
        results: list[StepResult] = []
        self.does(lambda: results.append(request.step(seen, output)))
        (result,) = results
        self.shown[result.step] = seen.text()
        if result.calls:
            answers = [ToolResult(call_id=call.id, content=str(call.arguments["of"])) for call in result.calls]
            self.does(lambda: request.observe(result, answers))


def walk(content: str, *delta: Any) -> StepOutput:
    return StepOutput(delta=delta, tool_calls=(ToolCall(name="look", arguments={"of": content}),))


def mixed_run(recorder: Recorder) -> None:
    """Requests, merges, reuse, verdicts early and late, revises of all kinds, disclosures, refusals, own calls."""
    task = recorder.task
    recorder.does(lambda: task.request("the first"))
    request = task.open_request()
    recorder.says(request, walk("a", add("user-likes", kind=PREFERENCE)))
    recorder.says(request, walk("b", add("k1", "obs:1.1"), add("j1", kind=JUDGEMENT)))
    recorder.does(lambda: task.compress("a and b"))
    first = task.path().summaries[0]
    recorder.does(lambda: task.maintain(first, passes))
    recorder.says(request, walk("c", update("j1", summary="j1 changed"), add("ticket", kind=ARTIFACT)))
    recorder.says(request, StepOutput(delta=(add("j2", "supports>k1", kind=JUDGEMENT), remove("nothing"))))
    recorder.says(request, StepOutput(message="both", tool_calls=(ToolCall(name="look", arguments={}),)))
    recorder.does(lambda: task.revise(feedback="c is a dead end"))
    recorder.says(request, walk("c"))  # the node is walked again
    recorder.says(request, walk("d", add("k2", "obs:4.1", "derives>k1")))
    recorder.does(lambda: task.compress("c and d"))
    recorder.does(lambda: task.maintain(None, fails("d was not checked")))
    second = task.path().summaries[1]
    recorder.does(lambda: task.revise(second, world="restored"))
    recorder.says(request, walk("c"))
    recorder.says(request, walk("d"))
    recorder.does(lambda: task.compress("c and d, checked"))  # the summary is reused
    recorder.does(lambda: task.maintain(second, passes))
    recorder.says(request, StepOutput(delta=(add("plan", kind=JUDGEMENT),)))
    recorder.says(request, StepOutput(message="the first is done"))
    recorder.does(lambda: task.request("the second"))
    request = task.open_request()
    recorder.says(request, StepOutput(access=access("k1", "j1")))
    recorder.says(request, walk("e", add("k3", "supports>k1")))
    recorder.says(request, StepOutput(access=access("obs:1.1", "request:1")))
    recorder.says(
        request,
        StepOutput(delta=(add("k4"),), tool_calls=(ToolCall(name="compress", arguments={"summary": "did e"}),)),
    )
    recorder.says(request, walk("f", update("k3", summary="k3 changed")))
    recorder.says(request, StepOutput(access=access("plan")))
    revise = ToolCall(name="revise", arguments={"feedback": "f is closed"})
    recorder.says(request, StepOutput(delta=(add("lesson"),), access=access("user-likes"), tool_calls=(revise,)))
    recorder.says(request, walk("g"))
    recorder.says(request, StepOutput(message="the second is done"))
    recorder.does(lambda: task.maintain(None, fails("the answer is wrong")))
    recorder.does(lambda: task.revise(task.path().summaries[-1]))  # the second is reopened
    recorder.does(lambda: task.maintain(second, fails("a late verdict")))
    request = task.open_request()
    recorder.says(request, StepOutput(message="the second, better"))  # with nothing to compress
    recorder.does(lambda: task.request("the third"))
    request = task.open_request()
    recorder.says(request, walk("h", add("k5"), add("j5", kind=JUDGEMENT)))
    recorder.says(request, StepOutput(message="the third is done"))
    recorder.does(lambda: task.request("the fourth"))
    request = task.open_request()
    recorder.says(request, walk("i", add("k6", "follows>k5")))
    recorder.does(lambda: task.revise(second, feedback="all the way"))  # into the first request
    recorder.says(request, walk("c"))
    recorder.says(request, StepOutput(access=access("k5", "request:3")))
    recorder.does(lambda: task.compress("c alone"))
    recorder.does(lambda: task.revise(0, feedback="from the start", world="restored"))
    recorder.says(request, walk("a"))
    recorder.says(request, StepOutput(delta=(add("end"),)))


@pytest.fixture
def recorded(space: Space, connection: Connection) -> Recorder:
    recorder = Recorder(space.task("t"), connection)
    mixed_run(recorder)
    return recorder


def test_at_n_says_of_every_step_what_path_and_status_said_then(recorded: Recorder) -> None:
    task, last = recorded.task, last_step(recorded.connection, recorded.task)
    assert sorted(recorded.paths) == list(range(1, last + 1))
    assert last > 50
    for n in range(1, last + 1):
        past = task.at(n)
        path = past.path()
        assert (plain_path(path), path.text()) == recorded.paths[n], f"the path of step {n}"
        assert path.at == n
        told = recorded.statuses[n]
        if told is None:
            with pytest.raises(NoOpenRequestError):
                past.status()
            continue
        status = past.status()
        assert (plain_status(status), status.text()) == told, f"the status of step {n}"


def test_the_prompt_of_every_step_is_the_text_that_the_model_was_shown(recorded: Recorder) -> None:
    assert len(recorded.shown) > 20
    for step, text in recorded.shown.items():
        assert recorded.task.prompt(at=step).text() == text, f"the prompt of step {step}"


def test_the_states_of_every_step_are_those_that_its_status_named(recorded: Recorder) -> None:
    for n, told in recorded.statuses.items():
        ids = {state.id for state in recorded.task.at(n).states()}
        if told is None:
            continue
        status = told[0]
        named = {state["id"] for state in status["active"] if state["kind"] is not None}
        named |= {line["id"] for entry in status["index"] for line in entry["states"]}
        assert ids == named, f"the states of step {n}"


# --- apart ------------------------------------------------------------------------------------------------------------


def test_at_tells_two_visits_of_one_node_apart(space: Space, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    say(request, add("j", kind=JUDGEMENT))
    first = last_step(connection, task)
    task.revise(feedback="no")
    assert grow(request, "a").merged
    second = last_step(connection, task)
    then, now = task.at(first), task.at(second)
    assert (walked(then.path()), walked(now.path())) == ([1], [1])
    assert then.path().p_b == now.path().p_b
    assert (active_ids(then.status()), active_ids(now.status())) == (["j"], [])
    assert (then.path().recent[0].wrote, now.path().recent[0].wrote) == ((), ("j",))
    assert (then.path().hints.feedback, now.path().hints.feedback) == (None, "no")


def test_at_shows_no_note_verdict_failed_summary_or_abandonment_that_came_after(
    space: Space, connection: Connection
) -> None:
    task = space.task("t")
    first = task.request("one")
    grow(first, "a")
    say(first, add("k1"), message="done")
    second = task.request("two")
    grow(second, "b")
    say(second, add("k2"), message="done too")
    third = task.request("three")
    grow(third, "c")
    then = last_step(connection, task)
    task.maintain(0, fails("a was wrong"))
    task.revise(0)
    assert [entry.abandoned for entry in third.status().index] == [False, True]
    past = task.at(then)
    assert [(s.verdict, s.note) for s in past.path().summaries] == [("unchecked", None)] * 2
    assert [entry.abandoned for entry in past.status().index] == [False, False]
    assert (past.path().hints.subgoals, past.path().hints.feedback, walked(past.path())) == ((), None, [3])
    assert "a was wrong" not in past.prompt().text()
    assert "a was wrong" in task.prompt().text()


def test_the_text_that_a_summary_had_then_is_told_and_not_the_one_it_has(space: Space, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    task.revise(feedback="no")  # closes the tail by the rule
    closed = last_step(connection, task)
    grow(request, "a")
    task.compress("in my words")
    written = last_step(connection, task)
    task.maintain(None, passes)
    task.revise(0, feedback="no again")
    grow(request, "a")
    say(request, message="in the end")
    assert [s.text for s in task.at(closed).path().hints.subgoals] == ["look(of=a) -> a"]
    assert subgoals(task.at(written).path()) == [(0, "in my words")]
    assert task.at(written).path().summaries[0].verdict == "unchecked"
    assert task.at(written + 1).path().summaries[0].verdict == "passed"
    assert task.at(written + 2).path().hints.subgoals[0].note == "no again"
    assert subgoals(task.path()) == [(0, "in the end")]


def test_the_prompt_of_a_step_has_the_folded_index_that_was_shown(space: Space) -> None:
    task = space.task("t")
    for number in range(1, 6):
        request = task.request(f"query {number}")
        say(request, *(add(f"s{number}-{i}", kind=JUDGEMENT) for i in range(3)), message=f"done {number}")
    request = task.request("query 6")
    shown: dict[int, str] = {}
    for lines, tokens in ((4, 8_000), (200, 60), (0, 8_000), (200, 0)):
        status = request.status(index_lines=lines, index_tokens=tokens)
        assert status.history.folded
        result = request.step(status, StepOutput(delta=(add(f"k{len(shown)}"),)))
        shown[result.step] = status.text()
        prompt = Prompt(status=request.status(index_lines=lines, index_tokens=tokens), path=task.path())
        result = request.step(prompt, StepOutput(access=access(f"s{len(shown) // 2 + 1}-1", "request:2")))
        shown[result.step] = prompt.text()
    for step, text in shown.items():
        assert task.prompt(at=step).text() == text
    assert len(set(shown.values())) == 8


def test_the_prompt_of_a_step_keeps_the_budget_that_was_given(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    for i in range(4):
        grow(request, f"{i} " + "word " * 300)
    shown = {}
    for i, budget in enumerate((None, 5_000, 600, 100, 0)):
        prompt = task.prompt(budget_tokens=budget)
        result = request.step(prompt, StepOutput(delta=(add(f"k{i}"),)))
        shown[result.step] = prompt.text()
    for step, text in shown.items():
        assert task.prompt(at=step).text() == text
    assert len({len(text) for text in shown.values()}) == 5


def test_a_prompt_of_the_past_takes_no_budget_of_now(space: Space) -> None:
    task = space.task("t")
    grow(task.request("one"), "a")
    with pytest.raises(InvalidValueError, match="not both"):
        task.prompt(at=2, budget_tokens=10)


def test_the_prompt_of_a_step_that_was_shown_the_status_alone_is_that_status(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    status = request.status()
    result = request.step(status, StepOutput(delta=(add("k"),)))
    assert task.prompt(at=result.step).text() == status.text()
    prompt = task.prompt()
    result = own(request, "revise", add("k2"), shown=prompt, feedback="no")
    assert task.prompt(at=result.step).text() == prompt.text()


def test_the_prompt_of_a_step_that_no_model_gave_is_what_was_shown_next(space: Space, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    prompt = task.prompt()
    assert task.prompt(at=last_step(connection, task)).text() == prompt.text()
    task.compress("a")
    assert task.prompt(at=last_step(connection, task)).text() == task.prompt().text()


def test_a_verdict_that_came_while_the_model_answered_is_told_from_the_answer_on(space: Space) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    summary = task.compress("a")
    prompt = task.prompt()
    task.maintain(summary, lambda _case: Ruling(passed=True))
    result = request.step(prompt, StepOutput(delta=(add("k"),)))
    assert task.at(result.step - 2).path().summaries[0].verdict == "unchecked"
    assert '"verdict":"unchecked"' not in task.prompt(at=result.step).text()


def test_looking_back_writes_nothing_and_a_step_that_is_not_there_is_named(
    space: Space, connection: Connection
) -> None:
    task = space.task("t")
    request = task.request("one")
    grow(request, "a")
    before = (last_step(connection, task), request.status().version)
    for n in range(1, before[0] + 1):
        task.at(n).path(), task.at(n).status(), task.at(n).states(), task.prompt(at=n)
    assert (last_step(connection, task), request.status().version) == before
    past = task.at(before[0] + 1)
    reads: tuple[Callable[[], object], ...] = (past.path, past.status, past.states, past.prompt)
    for read in reads:
        with pytest.raises(NotFoundError, match=f"no step {before[0] + 1}; its last one is {before[0]}"):
            read()
    with pytest.raises(InvalidValueError):
        task.at(0)
