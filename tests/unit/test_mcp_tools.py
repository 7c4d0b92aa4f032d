"""What the tools say of themselves, and what no tool can reach."""

import json
import re
from pathlib import Path

import pytest

from graphmem import InvalidValueError
from graphmem.integrations.mcp import REPLY_TOKENS, TOOLS, Gate, definition, offered
from graphmem.integrations.mcp.http import is_loopback
from graphmem.integrations.mcp.reads import served_queries
from graphmem.integrations.mcp.tools import INSTRUCTIONS, Tool
from graphmem.llm.tokens import o200k
from graphmem_cli.mcp_command import mcp

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_every_session_pays_little_for_the_tools() -> None:
    text = json.dumps([definition(tool).model_dump(mode="json", by_alias=True, exclude_none=True) for tool in TOOLS])
    assert o200k().count(text + INSTRUCTIONS) < 6_500
    assert len(TOOLS) <= 12


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_says_what_it_takes_gives_and_does(tool: Tool) -> None:
    told = definition(tool)
    assert told.annotations is not None
    assert told.annotations.read_only_hint is (tool.effect == "reads")
    assert told.annotations.destructive_hint is (tool.name == "revise")
    assert told.annotations.open_world_hint is False
    assert told.annotations.idempotent_hint is not None
    assert told.description
    assert told.description.endswith(".")
    for schema in (told.input_schema, told.output_schema):
        assert schema is not None
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)
    assert not {"space", "task"} & set(told.input_schema["properties"])


def test_what_only_reads_is_what_a_read_only_server_offers() -> None:
    assert [tool.name for tool in offered(read_only=True)] == ["status", "path", "show", "why", "log", "query"]
    assert len(offered(read_only=False)) == len(TOOLS)


def test_no_query_that_is_served_leaves_the_task() -> None:
    names = {named.name for named in served_queries()}
    assert {"states", "requests", "blame", "impact", "failed_branches", "texts", "counts"} <= names
    assert not names & {"spaces", "tasks", "indexes", "trail", "live_graph", "forks_graph"}
    assert not [name for name in names if name.startswith("audit_")]
    assert all({"space", "task"} <= set(named.params) for named in served_queries())


def test_every_tool_stands_in_the_readme_as_it_is() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", README, re.MULTILINE))
    assert {tool.name: tool.effect for tool in TOOLS}.items() <= rows.items()


def test_the_command_has_the_defaults_of_the_library() -> None:
    defaults = {option.name: option.default for option in mcp.params}
    assert defaults["reply_tokens"] == REPLY_TOKENS
    assert (defaults["host"], defaults["port"]) == (Gate().host, Gate().port)


@pytest.mark.parametrize(
    ("host", "is_so"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)]
)
def test_the_loopback_interface_is_known(host: str, is_so: bool) -> None:
    assert is_loopback(host) is is_so


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "no-such-host.invalid", "192.0.2.1"])
def test_beyond_loopback_there_is_no_gate_without_a_token(host: str) -> None:
    with pytest.raises(InvalidValueError, match="bearer token"):
        Gate(host=host)
    assert "0123456789abcdef" not in repr(Gate(host=host, token="0123456789abcdef"))


@pytest.mark.parametrize("token", ["", "short", "with a line\nbreak in it", "mit Umlauten äöü 0123"])
def test_what_is_no_token_is_refused_without_being_told(token: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        Gate(token=token)
    assert not token or token not in str(refused.value)
