"""The real `graphmem mcp` as a process, and the SDK's own client before it, over either transport."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
import jsonschema
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from graphmem.integrations.mcp import Scope
from graphmem.integrations.mcp.serving import mcp_server

COMMAND = (sys.executable, "-c", "from graphmem_cli.main import cli; cli(prog_name='graphmem')", "mcp")
WAIT_SECONDS = 120.0
TOKEN = "a-token-of-these-tests-0123456789"

Transport = Literal["stdio", "http"]


class RefusedError(Exception):
    """The tool answered with an error."""


@dataclass(frozen=True)
class Assistant:
    """A client that knows what the tools promise."""

    client: Client
    outputs: Mapping[str, Mapping[str, Any]]

    async def result(self, tool: str, arguments: Mapping[str, Any]) -> CallToolResult:
        return await self.client.call_tool(tool, dict(arguments))

    async def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers, held against its schema; its text is the same JSON."""
        found = await self.result(tool, arguments)
        (content,) = found.content
        text = str(getattr(content, "text", ""))
        if found.is_error:
            raise RefusedError(text)
        assert json.loads(text) == found.structured_content
        jsonschema.validate(found.structured_content, self.outputs[tool])
        return found.structured_content

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """The sentence with which a tool refuses."""
        with pytest.raises(RefusedError) as refused:
            await self.call(tool, **arguments)
        text = str(refused.value)
        assert "Traceback" not in text
        return text


Script = Callable[[Assistant], Awaitable[None]]


def environment(server_env: Mapping[str, str], **more: str) -> dict[str, str]:
    """What the server process is given: nothing of this process's own GRAPHMEM_ variables."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GRAPHMEM_")}
    return {**kept, **server_env, **more}


@contextmanager
def http_process(env: Mapping[str, str], *options: str) -> Iterator[tuple[str, "subprocess.Popen[str]", list[str]]]:
    """A server over HTTP on a free port: its URL, its process, and the lines of its stderr so far."""
    command = [*COMMAND, "--http", "--port", "0", *options]
    process = subprocess.Popen(command, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines: list[str] = []
    url: list[str] = []
    ready = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            found = re.search(r" at (http://\S+)", line)
            if found:
                url.append(found[1])
                ready.set()
        ready.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        assert ready.wait(WAIT_SECONDS)
        assert url, "".join(lines)
        yield url[0], process, lines
    finally:
        process.terminate()
        stdout, _ = process.communicate(timeout=30)
        reader.join(10)
        assert stdout == ""


@asynccontextmanager
async def over_http(url: str, token: str | None, *, mode: str = "auto") -> AsyncIterator[Assistant]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=WAIT_SECONDS) as http,
        assistant(streamable_http_client(url, http_client=http), mode=mode) as found,
    ):
        yield found


@asynccontextmanager
async def assistant(transport: Any, *, mode: str = "auto") -> AsyncIterator[Assistant]:
    """A client of the newest protocol, or with `mode="legacy"` of the one before, which most assistants speak."""
    async with Client(transport, read_timeout_seconds=WAIT_SECONDS, mode=mode) as client:
        listed = await client.list_tools()
        yield Assistant(client, {tool.name: tool.output_schema or {} for tool in listed.tools})


@asynccontextmanager
async def over_stdio(env: Mapping[str, str], log: Path, *options: str) -> AsyncIterator[Assistant]:
    parameters = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *options], env=dict(env))
    with log.open("w") as errors:
        async with assistant(stdio_client(parameters, errlog=errors)) as found:
            yield found


def tell_here(scope: Scope, script: Script) -> None:
    """Run a script against the server of a scope in this process, by the same client."""

    async def run() -> None:
        async with assistant(mcp_server(scope)) as found:
            await script(found)

    anyio.run(run)


def tell(transport: Transport, server_env: Mapping[str, str], log: Path, script: Script, *options: str) -> None:
    """Run a script against a server of its own; nothing is said on its stderr but where it listens."""

    async def by_stdio() -> None:
        async with over_stdio(environment(server_env), log, *options) as found:
            await script(found)

    async def by_http(url: str) -> None:
        async with over_http(url, TOKEN, mode="legacy") as found:
            await script(found)

    if transport == "stdio":
        try:
            anyio.run(by_stdio)
        finally:
            print(log.read_text())
        assert log.read_text() == ""
        return
    with http_process(environment(server_env, GRAPHMEM_MCP_TOKEN=TOKEN), *options) as (url, _, lines):
        anyio.run(by_http, url)
        assert len(lines) == 1, lines
