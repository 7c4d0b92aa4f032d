"""One task of a graph, served to assistants over the Model Context Protocol (`graphmem mcp`).

`Scope` says what a server may reach and how long its replies may be; `offered` which tools that gives; `serve_stdio`
and `serve_http` run it. Invariant: space, task and permissions come from the scope, never from an argument of a call.
"""

from graphmem.integrations.mcp.http import Gate, serve_http, token_from
from graphmem.integrations.mcp.scope import LEAST_TOKENS, REPLY_TOKENS, Scope
from graphmem.integrations.mcp.serving import definition, offered, serve_stdio
from graphmem.integrations.mcp.tools import TOOLS, Tool

__all__ = [
    "LEAST_TOKENS",
    "REPLY_TOKENS",
    "TOOLS",
    "Gate",
    "Scope",
    "Tool",
    "definition",
    "offered",
    "serve_http",
    "serve_stdio",
    "token_from",
]
