"""Is it up: what the server says of itself over HTTP, and a handshake on its Bolt port.

No driver is needed, and no password. An answer counts only if it names our Bolt port: another process may have the
port.
"""

import http.client
import json
import socket
from typing import Final

from graphmem.server.home import LOOPBACK, Ports

# Four proposals of four bytes after the magic number: 5.0 to 5.4, and nothing.
_HANDSHAKE: Final = bytes.fromhex("6060b017 00040405 00000000 00000000 00000000")


def version_at(ports: Ports, *, timeout_seconds: float = 5.0) -> str | None:
    """The version of the server that answers on these ports, or None."""
    version = _discover(ports, timeout_seconds)
    return version if version and _speaks_bolt(ports.bolt, timeout_seconds) else None


def _discover(ports: Ports, timeout_seconds: float) -> str | None:
    connection = http.client.HTTPConnection(LOOPBACK, ports.http, timeout=timeout_seconds)
    try:
        connection.request("GET", "/", headers={"Accept": "application/json"})
        said = json.loads(connection.getresponse().read(100_000))
        ours = isinstance(said, dict) and f":{ports.bolt}" in str(said.get("bolt_direct"))
        return str(said["neo4j_version"]) if ours else None
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()


def _speaks_bolt(port: int, timeout_seconds: float) -> bool:
    try:
        with socket.create_connection((LOOPBACK, port), timeout=timeout_seconds) as connection:
            connection.sendall(_HANDSHAKE)
            return len(connection.recv(4)) == 4
    except OSError:
        return False
