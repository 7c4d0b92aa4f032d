"""The statements of `cypher/task/` as functions from values to values.

Rows become frozen values here, and nothing above sees one. Every write carries an attempt key, compares what it touched
with what it meant to touch before it is committed, and answers with a verdict that its caller turns into an error.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from graphmem.errors import NotFoundError, StoreError
from graphmem.state.values import ActiveState, PendingCalls, Ref, StepResult, ToolCall, Version
from graphmem.state.view import Fact, NewVersion, Plan
from graphmem.store import Connection, query
from graphmem.task.rows import Reading, Row, active, check_held, named_calls, reading, replayed
from graphmem.trace import calls_hash
from graphmem.vocabulary import json_text, short_name, words

NEIGHBOURS: Final = 50
HINTS: Final = 50
OPTIONS: Final = ("psa", "isu", "compress", "maintain", "revise", "isolate_states")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a task stands."""

    version: int
    open: int | None
    text: str | None
    psa: bool
    isu: bool
    options: Mapping[str, bool]
    requests: int
    steps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What became of an attempt to open a request."""

    verdict: str
    number: int
    text: str
    psa: bool
    isu: bool
    options: Mapping[str, bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Everything of a step that is written, but for the delta and the texts of the plan."""

    request: int
    version: int
    attempt: str
    kind: str
    author: str
    output: str
    repairs: tuple[str, ...]
    refused: str | None
    calls: tuple[ToolCall, ...]
    message: str | None
    fold: tuple[int, ...]
    usage: str | None
    summary_key: str
    compress: str | None = None
    joined: bool = False
    path_tokens: int | None = None


