"""The example loop with the path: own calls, the fallback, a judge that sends it back."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import graphmem
from graphmem.agent import Tool, Upkeep, run
from graphmem.llm.chat import Message, ScriptedModel
from graphmem.trace import Case, Ruling

BLOCKS = """<state_focus>[]</state_focus>
<state_delta>[]</state_delta>
<tool_calls>{calls}</tool_calls>
<assistant_message>{{"content": {content}}}</assistant_message>"""


def calls(text: str) -> str:
    return BLOCKS.format(calls=text, content="null")


def message(text: str) -> str:
    return BLOCKS.format(calls="[]", content=f'"{text}"')


LOOK = calls('[{"name": "look", "arguments": {"at": "%s"}}]')
COMPRESS = calls('[{"name": "compress", "arguments": {"summary": "%s"}}]')


def look(at: str) -> str:
    """Look at something."""
    return f"{at} is there"


TOOLS = [Tool.of(look, irreversible=True)]


def test_a_failed_summary_takes_the_agent_back_and_the_prompt_says_why(space: graphmem.Space) -> None:
    prompts: list[str] = []

    def judge(case: Case) -> Ruling:
        wrong = any(seen.arguments["at"] == "wrong" for node in case.trace for seen in node.results)
        return Ruling(passed=not wrong, feedback="look at the right one" if wrong else "")

    outputs = [LOOK % "wrong", COMPRESS % "saw it", LOOK % "right", message("done")]
    task = space.task("t")
    said = run(
        task,
        "go",
        ScriptedModel(outputs),
        TOOLS,
        upkeep=Upkeep(judge=judge),
        on_step=lambda d: prompts.append(d.prompt),
    )
    assert said == "done"
    assert "look at the right one" in prompts[2]
    assert [s.verdict for s in task.path().summaries] == ["passed"]
    assert "right is there" in str(task.at(task.path().summaries[0].from_step - 1).path().recent)


def test_a_final_response_that_fails_is_not_returned_and_the_request_goes_on(space: graphmem.Space) -> None:
    verdicts = iter([Ruling(passed=False, feedback="too short"), Ruling(passed=True)])
    outputs = [LOOK % "one", message("no"), LOOK % "two", message("a longer answer")]
    done: list[object] = []
    task = space.task("t")
    said = run(
        task,
        "go",
        ScriptedModel(outputs),
        TOOLS,
        upkeep=Upkeep(judge=lambda _case: next(verdicts)),
        on_step=lambda d: done.append(d.revised),
    )
    assert said == "a longer answer"
    assert [revised is not None for revised in done] == [False, True, False, False]


def test_a_long_recent_trace_is_compressed_before_new_results_come_in(space: graphmem.Space) -> None:
    outputs = [LOOK % "one", LOOK % "two", LOOK % "three", message("done")]
    paths: list[list[int]] = []
    task = space.task("t")
    run(
        task,
        "go",
        ScriptedModel(outputs),
        TOOLS,
        upkeep=Upkeep(above_tokens=0),
        on_step=lambda _d: paths.append([node.number for node in task.path().recent]),
    )
    assert paths == [[1], [2], [3], []]
    assert "look(at=one) -> one is there" in task.path().summaries[0].text


@pytest.fixture
def quiet() -> Iterator[None]:
    """Warnings of the loop are expected."""
    logger = logging.getLogger("graphmem.agent")
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(logging.NOTSET)


@pytest.mark.usefixtures("quiet")
def test_a_judge_without_a_verdict_changes_nothing(space: graphmem.Space) -> None:
    def judge(_case: Case) -> Ruling:
        raise RuntimeError("no model today")

    task = space.task("t")
    model = ScriptedModel([LOOK % "one", message("done")])
    assert run(task, "go", model, TOOLS, upkeep=Upkeep(judge=judge)) == "done"
    assert [s.verdict for s in task.path().summaries] == ["unchecked"]


def test_without_compress_the_whole_trace_is_judged_at_the_boundary(space: graphmem.Space) -> None:
    seen: list[int] = []

    def judge(case: Case) -> Ruling:
        assert case.summary is None
        seen.append(len(case.trace))
        return Ruling(passed=True)

    task = space.task("t", compress=False)
    for request in (1, 2):
        run(
            task,
            f"go {request}",
            ScriptedModel([LOOK % str(request), message("done")]),
            TOOLS,
            upkeep=Upkeep(judge=judge),
        )
    assert seen == [1, 2]


def test_without_compress_an_answer_with_nothing_behind_it_is_not_judged(space: graphmem.Space) -> None:
    rulings = iter([Ruling(passed=False, feedback="no")])
    outputs = [message("at once"), LOOK % "one", message("no"), message("at once again")]
    model, upkeep = ScriptedModel(outputs), Upkeep(judge=lambda _case: next(rulings))
    task = space.task("t", compress=False)
    assert run(task, "go", model, TOOLS, upkeep=upkeep) == "at once"
    assert run(task, "go on", model, TOOLS, upkeep=upkeep) == "at once again", "the judge sent it back to the beginning"


@pytest.mark.usefixtures("quiet")
def test_an_answer_that_fails_is_returned_where_all_behind_it_came_with_a_fork(space: graphmem.Space) -> None:
    origin = space.task("t", compress=False)
    run(origin, "go", ScriptedModel([LOOK % "one", message("done")]), TOOLS)
    fork = origin.fork("f")
    upkeep = Upkeep(judge=lambda _case: Ruling(passed=False, feedback="no"))
    assert run(fork, "go on", ScriptedModel([message("done too")]), TOOLS, upkeep=upkeep) == "done too"
    assert [node.number for node in fork.path().recent] == [1]


@pytest.mark.parametrize(
    ("off", "told"),
    [
        ((), ("compress", "revise")),
        (("compress",), ("revise",)),
        (("revise",), ("compress",)),
        (("compress", "revise"), ()),
    ],
)
def test_the_model_is_not_told_of_a_call_that_its_task_runs_without(
    space: graphmem.Space, off: tuple[str, ...], told: tuple[str, ...]
) -> None:
    systems: list[str] = []

    def answer(messages: Sequence[Message]) -> str:
        systems.append(messages[0].content)
        return message("done")

    mechanisms: dict[str, Any] = dict.fromkeys(off, False)
    run(space.task("t", **mechanisms), "go", ScriptedModel([answer]), TOOLS, upkeep=Upkeep())
    (system,) = systems
    assert tuple(name for name in ("compress", "revise") if f'{{"name": "{name}"' in system) == told
    assert ("These calls manage the path" in system) == bool(told)
    assert "Recent Trace" in system


def test_a_tool_that_is_called_compress_needs_another_name(space: graphmem.Space) -> None:
    tools = [Tool(name="compress", description="zip", function=lambda: "x")]
    with pytest.raises(graphmem.InvalidValueError, match="other names"):
        run(space.task("t"), "go", ScriptedModel([]), tools, upkeep=Upkeep())


def test_a_verdict_that_comes_when_the_summary_is_off_the_path_sends_nobody_back(space: graphmem.Space) -> None:
    task = space.task("t")
    went_back: list[object] = []

    def judge(case: Case) -> Ruling:
        task.revise(case.summary, feedback="meanwhile")
        return Ruling(passed=False, feedback="late")

    model = ScriptedModel([LOOK % "one", COMPRESS % "saw it", message("done")])
    said = run(task, "go", model, TOOLS, upkeep=Upkeep(judge=judge), on_step=lambda d: went_back.append(d.revised))
    assert said == "done"
    assert went_back == [None, None, None]
    assert task.path().hints.feedback == "meanwhile"
