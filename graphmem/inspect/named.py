"""The named queries of `cypher/inspect/`: listed, run with typed parameters, and written out for Neo4j Browser.

A key of `$p` that the statement itself provides for with `$p.x IS NULL` or `coalesce($p.x, …)` may be left out. Values
that come as text are read by the name of the parameter, so that a task called 2024 stays a text and request 3 becomes a
number. Invariant: only statements of the files run, and only in READ mode.
"""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

from graphmem.errors import InvalidValueError
from graphmem.inspect.reads import require_task
from graphmem.inspect.values import Named, Reader, Table
from graphmem.store import Query, query, query_names
from graphmem.vocabulary import Json, json_text, value_fault

_OPTIONAL: Final = re.compile(r"\$p\.(\w+) IS NULL|coalesce\(\$p\.(\w+)")
_ROOM: Final = "inspect"


def _whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,18}", text.strip(), re.ASCII):
        raise InvalidValueError(f"{text!r} is not a whole number")
    return int(text)


def _limit(text: str) -> int:
    limit = _whole(text)
    if limit < 1:
        raise InvalidValueError(f"{limit} rows cannot be shown; give at least 1")
    return limit


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise InvalidValueError(f"{text!r} is neither true nor false")
    return text == "true"


def _words(text: str) -> list[str]:
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        words = json.loads(text)
    except ValueError as error:
        raise InvalidValueError(f"{text!r} is neither a JSON list nor a list with commas") from error
    if not all(isinstance(word, str) for word in words):
        raise InvalidValueError(f"{text!r} is not a list of texts")
    return list(words)


def _numbers(text: str) -> list[int]:
    return [_whole(part) for part in text.strip("[] ").split(",") if part.strip()]


PARAMETERS: Final[Mapping[str, Callable[[str], Json]]] = {
    "space": str,
    "task": str,
    "id": str,
    "key": str,
    "ids": _words,
    "lineages": _words,
    "targets": _words,
    "numbers": _numbers,
    "step": _whole,
    "other": str,
    "request": _whole,
    "first": _whole,
    "last": _whole,
    "limit": _limit,
    "characters": _whole,
    "all": _truth,
}
"""How the text of each parameter is read."""


def named_queries() -> tuple[Named, ...]:
    """Every query of the room, by name."""
    return tuple(describe(query(name)) for name in query_names(_ROOM))


def describe(found: Query) -> Named:
    """A query as it is listed."""
    optional = {a or b for a, b in _OPTIONAL.findall(found.text)}
    return Named(
        name=found.name.removeprefix(f"{_ROOM}/"),
        summary=found.summary,
        params=found.params,
        optional=tuple(name for name in found.params if name in optional),
        returns=found.returns,
    )


def run_named(reader: Reader, name: str, params: Mapping[str, Json]) -> Table:
    """Run a query of `cypher/inspect/` by its name, such as `tasks`.

    A value that is a text is read as the parameter needs it; a number or a list is taken as it is.

    Raises:
        InvalidValueError: there is no such query, or a parameter is missing, unknown or of the wrong type.
        NotFoundError: there is no such task.
    """
    found = inspect_query(name)
    given = parameters(found, params)
    rows = reader.read(found, given)
    if not rows and {"space", "task"} <= set(given):
        require_task(reader, str(given["space"]), str(given["task"]))
    return Table(
        columns=found.returns, rows=tuple(tuple(plain(row[column]) for column in found.returns) for row in rows)
    )


def inspect_query(name: str) -> Query:
    """The query of that name.

    Raises:
        InvalidValueError: there is none.
    """
    names = [full.removeprefix(f"{_ROOM}/") for full in query_names(_ROOM)]
    if name not in names:
        raise InvalidValueError(f"there is no query {name!r}; there are {', '.join(names)}", command="graphmem cypher")
    return query(f"{_ROOM}/{name}")


def parameters(found: Query, params: Mapping[str, Json]) -> dict[str, Json]:
    """The map `$p` for a query, complete: what was left out is null.

    Raises:
        InvalidValueError: a parameter is missing, unknown or of the wrong type.
    """
    about = describe(found)
    unknown = sorted(set(params) - set(about.params))
    if unknown:
        takes = ", ".join(about.params) or "no parameter"
        raise InvalidValueError(f"{about.name} has no parameter {', '.join(unknown)}; it takes {takes}")
    missing = [name for name in about.params if params.get(name) is None and name not in about.optional]
    if missing:
        raise InvalidValueError(f"{about.name} needs {', '.join(missing)}.", command=_whole_line(about, params))
    return {name: _typed(name, params.get(name)) for name in about.params}


def _whole_line(about: Named, params: Mapping[str, Json]) -> str:
    """What to type: the parameters that were given, and in capitals those that are missing."""
    wanted = [name for name in about.params if params.get(name) is not None or name not in about.optional]
    given = {name: params[name] for name in wanted if params.get(name) is not None}
    texts = {name: value if isinstance(value, str) else json_text(value) for name, value in given.items()}
    pairs = (f"{name}={texts.get(name, name.upper())}" for name in wanted)
    return shlex.join(["graphmem", "cypher", about.name, *(word for pair in pairs for word in ("-p", pair))])


def _typed(name: str, value: Json) -> Json:
    if isinstance(value, str):
        try:
            value = PARAMETERS[name](value)
        except InvalidValueError as error:
            raise InvalidValueError(f"the parameter {name}: {error}") from error
    elif name == "limit" and isinstance(value, int):
        return _typed(name, str(int(value)))
    elif value is not None and PARAMETERS[name] is str:
        raise InvalidValueError(f"the parameter {name} must be a text, not {json.dumps(value, default=repr)}")
    fault = value_fault(value, path=f"the parameter {name}")
    if fault is not None:
        raise InvalidValueError(fault)
    return value


def plain(value: Any) -> Json:
    """A value of a row as JSON knows it: nodes with their labels, relations with their type, paths as their nodes."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [plain(item) for item in value]
        case _ if hasattr(value, "labels"):
            return {"labels": sorted(value.labels), **{key: plain(item) for key, item in value.items()}}
        case _ if hasattr(value, "relationships"):
            return [plain(node) for node in value.nodes]
        case _ if hasattr(value, "start_node"):
            ends = {"from": value.start_node.get("key"), "to": value.end_node.get("key")}
            return {"type": value.type, **ends, **{key: plain(item) for key, item in value.items()}}
        case _ if hasattr(value, "items"):
            return {key: plain(item) for key, item in value.items()}
        case _:
            return str(value)


def paste(found: Query, params: Mapping[str, Any]) -> str:
    """The statement with its parameters, ready to paste into Neo4j Browser; without the lock, where it has one."""
    return f":param p => {_literal(dict(params))};\n{found.without_lock.strip()};"


_ESCAPES: Final = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _literal(value: Any) -> str:
    """A value as Cypher writes it, on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case list() | tuple():
            return f"[{', '.join(_literal(item) for item in value)}]"
        case Mapping():
            return f"{{{', '.join(f'{key}: {_literal(item)}' for key, item in value.items())}}}"
        case _:
            return "'" + "".join(_escaped(character) for character in str(value)) + "'"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else "".join(f"\\u{unit:04X}" for unit in _utf16(character))


def _utf16(character: str) -> list[int]:
    data = character.encode("utf-16-be", "surrogatepass")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]
