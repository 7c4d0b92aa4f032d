"""Every error that graphmem raises.

GraphmemError
├── InvalidValueError            an argument that cannot be used as it is
│   ├── LimitError               one that is too large
│   ├── DumpError                the file of an export that cannot be taken
│   └── UnreadableRunError       messages, or a recorded run, of which nothing can be made
├── TaskError                    the task is not in the state that the call needs
│   ├── RequestOpenError         a second request while one is open
│   ├── NoOpenRequestError       nothing is open to be resumed
│   ├── RequestClosedError       the request was finished or abandoned
│   ├── StaleStatusError         the task moved on since that status was read
│   ├── PendingCallsError        tools were called and their results are not in yet
│   ├── NotPendingError          results for calls that nobody waits for
│   ├── AbandonedAttemptError    the attempt key belongs to a step that a revise left behind
│   ├── OffPathError             the target of a revise is not a summary on the active path
│   ├── NothingToReviseError     nothing was done since the boundary, or what was came with the fork
│   ├── NothingToCompressError   nothing was done since the last compression
│   ├── MechanismOffError        the task runs without that mechanism (an ablation)
│   ├── TaskExistsError          the name for a fork or an import is taken
│   ├── TaskHeldError            an import or a forget of the task is going on, or was interrupted
│   ├── HasForksError            forks of the task hold parts of it
│   ├── RunDiffersError          messages that differ from what was recorded of them
│   ├── RunLimitError            no final response within what the run was allowed; the request stays open
│   │   ├── StepLimitError       steps
│   │   ├── TokenLimitError      tokens
│   │   ├── TimeLimitError       seconds
│   │   └── UnreadableOutputError  outputs in a row of which nothing could be taken
│   └── NotFoundError            no such space, task, request or id
├── ModelError                   a model, or its endpoint
│   ├── ModelLoginError          the endpoint refused the key, or there is none
│   ├── ModelMissingError        no such model there, or no chat endpoint at that URL
│   ├── ModelUnreachableError    nobody answers, it takes too long, or the answer breaks off
│   ├── RateLimitError           the endpoint asks for patience, or the quota is used up
│   ├── ContextLengthError       the prompt is longer than the model takes
│   ├── AnswerCutError           the answer ended at the limit of its tokens
│   └── AnswerRefusedError       a content filter, or the model itself, declined to answer
├── JudgeError                   a judge failed, or gave no verdict
├── StoreError                   the database
│   ├── ServerUnreachableError   nobody answers at the URI
│   ├── LoginError               the server refused user and password
│   ├── DatabaseMissingError     the server has no such database
│   ├── ServerVersionError       too old a server
│   ├── QueryTimeoutError        the server gave up on time or memory
│   └── SchemaError              the schema is absent, older, newer or not ours
├── StoryError                   the demo was answered otherwise than its story needs
└── ServerError                  the embedded server
    ├── JavaError                no Java that can run it
    ├── ResolveError             its jars could not be had, or are not the right ones
    └── StartError               it did not come up, or did not go down

Each message says what to do. `command` is the command that mends it, where there is one.
"""

from collections.abc import Mapping


class GraphmemError(Exception):
    """The root of the tree."""

    def __init__(self, message: str, *, command: str | None = None) -> None:
        super().__init__(message)
        self.command = command


class InvalidValueError(GraphmemError):
    """An argument that cannot be used as it is."""


class LimitError(InvalidValueError):
    """An argument that is too large."""


class UnreadableRunError(InvalidValueError):
    """Messages, or a recorded run, of which nothing can be made. `reason` says why.

    `record`: the file and which run in it, blank where there is none; `position`: which `unit` of it (a message, a
    line, a step), from 0.
    """

    def __init__(self, reason: str, *, record: str = "", position: int | None = None, unit: str = "message") -> None:
        self.place = "" if position is None else f"{unit} {position}"
        where = ", ".join(part for part in (record, self.place) if part)
        super().__init__(f"{where}: {reason}" if where else reason)
        self.record = record
        self.position = position
        self.unit = unit
        self.reason = reason


class DumpError(InvalidValueError):
    """The file of an export cannot be taken: altered, cut off, of a newer format, or not for this place.

    `file`, `line` (from 1; 0: the file as a whole) and `reason` say what and where.
    """

    def __init__(self, file: object, line: int, reason: str, *, command: str | None = None) -> None:
        where = f"{file}, line {line}" if line else f"{file}"
        super().__init__(f"{where}: {reason}", command=command)
        self.file = str(file)
        self.line = line
        self.reason = reason


class TaskError(GraphmemError):
    """The task is not in the state that the call needs. Nothing was written."""


class RequestOpenError(TaskError):
    """A request is open already; `task.open_request()` resumes it. `is_same`: it has the text that was given."""

    def __init__(self, message: str, *, is_same: bool) -> None:
        super().__init__(message)
        self.is_same = is_same


