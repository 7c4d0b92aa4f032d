"""The tools of a scope over streamable HTTP, behind a gate.

The gate asks for a bearer token before anything else of a request is read, and the transport checks Host and Origin, so
that no web page reaches the server by another name for this machine (DNS rebinding). Invariants: without a token the
server listens on the loopback interface alone; the token is in no log, no message and no command line.
"""

import hashlib
import hmac
import ipaddress
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from graphmem.errors import InvalidValueError
from graphmem.integrations.mcp.scope import Scope
from graphmem.integrations.mcp.serving import mcp_server

TOKEN_VARIABLE: Final = "GRAPHMEM_MCP_TOKEN"
PATH: Final = "/mcp"
_LEAST_CHARACTERS: Final = 16
_BODY_BYTES: Final = 16 << 20
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_GRACE_SECONDS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Where to listen and whom to let in. `names`: further names by which clients call this host.

    Raises:
        InvalidValueError: it would listen beyond loopback without a token, or the token is none.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default=None, repr=False)
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise InvalidValueError(
                f"{self.host} is not the loopback interface: listening there needs a bearer token. Set "
                f"{TOKEN_VARIABLE}, or give --token-file FILE."
            )
        token = self.token
        if token is not None and (len(token) < _LEAST_CHARACTERS or not token.isascii() or not token.isprintable()):
            raise InvalidValueError(
                f"the bearer token must have at least {_LEAST_CHARACTERS} printable ASCII characters, without blanks "
                "around it; `openssl rand -hex 32` makes a good one."
            )

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every name that a Host header may give."""
        return tuple(dict.fromkeys((*_LOOPBACK, self.host, *self.names)))


def token_from(file: Path | None) -> str | None:
    """The token: of the file, else of the environment; None where there is neither.

    Raises:
        InvalidValueError: the file cannot be read.
    """
    if file is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a text in UTF-8"
        raise InvalidValueError(f"{file} cannot be read as a token: {why}") from error


def is_loopback(host: str) -> bool:
    """Whether whatever this name stands for is the loopback interface."""
    try:
        found = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False
    return bool(found) and all(ipaddress.ip_address(str(item[4][0]).partition("%")[0]).is_loopback for item in found)


class BearerGate:
    """An ASGI application that lets through only what carries the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = _digest(token.encode("ascii"))

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer 401, or pass the request on."""
        if scope["type"] == "http" and not self._admits(Headers(scope=scope)):
            text = "A bearer token is needed: Authorization: Bearer TOKEN.\n"
            refusal = PlainTextResponse(text, status_code=401, headers={"WWW-Authenticate": 'Bearer realm="graphmem"'})
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _admits(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        # Digests have one length, so that the time of the comparison tells nothing of the token's.
        return kind.lower() == "bearer" and hmac.compare_digest(_digest(given.strip().encode("latin-1")), self._wanted)


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def application(scope: Scope, gate: Gate) -> ASGIApp:
    """The ASGI application of a scope behind a gate."""
    names = [f"[{name}]" if ":" in name else name for name in gate.hosts]
    security = TransportSecuritySettings(
        allowed_hosts=[*names, *(f"{name}:*" for name in names)],
        allowed_origins=[
            f"{scheme}://{name}{port}" for scheme in ("http", "https") for name in names for port in ("", ":*")
        ],
    )
    # Nothing is kept between requests: a server that was started again goes on with every client.
    app = mcp_server(scope).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=_BODY_BYTES,
        transport_security=security,
        host=gate.host,
    )
    return app if gate.token is None else BearerGate(app, gate.token)


def serve_http(scope: Scope, gate: Gate, *, listening: Callable[[str], None]) -> None:
    """Serve until the process is told to end; `listening` is called with the URL.

    Raises:
        InvalidValueError: the address cannot be listened on.
    """
    with _listener(gate) as bound:
        name = f"[{gate.host}]" if ":" in gate.host else gate.host
        listening(f"http://{name}:{bound.getsockname()[1]}{PATH}")
        config = uvicorn.Config(
            application(scope, gate),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        uvicorn.Server(config).run(sockets=[bound])


def _listener(gate: Gate) -> socket.socket:
    family = socket.AF_INET6 if ":" in gate.host else socket.AF_INET
    try:
        return socket.create_server((gate.host, gate.port), family=family)
    except (OSError, OverflowError) as error:
        raise InvalidValueError(f"cannot listen on {gate.host} port {gate.port}: {error}") from error
