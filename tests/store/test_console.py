"""An operator's own statement: what reads is answered, whatever else it does is refused before anything runs."""

import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import graphmem
from graphmem import InvalidValueError, QueryTimeoutError, StoreError, inspect
from graphmem.store import Caps, Connection, query
from graphmem.store.console import refusal
from graphmem.store.queries import literal
from graphmem.vocabulary import Json

REFUSED = (
    "CREATE (:Task {space: $p.space, key: 'x'})",
    "MERGE (:Task {space: $p.space, key: 'x'})",
    "MATCH (n {space: $p.space}) SET n.name = 'changed'",
    "MATCH (n {space: $p.space}) REMOVE n.name",
    "MATCH (n {space: $p.space}) DETACH DELETE n",
    "MATCH (n {space: $p.space}) DETACH DELETE n RETURN 1",
    "FOREACH (i IN [1] | CREATE (:Task {space: $p.space}))",
    "CALL () { CREATE (:Task {space: $p.space}) } RETURN 1",
    "MATCH (n) CALL (n) { CREATE (:Task {space: $p.space}) } IN TRANSACTIONS",
    "MATCH (n) CALL (n) { RETURN 1 AS x } IN TRANSACTIONS RETURN x",
    "CREATE INDEX of_nobody FOR (n:Task) ON (n.of_nobody)",
    "DROP INDEX of_nobody IF EXISTS",
    "CREATE CONSTRAINT of_nobody FOR (n:Task) REQUIRE n.of_nobody IS UNIQUE",
    "DROP CONSTRAINT of_nobody IF EXISTS",
    "CALL db.createLabel('OfNobody')",
    "CALL db.createProperty('of_nobody')",
    "CALL db.createRelationshipType('OF_NOBODY')",
    "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line",
    "TERMINATE TRANSACTIONS 'neo4j-transaction-1'",
    "SHOW TRANSACTIONS",
    "SHOW SETTINGS",
    "SHOW USERS",
    "SHOW DATABASES",
    "SHOW FUNCTIONS",
    "CALL dbms.killConnection('bolt-1')",
    "CALL dbms.listConnections()",
    "CALL dbms.listConfig()",
    "CALL dbms.queryJmx('*:*')",
    "CALL db.clearQueryCaches()",
    "CALL tx.setMetaData({a: 1})",
    "CALL dbms.setConfigValue('db.transaction.timeout', '0')",
    "CALL dbms.security.listUsers()",
    "CALL db.checkpoint()",
    "MATCH (n:Task {space: $p.space}) CALL db.create.setNodeVectorProperty(n, 'x', [1.0]) RETURN n",
    "CALL db.awaitIndexes()",
    "CALL db.resampleOutdatedIndexes()",
    "CALL db.prepareForReplanning()",
    "CALL db.stats.collect('QUERIES')",
    "CALL db.stats.clear('QUERIES')",
    "CALL db.stats.retrieve('GRAPH COUNTS')",
    "CALL db.ping()",
    "CALL db.ping() YIELD success RETURN success",
    "CREATE USER nobody SET PASSWORD 'of-nobody-123'",
    "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'",
    "DROP USER nobody IF EXISTS",
    "ALTER DATABASE neo4j SET ACCESS READ ONLY",
    "STOP DATABASE neo4j",
    "PROFILE MATCH (n) RETURN n",
    "EXPLAIN PROFILE MATCH (n) RETURN n",
    "MATCH (n) RETURN n LIMIT 1; MATCH (m) DETACH DELETE m",
    "MATCH (n) RETURN n LIMIT 1 // \n DETACH DELETE n",
    "USE system SHOW USERS",
    "RETURN genai.vector.encode('a', 'b', {})",
    "MATCH (x",
    "hello",
    "",
    "  \n ",
)

