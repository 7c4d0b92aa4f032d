"""The first reading of an export: the whole file is looked at before anything is written.

A checksum says that a file is as somebody wrote it, not that it was graphmem; so every line is held against the closed
vocabulary and against the space and task in which it stands. Invariant: what passes writes nothing outside the tasks
that its header names.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from graphmem.errors import DumpError, InvalidValueError
from graphmem.exchange.dumps.lines import Line, check_values, read_lines
from graphmem.vocabulary import Relation, StateKind, check_name

_KINDS: Final = ("Request", "Step", "TraceNode", "SummaryNode", "RawObservation", "State")
_MARKS: Final = ("Live", "OnPath", *(kind.label for kind in StateKind))
_TYPES: Final = ("CHILD_OF", "COVERS", *(relation.type for relation in Relation))


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a file holds: its space, the tasks with what each was forked from, and the checksum of all of it."""

    space: str
    mark: str
    origins: Mapping[str, tuple[str, ...]]


@contextmanager
def reading(file: Path, line: Line) -> Iterator[None]:
    """What is wrong with a line becomes a `DumpError` that names it."""
    try:
        yield
    except DumpError:
        raise
    except InvalidValueError as error:
        raise DumpError(file, line.nth, str(error)) from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DumpError(file, line.nth, "this line has not the form of an export") from error


def checked(file: Path, schema: int) -> Read:
    """Read the whole file.

    Raises:
        DumpError: it is not an export as graphmem writes it, or of another schema than `schema`; with the line.
    """
    header: Mapping[str, Any] = {}
    origins: dict[str, tuple[str, ...]] = {}
    task, count = "", (0, 0)
    line = None
    for line in read_lines(file):
        content = line.content
        with reading(file, line):
            if line.nth == 1:
                header = content
                _check_header(header, schema)
            elif "task" in content:
                task = check_name("task", content["task"])
                origins[task] = tuple(check_name("task", origin) for origin in content["origins"])
                count = (1, 0)
            elif "cursor" in content:
                _check_cursor(content, header["space"], task, count)
            elif "end" in content:
                if content["tasks"] != len(origins) or list(origins) != header["tasks"]:
                    raise InvalidValueError("it does not hold the tasks that its header names")
            else:
                _check_line(content, header["space"], task)
                count = (count[0] + ("node" in content), count[1] + ("relation" in content))
    if line is None:
        raise DumpError(file, 0, "it is empty")
    return Read(space=header["space"], mark=line.seal, origins=origins)


def _check_header(header: Mapping[str, Any], schema: int) -> None:
    check_name("space", header["space"])
    written = header["schema"]
    if not isinstance(written, int) or written > schema:
        raise InvalidValueError(f"it is of schema {written}, newer than this graphmem: upgrade graphmem-neo4j")
    if written < schema:
        raise InvalidValueError(
            f"it is of schema {written}, and this database of {schema}: run graphmem init where it came from, and "
            "export it again"
        )


def _check_cursor(content: Mapping[str, Any], space: str, task: str, count: tuple[int, int]) -> None:
    if (content["nodes"], content["relations"]) != count:
        raise InvalidValueError(f"it counts other nodes and relations than stand before it: {count}")
    own = content["cursor"]
    check_values(own)
    if not all(type(own[name]) is int for name in ("version", "next_step", "next_node")):
        raise InvalidValueError("its cursor lacks the numbers that a task goes on from")
    if (own["space"], own["name"], own["key"]) != (space, task, f"{space}/{task}") or "held" in own:
        raise InvalidValueError("it is not the cursor of the task in which it stands")


def _check_line(content: Mapping[str, Any], space: str, task: str) -> None:
    if "node" in content:
        own, labels = content["properties"], content["node"]
        if sum(label in _KINDS for label in labels) != 1 or not all(label in (*_KINDS, *_MARKS) for label in labels):
            raise InvalidValueError(f"no node of a task has the labels {labels}")
        check_values(own)
        if (own["space"], own["task"]) != (space, f"{space}/{task}") or not _is_key(own["key"], f"{space}/{task}/"):
            raise InvalidValueError("it is not of the task in which it stands")
    elif (
        content["relation"] not in _TYPES or not isinstance(content["from"], str) or not isinstance(content["to"], str)
    ):
        raise InvalidValueError(f"there is no relation {content['relation']!r} in a task")


def _is_key(key: object, prefix: str) -> bool:
    """Below the task, or a digest: what the nodes of a path are known by."""
    return isinstance(key, str) and (key.startswith(prefix) or re.fullmatch("[0-9a-f]{64}", key) is not None)
