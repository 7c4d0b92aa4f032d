"""Arguments that are wrong, huge or odd, and answers that were lost: a sentence each, and nothing written twice."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

import graphmem
from graphmem.inspect import audit, log
from graphmem.integrations.mcp import Scope
from graphmem.store import Connection
from tests.acceptance.mcp_serving import Assistant, Transport, tell, tell_here

MEGABYTE = 1 << 20

WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("request", {}, "text: it is missing"),
    ("request", {"text": 5}, "text: input should be a valid string"),
    ("request", {"text": "  "}, "is empty"),
    ("request", {"text": "x\x00y"}, "NUL"),
    ("request", {"text": "x", "space": "of-another"}, "space: this tool has no such argument"),
    ("status", {"task": "of-another"}, "task: this tool has no such argument. It takes "),
    ("step", {"delta": []}, "version: it is missing"),
    ("step", {"version": "soon"}, "version: input should be a valid integer"),
    ("step", {"version": 1, "delta": "no list"}, "delta: input should be a valid list"),
    ("step", {"version": 1, "delta": [{"operation": "put", "id": "a"}]}, "delta[0].operation"),
    ("step", {"version": 1, "delta": [{"operation": "add", "id": "a", "kind": "fact"}]}, "'preference'"),
    ("step", {"version": 1, "tool_calls": [{"arguments": {}}]}, "tool_calls[0].name: it is missing"),
    (
        "step",
        {"version": 1, "tool_calls": [{"name": "a", "result": "r"}, {"name": "b"}]},
        "for every call, or for none",
    ),
    ("step", {"version": 1, "tool_calls": [{"name": "a", "arguments": 7}]}, "valid dictionary"),
    ("observe", {"step": 1, "results": [{"content": "r"}]}, "no calls wait"),
    ("path", {"at": 0}, "at: input should be greater than or equal to 1"),
    ("path", {"at": 10**30}, "step must be a whole number"),
    ("show", {"id": "never"}, "nothing with the id never"),
    ("show", {"id": "obs:9.9"}, "nothing with the id"),
    ("show", {"id": "step:99999999999999999999"}, "no step"),
    ("show", {"id": "summary:²"}, "nothing with the id"),
    ("show", {"id": "request:7"}, "no request:7"),
    ("why", {"id": "never"}, "nothing with the id never"),
    ("why", {"id": "cause", "depth": 1_000}, "depth"),
    ("log", {"request": 99}, "99"),
    ("query", {"name": "spaces"}, "no query of that name"),
    ("query", {"name": "tasks"}, "no query of that name"),
    ("query", {"name": "audit_path"}, "no query of that name"),
    ("query", {"name": "live_graph"}, "no query of that name"),
    ("query", {"name": "../task/step"}, "no query of that name"),
    ("query", {"name": "states", "params": {"task": "of-another"}}, "those of this server"),
    ("query", {"name": "why", "params": {"id": "a", "lineages": ["k"]}}, "takes id, not lineages"),
    ("query", {"name": "blame"}, "blame needs id"),
    ("query", {"name": "states", "params": {"limit": -1}}, "at least 1"),
    ("compress", {"text": ""}, "nothing to compress"),
    ("revise", {"target": 5}, "Targets are|Nothing|no summary"),
    ("revise", {"world": "better"}, "world"),
    ("fork", {"name": "of/another"}, "not a name"),
    ("fork", {"name": "b", "at": 99}, "no step 99"),
)


def test_whatever_is_wrong_with_arguments_is_said_in_a_sentence(
    graph: graphmem.Graph, space: graphmem.Space, connection: Connection
) -> None:
    async def script(a: Assistant) -> None:
        status = await a.call("request", text="Why?")
        for tool, arguments, said in WRONG:
            refusal = await a.refusal(tool, **arguments)
            assert any(part in refusal for part in said.split("|")), (tool, arguments, refusal)
            assert len(refusal) < 1_600
        assert (await a.call("status"))["version"] == status["version"]

    tell_here(Scope(graph=graph, space=space.name, name="t"), script)
    assert audit(connection, space.name) == ()


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_arguments_of_megabytes_are_taken_or_refused_with_the_limit(
    transport: Transport, server_env: Mapping[str, str], space: graphmem.Space, tmp_path: Path
) -> None:
    most = "取" * (MEGABYTE // 3)

    async def script(a: Assistant) -> None:
        status = await a.call("request", text="Why?" + "!" * (2 * MEGABYTE))
        assert status["request"]["text"].endswith("…")
        call = {"name": "read", "result": most}
        done = await a.call("step", version=status["version"], tool_calls=[call])
        too_long = {"name": "read", "result": "x" * (5 * MEGABYTE)}
        said = await a.refusal("step", version=done["version"], tool_calls=[too_long])
        assert "the limit is 1,048,576" in said
        assert "Shorten" in said
        value = {"operation": "add", "id": "big", "kind": "knowledge", "summary": "big", "value": ["y" * 3 * MEGABYTE]}
        step = await a.call("step", version=done["version"], delta=[value, {**value, "id": "s" * 500, "value": 1}])
        assert len(step["rejected"]) == 2
        assert (await a.call("status"))["request"]["id"] == "request:1"

    tell(transport, server_env, tmp_path / "log", script, "--space", space.name, "--task", "t")
    assert space.task("t").path().recent[0].results[0].content == most


def test_a_step_whose_answer_was_lost_is_not_recorded_twice(graph: graphmem.Graph, space: graphmem.Space) -> None:
    async def script(a: Assistant) -> None:
        status = await a.call("request", text="Why?")
        given = {"version": status["version"], "tool_calls": [{"name": "look", "result": "seen"}]}
        first = await a.call("step", **given)
        again = await a.call("step", **given)
        assert (again["step"], again["results"], again["replayed"]) == (first["step"], first["results"], True)
        assert "version" not in again
        other = {**given, "tool_calls": [{"name": "look", "result": "something else"}]}
        assert "those stand" in await a.refusal("step", **other)
        call = await a.call("step", version=first["version"], tool_calls=[{"name": "wait"}])
        await a.call("observe", step=call["step"], results=[{"content": None}])
        assert "Nothing was written" in await a.refusal("observe", step=call["step"], results=[{"content": None}])
        last = await a.call("step", version=call["version"] + 1, message="Because.")
        assert last["finished"]
        assert f"finished at step {last['step']}" in await a.refusal(
            "step", version=call["version"] + 1, message="Because."
        )

    tell_here(Scope(graph=graph, space=space.name, name="t"), script)
    assert len(space.task("t").path().summaries) == 1


def test_a_step_that_answers_to_an_old_version_is_refused_with_what_to_do(
    graph: graphmem.Graph, space: graphmem.Space
) -> None:
    async def script(a: Assistant) -> None:
        status = await a.call("request", text="Why?")
        request = space.task("t").open_request()
        request.step(request.status(), graphmem.StepOutput(tool_calls=(graphmem.ToolCall(name="of another"),)))
        said = await a.refusal("step", version=status["version"], message="Because.")
        assert "Call `status`" in said
        assert "Nothing was written" in said
        assert "`observe`" in await a.refusal("step", version=status["version"] + 1, message="Because.")
        future = await a.refusal("step", version=status["version"] + 50, message="Because.")
        assert "not the present one" in future or "`observe`" in future

    tell_here(Scope(graph=graph, space=space.name, name="t"), script)


def test_of_twenty_steps_at_once_one_is_taken_and_every_read_is_answered(
    server_env: Mapping[str, str], space: graphmem.Space, connection: Connection, tmp_path: Path
) -> None:
    taken: list[int] = []
    refused: list[str] = []

    async def script(a: Assistant) -> None:
        status = await a.call("request", text="Why?")

        async def one(number: int) -> None:
            result = await a.result("step", {"version": status["version"], "message": f"answer {number}"})
            text = getattr(result.content[0], "text", "")
            refused.append(text) if result.is_error else taken.append(number)
            await a.call("log")

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)

    tell("http", server_env, tmp_path / "log", script, "--space", space.name, "--task", "t")
    assert len(taken) == 1
    assert len(refused) == 19
    assert all("not the present one" in text or "No request is open" in text or "not open" in text for text in refused)
    assert [line.message for line in log(connection, space.name, "t", first=2)] == [f"answer {taken[0]}"]
    assert audit(connection, space.name) == ()


def test_lists_that_come_as_json_text_are_read(graph: graphmem.Graph, space: graphmem.Space) -> None:
    async def script(a: Assistant) -> None:
        status = await a.call("request", text="Why?")
        delta = '[{"operation": "add", "id": "a", "kind": "knowledge", "summary": "s", "value": {"n": 1}}]'
        step = await a.call("step", version=str(status["version"]), delta=delta)
        assert step["added"] == ["a"]

    tell_here(Scope(graph=graph, space=space.name, name="t"), script)
