"""What callers of this room hold in their hands.

The password is in neither value: it is read from its file when it is asked for, so that no repr and no JSON shows it.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from graphmem.server.home import LOOPBACK, USER, Home, Ports, Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that is up."""

    home: Path
    pid: int
    uri: str
    http: str
    pages_port: int
    version: str
    user: str = USER

    @property
    def password(self) -> str:
        """The password, from the file that only its owner can read."""
        return Home(self.home).password()

    @property
    def browser(self) -> str:
        """Where Neo4j Browser is."""
        return f"{self.http}/browser/"

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it, without the password."""
        return {**asdict(self), "home": str(self.home)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """What can be said of a home. `unresponsive`: its process runs, but does not answer (yet)."""

    state: Literal["running", "unresponsive", "stopped"]
    home: Path
    log: Path
    data_bytes: int
    server: Server | None = None
    uptime_seconds: float | None = None
    java: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it, without the password."""
        server = self.server.to_dict() if self.server else None
        return {**asdict(self), "home": str(self.home), "log": str(self.log), "server": server}


def server_of(home: Home, record: Record) -> Server:
    """The server that a record speaks of."""
    ports: Ports = record.ports
    return Server(
        home=home.path,
        pid=record.process.pid,
        uri=f"bolt://{LOOPBACK}:{ports.bolt}",
        http=f"http://{LOOPBACK}:{ports.http}",
        pages_port=ports.pages,
        version=record.version,
    )
