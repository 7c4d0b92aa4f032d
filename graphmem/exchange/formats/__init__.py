"""Recorded runs of other agents, by the form they come in; which one that is, their content says.

Owns the list of forms and the way from a file to runs. A form is a module with `matches` and `read` for records of
JSON, or `matches_text` and `read_text` for text. Invariant: a run that cannot be read is told, or raised, with file
and record; it never disappears.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn

from graphmem.errors import InvalidValueError, UnreadableRunError
from graphmem.exchange.formats import openai, react, source, swe_agent, transcript, who_and_when
from graphmem.exchange.values import Run

FORMATS: Final = ("openai", "swe-agent", "who-and-when", "react", "transcript")

_RECORDS: Final = {
    "swe-agent": swe_agent,
    "who-and-when": who_and_when,
    "transcript": transcript,
    "openai": openai,
}

OnFault = Callable[[UnreadableRunError], None]


def read(path: Path, *, form: str | None = None, on_fault: OnFault | None = None) -> Iterator[Run]:
    """The runs of a file, one at a time. `form`: one of `FORMATS`, where the content shall not decide.

    `on_fault` is told of runs that cannot be read, and the others go on; without it the first one is raised.

    Raises:
        UnreadableRunError: nothing can be made of the file, or of a run in it.
        InvalidValueError: there is no such form.
    """
    if form is not None and form not in FORMATS:
        raise InvalidValueError(f"there is no format {form!r}; those that are read: {', '.join(FORMATS)}")
    told = on_fault or _raised
    start = source.head(path)
    if source.is_json(start) and form != "react":
        yield from _records(path, form, told)
    elif form == "react" or (form is None and react.matches_text(start)):
        yield from react.read_text(source.text(path), where=str(path), on_fault=told)
    elif form == "transcript" or (form is None and transcript.matches_text(start)):
        yield transcript.read_text(source.text(path), where=str(path))
    else:
        told(_unknown(str(path), form))


def _records(path: Path, form: str | None, told: OnFault) -> Iterator[Run]:
    for record in source.records(path):
        try:
            if record.fault is not None:
                raise record.fault
            name = form or next((n for n, module in _RECORDS.items() if module.matches(record.value)), None)
            if name is None or not _RECORDS[name].matches(record.value):
                raise _unknown(record.where, form)
            run = _RECORDS[name].read(record.value, where=record.where, index=record.index)
            if not run.rounds:
                raise UnreadableRunError("nobody says anything in it", record=record.where)
        except UnreadableRunError as error:
            told(error)
        else:
            yield run


def _unknown(where: str, form: str | None) -> UnreadableRunError:
    if form is not None:
        return UnreadableRunError(f"it is not of the format {form}", record=where)
    known = ", ".join(FORMATS)
    return UnreadableRunError(f"it is of none of the formats {known}; name the one it is by --format", record=where)


def _raised(error: UnreadableRunError) -> NoReturn:
    raise error
