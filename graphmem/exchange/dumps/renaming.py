"""The keys of an export for another space, or of its one task for another name.

Keys of requests, steps, results and versions begin with space and task and are put together again. Keys of the tree are
hashes that begin at a root made of space and task (`graphmem.trace.rules`); they are computed again along the file,
parents before children, so that what is grown there later merges as it would have here. Invariant: no key that is
written leads into the old space; where one cannot be computed the import is refused.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from types import TracebackType
from typing import Any, Final, Self

from graphmem.errors import InvalidValueError
from graphmem.trace import root_keys, summary_key, trace_key
from graphmem.vocabulary import json_text

Properties = dict[str, Any]

_BEGUN: Final = (
    "key",
    "live_key",
    "task",
    "lineage",
    "first_of",
    "refs_at",
    "attempt",
    "scope",
    "left_scope",
    "origins",
)
_HASHED: Final = {
    "Task": ("p_b", "p_t", "boundary"),
    "Step": ("p_b", "p_t", "boundary", "node", "top", "about"),
    "SummaryNode": ("last",),
}
_TREE: Final = ("TraceNode", "SummaryNode")
_ENDS: Final = "/!#"


class Renaming:
    """From the names in a file to those wanted. Old and new hashes stand in a file of their own, not in memory."""

    def __init__(self, space: str, as_space: str, tasks: Mapping[str, str]) -> None:
        self._old, self._new = space, as_space
        self._tasks = tasks
        self.changes = space != as_space or any(old != new for old, new in tasks.items())
        self._hashes = sqlite3.connect("")  # a temporary file of SQLite's own, gone when it is closed
        self._hashes.execute("CREATE TABLE hashes (old TEXT PRIMARY KEY, new TEXT NOT NULL) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hashes.close()

    def node(self, labels: list[str], properties: Properties, above: str | None) -> Properties:
        """The properties of a node in its new place."""
        if not self.changes:
            return properties
        label = next((label for label in ("Task", "Step", *_TREE) if label in labels), "")
        new = properties | {name: self._begun(properties[name]) for name in _BEGUN if name in properties}
        new |= {name: self.key(properties[name]) for name in _HASHED.get(label, ()) if name in properties}
        new["space"] = self._new
        if label == "Task":
            new["name"] = self._tasks[properties["name"]]
        if label in _TREE:
            new["key"] = self._tree_key(label, properties, new, above)
        if properties.get("kind") == "fork" and "result" in properties:
            new["result"] = self._origin(properties["result"])
        return new

    def key(self, key: str) -> str:
        """The key of any node in its new place."""
        if not self.changes:
            return key
        if "/" in key:
            return str(self._begun(key))
        with closing(self._hashes.execute("SELECT new FROM hashes WHERE old = ?", (key,))) as found:
            row = found.fetchone()
        if row is None:
            raise InvalidValueError(f"the node {key} of the tree is not in the file, so its key elsewhere is unknown")
        return str(row[0])

    def _tree_key(self, label: str, old: Properties, new: Properties, above: str | None) -> str:
        space, _, task = str(new["task"]).partition("/")
        if above is None:
            key = root_keys(space, task)[_TREE.index(label)]
        elif label == "TraceNode":
            key = trace_key(self.key(above), old["hash"])
        else:
            key = summary_key(self.key(above), new["last"])
        self._hashes.execute("INSERT OR REPLACE INTO hashes VALUES (?, ?)", (old["key"], key))
        return key

    def _begun(self, value: Any) -> Any:
        """A key that begins with space and task, or a list of them."""
        if isinstance(value, list):
            return [self._begun(item) for item in value]
        prefix = f"{self._old}/"
        if not isinstance(value, str) or not value.startswith(prefix):
            return value
        rest = value.removeprefix(prefix)
        end = min((i for i in map(rest.find, _ENDS) if i >= 0), default=len(rest))
        task = rest[:end]
        return f"{self._new}/{self._tasks.get(task, task)}{rest[end:]}"

    def _origin(self, result: str) -> str:
        told = json.loads(result)
        return json_text(told | {"space": self._new, "task": self._tasks.get(told["task"], told["task"])})
