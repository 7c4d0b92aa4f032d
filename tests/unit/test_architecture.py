"""The structure holds: imports go one way, the public surface is a list, every query file keeps to the form."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import graphmem
from graphmem.errors import InvalidValueError
from graphmem.store import queries

ROOT = Path(__file__).parents[2]

# A room may import itself and every room of an earlier rank.
RANKS = (
    ("errors",),
    ("vocabulary",),
    ("state", "llm", "store", "server"),
    ("trace",),
    ("task", "inspect"),
    ("exchange",),
    ("graph",),
    ("agent",),
    ("integrations",),
)
RANK = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}


def imported_rooms(source: str) -> Iterator[str]:
    """The rooms of graphmem that a module imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [
                f"{node.module}.{alias.name}" if node.module == "graphmem" else node.module for alias in node.names
            ]
        for name in names:
            parts = name.split(".")
            if parts[0] == "graphmem" and len(parts) > 1:
                yield parts[1]


def wrong_arrows(room: str, source: str) -> list[str]:
    """The rooms that a module of `room` may not import."""
    return [other for other in imported_rooms(source) if other != room and other in RANK and RANK[other] >= RANK[room]]


def modules() -> list[tuple[str, Path]]:
    files = [path for path in (ROOT / "graphmem").rglob("*.py") if path != ROOT / "graphmem" / "__init__.py"]
    return [(path.relative_to(ROOT / "graphmem").parts[0].removesuffix(".py"), path) for path in files]


def test_every_room_has_a_rank() -> None:
    assert {room for room, _ in modules()} == set(RANK)


@pytest.mark.parametrize(("room", "path"), modules(), ids=lambda value: str(value).removeprefix(str(ROOT)))
def test_imports_go_one_way(room: str, path: Path) -> None:
    assert wrong_arrows(room, path.read_text(encoding="utf-8")) == []


def test_an_arrow_that_goes_back_is_found() -> None:
    assert wrong_arrows("state", "def f():\n    from graphmem.task import Task") == ["task"]
    assert wrong_arrows("store", "from graphmem import graph") == ["graph"]


def test_only_the_store_imports_the_driver() -> None:
    offenders = [
        path for room, path in modules() if room != "store" and "import neo4j" in path.read_text(encoding="utf-8")
    ]
    assert offenders == []


def test_the_public_names_are_those_that_are_listed() -> None:
    public = {
        name
        for name, value in vars(graphmem).items()
        if not name.startswith("_") and not isinstance(value, type(graphmem))
    }
    assert public == set(graphmem.__all__)


def test_every_public_name_says_what_it_is() -> None:
    assert [name for name in graphmem.__all__ if not (getattr(graphmem, name).__doc__ or "").strip()] == []


def test_every_error_is_drawn_in_the_tree() -> None:
    from graphmem import errors

    drawn = (errors.__doc__ or "").split()
    assert [name for name in vars(errors) if name.endswith("Error") and name not in drawn] == []


HEADER = "// A sentence.\n// mode: read\n// params: space\n// returns: x\n"


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("RETURN 1 AS x", "header"),
        (HEADER + "RETURN 1 AS x", "differ"),
        (HEADER + "RETURN $space AS x", r"\$p\.space"),
        (HEADER + "RETURN $p.space + $p.task AS x", "differ"),
        (HEADER.replace("read", "maybe") + "RETURN $p.space AS x", "mode"),
    ],
)
def test_a_query_file_that_breaks_the_form_is_refused_with_its_name(source: str, fault: str) -> None:
    with pytest.raises(InvalidValueError, match=fault) as caught:
        queries.parse("task/bad", source)
    assert "task/bad" in str(caught.value)


def test_a_query_that_does_not_exist_is_refused() -> None:
    for name in ("task/none", "../secrets", "task/../task/step"):
        with pytest.raises(InvalidValueError, match="no query named"):
            queries.query(name)


def test_every_query_takes_the_space_but_those_about_all_of_the_database() -> None:
    rooms = [path.name for path in Path(queries.folder()).iterdir() if path.is_dir() and path.name != "schema"]
    names = [name for room in rooms for name in queries.query_names(room)]
    assert {name for name in names if "space" not in queries.query(name).params} == {
        "inspect/spaces",
        "inspect/indexes",
    }
