"""The statements of MAGE's operations on one task, but for revise and fork: path, compress, maintain.

Rows become frozen values here. A path is read in READ mode and held against its own structure, since a reader without a
lock can see a commit half: depths and ranks without a gap, the last ones where the cursor is. A torn one is read again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphmem.errors import NotFoundError, StoreError
from graphmem.llm.tokens import Tokenizer
from graphmem.state.values import Observation
from graphmem.store import Connection, query
from graphmem.task.repository import HINTS, operation_id, options_of
from graphmem.trace import Case, Hints, Path, Summary, TraceNode, Tried, told
from graphmem.vocabulary import short_name

Row = Mapping[str, Any]
_READS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a judge is shown, and which text of which summary that is."""

    case: Case
    of_step: int | None
    on_path: bool


class Tree:
    """The statements on the tree of one task."""

    def __init__(self, connection: Connection, space: str, task: str) -> None:
        self._connection = connection
        self.space = space
        self.task = task

    def _p(self, **p: Any) -> dict[str, Any]:
        return {"space": self.space, "task": self.task, **p}

    def path(self, tokenizer: Tokenizer) -> Path:
        """S = (C, R, H) now.

        Raises:
            NotFoundError: there is no such task.
        """
        for _ in range(_READS):
            rows = self._connection.read(query("task/path"), self._p(hints=HINTS))
            if not rows or rows[0]["version"] is None:  # an import or a forget is not done
                raise self.missing()
            if not _torn(rows[0]):
                return self._path(rows[0], tokenizer, at=None)
        raise StoreError(
            f"the path of {self.task} in space {self.space} was torn {_READS} times; run `graphmem doctor`.",
            command="graphmem doctor",
        )

    def path_at(self, step: int, tokenizer: Tokenizer) -> Path | None:
        """S as it was after a step; None when there is no such step."""
        rows = self._connection.read(query("task/path_at"), self._p(at=step, hints=HINTS))
        return self._path(rows[0], tokenizer, at=step) if rows else None

    def _path(self, row: Row, tokenizer: Tokenizer, *, at: int | None) -> Path:
        recent = tuple(trace_node(node) for node in row["recent"])
        return Path(
            space=self.space,
            task=self.task,
            version=row["version"],
            summaries=tuple(summary(s) for s in row["summaries"] if s["rank"] > 0),
            recent=recent,
            hints=Hints(
                feedback=row["feedback"],
                tried=tuple(_tried(node) for node in row["nodes"]),
                more_tried=row["more_nodes"],
                subgoals=tuple(summary(s) for s in row["siblings"]),
                more_subgoals=row["more_siblings"],
            ),
            at=at,
            unseen=tuple(o.id for node in recent if node.key == row["observed"] for o in node.results),
            p_b=row["p_b"],
            p_t=row["p_t"],
            boundary=row["boundary"],
            options=tuple(name for name, is_on in options_of(row).items() if is_on),
            tokenizer=tokenizer,
        )

    def compress(
        self, path: Path, *, attempt: str, author: str, key: str, text: str, unseen: bool
    ) -> tuple[str, str, int]:
        """Cover R by a summary. The verdict, the summary's key, and the step."""

        def check(row: Row) -> None:
            if row["verdict"] == "ok" and not row["covered"]:
                raise StoreError(
                    "compress refused: no trace node would have been covered; nothing was written. "
                    "Run `graphmem doctor`.",
                    command="graphmem doctor",
                )

        row = self._connection.write(
            query("task/compress"),
            self._p(
                op=operation_id(),
                attempt=attempt,
                author=author,
                p_b=path.p_b,
                p_t=path.p_t,
                key=key,
                text=text,
                name=short_name(text),
                unseen=unseen,
            ),
            check,
        )
        return row["verdict"], row["key"], row["number"]

    def judged(self, key: str | None) -> Judged | None:
        """What a judge of that summary is shown; None when there is no such summary, or nothing to be judged."""
        rows = self._connection.read(query("task/judged"), self._p(key=key))
        if not rows:
            raise self.missing()
        row = rows[0]
        trace = tuple(trace_node(node) for node in row["trace"])
        if row["rank"] == 0 or (key is not None and row["key"] is None) or not (trace or row["copied"]):
            return None
        return Judged(
            case=Case(
                instruction=row["asked"] or "",
                trace=trace,
                summary=None if key is None else summary({**row, "told": []}),
                preferences=tuple((p["id"], p["summary"]) for p in row["preferences"]),
                values={p["id"]: json.loads(p["value"]) for p in row["preferences"]},
            ),
            of_step=row["of_step"],
            on_path=bool(row["on_path"]),
        )

    def maintain(
        self, *, attempt: str, author: str, key: str | None, of_step: int | None, verdict: str, note: str | None
    ) -> Row:
        """Record a verdict. The row of the statement."""
        return self._connection.write(
            query("task/maintain"),
            self._p(
                op=operation_id(), attempt=attempt, author=author, key=key, of_step=of_step, verdict=verdict, note=note
            ),
        )

    def missing(self) -> NotFoundError:
        """The error for a task that does not exist."""
        return NotFoundError(f"there is no task {self.task!r} in space {self.space!r}; task.request(text) makes it")


def _torn(row: Row) -> bool:
    """Whether the parts of a path do not fit together."""
    summaries, recent = row["summaries"], row["recent"]
    ranks = [s["rank"] for s in summaries]
    if not row["whole"] or not summaries or summaries[-1]["key"] != row["p_t"] or _has_gap(ranks):
        return True
    if not recent:
        return bool(summaries[-1]["last"] != row["p_b"])
    depths = [row["depth"], *(node["depth"] for node in recent)]
    return bool(recent[-1]["key"] != row["p_b"]) or _has_gap(depths)


def _has_gap(numbers: Sequence[int]) -> bool:
    return list(numbers) != list(range(numbers[0], numbers[0] + len(numbers)))


def summary(row: Row) -> Summary:
    """A summary as a row tells it, or as the steps about it did until a time."""
    said = told(row["told"])
    text, verdict, note = said if said is not None else (row["text"], row["verdict"], row["note"])
    return Summary(
        key=row["key"],
        boundary=row["boundary"],
        text=text or "",
        verdict=verdict,
        note=note,
        from_step=row["from_step"],
        copied=bool(row.get("copied")),
    )


def trace_node(row: Row) -> TraceNode:
    """A node with its results in full."""
    return TraceNode(
        key=row["key"], number=row["number"], results=tuple(map(seen, row["results"])), wrote=_ids(row["wrote"])
    )


def seen(row: Row) -> Observation:
    """One raw result."""
    return Observation(
        id=row["id"], tool=row["tool"], arguments=json.loads(row["arguments"]), content=row.get("content")
    )


def _tried(row: Row) -> Tried:
    covers = [summary({**s, "boundary": 0}) for s in row["covers"]]
    notes = (s.note for s in covers if s.verdict == "failed" and s.note)
    return Tried(
        number=row["number"],
        results=tuple(map(seen, row["results"])),
        notes=tuple(dict.fromkeys(notes)),
        wrote=_ids(row["wrote"]),
    )


def _ids(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(id_ for ids in lists for id_ in ids))
