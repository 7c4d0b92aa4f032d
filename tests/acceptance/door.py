"""A door in front of the graph: a TCP port that hands everything on to the server under test, until it is shut.

Owns sockets alone. `shut` ends every connection and refuses new ones, `wall_up` takes them and never answers, `open`
lets them through again at the same port.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

_BACKLOG: Final = 16


class Door:
    """A port of the loopback interface, closed at first."""

    def __init__(self, behind: tuple[str, int]) -> None:
        self._behind = behind
        self._sockets: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port: int = found.getsockname()[1]

    @property
    def uri(self) -> str:
        """What to connect to."""
        return f"bolt://127.0.0.1:{self.port}"

    def open(self) -> None:
        """Let everything through."""
        self._listen(is_walled_up=False)

    def wall_up(self) -> None:
        """Take connections, and be silent."""
        self._listen(is_walled_up=True)

    def shut(self) -> None:
        """End all connections, and refuse others."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for one in list(self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._listener, self._sockets = None, set()

    def _listen(self, *, is_walled_up: bool) -> None:
        self.shut()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=_BACKLOG, reuse_port=False)
        threading.Thread(target=self._accept, args=(self._listener, is_walled_up), daemon=True).start()

    def _accept(self, listener: socket.socket, is_walled_up: bool) -> None:
        with contextlib.suppress(OSError):
            while True:
                taken, _ = listener.accept()
                self._sockets.add(taken)
                if is_walled_up:
                    continue
                onward = socket.create_connection(self._behind)
                self._sockets.add(onward)
                for here, there in ((taken, onward), (onward, taken)):
                    threading.Thread(target=_carry, args=(here, there), daemon=True).start()


def _carry(here: socket.socket, there: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := here.recv(1 << 16):
            there.sendall(data)
    for one in (here, there):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextmanager
def door_to(uri: str) -> Iterator[Door]:
    """A door to the server at a URI, for the length of a block."""
    parts = urlsplit(uri)
    door = Door((parts.hostname or "127.0.0.1", parts.port or 7687))
    try:
        yield door
    finally:
        door.shut()
