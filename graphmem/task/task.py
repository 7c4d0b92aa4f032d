"""A task: one long job of an agent, a sequence of requests with at most one open, and the tree of what was done.

A handle reads nothing when it is made and holds nothing of the run. The four operations of MAGE (§3.3) are here, but
for Grow, which is `request.observe`; so are time travel and forks.
"""

from collections.abc import Collection, Iterable, Mapping

from graphmem.errors import (
    InvalidValueError,
    NoOpenRequestError,
    RequestClosedError,
    StoreError,
    TaskExistsError,
)
from graphmem.task.context import Context
from graphmem.task.forking import Forking, Origin, fork_attempt
from graphmem.task.loading import BATCH, Loading, Pair
from graphmem.task.opening import opened_request
from graphmem.task.operations import Operations
from graphmem.task.past import Past
from graphmem.task.prompt import Prompt
from graphmem.task.repository import Repository
from graphmem.task.request import Request
from graphmem.task.tree import Tree
from graphmem.trace import (
    Case,
    Grown,
    Judge,
    Path,
    Revised,
    Summarizer,
    Summary,
    Verdict,
    World,
)
from graphmem.vocabulary import check_name, check_text, check_tools, whole_number

_READS = 20
FALLBACK_TOKENS = 8_000


class Task:
    """A handle on one task. Its mechanisms are fixed when the task is made; None takes what it has, all for a new one.

    FlowState (§4.1, B.5): `psa=False`: no index and no access, every historical state is active. `isu=False`: no state
    updates; a rule makes one artifact `response-k` of each final response. MAGE (§4.4): `compress`, `maintain`,
    `revise`. `isolate_states=False`: a revise moves the tree alone, states stay as they are.

    `irreversible`: tools whose calls cannot be undone; they are marked when observed through this handle, and revise
    and fork list those behind them.
    """

    def __init__(
        self,
        context: Context,
        space: str,
        name: str,
        *,
        psa: bool | None = None,
        isu: bool | None = None,
        compress: bool | None = None,
        maintain: bool | None = None,
        revise: bool | None = None,
        isolate_states: bool | None = None,
        irreversible: Collection[str] = (),
    ) -> None:
        self.space = check_name("space", space)
        self.name = check_name("task", name)
        self.irreversible = check_tools("irreversible", irreversible)
        self._context = context
        self._repository = Repository(context.connection, space, name)
        self._tree = Tree(context.connection, space, name)
        self._operations = Operations(context, self._repository, self._tree)
        self._options = {
            "psa": psa,
            "isu": isu,
            "compress": compress,
            "maintain": maintain,
            "revise": revise,
            "isolate_states": isolate_states,
        }
        for option, given in self._options.items():
            if given is not None and not isinstance(given, bool):
                raise InvalidValueError(f"{option} must be True, False or None, not {given!r}")

    def __repr__(self) -> str:
        return f"Task({self.space}/{self.name})"

    @property
    def context(self) -> Context:
        """What the task shares with every handle of its graph."""
        return self._context

    @property
    def mechanisms(self) -> Mapping[str, bool]:
        """The mechanisms that this handle asks for or refuses; what it takes as it is, is left out."""
        return {name: given for name, given in self._options.items() if given is not None}

    def request(self, text: str, *, attempt: str | None = None, author: str = "user") -> Request:
        """Open the next request with the user's text.

        `attempt` names the call, so that repeating it after a crash gives the same request.

        Raises:
            RequestOpenError: one is open; `open_request()` resumes it.
            InvalidValueError: the text is empty or cannot be stored, or the mechanisms differ from the task's.
        """
        opened = opened_request(
            self._context, self._repository, text, attempt=attempt, author=author, options=self._options
        )
        return self._handle(opened.number, opened.text, opened.options)

    def open_request(self) -> Request:
        """The request that is open, to go on with it; calls without results are in `status().pending`.

        Raises:
            NotFoundError: there is no such task.
            NoOpenRequestError: none is open; `request(text)` opens one.
        """
        cursor = self._repository.cursor()
        if cursor is None:
            raise self._tree.missing()
        if cursor.open is None:
            raise NoOpenRequestError(f"{self!r} has no open request; task.request(text) opens one")
        return self._handle(cursor.open, cursor.text or "", cursor.options)

    def grow_many(
        self, pairs: Iterable[Pair], *, attempt: str, author: str = "model", batch: int = BATCH
    ) -> tuple[Grown, ...]:
        """Grow for loading runs: each pair of calls with their results (None: unknown) becomes a step of the open
        request and its observation, as `request.step` with `attempt=f"{attempt}/{i}"` and `observe` would write them.

        A batch is one transaction. Repeating the call, also after an interruption, goes on where it ended. Calls named
        `compress` or `revise` are taken as calls of tools.

        Raises:
            NoOpenRequestError: none is open.
            InvalidValueError: a pair is without calls, or not of one result for each, or cannot be stored.
            StaleStatusError: another writer moved the task on; repeating the call goes on from there.
            PendingCallsError, NotPendingError, RequestClosedError, AbandonedAttemptError: as for `step` and `observe`.
        """
        check_text("attempt", attempt, max_bytes=1_000)
        whole_number("batch", batch, least=1)
        if not isinstance(pairs, Iterable):
            raise InvalidValueError(f"pairs must be pairs of calls and results, not {type(pairs).__name__}")
        request = self.open_request()
        fold = request.status().history.fold
        loading = Loading(
            self._context, self._repository, request=request.number, fold=fold, irreversible=self.irreversible
        )
        return loading.grow(pairs, attempt=attempt, author=author, results_author="tools", batch=batch)

    def path(self) -> Path:
        """S = (C, R, H) of MAGE: finished subgoals, recent actions, hints from earlier attempts.

        Raises:
            NotFoundError: there is no such task.
        """
        return self._tree.path(self._context.tokenizer)

    def compress(
        self,
        text: str | None = None,
        *,
        summarizer: Summarizer | None = None,
        attempt: str | None = None,
        author: str = "agent",
        dry_run: bool = False,
    ) -> Summary:
        """Replace R by a summary with this text; without one `summarizer` writes it, else the rule does (§3.3).

        `dry_run`: the summary that would be made; nothing is written.

        Raises:
            NothingToCompressError: R is empty.
            MechanismOffError: the task runs without Compress.
            AbandonedAttemptError: `attempt` belongs to a step that a revise left behind.
            InvalidValueError: the text is empty or cannot be stored.
        """
        return self._operations.compress(text, summarizer, attempt=attempt, author=author, dry_run=dry_run)

    def compress_long(
        self, *, above_tokens: int = FALLBACK_TOKENS, summarizer: Summarizer | None = None
    ) -> Summary | None:
        """The fallback of §3.3: compress when R is longer than a threshold; None when it is not.

        Nothing is done while the model has not been shown the latest observation (nothing of it is ever hidden unseen),
        or where the task runs without Compress.
        """
        whole_number("above_tokens", above_tokens)
        return self._operations.compress_long(above_tokens, summarizer)

    def maintain(
        self,
        summary: Summary | str | int | None,
        judge: Judge,
        *,
        attempt: str | None = None,
        author: str = "judge",
    ) -> Verdict:
        """Let a judge check a summary against the trace it covers (Algorithm 1, lines 37-46), and record what it says.

        `summary`: one of the path, its key or its boundary ℓ; None takes the top one. The judge is asked outside any
        transaction. Without Compress it judges everything done since the boundary (§4.4). A verdict about a text that
        the summary does not have any more changes nothing (`stands` False); nor does one about a summary that came with
        a fork, which is judged in its origin.

        Raises:
            JudgeError: the judge failed, or gave no verdict; nothing was recorded.
            NotFoundError: there is no such summary, or nothing to be judged.
            MechanismOffError: the task runs without Maintain.
        """
        return self._operations.maintain(summary, judge, attempt=attempt, author=author)

    def case(self, summary: Summary | str | int | None = None) -> Case:
        """What `maintain` would show a judge of that summary; nothing is written.

        Raises:
            NotFoundError: there is no such summary, or nothing to be judged.
        """
        return self._operations.judged(summary)[1].case

    def revise(
        self,
        target: Summary | str | int | None = None,
        *,
        feedback: str | None = None,
        world: World | str = World.UNCHANGED,
        attempt: str | None = None,
        author: str = "agent",
        dry_run: bool = False,
    ) -> Revised:
        """Go back to where a summary starts and go on from there on a new branch (Algorithm 1, lines 48-56).

        `target`: a summary of the path, its key or its boundary ℓ: it is popped with everything after it. Without one
        the uncompressed tail is closed as a failed summary and popped alone. `feedback` stands in H until the next
        Compress; by default it is the note of the target. `world`: whether what tools did since stands (`unchanged`) or
        was put back too (`restored`). `dry_run`: what would leave the view; nothing is written.

        Raises:
            OffPathError: the target is not on the path; `.targets` are those that are.
            NothingToReviseError: nothing was done since the boundary, or what is behind came with the fork.
            PendingCallsError: calls wait for their results.
            MechanismOffError: the task runs without Revise.
            AbandonedAttemptError: `attempt` belongs to a step that a revise left behind.
            InvalidValueError: no feedback, and the target has no note.
        """
        return self._operations.revise(
            target, feedback, World.of(world), attempt=attempt, author=author, dry_run=dry_run
        )

    def fork(self, name: str, *, at: int | None = None, author: str = "agent") -> "Task":
        """A task of its own in this space that goes on from step `at` of this one (the last one by default).

        Nothing that either writes later reaches the other. `fork.origin()` lists irreversible calls after that step.
        Repeating the call gives the same fork.

        Raises:
            TaskExistsError: a task of that name exists.
            NotFoundError: there is no such step.
            PendingCallsError: calls waited for their results at that step.
        """
        check_name("task", name)
        step, path = self._operations.fork_point(at)
        attempt = fork_attempt(self.space, name, self.name, step)
        forking = Forking(self._context.connection, self.space, self.name)
        verdict, _ = forking.fork(name, path, attempt=attempt, author=self._context.author(author))
        if verdict == "exists":
            raise self._taken(name)
        return Task(self._context, self.space, name, irreversible=self.irreversible)

    def fork_origin(self, name: str, *, at: int | None = None) -> Origin:
        """What a fork of that name would come from, with the irreversible calls after the step; nothing is written.

        That fork may be there already: making it again gives the same one.

        Raises:
            TaskExistsError, NotFoundError, PendingCallsError: as `fork`.
        """
        check_name("task", name)
        step, _ = self._operations.fork_point(at)
        other = Task(self._context, self.space, name)
        if other._repository.cursor() is not None:
            there = other.origin()
            if there is None or (there.task, there.step) != (self.name, step):
                raise self._taken(name)
        return Forking(self._context.connection, self.space, self.name).origin(step)

    def origin(self) -> Origin | None:
        """Where this task was forked, and the irreversible calls there since; None when it is no fork.

        Raises:
            NotFoundError: there is no such task.
        """
        return self._operations.origin()

    def now(self) -> Past:
        """The task as of its last step.

        Raises:
            NotFoundError: there is no such task.
        """
        cursor = self._repository.cursor()
        if cursor is None:
            raise self._tree.missing()
        return self.at(cursor.steps)

    def at(self, step: int) -> Past:
        """The same reads as of a step of the ledger: `status()`, `path()`, `states()`, `prompt()`."""
        return Past(self._context, self._repository, self._tree, step)

    def prompt(self, *, at: int | None = None, budget_tokens: int | None = None) -> Prompt:
        """Path and status of the open request as one prompt; with `at`, what the model saw when it gave that step.

        `budget_tokens` limits the path's part; that of then stands with `at`.

        Raises:
            NotFoundError: there is no such task or step.
            NoOpenRequestError: no request is open, or was.
            InvalidValueError: the budget is none, or comes with `at`.
        """
        if at is not None:
            if budget_tokens is not None:
                raise InvalidValueError(
                    "a prompt of the past has the budget it had; give at or budget_tokens, not both"
                )
            return self.at(at).prompt()
        for _ in range(_READS):
            try:
                status, path = self.open_request().status(), self.path()
            except RequestClosedError:  # it was finished meanwhile; the next one may be open
                continue
            if status.version == path.version:
                return Prompt(status=status, path=path, budget_tokens=budget_tokens)
        raise StoreError(f"{self!r} is written to faster than it can be read; ask again")

    def _taken(self, name: str) -> TaskExistsError:
        return TaskExistsError(f"there is a task {name!r} in space {self.space!r}; give the fork another name")

    def _handle(self, number: int, text: str, options: Mapping[str, bool]) -> Request:
        return Request(
            self._repository,
            self._context,
            number=number,
            text=text,
            options=options,
            irreversible=self.irreversible,
        )