class Repository:
    """The statements on one task."""

    def __init__(self, connection: Connection, space: str, task: str) -> None:
        self._connection = connection
        self.space = space
        self.task = task

    def _p(self, **p: Any) -> dict[str, Any]:
        return {"space": self.space, "task": self.task, **p}

    def cursor(self) -> Cursor | None:
        """Where the task stands; None when it does not exist."""
        rows = self._connection.read(query("task/read_task"), self._p())
        if not rows:
            return None
        check_held(self.space, self.task, rows[0])
        return Cursor(
            **{name: rows[0][name] for name in Cursor.__slots__ if name != "options"}, options=options_of(rows[0])
        )

    def fork_result(self, step: int) -> dict[str, Any]:
        """What the step that made this fork keeps of its origin."""
        return dict(json.loads(self._connection.read(query("task/fork_origin"), self._p(step=step))[0]["result"]))

    def open_request(
        self, text: str, *, attempt: str, author: str, options: Mapping[str, bool | None], roots: tuple[str, str]
    ) -> Opened:
        """Open the next request, and make the task when it is new."""

        def check(row: Row) -> None:
            check_held(self.space, self.task, row)
            if row["verdict"] == "ok" and row["text"] is None:
                raise StoreError(
                    f"task {self.task} of space {self.space} is damaged: no request was opened. Run `graphmem doctor`.",
                    command="graphmem doctor",
                )

        row = self._connection.write(
            query("task/open_request"),
            self._p(
                op=operation_id(),
                attempt=attempt,
                text=text,
                name=short_name(text),
                author=author,
                options=dict(options),
                root=roots[0],
                root_summary=roots[1],
            ),
            check,
        )
        return Opened(
            verdict=row["verdict"],
            number=row["number"] or 0,
            text=row["text"] or "",
            psa=bool(row["psa"]),
            isu=bool(row["isu"]),
            options=options_of(row),
        )

    def status(self, request: int, *, psa: bool, lines: int) -> Reading | None:
        """What the request shows; None when the task does not exist."""
        rows, locked = self._connection.read_locked(
            query("task/status"),
            self._p(
                op=operation_id(),
                request=request,
                low=request if psa else 0,
                lines=lines + 1,
                heads=max(lines, 1),
                neighbours=NEIGHBOURS,
            ),
        )
        return reading(rows[0], request, locked) if rows else None

    def status_at(self, step: int, *, lines: int, heads: int) -> Reading | None:
        """What the request open after a step showed then; None when there is no such task or step."""
        rows = self._connection.read(
            query("task/status_at"), self._p(at=step, lines=lines + 1, heads=heads, neighbours=NEIGHBOURS)
        )
        return reading(rows[0], rows[0]["open"] or 0, locked=False) if rows else None

    def read_step(self, step: int) -> Row | None:
        """One step of the ledger, with empty columns when there is none; None when there is no such task.

        What was written with it is there as a whole, also when it is the last one and was written this moment.
        """
        rows = self._connection.read(query("task/read_step"), self._p(step=step))
        if rows and step >= rows[0]["steps"]:
            self._connection.read_locked(query("task/settled"), self._p(op=operation_id()))
            rows = self._connection.read(query("task/read_step"), self._p(step=step))
        return rows[0] if rows else None

    def read_cursor(self, step: int) -> Row | None:
        """As `read_step`, for who goes by where the task stood after it.

        Raises:
            NotFoundError: nobody kept that when the step was written.
        """
        row = self.read_step(step)
        if row is not None and row["number"] is not None and row["next_node"] is None:
            raise NotFoundError(f"step {step} of {self.task} was written by a graphmem that kept no cursor")
        return row

    def states_at(self, step: int) -> tuple[ActiveState, ...]:
        """Every state in view after a step."""
        rows = self._connection.read(query("task/states_at"), self._p(at=step))
        return active(rows[0]["states"], 0) if rows else ()

    def facts(self, ids: Sequence[str], *, attempt: str) -> tuple[int, bool, tuple[Fact, ...]]:
        """What the ids are, with the version they were read at and whether the attempt was seen before."""
        row = self._connection.read(query("task/facts"), self._p(attempt=attempt, ids=list(ids)))[0]
        facts = tuple(Fact(**{**fact, "cited_by": tuple(fact["cited_by"])}) for fact in row["facts"])
        return row["version"], row["seen"], facts

    def raw_results(self) -> tuple[str, ...]:
        """The ids of the raw results that the open request observed."""
        rows = self._connection.read(query("task/raw_results"), self._p())
        return tuple(rows[0]["ids"]) if rows else ()

    def step(self, commit: Commit, plan: Plan, unseen: Sequence[str] = ()) -> tuple[str, StepResult | None]:
        """Commit a plan. The verdict, and the result unless the verdict is a refusal.

        `unseen`: ids of adds that the status did not show; when one of them is in view the verdict is `taken`.
        """
        refs = [(version.id, ref) for version in plan.versions for ref in version.refs]
        ends = [_version_key(state) for state in plan.removed]
        ends += [_version_key(version.previous) for version in plan.versions if version.previous is not None]

        def check(row: Row) -> None:
            meant = (len(ends), len(plan.versions), len(refs))
            touched = (row["ended"], row["created"], row["linked"])
            if row["verdict"] == "ok" and touched != meant:
                raise StoreError(
                    f"step refused: it meant to end, create and link {meant} but touched {touched}; "
                    "nothing was written. Run `graphmem doctor`.",
                    command="graphmem doctor",
                )

        op = operation_id()
        row = self._connection.write(
            query("task/step"),
            self._p(
                op=op,
                request=commit.request,
                version=commit.version,
                attempt=commit.attempt,
                kind=commit.kind,
                author=commit.author,
                output=commit.output,
                repairs=list(commit.repairs) or None,
                refused=commit.refused,
                calls=json_list([call.to_dict() for call in commit.calls]),
                calls_hash=calls_hash(commit.calls) if commit.calls else None,
                message=commit.message,
                added=list(plan.added) or None,
                updated=list(plan.updated) or None,
                removed=[state.id for state in plan.removed] or None,
                rejected=json_list([reason.to_dict() for reason in plan.rejected]),
                disclosed=list(plan.disclosed) or None,
                fold=list(commit.fold),
                usage=commit.usage,
                joined=commit.joined or None,
                path_tokens=commit.path_tokens,
                unseen=list(unseen),
                ends=sorted(ends),
                rows=[version_row(version) for version in plan.versions],
                state_refs=[ref_row(id_, ref) for id_, ref in refs if not ref.target.startswith("obs:")],
                raw_refs=[ref_row(id_, ref) for id_, ref in refs if ref.target.startswith("obs:")],
                finish=commit.message is not None,
                compress=commit.compress,
                summary_key=commit.summary_key,
                summary_name=short_name(commit.compress or commit.message or ""),
            ),
            check,
        )
        match row["verdict"]:
            case "ok":
                return "ok", _committed(commit, plan, row)
            case "replay":
                return "replay", replayed(row["step"], is_own=row["step"]["op"] == op)
            case verdict:
                return verdict, None

    def observe(
        self,
        pending: PendingCalls,
        *,
        attempt: str,
        author: str,
        node: str,
        content: str,
        name: str,
        results: Sequence[Row],
        irreversible: Sequence[str],
    ) -> Row:
        """Take the results of pending calls. The row of the statement, with its verdict."""

        def check(row: Row) -> None:
            if row["verdict"] == "ok" and row["stored"] != (0 if row["merged"] else len(results)):
                raise StoreError("observe refused: not every result would have been stored; nothing was written")

        return self._connection.write(
            query("task/observe"),
            self._p(
                op=operation_id(),
                step=pending.step,
                calls_hash=calls_hash(pending.recorded),
                p_b=pending.p_b,
                attempt=attempt,
                author=author,
                node=node,
                hash=content,
                name=name,
                results=[{key: row[key] for key in ("tool", "arguments", "content")} for row in results],
                call_ids=[row["call_id"] for row in results],
                irreversible=list(irreversible) or None,
                hints=HINTS,
            ),
            check,
        )


