"""What a model is told when a call fails: one sentence, with the tool to call next.

The library's own messages name methods of Python; those that a model is likely to meet are said here in words of the
tools. Invariant: no stack trace, no password, no recorded text, and nothing longer than a few lines.
"""

import re
from typing import Final

from graphmem.errors import (
    GraphmemError,
    LoginError,
    MechanismOffError,
    NothingToCompressError,
    OffPathError,
    PendingCallsError,
    QueryTimeoutError,
    RequestClosedError,
    RequestOpenError,
    SchemaError,
    ServerUnreachableError,
    TaskExistsError,
)

_CHARACTERS: Final = 1_500
_HANDLE: Final = re.compile(r"\b(?:Task|Request)\([^()\s]*(?:, \d+)?\):? ")
_TARGETS: Final = 20
CRASHED: Final = "graphmem failed on this call; the log of its server says why. `status` shows what was recorded."


def sentence(error: GraphmemError) -> str:
    """The error in words for a model."""
    text = _said(error)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}…"


def _said(error: GraphmemError) -> str:
    match error:
        case RequestOpenError():
            return (
                "Another request is open. `status` shows it: go on with it, or finish it by `step` with a message. "
                "Nothing was written."
            )
        case RequestClosedError():
            return "That request is not open any more. `status` says where the task stands. Nothing was written."
        case PendingCallsError():
            return (
                "Calls wait for their results: `status` lists them, `observe` takes the results (content null where "
                "nobody knows). Nothing was written."
            )
        case OffPathError(targets=targets) if targets:
            numbers = ", ".join(str(number) for number, _ in targets[-_TARGETS:])
            return f"That is no summary on the path. Targets are {numbers}; `path` says what each is about."
        case NothingToCompressError():
            return "Nothing was done since the last summary; there is nothing to compress."
        case MechanismOffError():
            return f"{error} It was made so and stays so."
        case TaskExistsError():
            return "There is a fork of that name from another step; give this one another name."
        case ServerUnreachableError():
            return "The database cannot be reached now, so nobody knows whether anything was written. Try again later."
        case LoginError() | SchemaError():
            return "The database refuses this server; its operator has to look at it (`graphmem doctor`)."
        case QueryTimeoutError():
            return "The database took too long and gave up. Ask for less, or try again."
    return _HANDLE.sub("", str(error))
