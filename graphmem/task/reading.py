"""Reading a status: now, under the task's lock, or as it was after a step.

The rows of both statements have the same columns, so one set of rules makes a `Status` of either.
"""

from collections.abc import Sequence

from graphmem.state.index import Index, fold, refold
from graphmem.task.context import Context
from graphmem.task.repository import Repository
from graphmem.task.rows import Reading
from graphmem.task.status import Status


def status_of(context: Context, repository: Repository, reading: Reading, request: int, history: Index) -> Status:
    """A reading with its folded index as a status."""
    return Status(
        space=repository.space,
        task=repository.task,
        request=request,
        query=reading.text,
        version=reading.version,
        history=history,
        active=reading.active,
        observation=reading.observation,
        reasons=reading.reasons,
        pending=reading.pending,
        psa=reading.psa,
        isu=reading.isu,
        locked=reading.locked,
        p_b=reading.p_b,
        p_t=reading.p_t,
        in_r=reading.in_r,
        tokenizer=context.tokenizer,
    )


def folded(context: Context, reading: Reading, request: int, *, lines: int, budget_tokens: int | None) -> Index:
    """The index of a reading, within both limits."""
    return fold(
        reading.lines,
        reading.headings,
        reading.unfolded,
        request=request,
        lines=lines,
        budget_tokens=budget_tokens,
        count=context.tokenizer.count,
    )


def refolded(context: Context, reading: Reading, request: int, fold_was: Sequence[int]) -> Index:
    """The index of a reading as it was shown to a model."""
    return refold(
        reading.lines,
        reading.headings,
        reading.unfolded,
        request=request,
        fold_was=fold_was,
        count=context.tokenizer.count,
    )
