"""The tools of a scope as an MCP server, and over stdio.

Owns the way of a call: its arguments are read, the tool runs in a thread (the API is synchronous), the reply is fitted
to the budget, and whatever goes wrong becomes a result that says so. A call that is cancelled, or whose client is gone,
is not waited for when it reads; a write ends as it would have.
Invariant: stdout carries the protocol and nothing else.
"""

import logging
import signal
from collections.abc import Collection
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as Definition

from graphmem.errors import GraphmemError
from graphmem.integrations.mcp.arguments import read, schema
from graphmem.integrations.mcp.fitting import fitted
from graphmem.integrations.mcp.scope import Scope
from graphmem.integrations.mcp.sentences import CRASHED, sentence
from graphmem.integrations.mcp.tools import INSTRUCTIONS, TOOLS, Tool
from graphmem.vocabulary import json_text

_PACKAGE: Final = "graphmem-neo4j"
_THREADS: Final = 16

logger = logging.getLogger("graphmem")


def offered(*, read_only: bool, without: Collection[str] = ()) -> tuple[Tool, ...]:
    """The tools that a scope with these permissions offers."""
    return tuple(tool for tool in TOOLS if tool.name not in without and (tool.effect == "reads" or not read_only))


def definition(tool: Tool) -> Definition:
    """A tool as a client is told of it."""
    reads = tool.effect == "reads"
    return Definition(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=schema(tool.arguments),
        output_schema=dict(tool.output),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=reads,
            destructive_hint=tool.effect == "destroys",
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def answer(scope: Scope, tool: Tool, arguments: object) -> dict[str, Any]:
    """What a tool replies, within the budget.

    Raises:
        GraphmemError: it cannot.
    """
    reply = tool.run(scope, read(tool.arguments, arguments))
    return fitted(reply, budget_tokens=scope.reply_tokens, count=scope.tokenizer.count)


def mcp_server(scope: Scope) -> Server[dict[str, Any]]:
    """The server of a scope, for any transport."""
    tools = {tool.name: tool for tool in offered(read_only=scope.read_only, without=scope.without)}
    limiter: list[anyio.CapacityLimiter] = []

    async def list_tools(
        _context: ServerRequestContext[dict[str, Any]], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[definition(tool) for tool in tools.values()])

    async def call_tool(
        _context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _failed(f"There is no tool of that name here; there are {', '.join(tools)}.")
        if not limiter:
            limiter.append(anyio.CapacityLimiter(_THREADS))
        work = partial(_result, scope, tool, params.arguments)
        reads = tool.effect == "reads"
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=reads, limiter=limiter[0])

    return Server(
        "graphmem",
        version=_version(),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _result(scope: Scope, tool: Tool, arguments: object) -> CallToolResult:
    try:
        data = answer(scope, tool, arguments)
    except GraphmemError as error:
        return _failed(sentence(error))
    except Exception:  # a fault of ours ends this call alone: the model gets a sentence, the log the trace
        logger.exception("the tool %s failed", tool.name)
        return _failed(CRASHED)
    return CallToolResult(content=[TextContent(type="text", text=json_text(data))], structured_content=data)


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


def _version() -> str:
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return ""


def serve_stdio(scope: Scope) -> None:
    """Serve until stdin ends."""
    # The reader of stdin waits in a thread that nothing can interrupt, so Ctrl-C ends the process as SIGTERM does:
    # a write that is under way is committed whole or not at all.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    async def serve() -> None:
        server = mcp_server(scope)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
