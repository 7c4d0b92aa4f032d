"""A file of recorded runs, cut into records without reading all of it at once.

JSON comes as one value, as an array of records, or as one record a line; anything else is text. A record is held in
memory, the file is not: an array is read element by element, lines one by one. A bad line spoils itself alone, a bad
element or value the rest of its file, since nobody knows where the next one begins. Invariant: what is read is what the
file holds, byte for byte: no line ending is changed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from graphmem.errors import UnreadableRunError

RECORD_BYTES: Final = 64 << 20
_HEAD_BYTES: Final = 64 << 10
_CHUNK_BYTES: Final = 1 << 20
_SPACE: Final = re.compile(r"[\s,]*")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One value of a file. `where` names file and place; `index` counts from 0; `fault` says why there is no value."""

    where: str
    index: int
    value: Any = None
    fault: UnreadableRunError | None = None


def head(path: Path) -> str:
    """How a file begins.

    Raises:
        UnreadableRunError: there is no such file, it cannot be read, or nothing is in it.
    """
    with _opened(path) as file:
        start = file.read(_HEAD_BYTES).removeprefix(_BOM)
    if not start.strip():
        raise UnreadableRunError("the file is empty", record=str(path))
    return start.decode(errors="replace")


def is_json(start: str) -> bool:
    """Whether a file that begins like that holds JSON."""
    return re.match(r"\s*(\{|\[\s*[\[{\]])", start) is not None


def text(path: Path) -> str:
    """A file of text, whole.

    Raises:
        UnreadableRunError: it is too large, or no UTF-8.
    """
    with _opened(path) as file:
        data = file.read(RECORD_BYTES + 1)
    if len(data) > RECORD_BYTES:
        raise _too_large(str(path))
    return _decoded(data.removeprefix(_BOM), str(path))


def records(path: Path) -> Iterator[Record]:
    """The records of a file of JSON, one at a time."""
    with _opened(path) as file:
        first = _first_line(file)
        is_lines = _reads(first) and _has_more(file)
        file.seek(0)
        if not is_lines and first.lstrip().startswith(b"["):
            yield from _elements(file, path)
            return
        if not is_lines:
            data = file.read(RECORD_BYTES + 1)
            whole = _value(data, str(path), 0)
            if whole.fault is None or not _is_lines(data):
                yield whole
                return
            file.seek(0)
        yield from _lines(file, path)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise UnreadableRunError(f"it cannot be read: {error.strerror}", record=str(path)) from error


def _first_line(file: BinaryIO) -> bytes:
    """The first line that is not blank; cut where it is too long for a record."""
    while True:
        line = file.readline(RECORD_BYTES + 1)
        if not line or line.removeprefix(_BOM).strip():
            return line.removeprefix(_BOM)


