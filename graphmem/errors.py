"""Every error that graphmem raises.

GraphmemError
├── InvalidValueError            an argument that cannot be used as it is
│   └── LimitError               one that is too large
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
│   ├── TaskExistsError          the name for a fork is taken
│   ├── StepLimitError           no final response within the steps allowed
│   └── NotFoundError            no such space, task, request or id
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


class GraphmemError(Exception):
    """The root of the tree."""

    def __init__(self, message: str, *, command: str | None = None) -> None:
        super().__init__(message)
        self.command = command


class InvalidValueError(GraphmemError):
    """An argument that cannot be used as it is."""


class LimitError(InvalidValueError):
    """An argument that is too large."""


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
    """The name for a fork is that of a task that exists."""


class StepLimitError(TaskError):
    """No final response within the steps allowed. The request stays open and can be resumed."""


class StoryError(GraphmemError):
    """The demo was answered otherwise than its story needs."""


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
