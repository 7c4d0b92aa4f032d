"""What a user opens first: a graph, a space in it, a task in that.

Owns the environment (`GRAPHMEM_URI`, `GRAPHMEM_USER`, `GRAPHMEM_PASSWORD`, `GRAPHMEM_DATABASE`), which is read when
`connect` is called and at no other time. Invariant: opening a graph verifies server and schema and changes nothing.
"""

import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from graphmem.errors import InvalidValueError, ServerUnreachableError
from graphmem.exchange import CaughtUp, ImportedRun, ImportedRuns, import_runs
from graphmem.exchange.dumps.restoring import Imported, restore
from graphmem.exchange.dumps.writing import Exported, export
from graphmem.exchange.forgetting import Forgotten, forget
from graphmem.exchange.pruning import Pruned, prune
from graphmem.exchange.sizes import TaskSize, sizes
from graphmem.exchange.watching import catching_up
from graphmem.exchange.watching.unwritten import discard
from graphmem.llm.tokens import Tokenizer, WhenUsed
from graphmem.store import Connection, Show, Trace, init, schema_version
from graphmem.task import Comparison, Context, Past, Task
from graphmem.task.context import Redact
from graphmem.vocabulary import Limits, check_name


class Graph:
    """An open graph. Safe to share between threads; close it, or use it as a context manager."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def connection(self) -> Connection:
        """The connection, for named queries."""
        return self._context.connection

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back the sockets. What watched clients have said is written first, as far as the graph is there."""
        catching_up.close(self._context.connection)
        self._context.connection.close()

    def catch_up(
        self, files: Iterable[Path] = (), *, space: str | None = None, run: str | None = None
    ) -> tuple[CaughtUp, ...]:
        """Bring in what watched clients said while the graph was away, of all tasks or of those of a space.

        `files`: these, whatever address they were written for; without any, all on this machine that wait for it.
        `run`: another name for the conversation than the one it was watched with.

        Raises:
            InvalidValueError: a file is none in which messages wait.
            StoreError: the graph is still away; what was not brought in goes on waiting.
        """
        return catching_up.catch_up_files(self._context, files, space=space, run=run)

    def space(self, name: str) -> "Space":
        """A tenant's part of the graph. There is no default one.

        Raises:
            InvalidValueError: not a name of 1–128 letters, digits or `._:@-`.
        """
        return Space(self._context, name)

    def load(
        self,
        file: str | Path,
        *,
        as_space: str | None = None,
        as_task: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> Imported:
        """Bring back what `Space.export` wrote, into its space or another, its one task by its name or another.

        A task that is there already is compared and never changed. One that was interrupted goes on when called again.

        Raises:
            DumpError: the file was altered or cut off, or is of a newer format: with the line; nothing was written.
            TaskExistsError: a task of that name is there and differs.
            TaskHeldError: another import or a forget holds the task.
        """
        return restore(self.connection, Path(file), as_space=as_space, as_task=as_task, progress=progress)


class Space:
    """A handle on one space: nothing read or written through it touches another."""

    def __init__(self, context: Context, name: str) -> None:
        self.name = check_name("space", name)
        self._context = context

    def __repr__(self) -> str:
        return f"Space({self.name})"

    def task(
        self,
        name: str,
        *,
        psa: bool | None = None,
        isu: bool | None = None,
        compress: bool | None = None,
        maintain: bool | None = None,
        revise: bool | None = None,
        isolate_states: bool | None = None,
        irreversible: Collection[str] = (),
    ) -> Task:
        """A handle on a task, which is made when its first request is opened.

        `psa`, `isu` (FlowState §4.1), `compress`, `maintain`, `revise` (MAGE §4.4) and `isolate_states` are ablations,
        kept by the task for life; `irreversible` names tools whose calls cannot be undone.
        """
        return Task(
            self._context,
            self.name,
            name,
            psa=psa,
            isu=isu,
            compress=compress,
            maintain=maintain,
            revise=revise,
            isolate_states=isolate_states,
            irreversible=irreversible,
        )

    def import_runs(
        self,
        *files: str | Path,
        task: str | None = None,
        form: str | None = None,
        keep_going: bool = False,
        dry_run: bool = False,
        on_run: Callable[[ImportedRun], None] | None = None,
    ) -> ImportedRuns:
        """Bring recorded runs of other agents into the space: trials of the same thing as one tree.

        `task`: all of them are trials of that task; else tasks have the names of the files and of the runs. `form`: one
        of `graphmem.exchange.formats.FORMATS`, where the content shall not decide. `keep_going`: runs that cannot be
        read are told in the answer. Reading a file twice adds nothing; one that was interrupted goes on.

        Raises:
            UnreadableRunError: nothing can be made of a run; those before it are imported.
        """
        return import_runs(
            map(Path, files),
            self.task,
            task=task,
            form=form,
            keep_going=keep_going,
            dry_run=dry_run,
            on_run=on_run,
        )

    def export(
        self, file: str | Path, *, tasks: Collection[str] = (), progress: Callable[[str], None] | None = None
    ) -> Exported:
        """Write tasks of the space, all by default, to a file of JSON Lines, from which `load` brings them back.

        Each task is as it stood between two of its writes; its writers may go on.

        Raises:
            NotFoundError: there is no such space or task.
            TaskHeldError: an import or a forget of a task was interrupted.
            InvalidValueError: the file cannot be written.
        """
        return export(self._context.connection, self.name, Path(file), tasks=tuple(tasks), progress=progress)

    def size(self, task: str | None = None) -> tuple[TaskSize, ...]:
        """How large a task is, or each of the space: nodes, relations, and bytes of text by kind. Reads all of it.

        Raises:
            NotFoundError: there is no such space or task.
        """
        return sizes(self._context.connection, self.name, task)

    def prune(
        self,
        task: str,
        *,
        raw_older_than: str,
        author: str = "operator",
        dry_run: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> Pruned:
        """Take away the texts of raw results older than `200 steps` or `3 requests`; ids, sizes and hashes stay.

        Whatever shows such a text says `[pruned: …]` from then on, `at(n)` and `prompt(at=n)` of earlier steps as well.

        Raises:
            InvalidValueError: no such age.
            NotFoundError: there is no such task.
            TaskHeldError: an import or a forget of it was interrupted.
        """
        author = self._context.author(author)
        return prune(
            self._context.connection, self.name, task, raw_older_than, author=author, dry_run=dry_run, progress=progress
        )

    def forget(
        self,
        task: str | None = None,
        *,
        with_forks: bool = False,
        dry_run: bool = False,
        progress: Callable[[str], None] | None = None,
    ) -> Forgotten:
        """Delete a task, or all of the space: afterwards no property in the database holds its text.

        Its writers are refused from the start; an interrupted call is repeated and goes on. What watched clients said
        and waits on this machine is deleted as well.

        Raises:
            NotFoundError: there is no such space or task.
            HasForksError: forks of the task hold copies of its texts; `with_forks` takes them, too.
        """
        connection = self._context.connection
        forgotten = forget(connection, self.name, task, with_forks=with_forks, dry_run=dry_run, progress=progress)
        if not dry_run:
            discard(connection, self.name, None if task is None else forgotten.tasks)
        return forgotten

    def load(
        self, file: str | Path, *, as_task: str | None = None, progress: Callable[[str], None] | None = None
    ) -> Imported:
        """Bring back what an export wrote, of this space or another, into this one; as `Graph.load`."""
        return restore(self._context.connection, Path(file), as_space=self.name, as_task=as_task, progress=progress)


def compare(a: Task | Past, b: Task | Past) -> Comparison:
    """Where two runs part and what differs: two forks, a fork and its origin, or two moments of one task.

    A task is taken as of its last step, `task.at(n)` as of another.

    Raises:
        NotFoundError: there is no such task or step.
        InvalidValueError: one of them is neither.
    """
    sides = [given.now() if isinstance(given, Task) else given for given in (a, b)]
    for side in sides:
        if not isinstance(side, Past):
            raise InvalidValueError(f"compare takes tasks, or moments of them by task.at(step), not {side!r}")
    return sides[0].compare(sides[1])


def connect(
    uri: str | None = None,
    user: str | None = None,
    password: str | None = None,
    database: str | None = None,
    *,
    limits: Limits | None = None,
    redact: Redact | None = None,
    tokenizer: Tokenizer | None = None,
    timeout_seconds: float = 30.0,
    trace: Trace | None = None,
    verify: bool = True,
) -> Graph:
    """An open graph: the arguments, else `GRAPHMEM_*`, else the embedded server that is up.

    `redact` sees every text before it is hashed and written; `trace` receives (query name, rows, milliseconds). Without
    `verify` nothing is asked of the server yet: for an agent that is to run, watched, also while the graph is away.

    Raises:
        ServerUnreachableError: nothing answers, or nothing was named and no embedded server is up (without `verify`:
            nor ever was).
        LoginError, DatabaseMissingError, ServerVersionError: as they say.
        SchemaError: the database has no schema, an older or a newer one; `graphmem init` brings it up to date.
    """
    connection = open_connection(
        uri, user, password, database, timeout_seconds=timeout_seconds, trace=trace, must_be_up=verify
    )
    try:
        if verify:
            schema_version(connection)
    except BaseException:
        connection.close()
        raise
    return Graph(
        Context(connection=connection, tokenizer=tokenizer or WhenUsed(), limits=limits or Limits(), redact=redact)
    )


def initialize(
    uri: str | None = None,
    user: str | None = None,
    password: str | None = None,
    database: str | None = None,
    *,
    progress: Callable[[str], None] | None = None,
) -> int:
    """Bring a database to this graphmem's schema, as `graphmem init` does; the version reached."""
    connection = open_connection(uri, user, password, database)
    try:
        return init(connection, progress)
    finally:
        connection.close()


def open_connection(
    uri: str | None = None,
    user: str | None = None,
    password: str | None = None,
    database: str | None = None,
    *,
    timeout_seconds: float = 30.0,
    trace: Trace | None = None,
    show: Show | None = None,
    read_only: bool = False,
    must_be_up: bool = True,
) -> Connection:
    """A connection to what the arguments, the environment or the embedded server name; the schema is not looked at.

    Unless it `must_be_up`, the embedded server is taken to come back where it was last.
    """
    uri = uri or os.environ.get("GRAPHMEM_URI") or None
    database = database or os.environ.get("GRAPHMEM_DATABASE") or "neo4j"
    user = user or os.environ.get("GRAPHMEM_USER") or None
    password = password if password is not None else os.environ.get("GRAPHMEM_PASSWORD")
    if uri is None:
        uri, own_user, own_password = _embedded(must_be_up=must_be_up)
        user, password = user or own_user, own_password if password is None else password
    if password is None:
        raise InvalidValueError(f"no password for {uri}: set GRAPHMEM_PASSWORD, or pass password= to connect")
    user = user or "neo4j"
    return Connection(
        uri,
        user=user,
        password=password,
        database=database,
        timeout_seconds=timeout_seconds,
        trace=trace,
        show=show,
        read_only=read_only,
    )


def _embedded(*, must_be_up: bool) -> tuple[str, str, str]:
    """URI, user and password of the embedded server."""
    from graphmem import server

    found = server.find()
    if found is not None:
        return found.uri, found.user, found.password
    last = None if must_be_up else server.last_login()
    if last is None:
        raise ServerUnreachableError(
            "no server: the embedded one is not up and GRAPHMEM_URI is not set. Run `graphmem up`, or set "
            "GRAPHMEM_URI, GRAPHMEM_USER and GRAPHMEM_PASSWORD.",
            command="graphmem up",
        )
    return last
