"""A regular expression of a user, applied where it can be stopped.

`re` cannot be interrupted inside one match: not by another thread, and by a signal only in the main one. So a process
of its own does the matching (it starts in 20 ms) and has a limit of processor time. Invariant: it is gone when the
context ends.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from graphmem.errors import InvalidValueError

_WORKER = Path(__file__).with_name("match_worker.py")


class Matcher:
    """One pattern of Python's `re`; `^` and `$` stand for the ends of lines.

    Raises:
        InvalidValueError: it is empty, no regular expression, or one that takes longer than `seconds` on one list.
    """

    def __init__(self, pattern: str, *, ignore_case: bool = False, seconds: float = 10.0) -> None:
        if not pattern:
            raise InvalidValueError("the pattern is empty; give what to look for")
        self._pattern = pattern
        self._ignore_case = ignore_case
        self._seconds = seconds

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-W", "ignore", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="ascii",
        )
        try:
            said = self._ask({"pattern": self._pattern, "ignore_case": self._ignore_case, "seconds": self._seconds})
            if said["fault"] is not None:
                raise InvalidValueError(f"{self._pattern!r} is no regular expression: {said['fault']}")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def places(self, texts: Sequence[str], *, most: int) -> list[list[tuple[int, int]]]:
        """Of each text the begin and end of the first match in each line, of at most so many lines."""
        return [[(start, end) for start, end in found] for found in self._ask([most, list(texts)])]

    def _ask(self, plain: object) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(plain) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise InvalidValueError(
                f"{self._pattern!r} takes longer than {self._seconds:g} seconds on one page of texts. Repeats inside "
                "of repeats do that, such as (a+)+; write it without them."
            )
        return json.loads(line)

    def _end(self) -> None:
        self._process.kill()
        self._process.communicate()
