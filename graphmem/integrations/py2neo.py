"""A task as a `py2neo.Subgraph`, for code that people have.

py2neo reached its end of life with 2021.2.4 and gets no repairs; new code does better with named queries or an export.
Owns nothing of the graph: nodes and relations are read as an export reads them, and are bound to no py2neo graph.
Invariant: every node has its labels and properties, and `key` as its primary key, so that `merge` finds it again.
"""

import warnings
from importlib import import_module
from typing import Any, Final

from graphmem.exchange.sizes import MARKS, records
from graphmem.task import Task

_LOCK: Final = "lock"


def subgraph(task: Task) -> Any:
    """All of a task: a `py2neo.Subgraph` of its nodes and the relations between them. It is held in memory.

    Relations to other tasks (of a fork to what it was made of) are left out, since their other ends are.

    Raises:
        NotFoundError: there is no such task.
        ModuleNotFoundError: py2neo is not installed; `pip install 'graphmem-neo4j[py2neo]'`.
    """
    with warnings.catch_warnings():  # it is no longer kept: what newer versions of Python say of it helps nobody
        warnings.simplefilter("ignore")
        py2neo = import_module("py2neo")  # untyped

    nodes: dict[str, Any] = {}
    relations = []
    for row in records(task.context.connection, task.space, task.name):
        properties = {name: value for name, value in row["properties"].items() if name != _LOCK}
        node = py2neo.Node(*row["labels"], **properties)
        node.__primarylabel__ = kind_of(row["labels"])
        node.__primarykey__ = "key"
        nodes[properties["key"]] = node
        relations += [found for found in row["relations"] if found is not None]
    between = [
        py2neo.Relationship(nodes[r["from"]], r["type"], nodes[r["key"]], **r["properties"])
        for r in relations
        if r["from"] in nodes and r["key"] in nodes
    ]
    return py2neo.Subgraph(nodes.values(), between)


def kind_of(labels: list[str]) -> str:
    """The label on which the key of a node is unique."""
    return "State" if "State" in labels else next(label for label in labels if label not in MARKS)
