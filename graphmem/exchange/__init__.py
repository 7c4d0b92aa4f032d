"""The exchange room: runs of other agents in, as they grow or from files."""

from graphmem.exchange.importing import ImportedRun, ImportedRuns, UnreadRun, import_runs
from graphmem.exchange.recording import Recorded, record, record_run
from graphmem.exchange.values import Round, Run, Turn
from graphmem.exchange.watching.catching_up import CaughtUp, catch_up
from graphmem.exchange.watching.client import watch
from graphmem.exchange.watching.unwritten import Waiting, all_waiting, examine_buffers

__all__ = [
    "CaughtUp",
    "ImportedRun",
    "ImportedRuns",
    "Recorded",
    "Round",
    "Run",
    "Turn",
    "UnreadRun",
    "Waiting",
    "all_waiting",
    "catch_up",
    "examine_buffers",
    "import_runs",
    "record",
    "record_run",
    "watch",
]
