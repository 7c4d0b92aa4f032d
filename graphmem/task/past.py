"""A task as it was after a step of its ledger: the same reads, of then.

Nothing is undone by looking: a version, a node, a note, a verdict or an abandonment that came later is not there.
"""

from typing import Any

from graphmem.errors import NoOpenRequestError, NotFoundError
from graphmem.state.values import ActiveState
from graphmem.task.compare import Comparison, compared
from graphmem.task.context import Context
from graphmem.task.prompt import Prompt
from graphmem.task.reading import folded, refolded, status_of
from graphmem.task.repository import Repository
from graphmem.task.rows import Reading
from graphmem.task.status import Status
from graphmem.task.tree import Tree
from graphmem.trace import Path
from graphmem.vocabulary import whole_number

_OUTPUTS = ("step", "refused", "revise")


class Past:
    """The task after step `step`. Reads only."""

    def __init__(self, context: Context, repository: Repository, tree: Tree, step: int) -> None:
        self.step = whole_number("step", step, least=1)
        self._context = context
        self._repository = repository
        self._tree = tree

    def __repr__(self) -> str:
        return f"Past({self._repository.space}/{self._repository.task}, step {self.step})"

    def status(self, *, index_tokens: int | None = 8_000, index_lines: int = 200) -> Status:
        """What the request that was open then showed.

        Raises:
            NotFoundError: the task has no such step.
            NoOpenRequestError: no request was open after it.
        """
        row = self._row(self.step)
        if row["open"] is None:
            raise NoOpenRequestError(f"{self!r}: no request was open after that step")
        reading = self._reading(self.step, lines=index_lines, heads=index_lines)
        history = folded(self._context, reading, row["open"], lines=index_lines, budget_tokens=index_tokens)
        return status_of(self._context, self._repository, reading, row["open"], history)

    def states(self) -> tuple[ActiveState, ...]:
        """Every state in view then, in order of appearance, with all the refs it was given."""
        self._row(self.step)
        return self._repository.states_at(self.step)

    def path(self) -> Path:
        """S = (C, R, H) then.

        Raises:
            NotFoundError: the task has no such step.
        """
        self._row(self.step)
        path = self._tree.path_at(self.step, self._context.tokenizer)
        if path is None:
            raise self._missing(self.step, {"steps": 0, "first_step": 1, "origin": None})
        return path

    def prompt(self) -> Prompt:
        """What the model saw when it gave this step; for a step that no model gave, what it was shown next.

        A verdict that was recorded between the model's look and its answer is in it.

        Raises:
            NotFoundError: the task has no such step.
            NoOpenRequestError: no request was open.
        """
        row = self._row(self.step)
        if row["fold"] is None or row["kind"] not in _OUTPUTS or row["output"] is None:
            return Prompt(status=self.status(), path=self.path())
        before = Past(self._context, self._repository, self._tree, self.step - 1)
        fold_was, request = row["fold"], row["request"]
        heads = request - fold_was[2] if len(fold_was) > 1 else request
        reading = before._reading(self.step - 1, lines=fold_was[0], heads=heads)
        history = refolded(self._context, reading, request, fold_was)
        status = status_of(self._context, self._repository, reading, request, history)
        return Prompt(status=status, path=before.path() if row["joined"] else None, budget_tokens=row["path_tokens"])

    def compare(self, other: "Past") -> Comparison:
        """Where this and another moment, of this task or of one forked from it or beside it, part and differ."""
        return compared(self._context.connection, self, other)

    def _reading(self, step: int, *, lines: int, heads: int) -> Reading:
        reading = self._repository.status_at(step, lines=lines, heads=max(heads, 1))
        if reading is None or reading.open is None:
            raise NoOpenRequestError(f"{self!r}: no request was open after step {step}")
        return reading

    def _row(self, step: int) -> Any:
        row = self._repository.read_cursor(step)
        if row is None:
            raise self._tree.missing()
        if row["number"] is None:
            raise self._missing(step, row)
        return row

    def _missing(self, step: int, row: Any) -> NotFoundError:
        if step < row["first_step"] and row["origin"]:
            return NotFoundError(
                f"{self._repository.task} begins with step {row['first_step']}: it is a fork of {row['origin']}, "
                f"where step {step} is"
            )
        return NotFoundError(f"{self._repository.task} has no step {step}; its last one is {row['steps']}")