ANSWERED = (
    "MATCH (n:Task {space: $p.space}) WHERE n.name <> 'SET the table' RETURN n.name",
    "RETURN 'CREATE (n) DETACH DELETE n' AS `DROP DATABASE`",
    "RETURN 'LOAD CSV FROM' AS x // CALL dbms.killConnection('bolt-1')",
    "/* MERGE */ MATCH (n:Task {space: $p.space}) RETURN n",
    "RETURN 'genai.vector.encode(' AS x, \"apoc.load.json('x')\" AS `apoc.cypher.runWrite('x')`",
    "EXPLAIN MATCH (n) RETURN n",
    "MATCH (n:Task {space: $p.space}) RETURN n.name;",
    "CYPHER 5 MATCH (n:Task {space: $p.space}) RETURN n.name",
    "USE neo4j MATCH (n:Task {space: $p.space}) RETURN n.name",
    "MATCH (n {space: $p.space}) RETURN labels(n)[0] AS label, count(*) AS many ORDER BY many DESC",
    "MATCH p = (n:Request {space: $p.space})-[:CHILD_OF*1..3]->(m) RETURN p",
    "MATCH (a:Task {space: $p.space}) WHERE EXISTS { (a)<--() } RETURN COUNT { (a)<--() }",
    "MATCH (a:Task {space: $p.space}) OPTIONAL MATCH (a)-->(b) RETURN a, b SKIP 0 LIMIT 5",
    "UNWIND [3, 1, 2] AS x WITH x ORDER BY x RETURN collect(DISTINCT x) AS all UNION ALL RETURN [4] AS all",
    "MATCH (a:Task {space: $p.space}), (b:Request {space: $p.space}) RETURN shortestPath((a)-[*..4]-(b)) AS p",
    "RETURN datetime.truncate('day', datetime()), duration.between(date(), date()), point({x: 1, y: 2})",
    "RETURN [x IN range(1, 3) WHERE x > 1 | x * 2] AS xs, reduce(a = 0, x IN [1, 2] | a + x) AS sum",
    "CALL db.labels() YIELD label RETURN label",
    "CALL db.relationshipTypes() YIELD relationshipType RETURN count(*)",
    "CALL db.propertyKeys()",
)


@pytest.fixture
def task(space: graphmem.Space) -> graphmem.Task:
    task = space.task("t")
    task.request("Look")
    return task


@pytest.mark.usefixtures("task")
@pytest.mark.parametrize("statement", REFUSED)
def test_what_does_more_than_read_is_refused_and_nothing_ran(
    statement: str, connection: Connection, space: graphmem.Space
) -> None:
    before = contents(connection, space)
    with pytest.raises((InvalidValueError, StoreError)) as caught:
        inspect.ask(connection, statement, {"space": space.name})
    if isinstance(caught.value, StoreError):  # not by our lists: then the server cannot even explain it
        with pytest.raises(StoreError), connection.reading(query("inspect/spaces"), {"limit": 1}) as (session, _):
            session.run(literal(f"EXPLAIN {statement}"), p={"space": space.name}).consume()
    assert contents(connection, space) == before


def contents(connection: Connection, space: graphmem.Space) -> object:
    every = "MATCH (n {space: $p.space}) RETURN n ORDER BY n.key, labels(n)"
    return inspect.ask(connection, every, {"space": space.name}).rows


@pytest.mark.usefixtures("task")
@pytest.mark.parametrize("statement", ANSWERED)
def test_what_only_reads_is_answered_however_it_looks(
    statement: str, connection: Connection, space: graphmem.Space
) -> None:
    assert inspect.ask(connection, statement, {"space": space.name}).columns is not None


def test_the_session_of_an_operator_reads_only_by_itself(connection: Connection, space: graphmem.Space) -> None:
    """What EXPLAIN and the lists should let through by mistake is refused by the server."""
    write = "CREATE (:Task {space: $space})"
    with (
        pytest.raises(StoreError, match="read access mode"),
        connection.reading(query("inspect/spaces"), {"limit": 1}) as (session, _),
    ):
        session.run(write, space=space.name).consume()
    assert contents(connection, space) == ()


