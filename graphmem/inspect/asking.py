"""An operator's own statement over the graph, with its answer as plain values.

What holds it to reading is `graphmem.store.console`. It looks at the whole database, whatever the space: it is for
whoever has the password, and no agent reaches it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from graphmem.errors import InvalidValueError
from graphmem.inspect.named import PARAMETERS, plain
from graphmem.state.values import Value
from graphmem.store import Caps, Connection, console
from graphmem.vocabulary import Json, value_fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Value):
    """Columns and rows, plain. `cut`: how many rows these are, where there are more than the caps allow."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Json, ...], ...] = field(default=())
    cut: str | None = None


def ask(
    connection: Connection, statement: str, params: Mapping[str, Json] | None = None, *, caps: Caps | None = None
) -> Answer:
    """What a statement of your own answers, when all that it does is to read. `params` are the keys of `$p` in it.

    A text is read by the name of its parameter as the named queries do, else as JSON where it is JSON.

    Raises:
        InvalidValueError: it would do something else, or a parameter cannot be sent.
        QueryTimeoutError: it took longer than the caps allow.
        StoreError: the server does not understand it.
    """
    given = {name: _typed(name, value) for name, value in (params or {}).items()}
    fault = value_fault(given, path="the parameters")
    if fault is not None:
        raise InvalidValueError(fault)
    found = console(connection, statement, given, caps or Caps())
    rows = tuple(tuple(plain(row[column]) for column in found.columns) for row in found.rows)
    return Answer(columns=found.columns, rows=rows, cut=found.cut)


def _typed(name: str, value: Json) -> Json:
    if not isinstance(value, str):
        return value
    if name in PARAMETERS:
        return PARAMETERS[name](value)
    try:
        read: Json = json.loads(value)
    except ValueError:
        return value
    return read