class NoOpenRequestError(TaskError):
    """No request is open; `task.request(text)` opens one."""


class RequestClosedError(TaskError):
    """The request is not open any more."""


class StaleStatusError(TaskError):
    """The task has moved on since that status was read; read it again."""


class PendingCallsError(TaskError):
    """Calls wait for their results; `request.observe` takes them."""


class NotPendingError(TaskError):
    """Results for calls that nobody waits for, or other results than those recorded."""


class AbandonedAttemptError(TaskError):
    """The attempt key belongs to a step that a revise left behind."""


class NotFoundError(TaskError):
    """No such space, task, request or id."""


class OffPathError(TaskError):
    """The target of a revise is not a summary on the active path. `targets`: (boundary, text) of those that are."""

    def __init__(self, message: str, *, targets: tuple[tuple[int, str], ...] = ()) -> None:
        super().__init__(message)
        self.targets = targets


class NothingToReviseError(TaskError):
    """Nothing was done since the boundary, or what was done came with the fork and is revised in its origin."""


class NothingToCompressError(TaskError):
    """Nothing was done since the last compression."""


class MechanismOffError(TaskError):
    """The task runs without that mechanism: it was made so, as an ablation."""


class TaskExistsError(TaskError):
    """The name for a fork or an import is that of a task that exists."""


class TaskHeldError(TaskError):
    """An import or a forget of the task is going on, or was interrupted; running it again ends it."""


class HasForksError(TaskError):
    """Forks of the task hold parts of it. `forks`: their names."""

    def __init__(self, message: str, *, forks: tuple[str, ...]) -> None:
        super().__init__(message)
        self.forks = forks


class RunDiffersError(TaskError):
    """Messages differ from what was recorded of them, from message `position` on (from 0)."""

    def __init__(self, message: str, *, position: int) -> None:
        super().__init__(message)
        self.position = position


class RunLimitError(TaskError):
    """No final response within what the run was allowed. The request stays open and can be resumed."""


class StepLimitError(RunLimitError):
    """No final response within the steps allowed."""


class TokenLimitError(RunLimitError):
    """No final response within the tokens allowed."""


class TimeLimitError(RunLimitError):
    """No final response within the seconds allowed."""


class UnreadableOutputError(RunLimitError):
    """The model was shown often enough why nothing of its output could be taken, and did not mend it."""


class StoryError(GraphmemError):
    """The demo was answered otherwise than its story needs."""


class ModelError(GraphmemError):
    """A model, or its endpoint. Nothing of the answer was written."""


class ModelLoginError(ModelError):
    """The endpoint refused the key, or there is none."""


class ModelMissingError(ModelError):
    """The endpoint knows no such model, or the URL is not that of a chat endpoint."""


class ModelUnreachableError(ModelError):
    """Nobody answers, it takes too long, or the answer breaks off."""


class RateLimitError(ModelError):
    """The endpoint asks for patience, or the quota is used up."""


class ContextLengthError(ModelError):
    """The prompt is longer than the model takes."""


class AnswerCutError(ModelError):
    """The answer ended at the limit of its tokens. `text`: as far as it came; `usage`: what it cost."""

    def __init__(self, message: str, *, text: str, usage: Mapping[str, int] | None = None) -> None:
        super().__init__(message)
        self.text = text
        self.usage = usage


class AnswerRefusedError(ModelError):
    """A content filter, or the model itself, declined to answer."""


class JudgeError(GraphmemError):
    """A judge failed, or answered with something else than a verdict. Nothing was recorded."""


class StoreError(GraphmemError):
    """The database."""


class ServerUnreachableError(StoreError):
    """Nobody answers at the URI."""


class LoginError(StoreError):
    """The server refused user and password."""


class DatabaseMissingError(StoreError):
    """The server has no such database."""


class ServerVersionError(StoreError):
    """The server is too old."""


class QueryTimeoutError(StoreError):
    """The server gave up: a time or memory limit."""


class SchemaError(StoreError):
    """The schema is absent, older, newer, or not ours."""


class ServerError(GraphmemError):
    """The embedded server."""


class JavaError(ServerError):
    """No Java that can run the server."""


class ResolveError(ServerError):
    """The server's jars could not be had, or are not the right ones."""


class StartError(ServerError):
    """The server did not come up, or did not go down."""


def was_interrupted(error: BaseException, *, since: BaseException | None = None) -> bool:
    """Whether an interrupt is what ended it: the driver may fail over one on its way out, and raise that instead.

    `since`: what was being handled when it began; an interrupt before that is another one.
    """
    seen: BaseException | None = error
    while seen is not None and seen is not since and not isinstance(seen, KeyboardInterrupt):
        seen = seen.__cause__ or seen.__context__
    return seen is not None and seen is not since