def _reads(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


def _has_more(file: BinaryIO) -> bool:
    """Whether another record follows on a line of its own; a record may be the only one of its file."""
    return bool(_first_line(file))


def _is_lines(data: bytes) -> bool:
    """Whether a text that is no JSON is one record a line, some of them bad: some later line is one by itself."""
    lines = data.split(b"\n")
    return any(line.startswith((b"{", b"[")) and _reads(line) for line in lines[1:])


def _lines(file: BinaryIO, path: Path) -> Iterator[Record]:
    number = index = 0
    while line := file.readline(RECORD_BYTES + 1):
        number += 1
        where = f"{path}, line {number}"
        too_large = len(line) > RECORD_BYTES
        while len(line) > RECORD_BYTES and not line.endswith(b"\n"):
            line = file.readline(RECORD_BYTES + 1)
        if too_large:
            yield Record(where=where, index=index, fault=_too_large(where))
        elif line.removeprefix(_BOM).strip():
            yield _value(line.rstrip(b"\r\n"), where, index)
        else:
            continue
        index += 1


def _value(data: bytes, where: str, index: int) -> Record:
    if len(data) > RECORD_BYTES:
        return Record(where=where, index=index, fault=_too_large(where))
    try:
        return Record(where=where, index=index, value=json.loads(_decoded(data.removeprefix(_BOM), where)))
    except UnreadableRunError as error:
        return Record(where=where, index=index, fault=error)
    except (ValueError, RecursionError) as error:
        return Record(where=where, index=index, fault=UnreadableRunError(_reason(error, len(data)), record=where))


def _reason(error: Exception, size: int) -> str:
    """Why a text is no JSON, and where."""
    if not isinstance(error, json.JSONDecodeError):
        return "the JSON is nested too deeply"
    at = f"line {error.lineno}, column {error.colno}"
    return f"the JSON {'is cut off' if _is_cut(error, size) else 'is wrong'} at {at}: {error.msg}"


def _is_cut(error: json.JSONDecodeError, size: int) -> bool:
    """Whether the text ends before its value does."""
    return error.pos >= size - 1 or error.msg.startswith("Unterminated string")


def _elements(file: BinaryIO, path: Path) -> Iterator[Record]:
    """The elements of an array; all of them as one value where they are messages."""
    reading = _Array(file, path)
    first = reading.next()
    if first is not None and isinstance(first.value, dict) and "role" in first.value:
        messages: list[Any] = []
        element: Record | None = first
        while element is not None and element.fault is None:
            messages.append(element.value)
            element = reading.next()
        fault = None if element is None else element.fault
        yield Record(where=str(path), index=0, value=messages, fault=fault)
        return
    while first is not None:
        yield first
        first = None if first.fault is not None else reading.next()


class _Array:
    """An array that is read as far as its next element needs."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._decoder = json.JSONDecoder()
        self._undecoded = b""
        self._text = ""
        self._is_all = False
        self._index = 0
        self._more()
        self._at = self._text.index("[") + 1

    def next(self) -> Record | None:
        """The next element; None at the end."""
        where = f"{self._path}, record {self._index}"
        while True:
            self._at = self._skipped()
            if self._at < len(self._text) and self._text[self._at] == "]":
                return None
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                if self._is_all or isinstance(error, RecursionError):
                    return self._fault(where, error)
                if len(self._text) - self._at > RECORD_BYTES:
                    return Record(where=where, index=self._index, fault=_too_large(where))
                try:
                    self._more()
                except UnreadableRunError as bad:
                    return Record(where=where, index=self._index, fault=bad)
                continue
            self._at = end
            self._index += 1
            return Record(where=where, index=self._index - 1, value=value)

    def _skipped(self) -> int:
        found = _SPACE.match(self._text, self._at)
        return self._at if found is None else found.end()

    def _more(self) -> None:
        """Read on: as much again as is held, so that an element is decoded a few times at most."""
        size = max(_CHUNK_BYTES, len(self._text) - (self._at if self._text else 0))
        data = self._file.read(size)
        self._is_all = len(data) < size
        if not self._text:
            data, self._at = data.removeprefix(_BOM), 0
        data = self._undecoded + data
        cut = len(data) if self._is_all else _whole_characters(data)
        self._undecoded = data[cut:]
        self._text = self._text[self._at :] + _decoded(data[:cut], str(self._path))
        self._at = 0

    def _fault(self, where: str, error: Exception) -> Record:
        reason = _reason(error, len(self._text))
        if isinstance(error, json.JSONDecodeError):
            excerpt = self._text[error.pos : error.pos + 20]
            is_cut = _is_cut(error, len(self._text)) or not excerpt.strip()
            reason = f"the JSON is cut off: {error.msg}" if is_cut else f"{error.msg} before {excerpt!r}"
        return Record(where=where, index=self._index, fault=UnreadableRunError(reason, record=where))


def _whole_characters(data: bytes) -> int:
    """How many bytes there are without a character that is cut at the end."""
    for back in range(1, min(4, len(data)) + 1):
        if data[-back] & 0xC0 != 0x80:
            return len(data) if data[-back] < 0x80 else len(data) - back
    return len(data)


def _decoded(data: bytes, where: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableRunError(f"byte {error.start} is not UTF-8", record=where) from error


def _too_large(where: str) -> UnreadableRunError:
    return UnreadableRunError(
        f"it is longer than {RECORD_BYTES >> 20} MiB, which is the most that one record is read of; "
        "give one run a line (JSON Lines), or an array of runs",
        record=where,
    )
