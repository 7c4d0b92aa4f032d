"""MAGE, pure: the execution tree, its path, and what the four operations answer."""

from graphmem.trace.judge import Judge, Summarizer, rule_summary, ruling, written_summary
from graphmem.trace.path import Path
from graphmem.trace.restore import Restoration, restoration
from graphmem.trace.rules import attempt_key, calls_hash, content_hash, root_keys, summary_key, trace_key, trace_name
from graphmem.trace.told import told
from graphmem.trace.values import (
    Case,
    Grown,
    Hints,
    RanCall,
    Revised,
    Ruling,
    StateVersion,
    Summary,
    TraceNode,
    Tried,
    Verdict,
    World,
)

__all__ = [
    "Case",
    "Grown",
    "Hints",
    "Judge",
    "Path",
    "RanCall",
    "Restoration",
    "Revised",
    "Ruling",
    "StateVersion",
    "Summarizer",
    "Summary",
    "TraceNode",
    "Tried",
    "Verdict",
    "World",
    "attempt_key",
    "calls_hash",
    "content_hash",
    "restoration",
    "root_keys",
    "rule_summary",
    "ruling",
    "summary_key",
    "told",
    "trace_key",
    "trace_name",
    "written_summary",
]
