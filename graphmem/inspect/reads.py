"""Tasks, requests, states, versions, raw results and the ledger, as they stand.

Each is one statement of `cypher/inspect/` in READ mode, and costs what it answers, not what the graph holds. Nothing
is written and nothing is locked. Invariant: an empty answer means that there is nothing to show; a task, request or id
that does not exist is an error.
"""

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from graphmem.errors import InvalidValueError, NotFoundError, StoreError
from graphmem.inspect.values import (
    LogLine,
    RawResult,
    Reader,
    RequestLine,
    ShownRef,
    ShownVersion,
    SpaceLine,
    StateLine,
    TaskLine,
)
from graphmem.state.values import Reason, ToolCall
from graphmem.store import query
from graphmem.vocabulary import Relation, StateKind, check_name, value_fault

Row = Mapping[str, Any]


def spaces(reader: Reader, *, limit: int = 1_000) -> tuple[SpaceLine, ...]:
    """The spaces that have a task, by name; the first `limit` of them."""
    return tuple(SpaceLine(**row) for row in reader.read(query("inspect/spaces"), {"limit": limit}))


def tasks(reader: Reader, space: str, *, limit: int = 1_000) -> tuple[TaskLine, ...]:
    """The tasks of a space, by name."""
    rows = reader.read(query("inspect/tasks"), {"space": check_name("space", space), "limit": limit})
    return tuple(TaskLine(**row) for row in rows)


def requests(reader: Reader, space: str, task: str, *, limit: int = 1_000) -> tuple[RequestLine, ...]:
    """The requests of a task in order; the newest `limit` of them.

    Raises:
        NotFoundError: there is no such task.
    """
    rows = reader.read(query("inspect/requests"), task_params(space, task, limit=limit))
    if not rows:
        require_task(reader, space, task)
    return tuple(RequestLine(**row) for row in rows)


def states(
    reader: Reader, space: str, task: str, *, request: int | None = None, limit: int = 1_000
) -> tuple[StateLine, ...]:
    """The states in view of a task, or of one request of it, in order of appearance; the first `limit` of them.

    Raises:
        NotFoundError: there is no such task or request.
    """
    rows = reader.read(query("inspect/states"), task_params(space, task, request=request, limit=limit))
    if not rows:
        require_task(reader, space, task, request=request)
    with legible(space, task):
        return tuple(StateLine(**{**row, "kind": StateKind(row["kind"])}) for row in rows)


def show(reader: Reader, space: str, task: str, id: str, *, limit: int = 50) -> tuple[ShownVersion, ...] | RawResult:
    """Every version of a state, oldest first (the newest `limit`), in view or not; or the raw result `obs:ℓ.i`.

    Raises:
        NotFoundError: there is no such task, or the id was never used in it.
    """
    if id.startswith("obs:"):
        found = reader.read(query("inspect/show_raw"), task_params(space, task, id=id))
        if found:
            with legible(space, task):
                return _raw_result(found[0])
    rows = reader.read(query("inspect/show"), task_params(space, task, id=id, limit=limit))
    if not rows:
        require_task(reader, space, task)
        raise no_such_id(space, task, id)
    with legible(space, task):
        return tuple(_version(row) for row in rows)


def log(
    reader: Reader,
    space: str,
    task: str,
    *,
    request: int | None = None,
    first: int | None = None,
    last: int | None = None,
    limit: int = 200,
) -> tuple[LogLine, ...]:
    """The ledger, oldest first: the newest `limit` Steps of those between `first` and `last`, or of one request.

    Raises:
        NotFoundError: there is no such task or request.
    """
    rows = reader.read(
        query("inspect/log"), task_params(space, task, request=request, first=first, last=last, limit=limit)
    )
    if not rows:
        require_task(reader, space, task, request=request)
    with legible(space, task):
        return tuple(_log_line(row) for row in rows)


