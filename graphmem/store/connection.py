"""One connection to one database, and the only place that maps the driver's errors.

Reads are auto-commit (one round trip). Writes are managed transactions, so that what a statement touched is compared
with what it meant to touch before it is committed. Where a URI asks for routing (`neo4j://`), bookmarks chain what is
done through one connection, so that it reads what it wrote, whichever member of a cluster answers.
Invariant: nothing but `graphmem.errors` leaves this module, and no message or trace holds a password or a parameter.
"""

import logging
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, LiteralString, TypeVar
from urllib.parse import urlsplit

import neo4j
from neo4j import exceptions

from graphmem.errors import (
    DatabaseMissingError,
    GraphmemError,
    InvalidValueError,
    LoginError,
    NotFoundError,
    QueryTimeoutError,
    ServerUnreachableError,
    StoreError,
    was_interrupted,
)
from graphmem.store.queries import Query

Row = dict[str, Any]
Trace = Callable[[str, int, float], None]
Check = Callable[[Row], None]
Show = Callable[[Query, Mapping[str, Any]], None]
Run = Callable[[Query, Mapping[str, Any]], list[Row]]
Stream = Callable[[Query, Mapping[str, Any]], Iterator[Row]]
T = TypeVar("T")

_SCHEMES: Final = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_READ_ONLY: Final = (
    "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
    "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase",
)
_FAILURES: Final = (exceptions.DriverError, exceptions.Neo4jError, OSError, ValueError, OverflowError, TypeError)
_STREAMED_ROWS: Final = 50  # rows may hold a raw result of a megabyte each
_HOLD_SECONDS: Final = 600.0
_RETRY_SECONDS: Final = 3.0
_FIRST_RETRY_SECONDS: Final = 0.02

logger = logging.getLogger("graphmem")


