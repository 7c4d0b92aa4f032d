"""Neo4j Browser, opened by one link: signed in with authentication on, in our colours, with a query in the editor.

`BrowserPages` plays the provider of a sign-in (`sign_in`) on the loopback interface, once, and serves the style sheet
and the guide. So the password stands in no address, command line or history; Browser keeps it in its local storage, as
after any login of its own, until `:server disconnect`. A short link redirects to the long one; both hold one secret.

Invariants: only Browser at the origin that was named is answered, and a request that names another host is refused (DNS
rebinding). What is left: whoever reads the link before it is used, such as another user of this machine in the command
line of a browser that is started with it, can use it first.
"""

import html
import http.client
import json
import logging
import sys
import threading
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from graphmem.errors import StartError
from graphmem.inspect.pages import first_query, guide, style
from graphmem.inspect.sign_in import PROVIDER, Fields, OneTimeLogin, Refused
from graphmem.server import Server

_LOOPBACK: Final = "127.0.0.1"
_WEB_APPLICATION: Final = "https://browser.neo4j.io"
_BODY_LIMIT: Final = 10_000
_POLL_SECONDS: Final = 0.05
_JSON: Final = "application/json"
_HTML: Final = "text/html; charset=utf-8"
_TEXT: Final = "text/plain; charset=utf-8"

logger = logging.getLogger("graphmem")