def options_of(row: Row) -> dict[str, bool]:
    """The mechanisms that a task has; one made before there was a choice has all."""
    return {name: row["options"].get(name) is not False for name in OPTIONS}


def json_list(items: list[dict[str, Any]]) -> str | None:
    """The items as JSON text; None for none, so that nothing is stored."""
    return json_text(items) if items else None


def operation_id() -> str:
    """A name for one call, which is not reused."""
    return uuid4().hex


def _version_key(state: ActiveState) -> str:
    return _version(state).key


def _version(state: ActiveState) -> Version:
    if state.version is None:
        raise StoreError(f"{state.id} is not a state")
    return state.version


def version_row(new: NewVersion) -> dict[str, Any]:
    """A version as the statements create it."""
    old = None if new.previous is None else _version(new.previous)
    return {
        "label": new.kind.label,
        "id": new.id,
        "name": short_name(words(new.id)) or new.id,
        "summary": new.summary,
        "value": new.value_text,
        "position": new.position,
        "previous": None if old is None else old.key,
        "lineage": None if old is None else old.lineage,
        "born": None if old is None else old.born,
        "refs_at": old.refs_at if old is not None and new.keeps_refs else None,
    }


def ref_row(source: str, ref: Ref) -> dict[str, str]:
    """A ref as the statements create it."""
    return {"source": source, "target": ref.target, "type": ref.relation.type}


def _committed(commit: Commit, plan: Plan, row: Row) -> StepResult:
    return StepResult(
        step=row["number"],
        version=row["version"],
        added=plan.added,
        updated=plan.updated,
        removed=tuple(state.id for state in plan.removed),
        rejected=plan.rejected,
        disclosed=plan.disclosed,
        calls=named_calls([call.to_dict() for call in commit.calls], row["number"]),
        message=commit.message,
        repairs=commit.repairs,
        refused=commit.refused,
        p_b=row["p_b"],
        summary=row["summary"],
        recorded=named_calls([call.to_dict() for call in commit.calls], row["number"]),
    )
