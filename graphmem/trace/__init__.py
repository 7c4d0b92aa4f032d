"""MAGE, pure: what identifies a node of the execution tree."""

from graphmem.trace.rules import attempt_key, calls_hash, content_hash, root_keys, summary_key, trace_key, trace_name

__all__ = ["attempt_key", "calls_hash", "content_hash", "root_keys", "summary_key", "trace_key", "trace_name"]
