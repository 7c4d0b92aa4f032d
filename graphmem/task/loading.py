"""Grow in batches: runs that were recorded elsewhere, loaded as the steps and observations they would have made here.

Each pair of calls and results becomes what `request.step(StepOutput(tool_calls=…), attempt=f"{attempt}/{i}")` and
`request.observe` write for it, but for the name of the operation. One transaction a batch; what a load that was
interrupted has written is known by its attempt keys and not written again. Invariant: pairs are grown in their order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphmem.errors import (
    AbandonedAttemptError,
    InvalidValueError,
    NotFoundError,
    NotPendingError,
    PendingCallsError,
    RequestClosedError,
    StaleStatusError,
    StoreError,
)
from graphmem.state import rules
from graphmem.state.protocol import render_output
from graphmem.state.values import StepOutput, ToolCall
from graphmem.store import query
from graphmem.task.context import Context
from graphmem.task.outputs import parsed_output, storable
from graphmem.task.repository import HINTS, Repository, json_list, operation_id
from graphmem.task.rows import named_calls
from graphmem.trace import Grown, attempt_key, content_hash, trace_key, trace_name
from graphmem.vocabulary import check_text, json_text

Pair = tuple[Sequence[ToolCall], Sequence[str | None]]
Row = Mapping[str, Any]

BATCH: Final = 500
_BATCH_BYTES: Final = 8_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    """A pair as it may be stored."""

    attempt: str
    output: StepOutput
    contents: tuple[str | None, ...]
    hash: str

    @property
    def size(self) -> int:
        return len(self.output.text) + sum(len(text or "") for text in self.contents)


class Loading:
    """A load into the open request of one task. `fold`: what the index of its status has folded away."""

    def __init__(
        self,
        context: Context,
        repository: Repository,
        *,
        request: int,
        fold: Sequence[int],
        irreversible: frozenset[str],
    ) -> None:
        self._context = context
        self._repository = repository
        self._request = request
        self._fold = list(fold)
        self._irreversible = frozenset(map(context.text, irreversible))
        self._names = {"space": repository.space, "task": repository.task}
        self._name = f"Task({repository.space}/{repository.task})"

    def grow(
        self, pairs: Iterable[Pair], *, attempt: str, author: str, results_author: str, batch: int
    ) -> tuple[Grown, ...]:
        """What became of each pair, in order."""
        authors = {
            "author": self._context.author(author),
            "results_author": self._context.author(results_author),
        }
        grown: list[Grown] = []
        at: str | None = None
        for rows in _batches((self._recorded(pair, attempt, i) for i, pair in enumerate(pairs)), batch):
            made, at = self._batch(rows, at, authors)
            grown += made
        return tuple(grown)

    def _recorded(self, pair: Pair, attempt: str, i: int) -> _Recorded:
        calls, contents = _two(pair, i)
        if not calls or len(calls) != len(contents):
            raise InvalidValueError(f"pair {i}: {len(calls)} calls with {len(contents)} results; give each call one")
        stored = self._context.output(
            parsed_output(StepOutput(tool_calls=tuple(calls)), strict=False, context=self._context)
        )
        refused = rules.refusal(stored)
        if refused is not None:
            raise InvalidValueError(f"pair {i}: {refused}")
        limit = self._context.limits.result_bytes
        texts = tuple(
            None if text is None else self._context.text(check_text(f"a result of pair {i}", text, max_bytes=limit))
            for text in contents
        )
        return _Recorded(
            attempt=self._attempt("named", str(self._request), f"{attempt}/{i}"),
            output=stored,
            contents=texts,
            hash=content_hash(stored.tool_calls, texts),
        )

    def _batch(self, recorded: Sequence[_Recorded], at: str | None, authors: Row) -> tuple[list[Grown], str]:
        """Grow those that are not there yet, from the node `at` on where it is known."""
        cursor, done = self._done(recorded)
        rest = recorded[len(done) :]
        if not rest:
            return done, str(cursor["p_b"])
        if at not in (None, cursor["p_b"]):
            raise self._stale()
        rows = self._rows(rest, cursor)
        row = self._write(rows, cursor, authors)
        if row["verdict"] == "moved":  # as the driver sees it when the answer to the first attempt was lost
            cursor, done = self._done(recorded)
            if len(done) < len(recorded):
                raise self._stale()
            return done, str(cursor["p_b"])
        self._check(row["verdict"])
        nodes = [node | {"merged": True} for node in row["merged"]]
        new = ({"number": row["low"] + i, "merged": False, "notes": ()} for i in range(len(rest) - len(nodes)))
        grown = [_grown(one, node) for one, node in zip(rest, (*nodes, *new), strict=True)]
        return done + grown, rows[-1]["node"]

    def _done(self, recorded: Sequence[_Recorded]) -> tuple[Row, list[Grown]]:
        """Where the task stands, and those of a batch that it has."""
        found = self._context.connection.read(
            query("task/read_loaded"), {**self._names, "attempts": [one.attempt for one in recorded]}
        )
        if not found:
            raise NotFoundError(f"{self._name}: there is no such task")
        cursor, done = found[0], found[0]["done"]
        if any(row["abandoned"] for row in done):
            raise AbandonedAttemptError(
                f"{self._name}: this attempt belongs to steps that a revise left behind; use another key"
            )
        if [row["i"] for row in done] != list(range(len(done))):
            raise self._stale()
        if any(row["hash"] != one.hash for row, one in zip(done, recorded, strict=False)):
            raise NotPendingError(f"{self._name}: this attempt grew other calls or results before; those stand")
        if len(done) < len(recorded):
            self._check("closed" if cursor["open"] != self._request else "pending" if cursor["is_pending"] else "ok")
        return cursor, [_grown(one, row | {"notes": ()}) for one, row in zip(recorded, done, strict=False)]

    def _rows(self, recorded: Sequence[_Recorded], cursor: Row) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for i, one in enumerate(recorded):
            parent, step = rows[-1]["node"] if rows else cursor["p_b"], cursor["next_step"] + 2 * i
            rows.append(self._row(one, i, parent, step))
        return rows

    def _row(self, one: _Recorded, i: int, parent: str, step: int) -> dict[str, Any]:
        plain = [call.to_dict() for call in one.output.tool_calls]
        named = named_calls(plain, step)
        return {
            "i": i,
            "parent": parent,
            "node": trace_key(parent, one.hash),
            "hash": one.hash,
            "name": trace_name(named),
            "attempt": one.attempt,
            "observe_attempt": self._attempt("observe", str(step)),
            "output": storable(one.output.text or render_output(one.output), self._context.limits.text_bytes),
            "repairs": list(one.output.repairs) or None,
            "calls": json_list(plain),
            "call_ids": [call.id for call in named],
            "irreversible": sorted({call.name for call in named} & self._irreversible) or None,
            "results": [
                {"tool": call.name, "arguments": json_text(call.arguments), "content": text}
                for call, text in zip(named, one.contents, strict=True)
            ],
        }

    def _write(self, rows: Sequence[Row], cursor: Row, authors: Row) -> Row:
        return self._context.connection.write(
            query("task/observe_batch"),
            {
                **self._names,
                **authors,
                "op": operation_id(),
                "request": self._request,
                "version": cursor["version"],
                "step": cursor["next_step"],
                "p_b": cursor["p_b"],
                "fold": self._fold,
                "rows": list(rows),
                "hints": HINTS,
            },
            lambda row: _check_touched(row, rows),
        )

    def _attempt(self, *parts: str) -> str:
        return attempt_key(self._repository.space, self._repository.task, *parts)

    def _check(self, verdict: str) -> None:
        match verdict:
            case "closed":
                raise RequestClosedError(f"{self._name}: request {self._request} is not open any more")
            case "pending":
                raise PendingCallsError(
                    f"{self._name}: calls wait for their results; give them to request.observe(status.pending, …)."
                )

    def _stale(self) -> StaleStatusError:
        return StaleStatusError(
            f"{self._name}: another writer moved the task on. Give the pairs again with the same attempt to go on."
        )


def _two(pair: object, i: int) -> tuple[Sequence[ToolCall], Sequence[str | None]]:
    """Calls and results, if they are."""
    if isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(part, tuple | list) for part in pair):
        calls, contents = pair
        if all(isinstance(call, ToolCall) for call in calls):
            return calls, contents
    raise InvalidValueError(f"pair {i} must be a list of ToolCall with a list of their results")


def _check_touched(row: Row, rows: Sequence[Row]) -> None:
    """Compare what the statement touched with what it meant to touch."""
    if row["verdict"] != "ok":
        return
    meant = (sum(len(new["results"]) for new in rows[len(row["merged"]) :]), len(rows))
    touched = (row["stored"], row["linked"])
    if touched != meant:
        raise StoreError(
            f"loading refused: it meant to store and link {meant} but touched {touched}; nothing was written. "
            "Run `graphmem doctor`.",
            command="graphmem doctor",
        )


def _grown(one: _Recorded, node: Row) -> Grown:
    notes = tuple(dict.fromkeys(note for note in node["notes"] if note))
    return Grown.of(node["number"], len(one.contents), merged=bool(node["merged"]), notes=notes)


def _batches(recorded: Iterable[_Recorded], count: int) -> Iterator[list[_Recorded]]:
    """Runs of at most so many, and of so many bytes that a transaction holds them."""
    batch: list[_Recorded] = []
    size = 0
    for one in recorded:
        if batch and (len(batch) == count or size + one.size > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.size
    if batch:
        yield batch
