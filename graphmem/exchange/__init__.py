"""The exchange room: runs of other agents in, as they grow or from files."""

from graphmem.exchange.values import Round, Run, Turn

__all__ = ["Round", "Run", "Turn"]
