"""Compress, Maintain and Revise on one task: arguments in, values or errors out.

What a model, a judge or a summarizer has to do is done between transactions, never in one. Invariant: an operation that
is refused has written nothing and says what is possible instead.
"""

from typing import NoReturn
from uuid import uuid4

from graphmem.errors import (
    AbandonedAttemptError,
    InvalidValueError,
    MechanismOffError,
    NotFoundError,
    NothingToCompressError,
    NothingToReviseError,
    OffPathError,
    PendingCallsError,
    RequestClosedError,
    StaleStatusError,
)
from graphmem.task.context import Context
from graphmem.task.forking import Origin
from graphmem.task.repository import Repository
from graphmem.task.revising import Outcome, Revising, Row, Wanted
from graphmem.task.tree import Judged, Tree
from graphmem.trace import (
    Judge,
    Path,
    RanCall,
    Revised,
    Summarizer,
    Summary,
    Verdict,
    World,
    attempt_key,
    ruling,
    summary_key,
    written_summary,
)
from graphmem.vocabulary import check_text, short_name, whole_number

_TRIES = 20


class Operations:
    """The operations on the tree of one task."""

    def __init__(self, context: Context, repository: Repository, tree: Tree) -> None:
        self._context = context
        self._repository = repository
        self._tree = tree
        self._revising = Revising(context.connection, repository.space, repository.task)
        self._name = f"Task({repository.space}/{repository.task})"

    def compress(
        self,
        text: str | None,
        summarizer: Summarizer | None,
        *,
        attempt: str | None,
        author: str,
        dry_run: bool = False,
        unseen: bool = False,
    ) -> Summary:
        """Cover R by a summary; `unseen` refuses to while the latest observation was not shown."""
        key, author = self._attempt("compress", attempt), self._context.author(author)
        for _ in range(_TRIES):
            path = self._tree.path(self._context.tokenizer)
            if "compress" not in path.options:
                raise self._off("Compress")
            written = self._summary_text(text, summarizer, path) if path.recent else ""
            made = Summary(
                key=summary_key(path.p_t, path.p_b),
                boundary=path.boundary,
                text=written,
            )
            if dry_run:
                if not path.recent:
                    self._refuse_compress("empty")
                return made
            verdict, about, step = self._tree.compress(
                path, attempt=key, author=author, key=made.key, text=written, unseen=unseen
            )
            if verdict in ("ok", "replay"):
                return self._summary(about, step)
            if verdict != "moved":
                self._refuse_compress(verdict)
        raise StaleStatusError(f"{self._name} is written to faster than it can be compressed; try again")

    def compress_long(self, above_tokens: int, summarizer: Summarizer | None) -> Summary | None:
        """Compress when R is longer than the threshold and nothing of it is unseen."""
        path = self._tree.path(self._context.tokenizer)
        long = path.recent and self._context.tokenizer.count(path.parts()[1]) > above_tokens
        if "compress" not in path.options or path.unseen or not long:
            return None
        try:
            return self.compress(None, summarizer, attempt=None, author="fallback", unseen=True)
        except NothingToCompressError:
            return None

    def _summary_text(self, text: str | None, summarizer: Summarizer | None, path: Path) -> str:
        given = written_summary(summarizer, path.recent) if text is None else text
        check_text("the text of a summary", given, max_bytes=self._context.limits.text_bytes)
        if not given.strip():
            raise InvalidValueError("the text of a summary is empty; say what the subgoal came to, or give none")
        return self._context.text(given)

    def _summary(self, key: str, step: int) -> Summary:
        judged = self._tree.judged(key)
        if judged is None or judged.case.summary is None:
            raise NotFoundError(f"{self._name}: the summary of step {step} is gone")
        return judged.case.summary

    def _refuse_compress(self, verdict: str) -> NoReturn:
        match verdict:
            case "off":
                raise self._off("Compress")
            case "abandoned":
                raise self._abandoned()
            case "unseen":
                raise NothingToCompressError(f"{self._name}: the model has not been shown the latest observation yet")
            case _:
                raise NothingToCompressError(f"{self._name}: nothing was done since the last compression")

    def maintain(
        self, summary: Summary | str | int | None, judge: Judge, *, attempt: str | None, author: str
    ) -> Verdict:
        """Ask the judge, record what it says."""
        key, judged = self.judged(summary)
        said = ruling(judge, judged.case)
        feedback = self._context.text(
            check_text("the feedback", said.feedback, max_bytes=self._context.limits.text_bytes)
        )
        row = self._tree.maintain(
            attempt=self._attempt("maintain", attempt),
            author=self._context.author(author),
            key=key,
            of_step=judged.of_step,
            verdict="passed" if said.passed else "failed",
            note=None if said.passed else feedback,
        )
        match row["verdict"]:
            case "off":
                raise self._off("Maintain")
            case "abandoned":
                raise self._abandoned()
            case "missing":
                raise NotFoundError(f"{self._name}: the summary that was judged is gone")
        return Verdict(
            passed=row["told"] == "passed",
            feedback=row["note"] or "",
            summary=row["about"],
            step=row["number"],
            stands=row["stands"],
            on_path=row["on_path"],
            copied=judged.case.summary is not None and judged.case.summary.copied,
        )

    def judged(self, summary: Summary | str | int | None) -> tuple[str | None, Judged]:
        """What a judge is shown of a summary, and its key."""
        path = self._tree.path(self._context.tokenizer)
        if "maintain" not in path.options:
            raise self._off("Maintain")
        key = self._target_key(summary, path) if "compress" in path.options or summary is not None else None
        judged = self._tree.judged(key)
        if judged is None:
            raise NotFoundError(f"{self._name}: there is nothing to judge; task.path().summaries lists the summaries")
        return key, judged

    def _target_key(self, summary: Summary | str | int | None, path: Path) -> str:
        match summary:
            case Summary():
                return summary.key
            case str():
                return check_text("the key of a summary", summary, max_bytes=1_000)
            case None:
                return path.p_t
        number = whole_number("the boundary of a summary", summary)
        found = next((s.key for s in path.summaries if s.boundary == number), None)
        if found is None:
            targets = tuple((s.boundary, s.text) for s in path.summaries)
            raise OffPathError(
                f"{self._name}: no summary of the path starts at {number}{_listed(targets, 'be judged')}",
                targets=targets,
            )
        return found

    def revise(
        self,
        target: Summary | str | int | None,
        feedback: str | None,
        world: World,
        *,
        attempt: str | None,
        author: str,
        dry_run: bool = False,
    ) -> Revised:
        """Go back."""
        if feedback is not None:
            check_text("feedback", feedback, max_bytes=self._context.limits.text_bytes)
            feedback = self._context.text(feedback.strip())
        key = boundary = None
        match target:
            case Summary():
                key = target.key
            case str():
                key = check_text("the key of a summary", target, max_bytes=1_000)
            case None:
                pass
            case _:
                boundary = whole_number("target, where it is no summary and no key,", target)
        wanted = Wanted(
            attempt=self._attempt("revise", attempt),
            author=self._context.author(author),
            target=key,
            boundary=boundary,
            feedback=feedback,
            world=world,
        )
        outcome = self._revising.revise(wanted, dry_run=dry_run)
        if outcome.revised is None:
            refuse_revise(self._name, outcome)
        return outcome.revised

    def fork_point(self, at: int | None) -> tuple[int, Path]:
        """The step to fork at and the path of then."""
        cursor = self._repository.cursor()
        if cursor is None:
            raise self._tree.missing()
        step = cursor.steps if at is None else whole_number("at", at, least=1)
        row = self._repository.read_cursor(step)
        path = self._tree.path_at(step, self._context.tokenizer)
        if row is None or path is None:
            first = 1 if row is None else row["first_step"]
            raise NotFoundError(f"{self._name} has no step {step}; its steps are {first} to {cursor.steps}")
        if row["pending_step"] is not None:
            raise PendingCallsError(
                f"{self._name}: at step {step} calls wait for their results; fork before, or where they were observed"
            )
        return step, path

    def origin(self) -> Origin | None:
        """Where the task was forked."""
        row = self._repository.read_step(1)
        if row is None:
            raise self._tree.missing()
        if row["origin"] is None:
            return None
        told = self._repository.fork_result(row["first_step"])
        ran = tuple(RanCall(**call) for call in told["irreversible"])
        return Origin(**{**told, "irreversible": ran})

    def _attempt(self, kind: str, attempt: str | None) -> str:
        if attempt is not None:
            check_text("attempt", attempt, max_bytes=1_000)
        names = (self._repository.space, self._repository.task)
        return attempt_key(*names, kind, uuid4().hex if attempt is None else f"named {attempt}")

    def _off(self, mechanism: str) -> MechanismOffError:
        return MechanismOffError(f"{self._name} was made without {mechanism}; a task keeps its mechanisms for life")

    def _abandoned(self) -> AbandonedAttemptError:
        return AbandonedAttemptError(
            f"{self._name}: this attempt belongs to a step that a revise left behind; use another key"
        )


