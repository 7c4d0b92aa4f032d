"""What a connection says when something is wrong: the cause, the URI, what to do, and soon."""

import socket
import time
from collections.abc import Mapping

import pytest

import graphmem
from graphmem import (
    DatabaseMissingError,
    InvalidValueError,
    LoginError,
    QueryTimeoutError,
    ServerUnreachableError,
    StepOutput,
)
from graphmem.store import Connection
from tests.acceptance.speech import add


def test_a_server_that_is_down_is_named_within_five_seconds() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"bolt://127.0.0.1:{free.getsockname()[1]}"
    start = time.monotonic()
    with pytest.raises(ServerUnreachableError, match=uri) as caught:
        graphmem.connect(uri, "neo4j", "not-a-password")
    assert time.monotonic() - start < 5
    assert "not-a-password" not in str(caught.value)


def test_a_wrong_password_is_a_refused_login(server_env: Mapping[str, str]) -> None:
    with pytest.raises(LoginError, match="GRAPHMEM_PASSWORD") as caught:
        graphmem.connect(server_env["GRAPHMEM_URI"], "neo4j", "wrong-password")
    assert "wrong-password" not in str(caught.value)


def test_a_missing_database_is_named(server_env: Mapping[str, str]) -> None:
    with pytest.raises(DatabaseMissingError, match="nowhere"):
        graphmem.connect(server_env["GRAPHMEM_URI"], "neo4j", server_env["GRAPHMEM_PASSWORD"], "nowhere")


@pytest.mark.parametrize(
    "uri", ["http://127.0.0.1:7474", "127.0.0.1:7687", "bolt//x", "https://user:secret@host", "bolt://[::1", "bolt://"]
)
def test_a_uri_of_another_kind_is_refused_with_those_that_work(uri: str) -> None:
    with pytest.raises(InvalidValueError, match="bolt://") as caught:
        graphmem.connect(uri, "neo4j", "x")
    assert "secret" not in str(caught.value)


def test_a_login_in_the_uri_is_refused_without_being_repeated() -> None:
    with pytest.raises(InvalidValueError, match="leave the login out") as caught:
        Connection("bolt://someone:secret@127.0.0.1:1", user="neo4j", password="also-secret")
    assert "secret" not in str(caught.value)


def test_without_a_password_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPHMEM_PASSWORD", raising=False)
    with pytest.raises(InvalidValueError, match="GRAPHMEM_PASSWORD"):
        graphmem.connect("bolt://127.0.0.1:7687")


def test_a_statement_that_takes_too_long_is_ended(server_env: Mapping[str, str]) -> None:
    slow = Connection(
        server_env["GRAPHMEM_URI"], user="neo4j", password=server_env["GRAPHMEM_PASSWORD"], timeout_seconds=0.5
    )
    try:
        with pytest.raises(QueryTimeoutError, match="timeout_seconds"):
            slow.run("slow", "UNWIND range(1, 100000000) AS x UNWIND range(1, 1000) AS y RETURN sum(x * y) AS s")
    finally:
        slow.close()


def test_a_trace_tells_names_rows_and_times_and_no_content(
    server_env: Mapping[str, str], space: graphmem.Space
) -> None:
    seen: list[tuple[str, int, float]] = []
    with graphmem.connect(
        server_env["GRAPHMEM_URI"], "neo4j", server_env["GRAPHMEM_PASSWORD"], trace=lambda *entry: seen.append(entry)
    ) as graph:
        graph.space(space.name).task("t").request("a secret text")
    assert ("task/open_request", 1) in [entry[:2] for entry in seen]
    assert "secret" not in str(seen)


def failing_over(interrupt: type[BaseException]) -> None:
    """What the driver does when an exception comes while it reads from its socket."""
    try:
        raise interrupt
    except interrupt:
        raise OSError("Existing exports of data")  # noqa: B904  as the driver does


@pytest.mark.parametrize(
    ("first", "left"), [(KeyboardInterrupt, KeyboardInterrupt), (ValueError, ServerUnreachableError)]
)
def test_an_interrupt_over_which_the_driver_fails_leaves_as_one_and_is_not_tried_again(
    connection: Connection, first: type[BaseException], left: type[BaseException]
) -> None:
    with pytest.raises(left), connection._timed("x"), connection._mapped():
        failing_over(first)


def test_an_interrupt_that_is_being_handled_is_not_the_one_that_ended_a_statement(connection: Connection) -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        with pytest.raises(ServerUnreachableError), connection._timed("x"), connection._mapped():
            failing_over(ValueError)


def test_with_routing_what_was_written_is_read_whichever_member_answers(
    server_env: Mapping[str, str], space: graphmem.Space
) -> None:
    """One member has all roles here; that reads wait for writes is seen by the bookmarks that they are sent with."""
    uri = server_env["GRAPHMEM_URI"].replace("bolt://", "neo4j://")
    with graphmem.connect(uri, server_env["GRAPHMEM_USER"], server_env["GRAPHMEM_PASSWORD"]) as graph:
        bookmarks = graph.connection._bookmarks
        assert bookmarks is not None
        task = graph.space(space.name).task("t")
        seen = [set(bookmarks.get_bookmarks())]
        request = task.request("go")
        for i in range(3):
            request.step(request.status(), StepOutput(delta=(add(f"s{i}"),)))
            seen.append(set(bookmarks.get_bookmarks()))
            assert len(request.status().active) == i + 1
        assert len({frozenset(one) for one in seen}) == len(seen)
    with graphmem.connect(server_env["GRAPHMEM_URI"], "neo4j", server_env["GRAPHMEM_PASSWORD"]) as direct:
        assert direct.connection._bookmarks is None