class Connection:
    """A database, reached. Safe to share between threads.

    Opening one sends nothing: the first statement does. `trace` receives (query name, rows, milliseconds) of each
    statement, `show` the query and its parameters before it is sent. `read_only`: every statement runs in READ mode, in
    which the server itself refuses to write; a status is then read without its lock, and a write is refused unsent.
    """

    def __init__(
        self,
        uri: str,
        *,
        user: str,
        password: str,
        database: str = "neo4j",
        timeout_seconds: float = 30.0,
        trace: Trace | None = None,
        show: Show | None = None,
        read_only: bool = False,
    ) -> None:
        if not _is_uri(uri):
            raise InvalidValueError(
                f"{_without_login(uri)} is not a Neo4j URI: it begins with {', '.join(s + '://' for s in _SCHEMES)}"
            )
        if "@" in urlsplit(uri).netloc:
            raise InvalidValueError(
                f"{_without_login(uri)}: leave the login out of the URI; give user and password apart"
            )
        self.uri = uri
        self.user = user
        self.database = database
        self.read_only = read_only
        self._timeout = timeout_seconds
        self._trace = trace
        self._show = show or (lambda _query, _p: None)
        with self._mapped():
            self._driver = neo4j.GraphDatabase.driver(
                uri,
                auth=(user, password),
                connection_timeout=3.0,
                connection_acquisition_timeout=10.0,
                max_transaction_retry_time=_RETRY_SECONDS,
                initial_retry_delay=_FIRST_RETRY_SECONDS,
                telemetry_disabled=True,
                # A label or key that nothing has used yet is no mistake of ours (an empty database knows none).
                notifications_disabled_classifications=["UNRECOGNIZED"],
                notifications_min_severity="WARNING",
                user_agent="graphmem",
            )
        # In a cluster a read may go to another member than the write before it, and has to wait for that write.
        self._bookmarks = self._driver.execute_query_bookmark_manager if uri.startswith("neo4j") else None

    def close(self) -> None:
        """Give back the sockets. Calling it twice is harmless."""
        self._driver.close()

    def read(self, query: Query, p: Mapping[str, Any]) -> list[Row]:
        """The rows of a read, in READ mode, in one round trip."""
        self._show(query, p)
        return self._auto_commit(query.name, query.text, p, neo4j.READ_ACCESS)

    def read_locked(self, query: Query, p: Mapping[str, Any]) -> tuple[list[Row], bool]:
        """The rows of a read that locks what it reads, and whether it did.

        A database that refuses writes is read without the lock.
        """
        self._show(query, p)
        if self.read_only:
            return self._auto_commit(query.name, query.without_lock, p, neo4j.READ_ACCESS), False
        try:
            return self._auto_commit(query.name, query.text, p, neo4j.WRITE_ACCESS), True
        except _ReadOnlyDatabaseError:
            return self._auto_commit(query.name, query.without_lock, p, neo4j.READ_ACCESS), False

    def write(self, query: Query, p: Mapping[str, Any], check: Check | None = None) -> Row:
        """The one row of a write, committed once `check` has let it pass.

        A transient failure is tried again, so `p` must carry an attempt key or the write must be the same twice.

        Raises:
            NotFoundError: what it writes to is not there; nothing was written.
        """

        @neo4j.unit_of_work(timeout=self._timeout)
        def work(tx: neo4j.ManagedTransaction) -> Row:
            result = tx.run(query.text, p=dict(p))
            found = result.single()
            self._note(query.name, result.consume())
            if found is None:
                raise NotFoundError(f"{query.name}: what it writes to is not in {self._at}, or no longer")
            row = dict(found)
            if check is not None:
                check(row)
            return row

        self._show(query, p)
        with self._timed(query.name) as rows, self._mapped(), self._session(neo4j.WRITE_ACCESS) as session:
            row = session.execute_write(work)
            rows.append(row)
            return row

    def transact(self, name: str, work: Callable[[Run], T]) -> T:
        """What `work` makes of several statements in one transaction, committed when it returns.

        It is given a function from a query and its parameters to rows, and is called again after a transient failure,
        so it must do nothing but run statements and compute.
        """

        @neo4j.unit_of_work(timeout=self._timeout)
        def whole(tx: neo4j.ManagedTransaction) -> T:
            def run(query: Query, p: Mapping[str, Any]) -> list[Row]:
                self._show(query, p)
                with self._timed(query.name) as rows:
                    result = tx.run(query.text, p=dict(p))
                    rows += [dict(record) for record in result]
                    self._note(query.name, result.consume())
                    return rows

            return work(run)

        with self._timed(name), self._mapped(), self._session(neo4j.WRITE_ACCESS) as session:
            return session.execute_write(whole)

    def stream(self, query: Query, p: Mapping[str, Any]) -> Iterator[Row]:
        """The rows of a read as they arrive, in READ mode. Not tried again: some may have been taken already."""
        self._show(query, p)
        with self._mapped(), self._session(neo4j.READ_ACCESS, fetch_size=_STREAMED_ROWS) as session:
            yield from self._rows(query, session.run(neo4j.Query(query.text, timeout=self._timeout), p=dict(p)))

    @contextmanager
    def holding(self, lock: Query, p: Mapping[str, Any]) -> Iterator[Stream]:
        """Reads in one transaction that takes a lock first and holds it until the block ends; nothing is written."""
        with self._mapped():
            session = self._session(neo4j.WRITE_ACCESS, fetch_size=_STREAMED_ROWS)
        with session:
            with self._mapped():
                tx = session.begin_transaction(timeout=_HOLD_SECONDS)
                self._show(lock, p)
                tx.run(lock.text, p=dict(p)).consume()

            def stream(query: Query, p: Mapping[str, Any]) -> Iterator[Row]:
                self._show(query, p)
                with self._mapped():
                    yield from self._rows(query, tx.run(query.text, p=dict(p)))

            yield stream
            with self._mapped():
                tx.rollback()

    def _rows(self, query: Query, result: neo4j.Result) -> Iterator[Row]:
        start, count = time.perf_counter(), 0
        for record in result:
            count += 1
            yield dict(record)
        self._note(query.name, result.consume())
        if self._trace is not None:
            self._trace(query.name, count, (time.perf_counter() - start) * 1000)

    def run(self, name: str, text: LiteralString, p: Mapping[str, Any] | None = None) -> list[Row]:
        """The rows of a schema statement, auto-commit, in WRITE mode."""
        return self._auto_commit(name, text, p or {}, neo4j.WRITE_ACCESS)

    def profile(self, query: Query, p: Mapping[str, Any]) -> int:
        """The database hits of a statement, by the plan that is cached. It runs, and is rolled back."""
        with self._mapped(), self._session(neo4j.WRITE_ACCESS) as session, session.begin_transaction() as tx:
            prefix: LiteralString = "CYPHER replan=skip PROFILE "
            summary = tx.run(prefix + query.text, p=dict(p)).consume()
            tx.rollback()
            return _hits(summary.profile or {})

    @contextmanager
    def transaction(self) -> Iterator[Callable[[LiteralString, Mapping[str, Any]], list[Row]]]:
        """An open transaction as a function from a statement to its rows; committed when the block ends well."""
        with self._mapped(), self._session(neo4j.WRITE_ACCESS) as session, session.begin_transaction() as tx:
            yield lambda text, p: [dict(record) for record in tx.run(text, p=dict(p))]
            tx.commit()

    @contextmanager
    def reading(self, query: Query, p: Mapping[str, Any]) -> Iterator[tuple[neo4j.Session, list[Row]]]:
        """A session in READ mode for an operator's own statement, and a list for its rows; errors leave as ours."""
        self._show(query, p)
        with self._timed(query.name) as rows, self._mapped(), self._session(neo4j.READ_ACCESS) as session:
            yield session, rows

    def _session(self, mode: str, *, fetch_size: int = 1000) -> neo4j.Session:
        if self.read_only and mode == neo4j.WRITE_ACCESS:
            raise StoreError(f"this connection to {self.uri} was opened to read only; nothing was written.")
        return self._driver.session(
            database=self.database, default_access_mode=mode, fetch_size=fetch_size, bookmark_manager=self._bookmarks
        )

    def _auto_commit(self, name: str, text: LiteralString, p: Mapping[str, Any], mode: str) -> list[Row]:
        statement = neo4j.Query(text, timeout=self._timeout)
        delay, deadline = _FIRST_RETRY_SECONDS, time.monotonic() + _RETRY_SECONDS
        while True:
            try:
                with self._timed(name) as rows, self._session(mode) as session:
                    result = session.run(statement, p=dict(p))
                    rows += [dict(record) for record in result]
                    self._note(name, result.consume())
                    return rows
            except _FAILURES as error:
                again = isinstance(error, exceptions.DriverError | exceptions.Neo4jError) and error.is_retryable()
                if not again or time.monotonic() > deadline:
                    raise self._map(error) from error
            time.sleep(min(delay, max(0.0, deadline - time.monotonic())))
            delay *= 2

    @contextmanager
    def _timed(self, name: str) -> Iterator[list[Row]]:
        rows: list[Row] = []
        start, before = time.perf_counter(), sys.exc_info()[1]
        try:
            yield rows
        except Exception as error:
            # An interrupt inside the driver may make its clean-up fail; neither a retry nor an error of ours hides it.
            if was_interrupted(error, since=before):
                raise KeyboardInterrupt from error
            raise
        finally:
            if self._trace is not None:
                try:
                    self._trace(name, len(rows), (time.perf_counter() - start) * 1000)
                except Exception:  # whatever a tracer does, what was committed stays committed
                    logger.exception("the trace callable failed")

    def _note(self, name: str, summary: neo4j.ResultSummary) -> None:
        for status in summary.gql_status_objects:
            if status.is_notification:
                logger.warning("%s: %s %s", name, status.gql_status, status.status_description)

    @contextmanager
    def _mapped(self) -> Iterator[None]:
        try:
            yield
        except GraphmemError:
            raise
        except _FAILURES as error:
            raise self._map(error) from error

    @property
    def _at(self) -> str:
        return f"{self.uri} (database {self.database})"

    def _map(self, error: Exception) -> GraphmemError:
        code = getattr(error, "code", None) or ""
        at = self._at
        # 5.26 gives nearly every error the GQL status 50N42, so the code decides.
        match error:
            case exceptions.AuthError():
                return LoginError(
                    f"{self.uri} refused the login of {self.user!r}. Check GRAPHMEM_USER and GRAPHMEM_PASSWORD "
                    "(or the arguments of connect)."
                )
            case exceptions.ClientError() if code in _READ_ONLY:
                return _ReadOnlyDatabaseError(f"{at} refuses writes")
            case exceptions.ClientError() if code == "Neo.ClientError.Database.DatabaseNotFound":
                return DatabaseMissingError(
                    f"{self.uri} has no database {self.database!r}. Set GRAPHMEM_DATABASE to one that it has."
                )
            case exceptions.Neo4jError() if re.search("(?i)timed?.?out|LockClientStopped", code):
                return QueryTimeoutError(f"{at} gave up: {error.message} Ask for less, or raise timeout_seconds.")
            case exceptions.Neo4jError() if "OutOfMemory" in code:
                return QueryTimeoutError(
                    f"{at} has not enough memory for this in one transaction; nothing was written. Do less at once, or "
                    f"give the server more (its heap, dbms.memory.transaction.total.max): {error.message}"
                )
            case exceptions.ServiceUnavailable() | exceptions.SessionExpired() | OSError():
                return ServerUnreachableError(f"nothing answers at {self.uri}: {_cause(error)}. Is the server up?")
            case exceptions.DriverError() if "closed" in str(error):
                return InvalidValueError(f"the connection to {self.uri} is closed; connect() opens another")
            case exceptions.DriverError() if isinstance(error, exceptions.ConfigurationError):
                return InvalidValueError(f"{self.uri}: {error}")
        return StoreError(" ".join(f"{at}: {code} {getattr(error, 'message', None) or error}".split()))


class _ReadOnlyDatabaseError(StoreError):
    """The database refuses writes."""


def _is_uri(uri: str) -> bool:
    try:
        return urlsplit(uri).scheme in _SCHEMES and bool(urlsplit(uri).hostname)
    except ValueError:
        return False


def _without_login(uri: str) -> str:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return "that"
    return uri if "@" not in parts.netloc else parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return " ".join(str(error).split()) or type(error).__name__


def _hits(plan: Mapping[str, Any]) -> int:
    own = plan.get("dbHits", 0) or plan.get("args", {}).get("DbHits", 0)
    return int(own) + sum(_hits(child) for child in plan.get("children", ()))
