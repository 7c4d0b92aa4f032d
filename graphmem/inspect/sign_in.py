"""A sign-in that works once: the provider's half of OAuth's authorization code with PKCE, for Neo4j Browser alone.

Browser can sign in by "single sign-on", and in the end sends what it is given as an ordinary user and password, which a
server without any single sign-on takes. Pure: no socket and no file; `browser` puts it on the loopback interface.

Invariants: a link gives one code, within `LINK_SECONDS`; a code is redeemed once, within `CODE_SECONDS`, by whoever
knows the PKCE secret that it was asked for with; a wrong try uses it up. The only redirect is Browser's one address.
"""

import base64
import hashlib
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

LINK_SECONDS: Final = 600.0
CODE_SECONDS: Final = 60.0
PROVIDER: Final = "graphmem"

_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}\Z")

Fields: TypeAlias = Mapping[str, str]


class Refused(Exception):  # noqa: N818  # an answer to Browser, never an error of a caller: it does not leave this room
    """A request that is not answered, and why; the words are for whoever sits in front of Browser."""

    def __init__(self, why: str, status: HTTPStatus = HTTPStatus.FORBIDDEN) -> None:
        super().__init__(why)
        self.status = status


class OneTimeLogin:
    """A sign-in that works once: OAuth's authorization code with PKCE, for Browser at one origin.

    A code is given out once and redeemed once; a wrong try uses it up. `clock` gives seconds.
    """

    def __init__(self, origin: str, user: str, password: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = "/" + secrets.token_urlsafe(24)
        self.redirect = f"{origin}/browser/?idp_id={PROVIDER}&auth_flow_step=redirect_uri"
        self._user, self._password = user, password
        self._clock, self._born = clock, clock()
        self._code: str | None = None
        self._challenge = ""
        self._issued: float | None = None
        self._lock = threading.Lock()

    def discovery(self, pages: str, server_uri: str) -> dict[str, Any]:
        """What Browser reads first. Once used, it names no provider, so that reloading Browser's page is harmless."""
        provider = {
            "id": PROVIDER,
            "name": PROVIDER,
            "auth_flow": "pkce",
            "auth_endpoint": f"{pages}{self.path}/auth",
            "token_endpoint": f"{pages}{self.path}/token",
            "params": {"client_id": PROVIDER, "response_type": "code", "scope": "openid"},
            "config": {
                "token_type_principal": "id_token",
                "token_type_authentication": "access_token",
                "principal": "sub",
                "code_challenge_method": "S256",
            },
        }
        with self._lock:
            unused = self._code is not None or self._issued is None
        return {"bolt_direct": server_uri, "auth_config": {"oidc_providers": [provider] if unused else []}}

    def check_unused(self) -> None:
        """Raises: Refused, when this sign-in was used or is too old."""
        with self._lock:
            self._check_unused()

    def _check_unused(self) -> None:
        if self._issued is not None:
            raise Refused("This link was used before.", HTTPStatus.GONE)
        if self._clock() - self._born > LINK_SECONDS:
            raise Refused("This link is too old.", HTTPStatus.GONE)

    def authorize(self, asked: Fields) -> str:
        """Where to send Browser, with the code. Raises: Refused."""
        if asked.get("redirect_uri") != self.redirect:
            raise Refused("This sign-in leads elsewhere than to Neo4j Browser of this server.")
        if (asked.get("client_id"), asked.get("response_type")) != (PROVIDER, "code"):
            raise Refused("This sign-in was not begun by our link.")
        if asked.get("code_challenge_method") != "S256" or not _CHALLENGE.match(asked.get("code_challenge", "")):
            raise Refused("This sign-in has no PKCE challenge (S256).")
        with self._lock:
            self._check_unused()
            self._issued, self._code = self._clock(), secrets.token_urlsafe(32)
            self._challenge = asked["code_challenge"]
            return f"{self.redirect}&{urlencode({'code': self._code, 'state': asked.get('state', '')})}"

    def redeem(self, asked: Fields) -> dict[str, str]:
        """What Browser asked for, for its code. Raises: Refused."""
        with self._lock:
            code, self._code = self._code, None
            age = self._clock() - (self._issued or 0.0)
        verifier = _base64(hashlib.sha256(asked.get("code_verifier", "").encode()).digest())
        if (
            code is None
            or age > CODE_SECONDS
            or not secrets.compare_digest(asked.get("code", "").encode(), code.encode())
            or not secrets.compare_digest(verifier, self._challenge)
            or asked.get("redirect_uri") != self.redirect
            or asked.get("grant_type") != "authorization_code"
        ):
            raise Refused("The code of this sign-in is wrong, too old, or was used before.")
        return {"token_type": "Bearer", "access_token": self._password, "id_token": _unsigned(self._user)}


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unsigned(user: str) -> str:
    """The user as a token: Browser reads the name from it, and nobody trusts it."""
    return ".".join(_base64(json.dumps(part).encode()) for part in ({"alg": "none"}, {"sub": user})) + "."
