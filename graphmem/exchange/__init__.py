"""The exchange room: runs of other agents in, as they grow or from files."""

from graphmem.exchange.recording import Recorded, record, record_run
from graphmem.exchange.values import Round, Run, Turn

__all__ = ["Recorded", "Round", "Run", "Turn", "record", "record_run"]
