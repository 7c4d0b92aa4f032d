"""`graphmem mcp` as an assistant meets it: every tool, over both transports, with the SDK's own client."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem import Graph, StoreError
from graphmem.inspect import audit, requests
from graphmem.llm.tokens import WhenUsed
from graphmem.store import Connection
from graphmem.task import Context
from tests.acceptance.mcp_serving import Assistant, Script, Transport, tell

READS = {"status", "path", "show", "why", "log", "query"}
WRITES = {"request", "step", "observe", "compress", "revise", "fork"}


@pytest.fixture(params=["stdio", "http"])
def transport(request: pytest.FixtureRequest) -> Transport:
    found: Transport = request.param
    return found


def knowledge(id_: str, summary: str, **more: Any) -> dict[str, Any]:
    return {"operation": "add", "id": id_, "kind": "knowledge", "summary": summary, **more}


async def _first_request(a: Assistant) -> None:
    assert (await a.call("status"))["request"] is None
    opened = await a.call("request", text="Why does the build fail?")
    again = await a.call("request", text="Why does the build fail?")
    assert again == opened
    assert opened["request"] == {"id": "request:1", "text": "Why does the build fail?"}
    call = {"name": "read_file", "arguments": {"path": "a.py"}, "result": "line 3: x = 1 / 0"}
    done = await a.call("step", version=opened["version"], tool_calls=[call])
    assert done["results"] == ["obs:1.1"]
    found = knowledge(
        "cause", "a division by zero", value={"line": 3}, refs=[{"relation": "derives", "target": "obs:1.1"}]
    )
    bad = {"operation": "update", "id": "nothing", "summary": "no such state"}
    asked = {"name": "run_tests", "arguments": {"all": True}}
    step = await a.call("step", version=done["version"], delta=[found, bad], tool_calls=[asked])
    assert step["added"] == ["cause"]
    assert len(step["rejected"]) == 1
    assert [call["tool"] for call in step["calls"]] == ["run_tests"]
    waits = await a.call("status")
    assert waits["pending_step"] == step["step"]
    assert "observe" in waits["next"]
    seen = await a.call(
        "observe", step=step["step"], results=[{"call_id": step["calls"][0]["call_id"], "content": "1 failed"}]
    )
    assert seen["results"] == ["obs:2.1"]
    summed = await a.call("compress", text="Found the cause in a.py")
    assert summed["version"] == seen["version"] + 1
    end = await a.call("step", version=summed["version"], message="Line 3 divides by zero.")
    assert end["finished"]
    assert "`request`" in (await a.call("status"))["next"]


async def _second_request(a: Assistant) -> None:
    status = await a.call("request", text="Mend it")
    assert status["index"][0]["states"] == [{"id": "cause", "summary": "a division by zero"}]
    asked = await a.call("step", version=status["version"], access=[{"target": "cause"}])
    assert asked["disclosed"][0]["value"] == {"line": 3}
    wrong = {"name": "edit", "arguments": {"path": "b.py"}, "result": "edited"}
    step = await a.call("step", version=asked["version"], tool_calls=[wrong])
    judged = {"operation": "add", "id": "plan", "kind": "judgement", "summary": "b.py is to be mended"}
    step = await a.call(
        "step", version=step["version"], delta=[judged], tool_calls=[{**wrong, "result": "edited twice"}]
    )
    tried = await a.call("revise", feedback="it is a.py", dry_run=True)
    assert tried["left"] == ["plan"]
    assert (await a.call("status"))["version"] == step["version"]
    back = await a.call("revise", feedback="it is a.py")
    assert back["left"] == ["plan"]
    path = await a.call("path")
    assert path["feedback"] == "it is a.py"
    assert path["version"] == back["version"]
    then = await a.call("path", at=step["step"])
    assert "feedback" not in then
    assert "observed" in await a.refusal("fork", name="other-way", at=step["step"])
    observed = step["step"] + 1
    fork = await a.call("fork", name="other-way", at=observed)
    assert fork["task"] == "mending.other-way"
    assert await a.call("fork", name="other-way", at=observed) == fork
    await a.call("step", version=back["version"], message="Mended a.py.")


async def _look(a: Assistant) -> None:
    why = await a.call("why", id="cause")
    assert [line["id"] for line in why["lines"] if line.get("kind") == "raw result"] == ["obs:1.1"]
    for id_, text in (
        ("cause", '{"line":3}'),
        ("obs:1.1", "line 3: x = 1 / 0"),
        ("request:2", "Mend it"),
        ("summary:0", "Found the cause in a.py"),
        ("step:6", "Found the cause in a.py"),
    ):
        shown = await a.call("show", id=id_)
        assert (shown["text"], shown["next_offset"]) == (text, None), id_
        assert (await a.call("why", id=id_))["lines"] if not id_.startswith("request") else True
    log = await a.call("log", limit=3)
    assert [step["id"] for step in log["steps"]] == [f"step:{number}" for number in range(13, 16)]
    assert "last 12" in log["earlier"]
    assert [step["kind"] for step in (await a.call("log", last=2))["steps"]] == ["open", "step"]
    listed = await a.call("query")
    assert {"states", "requests", "blame", "impact", "failed_branches"} <= {
        query["name"] for query in listed["queries"]
    }
    found = await a.call("query", name="states")
    assert [row["id"] for row in found["rows"]] == ["cause"]
    assert (await a.call("query", name="impact", params={"id": "obs:1.1"}))["rows"]


async def _whole(a: Assistant) -> None:
    assert {tool.name for tool in (await a.client.list_tools()).tools} == READS | WRITES
    await _first_request(a)
    await _second_request(a)
    await _look(a)


def test_an_assistant_works_through_two_requests_with_every_tool(
    transport: Transport,
    server_env: Mapping[str, str],
    space: graphmem.Space,
    connection: Connection,
    tmp_path: Path,
) -> None:
    tell(transport, server_env, tmp_path / "log", _whole, "--space", space.name, "--task", "mending")
    task = space.task("mending")
    assert [state.id for state in task.now().states()] == ["cause"]
    assert [summary.text for summary in task.path().summaries] == ["Found the cause in a.py"]
    assert [line.standing for line in requests(connection, space.name, "mending")] == ["finished", "finished"]
    assert "plan" in [state.id for state in space.task("mending.other-way").now().states()]
    assert audit(connection, space.name) == ()


def run(server_env: Mapping[str, str], space: graphmem.Space, tmp_path: Path, script: Script, *options: str) -> None:
    tell("stdio", server_env, tmp_path / "log", script, "--space", space.name, "--task", "mending", *options)


def test_a_server_that_only_reads_offers_nothing_else_and_writes_nothing(
    server_env: Mapping[str, str], space: graphmem.Space, tmp_path: Path
) -> None:
    space.task("mending").request("Mend it")

    async def script(a: Assistant) -> None:
        listed = (await a.client.list_tools()).tools
        assert {tool.name for tool in listed} == READS
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in listed)
        status = await a.call("status")
        assert status["request"]["text"] == "Mend it"
        assert status["next"] == "This server only reads."
        for tool in WRITES:
            assert "no tool of that name" in await a.refusal(tool, version=1, text="x")

    run(server_env, space, tmp_path, script, "--read-only")
    assert space.task("mending").path().version == 1


def test_a_database_opened_to_read_only_refuses_to_write(server_env: Mapping[str, str], space: graphmem.Space) -> None:
    space.task("mending").request("Mend it")
    uri, user, password = (server_env[f"GRAPHMEM_{name}"] for name in ("URI", "USER", "PASSWORD"))
    reading = Connection(uri, user=user, password=password, read_only=True)
    try:
        task = Graph(Context(connection=reading, tokenizer=WhenUsed())).space(space.name).task("mending")
        request = task.open_request()
        status = request.status()
        assert not status.locked
        with pytest.raises(StoreError, match="read only"):
            request.step(status, graphmem.StepOutput(message="Mended."))
    finally:
        reading.close()
    assert space.task("mending").path().version == 1


def test_a_tool_that_is_left_out_cannot_be_called(
    server_env: Mapping[str, str], space: graphmem.Space, tmp_path: Path
) -> None:
    space.task("mending").request("Mend it")

    async def script(a: Assistant) -> None:
        assert {tool.name for tool in (await a.client.list_tools()).tools} == (READS | WRITES) - {"fork", "revise"}
        assert "no tool of that name" in await a.refusal("revise", feedback="x")

    run(server_env, space, tmp_path, script, "--without", "fork", "--without", "revise")
