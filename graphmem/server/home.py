"""One server's folder: its parts, its password, its ports, and the record of the process that serves it.

Nothing here starts or stops anything. The password stands in one file that only its owner can read, and once more,
salted and hashed, in the file from which Neo4j takes its first user; it is never an argument, in the environment or
in a log.
Invariant: ports are chosen once and kept while they are free, because links to Browser and remembered logins name
them.
"""

import json
import os
import re
import secrets
import shutil
import socket
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from graphmem.errors import StartError
from graphmem.server.lock import LINES, Lock, line_of, read_lock
from graphmem.server.processes import Process

USER: Final = "neo4j"
DATABASE: Final = "neo4j"
PARTS: Final = ("conf", "data", "logs", "plugins", "run", "import")
LOOPBACK: Final = "127.0.0.1"

# Below the ranges from which Linux and macOS take the ports of outgoing connections.
_PORTS: Final = range(20_000, 32_000)
_HASH_ITERATIONS: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Bolt, HTTP (Browser), and the one kept free for the pages that the guide and the style sheet are served from."""

    bolt: int
    http: int
    pages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What was started, and when (seconds since 1970, for the eye; `Process.started` is what identifies it)."""

    process: Process
    ports: Ports
    version: str
    java: str
    since: float


@dataclass(frozen=True, slots=True)
class Home:
    """A folder, and the names of what lies in it."""

    path: Path

    @property
    def lock(self) -> Path:
        """Held by whoever starts or stops the server."""
        return self.path / "lock"

    @property
    def password_file(self) -> Path:
        """The password, mode 0600."""
        return self.path / "password"

    @property
    def version_file(self) -> Path:
        """The version of the server that opened the database last."""
        return self.path / "data" / "neo4j-version"

    @property
    def console(self) -> Path:
        """What the server prints: the log to read first."""
        return self.path / "logs" / "console.log"

    @property
    def arguments(self) -> Path:
        """The arguments of the JVM, as a file, because a class path of 242 jars is no command line."""
        return self.path / "run" / "java.args"

    @property
    def recording(self) -> Path:
        """The classes that the server loads, listed while there is no archive of them."""
        return self.path / "run" / "classes.list"

    @property
    def mark(self) -> str:
        """The words by which a command line is known as that of this home's server."""
        return f"@{self.arguments}"

    def prepare(self) -> None:
        """Make the folders, and before the first start the password."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        for part in PARTS:
            (self.path / part).mkdir(exist_ok=True, mode=0o700)  # also in a folder that others may read
        self.put_back()
        if self.password_file.exists():
            self.password()
            return
        if (self.path / "data" / "databases").exists():
            raise StartError(
                f"{self.password_file} is gone, but the folder has a database that was made with it. "
                "Put the file back, or choose another home."
            )
        password = secrets.token_urlsafe(24)
        first_user = self.path / "data" / "dbms" / "auth.ini"
        first_user.parent.mkdir(parents=True, exist_ok=True)
        _write_private(first_user, credential(password) + "\n")
        _write_private(self.password_file, password + "\n")

    @property
    def has_database(self) -> bool:
        """Whether there is one, if only kept aside."""
        return any((self.path / "data" / "databases" / DATABASE).glob("*")) or self._kept.exists()

    @property
    def _kept(self) -> Path:
        return self.path / "data" / "kept"

    def keep_aside(self) -> None:
        """Make room for another database in the place of the one that is there: its store, and its transactions."""
        for part in ("databases", "transactions"):
            folder = self.path / "data" / part / DATABASE
            if folder.exists():
                self._kept.mkdir(exist_ok=True)
                folder.replace(self._kept / part)

    def put_back(self, *, drop: bool = False) -> None:
        """Put back what was kept aside and not forgotten; also where whoever did that was killed.

        `drop`: what is in its place is not whole, and goes in any case.
        """
        for part in ("databases", "transactions"):
            folder, kept = self.path / "data" / part / DATABASE, self._kept / part
            if drop or kept.exists():
                shutil.rmtree(folder, ignore_errors=True)
            if kept.exists():
                kept.replace(folder)
        if self._kept.exists():
            self._kept.rmdir()

    def forget_kept(self) -> None:
        """The other database is there as a whole."""
        if self._kept.exists():
            gone = self._kept.with_name("gone")
            shutil.rmtree(gone, ignore_errors=True)
            self._kept.replace(gone)  # at once, where a folder is deleted file by file
            shutil.rmtree(gone, ignore_errors=True)

    def password(self) -> str:
        """The password."""
        try:
            password = self.password_file.read_text(encoding="utf-8").strip()
        except OSError as unreadable:
            raise StartError(f"The password file {self.password_file} cannot be read.") from unreadable
        if not password:
            raise StartError(f"The password file {self.password_file} is empty. Put back what it held.")
        return password

    def choose_version(self, line: str | None) -> Lock:
        """The server that the folder is for: of the line wanted, else the one that its database was last served by.

        Raises: StartError, when the database is of a newer server.
        """
        last = self._last_version()
        lock = read_lock(line or (line_of(last) if last and line_of(last) in LINES else LINES[0]))
        if last and _numbers(last) > _numbers(lock.neo4j):
            then = f"start it with --neo4j {line_of(last)}" if line_of(last) in LINES else "upgrade graphmem-neo4j"
            raise StartError(
                f"{self.path} holds a database of Neo4j {last}, which {lock.neo4j} cannot open. Choose another home, "
                f"or {then}."
            )
        return lock

    def write_version(self, version: str) -> None:
        """Remember which server opens the database."""
        _write(self.version_file, version + "\n")

    def _last_version(self) -> str | None:
        try:
            return self.version_file.read_text(encoding="utf-8").strip()
        except OSError:
            return None

    def claim_ports(self) -> Ports:
        """The remembered ports; new ones for those that somebody else has meanwhile."""
        remembered = self.remembered_ports()
        chosen: list[int] = []
        for name in ("bolt", "http", "pages"):
            port = remembered.get(name)
            if not isinstance(port, int) or port in chosen or not is_free(port):
                port = _free_port(besides=chosen)
            chosen.append(port)
        ports = Ports(bolt=chosen[0], http=chosen[1], pages=chosen[2])
        _write(self.path / "ports.json", json.dumps(asdict(ports)) + "\n")
        return ports

    def remembered_ports(self) -> dict[str, object]:
        """The ports of the last start, by name; whatever the file holds."""
        try:
            said = json.loads((self.path / "ports.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return said if isinstance(said, dict) else {}

    def write_record(self, record: Record) -> None:
        """Remember what was started."""
        _write(self.path / "run" / "server.json", json.dumps(asdict(record)) + "\n")

    def read_record(self) -> Record | None:
        """What was started last and not stopped by us, whether or not it still runs."""
        try:
            found = json.loads((self.path / "run" / "server.json").read_text(encoding="utf-8"))
            return Record(**{**found, "process": Process(**found["process"]), "ports": Ports(**found["ports"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def forget_record(self) -> None:
        """The server was stopped, or is known to be gone."""
        (self.path / "run" / "server.json").unlink(missing_ok=True)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def credential(password: str, salt: bytes | None = None) -> str:
    """The first user as Neo4j's own `set-initial-password` writes it: SHA-256 over salt and password, iterated."""
    salt = secrets.token_bytes(32) if salt is None else salt
    digest = sha256(salt + password.encode()).digest()
    for _ in range(_HASH_ITERATIONS - 1):
        digest = sha256(digest).digest()
    return f"{USER}:SHA-256,{digest.hex()},{salt.hex()},{_HASH_ITERATIONS}:"


def is_free(port: int) -> bool:
    """Whether nobody listens on this port of the loopback interface."""
    with socket.socket() as attempt:
        # connections that were closed a moment ago do not count
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind((LOOPBACK, port))
        except (OSError, OverflowError):  # taken, or no number of a port
            return False
        return port > 0


def _free_port(*, besides: list[int]) -> int:
    for _ in range(200):
        port = secrets.choice(_PORTS)
        if port not in besides and is_free(port):
            return port
    raise StartError(f"No free port between {_PORTS.start} and {_PORTS.stop}.")


def _write(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