def refuse_revise(name: str, outcome: Outcome) -> NoReturn:
    """The error for a revise that was refused."""
    found: Row = outcome.found
    match outcome.verdict:
        case "missing":
            raise NotFoundError(f"{name}: there is no such task; task.request(text) makes it")
        case "off":
            raise MechanismOffError(f"{name} was made without Revise; a task keeps its mechanisms for life")
        case "abandoned":
            raise AbandonedAttemptError(
                f"{name}: this attempt belongs to a step that a revise left behind; use another key"
            )
        case "pending":
            raise PendingCallsError(
                f"{name}: calls wait for their results. Give them to request.observe(status.pending, …) first, "
                "ToolResult.unknown(call_id) where nobody knows."
            )
        case "stale":
            raise StaleStatusError(
                f"{name}: the task has moved on since this status was read. Nothing was written; read it again."
            )
        case "closed":
            raise RequestClosedError(f"{name}: the request is not open any more")
        case "copied":
            origin = found["origin"]
            raise NothingToReviseError(
                f"{name}: what is behind was copied from {origin['task']} with the fork at step {origin['step']}. "
                "Revise it there, or fork there at an earlier step."
            )
        case "empty":
            raise NothingToReviseError(f"{name}: nothing was done since the boundary{_listed(_targets(found))}")
        case "no feedback":
            raise InvalidValueError(f"{name}: give feedback: what went wrong and what to do instead")
        case _:
            targets = _targets(found)
            raise OffPathError(f"{name}: that is no summary of the active path{_listed(targets)}", targets=targets)


def _targets(found: Row) -> tuple[tuple[int, str], ...]:
    return tuple((target["boundary"], target["text"] or "") for target in found["targets"])


def _listed(targets: tuple[tuple[int, str], ...], do: str = "be gone back to") -> str:
    if not targets:
        return f"; there is no summary on it that can {do}"
    lines = "; ".join(f"{boundary}: {short_name(text, characters=60)}" for boundary, text in targets[-20:])
    return f". Those that can {do} (boundary: text): {lines}"
