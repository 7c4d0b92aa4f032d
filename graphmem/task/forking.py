"""Fork: a task of its own that goes on from a step of another.

What is live is copied, nothing that is large: headings, the summaries of C, the nodes of R and the boundary node, with
the same raw results linked, and the states in view as versions that keep lineage, birth, position and where their refs
were given. Numbers of steps and nodes go on from the origin's. Invariant: what either writes never reaches the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphmem.state.values import Value
from graphmem.store import Connection, Run, query
from graphmem.task.repository import operation_id
from graphmem.trace import Path, RanCall, attempt_key, root_keys, summary_key, trace_key
from graphmem.vocabulary import json_text

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin(Value):
    """Where a fork comes from. `irreversible`: such calls of the origin after that step, which the world has had."""

    space: str
    task: str
    step: int
    irreversible: tuple[RanCall, ...] = ()


class Forking:
    """The transaction that makes a fork of one task."""

    def __init__(self, connection: Connection, space: str, task: str) -> None:
        self._connection = connection
        self._space = space
        self._task = task

    def fork(self, name: str, path: Path, *, attempt: str, author: str) -> tuple[str, Origin]:
        """Make it from the path as of its step. The verdict, and where it comes from."""
        at, op = path.at or 0, operation_id()
        p = {"space": self._space, "task": self._task, "at": at}

        def work(run: Run) -> tuple[str, Origin]:
            source = run(query("task/fork_source"), {**p, "op": op})[0]
            origin = Origin(space=self._space, task=self._task, step=at, irreversible=ran_calls(source["calls"]))
            root, chain, recent = self._copies(name, path, source)
            shown = {item["id"]: item["step"] for item in source["disclosed"]}
            made = run(
                query("task/fork"),
                {
                    **p,
                    "name": name,
                    "op": op,
                    "attempt": attempt,
                    "author": author,
                    "root": root,
                    "chain": chain,
                    "recent": recent,
                    "disclosed": list(shown) or None,
                    "disclosed_steps": list(shown.values()) or None,
                    "rejected": source["rejected"],
                    "refused": source["refused"],
                    "behind": json_text(origin.to_dict()),
                    "note": source["feedback"],
                },
            )[0]
            if made["verdict"] == "ok":
                run(query("task/fork_states"), {**p, "name": name, "finished": source["finished"]})
            return made["verdict"], origin

        return self._connection.transact("task/fork", work)

    def origin(self, step: int) -> Origin:
        """Where a fork at that step would come from."""
        p = {"space": self._space, "task": self._task, "at": step, "op": None}
        found = query("task/fork_source")
        source = self._connection.read(replace(found, text=found.without_lock), p)[0]
        return Origin(space=self._space, task=self._task, step=step, irreversible=ran_calls(source["calls"]))

    def _copies(self, name: str, path: Path, source: Row) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
        """The key of the boundary's copy, the rows of C and those of R, each with its key in the fork."""
        root, key = root_keys(self._space, name)
        told = {summary.key: summary for summary in path.summaries}
        chain: list[dict[str, Any]] = []
        for i, row in enumerate(source["chain"]):
            last = root if i == len(source["chain"]) - 1 else row["last"]
            parent = chain[-1]["key"] if chain else None
            summary = told.get(row["key"])
            chain.append(
                {
                    "origin": row["key"],
                    "key": key if parent is None else summary_key(parent, last),
                    "parent": parent,
                    "last": last,
                    "text": "" if summary is None else summary.text,
                    "verdict": "passed" if summary is None else summary.verdict,
                    "note": None if summary is None else summary.note,
                }
            )
        return root, chain, _nodes(root, source["recent"])


def _nodes(root: str, recent: Sequence[Row]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for row in recent:
        parent = rows[-1]["key"] if rows else root
        rows.append({"origin": row["key"], "key": trace_key(parent, row["hash"]), "parent": parent})
    return rows


def ran_calls(steps: Sequence[Row]) -> tuple[RanCall, ...]:
    """The irreversible calls that observations tell of, in the order of the ledger."""
    return tuple(
        RanCall(id=call["id"], tool=call["tool"], arguments=call["arguments"], step=step["step"], known=call["known"])
        for step in steps
        for call in step["ran"]
    )


def fork_attempt(space: str, name: str, origin: str, at: int) -> str:
    """The attempt key of a fork, so that repeating the call gives the same fork and not an error."""
    return attempt_key(space, name, "fork", origin, str(at))
