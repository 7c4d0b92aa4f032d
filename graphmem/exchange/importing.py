"""Files of recorded runs into tasks of a space: one task for all trials of the same thing, as one tree.

Owns which task a run belongs to and which of its trials it is. Trials are told apart by what happened in them, not by
their numbers: a run is looked for among those that the task has, and goes on where that one stopped; one that is none
of them begins at the start of the task again, and parts from the others in the tree where it does so in fact. So a file
that is read twice, or a trial that is word for word another, adds nothing, and an import that was killed is completed
by the same command. Invariant: a run that cannot be read is told with its file and place, and writes nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from graphmem.errors import InvalidValueError, RunDiffersError, UnreadableRunError
from graphmem.exchange.formats import read
from graphmem.exchange.recording import Recorded, run_recording
from graphmem.exchange.values import Run
from graphmem.state.values import Value
from graphmem.task import Task
from graphmem.trace import Path as Route
from graphmem.vocabulary import check_name, digest, short_name

_NOT_OF_A_NAME: Final = re.compile(r"[^A-Za-z0-9._:@-]+")
_NAME_CHARACTERS: Final = 100
_OUTCOME_CHARACTERS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun(Value):
    """One run that was read. `trial`: which of its task's runs it is, from 1; `new`: what it added."""

    source: str
    task: str
    trial: int
    new: Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRun(Value):
    """One run, or a file, that was not read: where, at which message, line or step of it (blank: all), and why."""

    record: str
    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRuns(Value):
    """What became of files. `known`: runs that were there already; `tasks`: names, in the order of their first run."""

    runs: int = 0
    known: int = 0
    tasks: tuple[str, ...] = ()
    new: Recorded = field(default_factory=Recorded)
    unread: tuple[UnreadRun, ...] = ()


def import_runs(
    files: Iterable[Path],
    task_of: Callable[[str], Task],
    *,
    task: str | None = None,
    form: str | None = None,
    keep_going: bool = False,
    dry_run: bool = False,
    on_run: Callable[[ImportedRun], None] | None = None,
) -> ImportedRuns:
    """Import the runs of files. `task_of` gives the handle of a name.

    `task`: every run is a trial of that task; else a task has the file's name and what the run calls itself.
    `keep_going`: a run that cannot be read is told in the answer, and the others are imported. `dry_run`: what would be
    new, but for states; nothing is written. `on_run` is told of each run.

    Raises:
        UnreadableRunError: nothing can be made of a run; those before it are imported.
        PendingCallsError, RequestClosedError: somebody else works on the task.
    """
    if task is not None:
        check_name("task", task)
    unread: list[UnreadRun] = []

    def fault(error: UnreadableRunError) -> None:
        if not keep_going:
            raise error
        unread.append(UnreadRun(record=error.record, place=error.place, reason=error.reason))

    names: dict[str, None] = {}
    runs = known = 0
    new = Recorded()
    for name, run in _runs(files, task, form, fault):
        try:
            done = _imported(task_of(name), run, dry_run=dry_run, is_trial=run.is_named or task is not None)
        except InvalidValueError as error:
            fault(UnreadableRunError(str(error), record=run.source))
            continue
        names.setdefault(name)
        runs, known, new = runs + 1, known + (not done.new), new + done.new
        if on_run is not None:
            on_run(done)
    return ImportedRuns(runs=runs, known=known, tasks=tuple(names), new=new, unread=tuple(unread))


def _runs(
    files: Iterable[Path], task: str | None, form: str | None, fault: Callable[[UnreadableRunError], None]
) -> Iterator[tuple[str, Run]]:
    for file in files:
        try:
            for run in read(file, form=form, on_fault=fault):
                yield task or task_name(file.stem, run.task), run
        except UnreadableRunError as error:
            fault(error)


def task_name(stem: str, run: str) -> str:
    """The name of the task that a run of a file belongs to; what no name may hold is a dash, told apart by a digest."""
    given = f"{stem}-{run}" if run else stem
    name = _NOT_OF_A_NAME.sub("-", given).strip("-")
    if name == given and len(name) <= _NAME_CHARACTERS:
        return name
    return f"{name[:_NAME_CHARACTERS].strip('-') or 'run'}-{digest(given)[:8]}"


def _imported(task: Task, run: Run, *, dry_run: bool, is_trial: bool) -> ImportedRun:
    """The run as one of the task's trials: the one that it is, or a further one.

    Where nobody says that it is a trial of this task (not `is_trial`), it must begin with the same request.
    """
    for trial in count():
        recording = run_recording(
            task, run, name=f"trial {trial}" if trial else "", feedback=_feedback(run, trial) if trial else None
        )
        try:
            new = recording.missing() if dry_run else recording.write()
        except RunDiffersError as error:
            if error.position == 0 and not is_trial:
                raise InvalidValueError(
                    f"the task {task.name!r} begins with another request, and the run has no name of its own; import "
                    "it with --task NAME: that one's, if it is a trial of it, else a new one"
                ) from error
            continue
        return ImportedRun(source=run.source, task=task.name, trial=trial + 1, new=new)
    raise AssertionError  # count() has no end


def _feedback(run: Run, trial: int) -> Callable[[Route], str]:
    """What the task is told as it goes back: the lesson that the agent drew, else what the trials before came to."""

    def feedback(path: Route) -> str:
        last = path.summaries[-1].text if path.summaries else "it was not finished"
        return run.lesson or f"trial {trial}: {short_name(last, characters=_OUTCOME_CHARACTERS)}"

    return feedback
