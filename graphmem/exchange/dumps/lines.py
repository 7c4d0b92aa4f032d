"""The lines of an export: JSON, one object a line, each sealed with a checksum of itself and of all lines before it.

The first member of a line is `c`, 16 hexadecimal digits of SHA-256 over the checksum before it and the rest of the
line, so that one that was altered, left out, doubled or moved is found where it stands. The first line is a header,
the last one counts the lines. Invariant: what is read equals what was written, value for value, byte for byte.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from graphmem.errors import DumpError, InvalidValueError

FORMAT: Final = 1

_KIND: Final = "graphmem export"
_SEED: Final = hashlib.sha256(_KIND.encode()).hexdigest()[:16]
_LONGEST: Final = 64 << 20
_SEAL: Final = len('{"c":"0123456789abcdef",')
_NUMBERS: Final = ("NaN", "Infinity", "-Infinity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that was read, and its place: `nth` counts from 1, `seal` is its checksum."""

    nth: int
    seal: str
    content: Mapping[str, Any]


class Writer:
    """Seals lines into a file. `mark` and `back_to` undo what was written since."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._seal = _SEED
        self.lines = 0

    def header(self, content: Mapping[str, Any]) -> None:
        """The first line."""
        self.write({"graphmem": "export", "format": FORMAT} | dict(content))

    def write(self, content: Mapping[str, Any]) -> None:
        """One line."""
        body = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))[1:]
        self._seal = _sealed(self._seal, body.encode())
        self._file.write(f'{{"c":"{self._seal}",{body}\n'.encode())
        self.lines += 1

    def end(self, content: Mapping[str, Any]) -> None:
        """The last line."""
        self.write({"end": self.lines + 1} | dict(content))

    def mark(self) -> tuple[int, str, int]:
        """Where the file is."""
        return self._file.tell(), self._seal, self.lines

    def back_to(self, mark: tuple[int, str, int]) -> None:
        """Take back everything since a mark."""
        offset, self._seal, self.lines = mark
        self._file.seek(offset)
        self._file.truncate()


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of an export, checked one by one; the last one is its end.

    Raises:
        DumpError: the file is no export, of a newer format, cut off or altered; with the line.
    """
    seal = _SEED
    nth, ended = 0, False
    if path.exists() and not path.is_file():
        raise DumpError(path, 0, "it is no regular file, and has to be read twice: save it to a file first")
    try:
        with path.open("rb") as file:
            while raw := file.readline(_LONGEST):
                nth += 1
                if ended:
                    raise DumpError(path, nth, "something stands after the end of the export: it was altered")
                line = _line(path, nth, raw, seal)
                seal, ended = line.seal, "end" in line.content
                if ended and line.content["end"] != nth:
                    raise DumpError(path, nth, f"it ends here and counts {line.content['end']} lines: it was altered")
                yield line
    except OSError as error:
        raise DumpError(path, nth, f"it cannot be read: {error.strerror}") from error
    if not ended:
        raise DumpError(path, nth, "its end is missing: it was cut off after this line. Copy or export it again")


def _line(path: Path, nth: int, raw: bytes, seal: str) -> Line:
    if not raw.endswith(b"\n"):
        why = "it is cut off in the middle of this line" if len(raw) < _LONGEST else "this line is too long"
        raise DumpError(path, nth, why if nth > 1 else f"it is no export of graphmem, or {why}")
    content = _content(raw)
    if nth == 1:
        _check_header(path, content)
    if content is None:
        raise DumpError(path, nth, "this line is no JSON object: the file was altered")
    given, body = content.pop("c", None), raw[_SEAL:-1]
    if given != _sealed(seal, body) or raw[:_SEAL] != f'{{"c":"{given}",'.encode():
        raise DumpError(
            path, nth, "its checksum does not fit: this line was altered, or one before it left out, doubled or moved"
        )
    return Line(nth=nth, seal=given, content=content)


def _content(raw: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _check_header(path: Path, header: Mapping[str, Any] | None) -> None:
    if header is None or header.get("graphmem") != "export":
        raise DumpError(path, 1, "it is no export of graphmem")
    version = header.get("format")
    if not isinstance(version, int) or version > FORMAT:
        raise DumpError(
            path,
            1,
            f"it has format {version}, this graphmem reads up to {FORMAT}: upgrade graphmem-neo4j",
            command="pip install --upgrade graphmem-neo4j",
        )


def _sealed(seal: str, body: bytes) -> str:
    return hashlib.sha256(seal.encode() + body).hexdigest()[:16]


def packed(properties: Mapping[str, Any], of: str) -> dict[str, Any]:
    """Properties as JSON that comes back the same; `of` names their node in the error.

    Raises:
        InvalidValueError: a value of a type that graphmem stores nowhere.
    """
    return {name: _packed(value, f"{name} of {of}") for name, value in sorted(properties.items())}


def _packed(value: Any, where: str) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return {"float": _NUMBERS[0] if math.isnan(value) else _NUMBERS[1 if value > 0 else 2]}
        case bool() | int() | float() | str():
            return value
        case list():
            return [_packed(item, where) for item in value]
    raise InvalidValueError(
        f"{where} is a {type(value).__name__}, which graphmem does not write: somebody else did. Remove it, or change "
        "it to a text, and export again."
    )


def check_values(properties: Mapping[str, Any]) -> None:
    """Hold properties as a file has them against what `packed` makes.

    Raises:
        InvalidValueError: a value that it never makes, or that no property can hold.
    """
    for name, value in properties.items():
        items = value if isinstance(value, list) else [value]
        kinds = {float if isinstance(item, dict) else type(item) for item in items}
        if len(kinds) > 1 or not all(map(_is_packed, items)):
            raise InvalidValueError(f"property {name!r} holds what no property of graphmem can hold")


def _is_packed(value: Any) -> bool:
    if isinstance(value, dict):
        return list(value) == ["float"] and value["float"] in _NUMBERS
    return isinstance(value, bool | float | str) or (isinstance(value, int) and -(2**63) <= value < 2**63)


def unpacked(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Properties as they were."""
    return {name: _unpacked(value) for name, value in properties.items()}


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        return float(value["float"])
    return [_unpacked(item) for item in value] if isinstance(value, list) else value