class BrowserPages:
    """The pages that Neo4j Browser is opened with, served from a thread between `with` and its end.

    `server_uri` is the Bolt address as Browser connects to it, `http_uri` where the server's Browser is (without
    `/browser/`), `port` the one that the server's settings name for these pages, `query` the text for the editor. Space
    and task fill the guide. `password_file` is for `paste_hint`.

    Raises: InvalidValueError, for a name that is none; StartError on entering, when the port is taken.
    """

    def __init__(
        self,
        server_uri: str,
        http_uri: str,
        user: str,
        password: str,
        *,
        port: int,
        query: str | None = None,
        space: str | None = None,
        task: str | None = None,
        password_file: Path | None = None,
    ) -> None:
        self.server_uri, self.http_uri, self.user, self.port = server_uri, http_uri.rstrip("/"), user, port
        self.query = query or first_query(space, task)
        self.password_file = password_file
        self.login = OneTimeLogin(self.http_uri, user, password)
        self.space, self.task = space, task
        self._server: ThreadingHTTPServer | None = None

    @classmethod
    def of(cls, server: Server, *, query: str | None = None, space: str | None = None, task: str | None = None) -> Self:
        """The pages of an embedded server that is up."""
        return cls(
            server.uri,
            server.http,
            server.user,
            server.password,
            port=server.pages_port,
            query=query,
            space=space,
            task=task,
            password_file=server.home / "password",
        )

    def __enter__(self) -> Self:
        pages: BrowserPages = self

        class Handler(_Handler):
            site = pages

        try:
            self._server = _PageServer((_LOOPBACK, self.port), Handler)
        except OSError as taken:
            raise _port_taken(self.port, taken) from taken
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(_POLL_SECONDS,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    @property
    def address(self) -> str:
        """Where these pages are."""
        return f"http://{_LOOPBACK}:{self.port}"

    @property
    def link(self) -> str:
        """The one link: it arrives signed in, once, within `LINK_SECONDS`. Holds no password."""
        hook = {"discoveryURL": f"{self.address}{self.login.path}/discovery.json", "sso_redirect": PROVIDER}
        return _link(f"{self.http_uri}/browser/", self.server_uri, self.query, hook)

    @property
    def short_link(self) -> str:
        """Leads to `link` until that was used or is too old; the same secret, and short enough to be copied."""
        return f"{self.address}{self.login.path}"

    @property
    def paste_hint(self) -> str:
        """How to sign in without the link. Names the password's place, never the password."""
        where = f"the content of {self.password_file}" if self.password_file else "the server's password"
        return f"If the link does not sign in: open {self.http_uri}/browser/, type user {self.user} and paste {where}."

    def answer(self, method: str, path: str, fields: Fields, origin: str | None) -> tuple[HTTPStatus, str, str]:
        """Status, type and body (for a redirect: where to). Raises: Refused."""
        if origin is not None and origin != self.http_uri:
            raise Refused("These pages are for Neo4j Browser of this server.")
        login = self.login
        match method, path:
            case "GET", "/live.grass":
                return HTTPStatus.OK, _TEXT, style()
            case "GET", "/guide.html":
                return HTTPStatus.OK, _HTML, guide(self.address, self.space, self.task)
            case "GET", _ if path == login.path:
                login.check_unused()
                return HTTPStatus.FOUND, _HTML, self.link
            case "GET", _ if path == f"{login.path}/discovery.json":
                return HTTPStatus.OK, _JSON, json.dumps(login.discovery(self.address, self.server_uri))
            case "GET", _ if path == f"{login.path}/auth":
                return HTTPStatus.SEE_OTHER, _HTML, login.authorize(fields)
            case "POST", _ if path == f"{login.path}/token":
                if origin is None:
                    raise Refused("Only Neo4j Browser may redeem a code.")
                return HTTPStatus.OK, _JSON, json.dumps(login.redeem(fields))
        raise Refused("There is no such page.", HTTPStatus.NOT_FOUND)


class _PageServer(ThreadingHTTPServer):
    """A thread for each request; one that breaks off (a closed tab) is no traceback in somebody's terminal."""

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  # the base class's signature
        logger.info("a page for Browser was not sent: %s", type(sys.exception()).__name__)


class _Handler(BaseHTTPRequestHandler):
    """One request. Logs nothing: paths hold the secret of the link."""

    site: BrowserPages
    timeout = 10.0

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        self._answer("GET", address.path, address.query)

    def do_POST(self) -> None:
        said = self.headers.get("Content-Length", "")
        length = min(int(said), _BODY_LIMIT) if said.isdecimal() else 0
        self._answer("POST", urlsplit(self.path).path, self.rfile.read(length).decode("utf-8", "replace"))

    def do_OPTIONS(self) -> None:
        self._answer("OPTIONS", "", "")

    def _answer(self, method: str, path: str, fields: str) -> None:
        try:
            if self.headers.get("Host") != f"{_LOOPBACK}:{self.site.port}":
                raise Refused("These pages have another address.", HTTPStatus.MISDIRECTED_REQUEST)
            if method == "OPTIONS":
                status, kind, body = HTTPStatus.NO_CONTENT, _TEXT, ""
            else:
                status, kind, body = self.site.answer(method, path, dict(parse_qsl(fields)), self.headers.get("Origin"))
        except Refused as refused:
            status, kind, body = refused.status, _HTML, _refusal_page(str(refused))
        self._send(status, kind, body)

    def _send(self, status: HTTPStatus, kind: str, body: str) -> None:
        moved = status in (HTTPStatus.FOUND, HTTPStatus.SEE_OTHER)
        content = b"" if moved else body.encode()
        self.send_response_only(status)
        headers = {
            "Access-Control-Allow-Origin": self.site.http_uri,
            "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
            "Access-Control-Allow-Headers": "cache-control, pragma, content-type, x-requested-with, accept",
            "Vary": "Origin",
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            **({"Location": body} if moved else {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherBrowser:
    """Neo4j Browser of a server that is not ours: a link where one is known, and what to expect of it."""

    link: str | None
    notice: str


def other_browser(server_uri: str, text: str, *, http_port: int = 7474, timeout_seconds: float = 2.0) -> OtherBrowser:
    """Neo4j Browser for your own server or Aura: it asks for the password, and our style sheet and guide are not set.

    A URI with TLS (`+s`, such as Aura's) is opened by Neo4j's web application; for others `http_port` is asked.
    """
    parts = urlsplit(server_uri)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    uri = f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}"
    notice = "Sign in there with its user and password. Our colours and guide are set on the embedded server only."
    if parts.scheme.endswith("+s"):
        return OtherBrowser(link=_link(f"{_WEB_APPLICATION}/", uri, text), notice=notice)
    if _is_neo4j(parts.hostname or "", http_port, timeout_seconds):
        return OtherBrowser(link=_link(f"http://{host}:{http_port}/browser/", uri, text), notice=notice)
    return OtherBrowser(
        link=None, notice=f"No Neo4j answers at http://{host}:{http_port}; open Browser where {uri} has it. {notice}"
    )


def _port_taken(port: int, error: OSError) -> StartError:
    if _serves_pages(port):
        return StartError(
            f"Another `graphmem browser` serves the pages from port {port}: use it, or end it with Ctrl-C."
        )
    return StartError(
        f"Port {port}, from which Browser reads its guide and colours, is taken ({error.strerror}). "
        "Restart the server: it then chooses a free one.",
        command="graphmem down && graphmem up",
    )


def _serves_pages(port: int) -> bool:
    """Whether it is our pages that are served from this port."""
    connection = http.client.HTTPConnection(_LOOPBACK, port, timeout=2.0)
    try:
        connection.request("GET", "/live.grass")
        return connection.getresponse().read(len(style().encode()) + 1) == style().encode()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _is_neo4j(host: str, port: int, timeout_seconds: float) -> bool:
    connection = http.client.HTTPConnection(host, port, timeout=timeout_seconds)
    try:
        connection.request("GET", "/", headers={"Accept": _JSON})
        said = json.loads(connection.getresponse().read(_BODY_LIMIT))
        return isinstance(said, dict) and "neo4j_version" in said
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()


def _link(page: str, server_uri: str, text: str, more: Fields | None = None) -> str:
    """Neo4j Browser with a text in its editor, which it never runs by itself."""
    fields = {"dbms": server_uri, **(more or {}), "cmd": "edit", "arg": text.strip()}
    return f"{page}?{urlencode(fields, quote_via=quote)}"


def _refusal_page(why: str) -> str:
    return (
        f"<!doctype html><title>graphmem</title><h1>Not signed in</h1><p>{html.escape(why)}</p>"
        "<p>Run <code>graphmem browser</code> again for a fresh link.</p>"
    )