def test_an_index_may_be_asked_by_its_procedure(connection: Connection) -> None:
    """There is none of that name: the server says so, and not we."""
    for kind, sought in (("fulltext", "'x'"), ("vector", "1, [1.0]")):
        with pytest.raises(StoreError, match="of_nobody"):
            inspect.ask(connection, f"CALL db.index.{kind}.queryNodes('of_nobody', {sought}) YIELD node RETURN node")


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """A local web server, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"a,b\n")

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/x", asked
        server.shutdown()


def test_no_address_is_called_by_a_statement(connection: Connection, listener: tuple[str, list[str]]) -> None:
    url, asked = listener
    with pytest.raises(InvalidValueError, match="LoadCSV"):
        inspect.ask(connection, f"LOAD CSV FROM '{url}' AS line RETURN line")
    with pytest.raises(InvalidValueError, match="LoadCSV"):
        inspect.ask(connection, "LOAD CSV FROM $p.url AS line RETURN line", {"url": url})
    assert asked == []


def test_parameters_are_values_and_never_text_of_the_statement(connection: Connection) -> None:
    odd = "x' RETURN 1 // `\\u0027"
    given: dict[str, Json] = {
        "odd": odd,
        "task": "2024",
        "limit": "3",
        "list": '[1, {"a": null}]',
        "number": 7,
        "text": "true story",
    }
    found = inspect.ask(connection, "RETURN $p.odd, $p.task, $p.limit, $p.list, $p.number, $p.text", given)
    assert found.rows == ((odd, "2024", 3, [1, {"a": None}], 7, "true story"),)


def test_an_answer_ends_at_its_caps_and_says_so(connection: Connection) -> None:
    found = inspect.ask(connection, "UNWIND range(1, 1000000000) AS x RETURN x", caps=Caps(rows=5))
    assert (len(found.rows), found.cut) == (5, "the first 5 rows")
    found = inspect.ask(connection, "UNWIND range(1, 5) AS x RETURN x", caps=Caps(rows=5))
    assert (len(found.rows), found.cut) == (5, None)
    wide = "UNWIND range(1, 100) AS x RETURN reduce(t = '', y IN range(1, 1000) | t + 'ab') AS t"
    found = inspect.ask(connection, wide, caps=Caps(bytes=10_000))
    assert len(found.rows) == 4
    assert "10,000 bytes" in str(found.cut)


def test_a_statement_that_takes_too_long_is_given_up(connection: Connection) -> None:
    slow = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN count(a + b)"
    with pytest.raises(QueryTimeoutError):
        inspect.ask(connection, slow, caps=Caps(seconds=1))


def plan(operator: str, details: str = "", *children: Mapping[str, object]) -> dict[str, object]:
    return {"operatorType": f"{operator}@neo4j", "args": {"Details": details}, "children": list(children)}


def test_what_no_list_knows_is_refused() -> None:
    assert refusal("r", plan("ProduceResults", "n", plan("Expand(All)", "(a)-->(b)", plan("AllNodesScan")))) is None
    assert refusal("rw", plan("ProduceResults")) is not None
    assert refusal("r", None) is not None
    assert "OfTomorrow" in str(refusal("r", plan("ProduceResults", "n", plan("OfTomorrow"))))
    assert "db.labelsAndMore" in str(refusal("r", plan("ProcedureCall", "db.labelsAndMore() :: ()")))
    assert refusal("r", plan("ProcedureCall", "db.labels() :: (label :: STRING)")) is None
    assert "apoc.load.json" in str(refusal("r", plan("Projection", "apoc.load.json($x) AS y")))
    assert refusal("r", plan("Projection", "`apoc.load.json(x)` AS y, 'apoc.x(', datetime.truncate($a, $b)")) is None
