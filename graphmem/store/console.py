"""An operator's own statement, held to reading by everything that can hold it.

A statement runs only when EXPLAIN, which runs nothing, gives it the type `r` exactly, when every operator of its plan
is one of those listed here, when the procedures and functions it calls are too, and then in READ access mode, with a
time limit and caps on rows and bytes. What it is called with goes as parameters, never into its text.
Invariant: what is not known to read only is refused; a text that merely looks like writing is not.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import neo4j

from graphmem.errors import InvalidValueError
from graphmem.store.connection import Connection, Row
from graphmem.store.queries import Query, literal

_READING: Final = """
AllNodesScan AntiConditionalApply AntiSemiApply Apply Argument ArgumentTracker AssertSameNode AssertSameRelationship
BFSPruningVarLengthExpand CacheProperties CartesianProduct ConditionalApply DirectedAllRelationshipsScan
DirectedRelationshipByElementIdSeek DirectedRelationshipByIdSeek DirectedRelationshipIndexContainsScan
DirectedRelationshipIndexEndsWithScan DirectedRelationshipIndexScan DirectedRelationshipIndexSeek
DirectedRelationshipIndexSeekByRange DirectedRelationshipTypeScan DirectedRelationshipUniqueIndexSeek
DirectedRelationshipUniqueIndexSeekByRange DirectedUnionRelationshipTypesScan Distinct Eager EagerAggregation
EmptyResult EmptyRow ExhaustiveLimit Expand Filter IntersectionNodeByLabelsScan LeftOuterHashJoin LetAntiSemiApply
LetSelectOrAntiSemiApply LetSelectOrSemiApply LetSemiApply Limit MultiNodeIndexSeek NodeByElementIdSeek NodeByIdSeek
NodeByLabelScan NodeCountFromCountStore NodeHashJoin NodeIndexContainsScan NodeIndexEndsWithScan NodeIndexScan
NodeIndexSeek NodeIndexSeekByRange NodeUniqueIndexSeek NodeUniqueIndexSeekByRange Optional OptionalExpand
OrderedAggregation OrderedDistinct OrderedUnion PartialSort PartialTop PartitionedAllNodesScan
PartitionedNodeByLabelScan PathPropagatingBFS ProcedureCall ProduceResults ProjectEndpoints Projection
PruningVarLengthExpand RelationshipCountFromCountStore Repeat RightOuterHashJoin RollUpApply SelectOrAntiSemiApply
SelectOrSemiApply SemiApply ShortestPath Skip Sort StatefulShortestPath SubtractionNodeByLabelsScan Top Top1WithTies
Trail TriadicBuild TriadicFilter TriadicSelection UndirectedAllRelationshipsScan
UndirectedRelationshipByElementIdSeek UndirectedRelationshipByIdSeek UndirectedRelationshipIndexContainsScan
UndirectedRelationshipIndexEndsWithScan UndirectedRelationshipIndexScan UndirectedRelationshipIndexSeek
UndirectedRelationshipIndexSeekByRange UndirectedRelationshipTypeScan UndirectedRelationshipUniqueIndexSeek
UndirectedRelationshipUniqueIndexSeekByRange UndirectedUnionRelationshipTypesScan Union UnionNodeByLabelsScan Unwind
ValueHashJoin VarLengthExpand
"""
OPERATORS: Final = frozenset(_READING.split())
PROCEDURES: Final = frozenset(
    (
        "db.index.fulltext.queryNodes",
        "db.index.vector.queryNodes",
        "db.labels",
        "db.relationshipTypes",
        "db.propertyKeys",
    )
)
# Functions with a dot in their name that the server itself brings; those of plugins may reach the network.
_FUNCTIONS: Final = frozenset(("date", "datetime", "duration", "localdatetime", "localtime", "time", "point", "vector"))
_QUOTED: Final = re.compile(r"`(?:[^`]|``)*`|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
_CALLED: Final = re.compile(r"([^\W\d]\w*)((?:\.\w+)+)\s*\(")
_NAME: Final = "console"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How much an answer may be."""

    rows: int = 1_000
    bytes: int = 8 << 20
    seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleAnswer:
    """What a statement answered. `cut`: why there is more than this, None where there is not."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    cut: str | None = None


def console(connection: Connection, text: str, p: Mapping[str, Any], caps: Caps) -> ConsoleAnswer:
    """What a statement answers, when it only reads. It gets one parameter, the map `$p`.

    Raises:
        InvalidValueError: it does something else, or is no statement.
        QueryTimeoutError: it took longer than the caps allow.
    """
    if not text.strip():
        raise InvalidValueError("the statement is empty")
    # The operator's own text: nothing of ours and no value is put into it.
    own = Query(name=_NAME, summary="", mode="read", params=tuple(p), returns=(), why=(), text=literal(text))
    with connection.reading(own, p) as (session, rows):
        summary = session.run(neo4j.Query(literal("EXPLAIN " + text), timeout=caps.seconds), p=dict(p)).consume()
        fault = refusal(summary.query_type, summary.plan)
        if fault is not None:
            raise InvalidValueError(f"{fault}. Nothing was run: this console only reads.")
        result = session.run(neo4j.Query(own.text, timeout=caps.seconds), p=dict(p))
        cut = _taken(result, rows, caps)
        return ConsoleAnswer(columns=tuple(result.keys()), rows=tuple(rows), cut=cut)


def _taken(result: neo4j.Result, rows: list[Row], caps: Caps) -> str | None:
    """Take the rows within the caps; why there are no more, where that is so. What is left is not fetched."""
    size = 0
    for record in result:
        if len(rows) == caps.rows:
            return f"the first {caps.rows:,} rows"
        size += len(json.dumps(record.data(), ensure_ascii=False, default=str).encode())
        if size > caps.bytes:
            return f"{len(rows):,} rows, for the next one exceeds {caps.bytes:,} bytes"
        rows.append(dict(record))
    return None


def refusal(kind: str | None, plan: Mapping[str, Any] | None) -> str | None:
    """Why a statement with this type and plan is not run; None when it is."""
    if kind != "r" or plan is None:
        return f"the server says that this statement is of the type {kind!r}, not one that reads"
    for operator, details in _operators(plan):
        if operator not in OPERATORS:
            return f"{operator} is not among the operators that are known to read only"
        if operator == "ProcedureCall" and _procedure(details) not in PROCEDURES:
            return f"the procedure {_procedure(details)} is not one of {', '.join(sorted(PROCEDURES))}"
        for called in _functions(details) if operator != "ProcedureCall" else ():
            return f"the function {called} is not one of the server's own"
    return None


def _operators(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every operator of a plan by its plain name, with its details."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        name = re.split(r"[@(]", str(node.get("operatorType", "")))[0].strip()
        yield name, str(node.get("args", {}).get("Details", ""))
        waiting += node.get("children", ())


def _procedure(details: str) -> str:
    return details.partition("(")[0].strip()


def _functions(details: str) -> Iterator[str]:
    """The functions with a namespace that is not the server's own. Names and texts of the operator do not count."""
    for first, rest in _CALLED.findall(_QUOTED.sub(" ", details)):
        if first.lower() not in _FUNCTIONS:
            yield first + rest
