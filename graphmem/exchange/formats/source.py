"""A file of recorded runs, cut into records without reading all of it at once.

JSON comes as one value, as an array of records, or as one record a line; anything else is text. A record is held in
memory, the file is not: an array is read element by element, lines one by one. A bad line spoils itself alone, a bad
element or value the rest of its file, since nobody knows where the next one begins. Lines that are messages are one
record together, as an array of messages is. Invariant: what is read is what the file holds, byte for byte: no line
ending is changed.
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
_NO_TEXT: Final = {
    b"\x1f\x8b": "compressed; unpack it first (gunzip)",
    b"PK\x03\x04": "an archive; unpack it first (unzip)",
    b"\xff\xfe": "UTF-16; write it as UTF-8",
    b"\xfe\xff": "UTF-16; write it as UTF-8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One value of a file. `where` names file and place; `index` counts from 0; `fault` says why there is no value."""

    where: str
    index: int
    value: Any = None
    size: int = 0  # in bytes, of a line
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
    for begins, what in _NO_TEXT.items():
        if start.startswith(begins):
            raise UnreadableRunError(f"it is {what}", record=str(path))
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
        is_lines = _reads(first) and bool(_first_line(file))
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
        if is_lines and _is_message(json.loads(first)):
            yield _conversation(_lines(file, path), path)
        else:
            yield from _lines(file, path)


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and "role" in value


def _conversation(lines: Iterator[Record], path: Path) -> Record:
    """All lines as one record of messages; the first fault where there is one."""
    messages, size = list[Any](), 0
    for line in lines:
        if line.fault is not None:
            return line
        messages.append(line.value)
        size += line.size
        if size > RECORD_BYTES:
            return Record(where=str(path), index=0, fault=_too_large(str(path)))
    return Record(where=str(path), index=0, value=messages)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise UnreadableRunError(f"it cannot be read: {error.strerror}", record=str(path)) from error


def _first_line(file: BinaryIO) -> bytes:
    """The next line that is not blank; cut where it is too long for a record, or for one that is an array."""
    while line := file.readline(_CHUNK_BYTES):
        begun = line.removeprefix(_BOM)
        if begun.strip():
            is_whole = line.endswith(b"\n") or begun.lstrip().startswith(b"[")
            return begun if is_whole else begun + file.readline(RECORD_BYTES)
    return b""


def _reads(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


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
        value = json.loads(_decoded(data.removeprefix(_BOM), where))
        return Record(where=where, index=index, value=value, size=len(data))
    except UnreadableRunError as error:
        return Record(where=where, index=index, fault=error)
    except (ValueError, RecursionError) as error:
        return Record(where=where, index=index, fault=UnreadableRunError(_reason(error, len(data)), record=where))


def _reason(error: Exception, size: int) -> str:
    """Why a text is no JSON, and where."""
    if not isinstance(error, json.JSONDecodeError):
        return "the JSON is nested too deeply"
    at = f"line {error.lineno}, column {error.colno}"
    if error.msg == "Extra data":
        return f"another JSON value begins at {at}; give one record a line (JSON Lines), or an array of records"
    return f"the JSON {'is cut off' if _is_cut(error, size) else 'is wrong'} at {at}: {error.msg}"


def _is_cut(error: json.JSONDecodeError, size: int) -> bool:
    """Whether the text ends before its value does."""
    return error.pos >= size - 1 or error.msg.startswith("Unterminated string")


def _elements(file: BinaryIO, path: Path) -> Iterator[Record]:
    """The elements of an array, and of those behind it; all elements of one are a value where they are messages."""
    reading = _Array(file, path)
    index = 0
    while (element := reading.next(index)) is not None:
        if element.fault is None and _is_message(element.value):
            if reading.given:
                where = element.where
                mixed = "a message stands among other things; an array holds messages, or runs"
                element = Record(where=where, index=index, fault=UnreadableRunError(mixed, record=where))
            else:
                element = _messages(reading, element)
        yield element
        if element.fault is not None:
            return
        index, reading.given = index + 1, reading.given + 1


def _messages(reading: "_Array", first: Record) -> Record:
    """The messages from the first one to the end of their array."""
    messages = [first.value]
    begun = reading.read_characters
    while not reading.is_over:
        if reading.read_characters - begun > RECORD_BYTES:
            return Record(where=first.where, index=first.index, fault=_too_large(first.where))
        element = reading.next(first.index, within=True)
        if element is None:
            break
        if element.fault is not None:
            return element
        messages.append(element.value)
    return Record(where=first.where, index=first.index, value=messages)


class _Array:
    """An array, or several one behind another, read as far as the next element needs."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path
        self._decoder = json.JSONDecoder()
        self._undecoded = b""
        self._text = ""
        self._at = 0
        self._is_all = False
        self.is_over = True
        self.given = 0  # elements of the array so far
        self.read_characters = 0

    def next(self, index: int, *, within: bool = False) -> Record | None:
        """The next element, called the `index`-th record; None at the end: of the array, with `within`."""
        where = f"{self._path}, record {index}"
        while True:
            try:
                character = self._character()
                if self.is_over and character in ("", "["):
                    if not character:
                        return None
                    self._at, self.is_over, self.given = self._at + 1, False, 0
                elif not self.is_over and character == "]":
                    self._at, self.is_over = self._at + 1, True
                    if within:
                        return None
                elif self.is_over:
                    raise UnreadableRunError(f"{self._excerpt()!r} follows the array", record=where)
                else:
                    return Record(where=where, index=index, value=self._value(where))
            except UnreadableRunError as error:
                return Record(where=where, index=index, fault=error)

    def _character(self) -> str:
        """The next one that is neither space nor a comma; nothing at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = self._at if found is None else found.end()
            if self._at < len(self._text) or self._is_all:
                return self._text[self._at : self._at + 1]
            self._more()

    def _value(self, where: str) -> Any:
        """The value that begins here."""
        while True:
            try:
                begun = self._at
                value, self._at = self._decoder.raw_decode(self._text, begun)
                self.read_characters += self._at - begun
            except RecursionError as error:
                raise UnreadableRunError("the JSON is nested too deeply", record=where) from error
            except json.JSONDecodeError as error:
                if self._is_all:
                    raise UnreadableRunError(self._why(error), record=where) from error
                if len(self._text) - self._at > RECORD_BYTES:
                    raise _too_large(where) from error
                self._more()
            else:
                return value

    def _more(self) -> None:
        """Read on: as much again as is held, so that an element is decoded a few times at most."""
        size = max(_CHUNK_BYTES, len(self._text) - self._at)
        data = self._file.read(size)
        self._is_all = len(data) < size
        if not self._text:
            data = data.removeprefix(_BOM)
        data = self._undecoded + data
        cut = len(data) if self._is_all else _whole_characters(data)
        self._undecoded = data[cut:]
        self._text = self._text[self._at :] + _decoded(data[:cut], str(self._path))
        self._at = 0

    def _excerpt(self) -> str:
        return self._text[self._at : self._at + 20]

    def _why(self, error: json.JSONDecodeError) -> str:
        if _is_cut(error, len(self._text)) or not self._text[error.pos :].strip():
            return f"the JSON is cut off: {error.msg}"
        return f"{error.msg} before {self._text[error.pos : error.pos + 20]!r}"


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
