"""How large a task is: what is counted is what is there."""

import pytest

import graphmem
from graphmem import Space
from graphmem.store import Connection
from tests.acceptance.speech import add
from tests.acceptance.tree_speech import grow
from tests.acceptance.whole_space import nodes, whole


def bytes_of(value: object) -> int:
    if isinstance(value, str):
        return len(value.encode())
    return sum(map(bytes_of, value)) if isinstance(value, list) else 0


def test_sizes_are_those_of_every_node_and_relation(space: Space, connection: Connection) -> None:
    task = space.task("t")
    request = task.request("wie groß?")
    grow(request, "ä" * 1_000, "b", delta=(add("s", kind=graphmem.StateKind.ARTIFACT),))
    task.compress("did it")
    grow(task.fork("f").open_request(), "more")
    there, found = nodes(connection, space.name), space.size()
    assert [of.task for of in found] == ["t", "f"]
    assert (found[0].forks, found[1].forks) == (("f",), ())
    assert sum(of.nodes for of in found) == len(there)
    assert sum(of.relations for of in found) == len(whole(connection, space.name)) - len(there)
    locked = 2 * len("export") if any("lock" in row["own"] for row in there) else 0
    for of in found:
        key = f"{space.name}/{of.task}"
        mine = [row for row in there if key in (row["own"].get("task"), row["own"]["key"])]
        assert of.nodes == len(mine)
        for kind in of.kinds:
            rows = [sum(map(bytes_of, row["own"].values())) for row in mine if kind.kind in row["labels"]]
            if kind.kind != "Task":
                assert (kind.nodes, kind.bytes, kind.largest) == (len(rows), sum(rows), max(rows)), kind
    raw = next(kind for kind in found[0].kinds if kind.kind == "RawObservation")
    assert raw.largest > 2_000 > locked
    assert space.size("f") == found[1:]


def test_what_is_not_there_has_no_size(space: Space) -> None:
    with pytest.raises(graphmem.NotFoundError):
        space.size()
    space.task("t").request("go")
    with pytest.raises(graphmem.NotFoundError, match="'u'"):
        space.size("u")
