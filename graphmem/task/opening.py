"""Opening a request: the checks before it, and the error for each verdict of the statement."""

from collections.abc import Mapping
from uuid import uuid4

from graphmem.errors import AbandonedAttemptError, InvalidValueError, RequestOpenError
from graphmem.task.context import Context
from graphmem.task.repository import Opened, Repository
from graphmem.trace import attempt_key, root_keys
from graphmem.vocabulary import check_text


def opened_request(
    context: Context,
    repository: Repository,
    text: str,
    *,
    attempt: str | None,
    author: str,
    options: Mapping[str, bool | None],
) -> Opened:
    """The request as it was opened, now or by an earlier call with this attempt.

    Raises:
        RequestOpenError, InvalidValueError, AbandonedAttemptError: as `Task.request` says.
    """
    name = f"Task({repository.space}/{repository.task})"
    text = check_text("the text of a request", text, max_bytes=context.limits.text_bytes)
    if not text.strip():
        raise InvalidValueError("the text of a request is empty; give what the user asked for")
    if attempt is not None:
        check_text("attempt", attempt, max_bytes=1_000)
    stored = context.text(text)
    opened = repository.open_request(
        stored,
        attempt=attempt_key(repository.space, repository.task, "open", uuid4().hex if attempt is None else attempt),
        author=context.author(author),
        options=options,
        roots=root_keys(repository.space, repository.task),
    )
    match opened.verdict:
        case "open":
            raise RequestOpenError(
                f"{name}: request {opened.number} is open. task.open_request() resumes it, a message finishes it",
                is_same=opened.text == stored,
            )
        case "replay" if opened.text != stored:
            raise InvalidValueError(f"{name}: this attempt opened request {opened.number} with another text before")
        case "options":
            given = {name: value for name, value in opened.options.items() if options[name] is not None}
            made = ", ".join(f"{name}={value}" for name, value in given.items())
            raise InvalidValueError(f"{name} was made with {made}; a task keeps them for life")
        case "abandoned":
            raise AbandonedAttemptError(
                f"{name}: this attempt belongs to a step that a revise left behind; use another key"
            )
    return opened
