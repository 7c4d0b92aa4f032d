"""A task: one long job of an agent, a sequence of requests with at most one open.

A handle reads nothing when it is made and holds nothing of the run.
"""

from uuid import uuid4

from graphmem.errors import (
    AbandonedAttemptError,
    InvalidValueError,
    NoOpenRequestError,
    NotFoundError,
    RequestOpenError,
)
from graphmem.task.context import Context
from graphmem.task.repository import Repository
from graphmem.task.request import Request
from graphmem.trace import attempt_key, root_keys
from graphmem.vocabulary import check_name, check_text


class Task:
    """A handle on one task. The ablations of the paper (§4.1, B.5) are fixed when the task is made.

    `psa=False`: no index and no access, every historical state is active. `isu=False`: no state updates; a rule makes
    one artifact `response-k` of each final response. None takes what the task has, and both on for a new one.
    """

    def __init__(
        self, context: Context, space: str, name: str, *, psa: bool | None = None, isu: bool | None = None
    ) -> None:
        self.space = check_name("space", space)
        self.name = check_name("task", name)
        self._context = context
        self._repository = Repository(context.connection, space, name)
        self._psa = psa
        self._isu = isu

    def __repr__(self) -> str:
        return f"Task({self.space}/{self.name})"

    def request(self, text: str, *, attempt: str | None = None, author: str = "user") -> Request:
        """Open the next request with the user's text.

        `attempt` names the call, so that repeating it after a crash gives the same request.

        Raises:
            RequestOpenError: one is open; `open_request()` resumes it.
            InvalidValueError: the text is empty or cannot be stored, or the ablations differ from the task's.
        """
        text = check_text("the text of a request", text, max_bytes=self._context.limits.text_bytes)
        if not text.strip():
            raise InvalidValueError("the text of a request is empty; give what the user asked for")
        if attempt is not None:
            check_text("attempt", attempt, max_bytes=1_000)
        stored = self._context.text(text)
        opened = self._repository.open_request(
            stored,
            attempt=attempt_key(self.space, self.name, "open", uuid4().hex if attempt is None else attempt),
            author=self._context.author(author),
            psa=self._psa,
            isu=self._isu,
            roots=root_keys(self.space, self.name),
        )
        match opened.verdict:
            case "open":
                raise RequestOpenError(
                    f"{self!r}: request {opened.number} is open. task.open_request() resumes it, a message finishes it",
                    is_same=opened.text == stored,
                )
            case "replay" if opened.text != stored:
                raise InvalidValueError(
                    f"{self!r}: this attempt opened request {opened.number} with another text before"
                )
            case "options":
                raise InvalidValueError(
                    f"{self!r} was made with psa={opened.psa}, isu={opened.isu}; a task keeps them for life"
                )
            case "abandoned":
                raise AbandonedAttemptError(
                    f"{self!r}: this attempt belongs to a step that a revise left behind; use another key"
                )
        return self._handle(opened.number, opened.text, psa=opened.psa, isu=opened.isu)

    def open_request(self) -> Request:
        """The request that is open, to go on with it; calls without results are in `status().pending`.

        Raises:
            NotFoundError: there is no such task.
            NoOpenRequestError: none is open; `request(text)` opens one.
        """
        cursor = self._repository.cursor()
        if cursor is None:
            raise NotFoundError(f"there is no task {self.name!r} in space {self.space!r}; task.request(text) makes it")
        if cursor.open is None:
            raise NoOpenRequestError(f"{self!r} has no open request; task.request(text) opens one")
        return self._handle(cursor.open, cursor.text or "", psa=cursor.psa, isu=cursor.isu)

    def _handle(self, number: int, text: str, *, psa: bool, isu: bool) -> Request:
        return Request(self._repository, self._context, number=number, text=text, psa=psa, isu=isu)