def task_params(space: str, task: str, **more: Any) -> dict[str, Any]:
    """The map `$p` of a statement on one task, with its names and values checked."""
    for name, value in more.items():
        fault = value_fault(value, path=name)
        if fault is not None:
            raise InvalidValueError(fault)
    return {"space": check_name("space", space), "task": check_name("task", task), **more}


def require_task(reader: Reader, space: str, task: str, *, request: int | None = None) -> None:
    """Raises: NotFoundError, when there is no such task, or it has no such request."""
    rows = reader.read(query("task/read_task"), task_params(space, task))
    if not rows:
        raise NotFoundError(
            f"there is no task {task!r} in space {space!r}; those that there are are listed by `tasks`.",
            command=command("tasks", space=space),
        )
    there = rows[0]["requests"] or 0
    if request is not None and not 1 <= request <= there:
        raise NotFoundError(
            f"{task} has no request {request}; it has {there}.",
            command=command("requests", task, space=space),
        )


def command(name: str, *arguments: str, space: str, request: str | None = None) -> str:
    """A command line to type; an argument that looks like an option stands behind `--`."""
    options = [*(() if request is None else ("--request", request)), "--space", space]
    odd = any(argument.startswith("-") for argument in arguments)
    return shlex.join(["graphmem", name, *((*options, "--", *arguments) if odd else (*arguments, *options))])


@contextmanager
def legible(space: str, task: str) -> Iterator[None]:
    """Rows are made into values inside; what graphmem cannot have written is said to be so."""
    try:
        yield
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise StoreError(
            f"task {task!r} in space {space!r} holds what graphmem did not write ({error}); doctor says where.",
            command=command("doctor", space=space),
        ) from error


def require_space(reader: Reader, space: str) -> None:
    """Raises: NotFoundError, when no task is in that space."""
    if not tasks(reader, space, limit=1):
        raise NotFoundError(f"there is nothing in space {space!r}.", command="graphmem cypher spaces")


def no_such_id(space: str, task: str, id: str) -> NotFoundError:
    """The error for an id that a task does not have, with the command that lists those it has."""
    kind, _, number = id.partition(":")
    if kind == "obs":
        return NotFoundError(
            f"{task} has no raw result {id!r}; the log names the node of each.",
            command=command("log", task, space=space),
        )
    if kind == "request" and number.isdecimal():
        return NotFoundError(
            f"{id!r} is a request and no state; its steps are in the log.",
            command=command("log", task, space=space, request=number),
        )
    if kind == "summary" and number.isdecimal():
        return NotFoundError(
            f"{task} has no summary that starts at {number}; those on the path are listed by `path`.",
            command=command("path", task, space=space),
        )
    return NotFoundError(
        f"{task} has no state or raw result {id!r}; the states in view are listed by `states`.",
        command=command("states", task, space=space),
    )


def _version(row: Row) -> ShownVersion:
    refs = tuple(ShownRef(relation=Relation(ref["relation"]), id=ref["id"], key=ref["key"]) for ref in row["refs"])
    return ShownVersion(**{**row, "kind": StateKind(row["kind"]), "value": json.loads(row["value"]), "refs": refs})


def _raw_result(row: Row) -> RawResult:
    return RawResult(**{**row, "arguments": json.loads(row["arguments"]), "cited_by": tuple(row["cited_by"])})


def _log_line(row: Row) -> LogLine:
    lists = {name: tuple(row[name] or ()) for name in ("added", "updated", "removed", "disclosed")}
    calls = tuple(ToolCall(**call) for call in json.loads(row["calls"] or "[]"))
    rejected = tuple(Reason(**reason) for reason in json.loads(row["rejected"] or "[]"))
    answered = tuple(call["name"] for call in json.loads(row["answered"] or "[]"))
    revised = json.loads(row["result"] or "{}")
    lists |= {name: tuple(revised.get(name, ())) for name in ("left", "returned")}
    plain = {name: value for name, value in row.items() if name != "result"}
    merged = bool(row["merged"])
    return LogLine(**{**plain, **lists, "calls": calls, "rejected": rejected, "merged": merged, "answered": answered})
