"""The only room that speaks to Neo4j: connections, query files, migrations.

It knows the shape of no node. A query goes in by its name with one map of parameters, rows come out as plain dicts, and
every error of the driver leaves as one of `graphmem.errors`.
"""

from graphmem.store.connection import Connection, Run, Show, Stream, Trace
from graphmem.store.console import Caps, ConsoleAnswer, console
from graphmem.store.migrations import init, schema_version
from graphmem.store.queries import Query, query, query_names

__all__ = [
    "Caps",
    "Connection",
    "ConsoleAnswer",
    "Query",
    "Run",
    "Show",
    "Stream",
    "Trace",
    "console",
    "init",
    "query",
    "query_names",
    "schema_version",
]
