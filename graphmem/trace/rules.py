"""What identifies a node of the execution tree (MAGE, §3.2 and Algorithm 1).

Keys are content-addressed: a trace node is its parent and its exact content, a summary its parent and the last node it
covers. "Merge into the identical child" and "reuse the summary with the same cover" are then one MERGE on one unique
property. Invariant: the order of keys in the arguments of a call does not count; the numbers 1 and 1.0 do differ.
"""

from collections.abc import Sequence

from graphmem.state.values import ToolCall
from graphmem.vocabulary import digest, json_text, short_name, words


def content_hash(calls: Sequence[ToolCall], contents: Sequence[str | None]) -> str:
    """The identity of (a, o): the calls of one output with their results, in order. Ids of calls do not count."""
    actions = json_text([[call.name, call.arguments] for call in calls], sort_keys=True)
    return digest(actions, json_text(list(contents)))


def calls_hash(calls: Sequence[ToolCall]) -> str:
    """The identity of the calls alone, by which their results are known to be theirs."""
    return content_hash(calls, ())


def trace_key(parent: str, content: str) -> str:
    """The key of the child of `parent` with that content hash."""
    return digest("trace", parent, content)


def summary_key(parent: str, last: str) -> str:
    """The key of the summary below `parent` whose cover ends at the trace node `last`."""
    return digest("summary", parent, last)


def root_keys(space: str, task: str) -> tuple[str, str]:
    """The keys of a task's root trace node and root summary."""
    trace = digest("trace", space, task)
    return trace, summary_key("", trace)


def trace_name(calls: Sequence[ToolCall]) -> str:
    """The tool and a few words of its arguments, for the eye."""
    first = calls[0]
    more = f" +{len(calls) - 1}" if len(calls) > 1 else ""
    arguments = " ".join(str(value) for value in first.arguments.values())
    return short_name(f"{words(first.name)}{more} {arguments}".strip(), characters=32)


def attempt_key(space: str, task: str, *parts: str) -> str:
    """An attempt key, prefixed with space and task so that no two tasks can share one."""
    return f"{space}/{task}!{digest(*parts)}"
