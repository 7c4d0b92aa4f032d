"""A real Neo4j Community server without Docker: resolve, configure, start, stop.

The server is GPL and no part of this package: its jars are resolved from the registry when it is first started,
checked against `neo4j-*.lock.json`, and never redistributed. It listens on the loopback interface only, with
authentication on.
"""

from graphmem.server.backup import dump, load
from graphmem.server.lifecycle import down, running, up
from graphmem.server.values import Server, ServerStatus
from graphmem.server.watch import find, last_login, logs, status

__all__ = ["Server", "ServerStatus", "down", "dump", "find", "last_login", "load", "logs", "running", "status", "up"]
