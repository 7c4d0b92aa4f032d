"""The tools that only read: status, path, show, why, log, query.

Each calls what a user of the API would call, on the task of the scope, and answers with a `Reply`. Invariant: every
read is of that task (or of what it was forked from); a name of another one cannot be said.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from graphmem import inspect
from graphmem.errors import InvalidValueError, NoOpenRequestError, NotFoundError
from graphmem.inspect import Named, RawResult, SummaryReason
from graphmem.inspect.named import inspect_query, parameters
from graphmem.integrations.mcp.arguments import (
    LogArguments,
    NoArguments,
    PathArguments,
    QueryArguments,
    ShowArguments,
    WhyArguments,
)
from graphmem.integrations.mcp.fitting import Lines, Reply, page
from graphmem.integrations.mcp.scope import Scope
from graphmem.integrations.mcp.views import NOTE, Line, filled, log_line, path_lists, reason_lines, status_lists
from graphmem.task import Request, Status
from graphmem.vocabulary import Json, json_text, short_name

OWN: Final = ("space", "task")
_WITHHELD: Final = frozenset({"other", "key", "targets", "lineages"})
_PICTURE: Final = ("node", "relation", "other", "arrow")
_HEAD_CHARACTERS: Final = 1_000
_MOST: Final = {"limit": 5_000, "characters": 4_000}
_MOST_IDS: Final = 100

STATUS_LISTS: Final = (
    Lines(name="index", how="query states; show with id request:N; access in a step", newest=True),
    Lines(name="active", how="query states; show with their id", newest=True),
    Lines(name="observation", how="path, or show with id obs:N.1, obs:N.2, …"),
    Lines(name="pending", how="show with id step:N of pending_step"),
    Lines(name="not_accepted", how="log of the last step"),
)


def status(scope: Scope, _arguments: NoArguments) -> Reply:
    """Where the task stands."""
    try:
        request = scope.task.open_request()
    except NotFoundError:
        return _standing(scope, "Nothing is recorded yet. `request` opens the first request with the user's words.")
    except NoOpenRequestError:
        return _standing(scope, f"{last_request(scope)} `request` opens the next one with the user's words.")
    return status_reply(scope, request, request.status(index_tokens=scope.index_tokens))


def _standing(scope: Scope, following: str) -> Reply:
    return Reply(data={"task": scope.name, "request": None, "version": None, "next": following})


def last_request(scope: Scope) -> str:
    """How the newest request stands, in a sentence."""
    (line,) = inspect.requests(scope.reader, scope.space, scope.name, limit=1)
    ended = f" at step {line.finished_step}" if line.finished_step else ""
    return f"No request is open; request {line.number} is {line.standing}{ended}."


def status_reply(scope: Scope, request: Request, found: Status) -> Reply:
    """A status as it is told."""
    data = {
        "task": scope.name,
        "version": found.version,
        "next": _following(found, read_only=scope.read_only),
        "note": NOTE,
        "request": {"id": f"request:{request.number}", "text": request.text},
    }
    return Reply(data=data | filled(status_lists(found)), lists=STATUS_LISTS)


def _following(found: Status, *, read_only: bool) -> str:
    if read_only:
        return "This server only reads."
    if found.pending is not None:
        return (
            f"Step {found.pending.step} waits for the results of its calls. Run them if they have not run, and give "
            "each result to `observe`; content null where nobody knows whether it ran."
        )
    return f"Go on with `step` and version {found.version}; its `message` finishes the request."


def path(scope: Scope, arguments: PathArguments) -> Reply:
    """C, R and H, now or as of a step."""
    task = scope.task
    found = task.path() if arguments.at is None else task.at(arguments.at).path()
    data = {"task": scope.name, "version": found.version, "at": found.at, "note": NOTE}
    lists = (
        Lines(name="tried_actions", how="query tree"),
        Lines(name="tried_subgoals", how="query failed_branches"),
        Lines(name="summaries", how="log; show with id summary:N", newest=True),
        Lines(name="recent", how="log; show with id obs:N.1", newest=True),
    )
    return Reply(data=filled(data | path_lists(found)), lists=lists)


def show(scope: Scope, arguments: ShowArguments) -> Reply:
    """One recorded thing whole, a page at a time."""
    head, text = _shown(scope, arguments.id)
    if arguments.offset and arguments.offset >= len(text):
        raise InvalidValueError(
            f"{arguments.id} has {len(text):,} characters; there is nothing at {arguments.offset:,}."
        )
    data = {"id": arguments.id, "note": NOTE} | head
    count = scope.tokenizer.count
    return Reply(data=page(data, text, arguments.offset, budget_tokens=scope.reply_tokens, count=count))


def _shown(scope: Scope, id_: str) -> tuple[Line, str]:
    """What is said of it, and its text."""
    where = (scope.reader, scope.space, scope.name)
    try:
        found = inspect.show(*where, id_)
    except NotFoundError:
        prefix, _, number = id_.partition(":")
        shown = _SHOWN.get(prefix)
        if shown is None or not number.isascii():
            raise _nothing(scope, id_) from None
        return shown(scope, id_)
    if isinstance(found, RawResult):
        return _raw_head(found), found.content or ""
    newest = found[-1]
    return {
        "what": newest.kind,
        "summary": newest.summary,
        "in_view": newest.in_view,
        "from_step": newest.from_step,
        "earlier_versions": [version.from_step for version in found[:-1]][-20:],
        "refs": [{"relation": ref.relation, "id": ref.id} for ref in newest.refs][:50],
    }, json_text(newest.value)


def _nothing(scope: Scope, id_: str) -> NotFoundError:
    return NotFoundError(
        f"nothing with the id {short_name(id_)} is recorded in {scope.name}. `query` with the name states lists the "
        "states in view; raw results are called obs:N.i, the rest request:N, step:N, summary:N."
    )


def _raw_head(found: RawResult) -> Line:
    arguments = json_text(found.arguments)
    fits = len(arguments) <= _HEAD_CHARACTERS
    head: Line = {
        "what": "raw result",
        "tool": found.tool[:_HEAD_CHARACTERS],
        "arguments": dict(found.arguments) if fits else f"{arguments[:_HEAD_CHARACTERS]}…",
        "known": found.content is not None,
        "on_path": found.on_path,
        "cited_by": list(found.cited_by[:50]),
    }
    if fits:
        return head
    left = {"what": "arguments", "left_out": f"{len(arguments) - _HEAD_CHARACTERS:,} characters"}
    return head | {"left_out": [left | {"how": f"show with id step:{found.asked_step}"}]}


def _request_text(scope: Scope, id_: str) -> tuple[Line, str]:
    found = inspect.run_named(scope.reader, "disclose", {"space": scope.space, "task": scope.name, "ids": [id_]})
    text = dict(zip(found.columns, found.rows[0], strict=True))["text"]
    if not isinstance(text, str):
        raise NotFoundError(f"{scope.name} has no {id_}; `query` with the name requests lists them.")
    return {"what": "request"}, text


def _step_text(scope: Scope, id_: str) -> tuple[Line, str]:
    step = inspect.why(scope.reader, scope.space, scope.name, id_)
    assert isinstance(step, inspect.StepReason)
    texts = (step.output, step.message, step.text, step.note, step.refused)
    head = {"what": f"step: {step.step.kind}", "author": step.step.author, "request": f"request:{step.step.request}"}
    return head, next((text for text in texts if text), "")


def _summary_text(scope: Scope, id_: str) -> tuple[Line, str]:
    found = inspect.why(scope.reader, scope.space, scope.name, id_)
    assert isinstance(found, SummaryReason)
    head = {
        "what": "summary",
        "verdict": found.verdict,
        "on_path": found.on_path,
        "covers": [n.node for n in found.covers],
    }
    return head, found.text


_SHOWN: Final = {"request": _request_text, "step": _step_text, "summary": _summary_text}


def why(scope: Scope, arguments: WhyArguments) -> Reply:
    """What something rests on."""
    try:
        found = inspect.why(scope.reader, scope.space, scope.name, arguments.id, depth=arguments.depth)
    except NotFoundError:
        raise _nothing(scope, arguments.id) from None
    how = f"why with a smaller depth than {arguments.depth}, or with the id of the last line"
    return Reply(data={"note": NOTE, "lines": list(reason_lines(found))}, lists=(Lines(name="lines", how=how),))


def log(scope: Scope, arguments: LogArguments) -> Reply:
    """The ledger, oldest first."""
    found = inspect.log(
        scope.reader,
        scope.space,
        scope.name,
        request=arguments.request,
        first=arguments.first,
        last=arguments.last,
        limit=arguments.limit + 1,
    )
    lines, more = found[-arguments.limit :], len(found) > arguments.limit
    data: Line = {"note": NOTE, "steps": [log_line(line) for line in lines]}
    if more:
        data["earlier"] = f"there are steps before {lines[0].number}: log with last {lines[0].number - 1}"
    return Reply(data=data, lists=(Lines(name="steps", how="log with `last` below the first step here", newest=True),))


def query(scope: Scope, arguments: QueryArguments) -> Reply:
    """A named query, or the list of them."""
    about = {named.name: named for named in served_queries()}
    if arguments.name is None:
        return Reply(data={"queries": [_about(named) for named in about.values()]})
    if arguments.name not in about:
        raise InvalidValueError(f"there is no query of that name here; there are {', '.join(about)}.")
    found = inspect.run_named(scope.reader, arguments.name, _params(about[arguments.name], arguments.params, scope))
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows[arguments.skip :]]
    data = {"note": NOTE, "columns": list(found.columns), "row_count": len(found.rows), "rows": rows}
    how = f"query {arguments.name} with skip {arguments.skip} and the number of rows here added to it"
    return Reply(data=data, lists=(Lines(name="rows", how=how),))


def served_queries() -> tuple[Named, ...]:
    """The queries that stay within one task and are not pictures for Neo4j Browser."""
    return tuple(
        named
        for named in inspect.named_queries()
        if set(OWN) <= set(named.params)
        and named.returns != _PICTURE
        and not _WITHHELD & set(named.params) - set(named.optional)
    )


def _own(named: Named) -> list[str]:
    return [name for name in named.params if name not in OWN and name not in _WITHHELD]


def _about(named: Named) -> Line:
    params = [f"{name}?" if name in named.optional else name for name in _own(named)]
    return filled({"name": named.name, "params": params}) | {"summary": named.summary}


def _params(named: Named, given: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    """The parameters of a query, with space and task of the scope.

    Raises:
        InvalidValueError: one was given that is not the model's to give, or does not exist.
    """
    takes = _own(named)
    wrong = sorted(set(given) - set(takes))
    if wrong:
        own = " Space and task are those of this server." if set(wrong) & set(OWN) else ""
        raise InvalidValueError(
            f"{named.name} takes {', '.join(takes) or 'no parameters'}, not {', '.join(wrong)}.{own}"
        )
    missing = [name for name in takes if name not in named.optional and given.get(name) is None]
    if missing:
        raise InvalidValueError(f"{named.name} needs {', '.join(missing)}.")
    texts = {name: value if isinstance(value, str | int) else json.dumps(value) for name, value in given.items()}
    read = parameters(inspect_query(named.name), {**texts, "space": scope.space, "task": scope.name})
    return {name: _bounded(name, value) for name, value in read.items()}


def _bounded(name: str, value: Json) -> Json:
    """A parameter within what one call may ask for; more is had by paging."""
    most = _MOST.get(name)
    if most is not None:
        return min(value, most) if isinstance(value, int) else most if name == "limit" else value
    return value[:_MOST_IDS] if isinstance(value, list) else value
