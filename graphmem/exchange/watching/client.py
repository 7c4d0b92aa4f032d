"""An OpenAI client that records what passes through it.

It is the client that was given, with an HTTP client that is overheard: requests are the same, byte for byte, and so is
everything that comes back. What was said is kept in a local file before the caller has the answer, and written to the
graph by a thread, so that a graph that is slow or away costs the caller nothing. Invariant: no error of recording ever
reaches the caller; what is not recorded is said, once, in the log.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from graphmem.errors import GraphmemError, InvalidValueError, RunDiffersError
from graphmem.exchange.watching.buffer import Messages
from graphmem.exchange.watching.catching_up import SETTLE_SECONDS, Courier, buffer_of
from graphmem.exchange.watching.continuing import continued
from graphmem.exchange.watching.fitting import fit
from graphmem.exchange.watching.tap import AsyncTapped, Tapped
from graphmem.exchange.watching.wire import answered, asked
from graphmem.task import Task

Client = TypeVar("Client")

logger = logging.getLogger("graphmem")


def watch(client: Client, task: Task, *, run: str = "", folder: Path | None = None) -> Client:
    """A client like this one, an `OpenAI` or `AsyncOpenAI`, whose chat completions are recorded in the task.

    The client that was given is left as it is, and shares its connections with the new one. `run` names the
    conversation where a task has several, one after another (see `record`); conversations that go on at the same time
    need a task each. `folder` is where messages wait for a graph that is away; by default in the user's data folder.

    Raises:
        InvalidValueError: it is no such client.
        ServerError: there is no folder to keep messages in; the message says what to install, or to set.
    """
    http = getattr(client, "_client", None)  # the one thing of the client that has no public name, in 1.0 as in 3.57
    with_options: Any = getattr(client, "with_options", None)
    if not hasattr(http, "send") or not callable(with_options):
        raise InvalidValueError(
            f"watch takes an OpenAI or AsyncOpenAI client, as in graphmem.watch(OpenAI(), task), not {client!r}"
        )
    watcher = Watcher(task, run=run, folder=folder)
    tapped = AsyncTapped(http, watcher) if hasattr(http, "aclose") else Tapped(http, watcher)
    return cast(Client, with_options(http_client=tapped))


class Watcher:
    """What is known of one conversation, and what is done with what is heard of it."""

    def __init__(self, task: Task, *, run: str, folder: Path | None) -> None:
        self._task = task
        self._courier = Courier(
            task, buffer_of(task, run=run, folder=folder), written=self._written, refuse=self._refuse
        )
        self._lock = threading.Lock()
        self._known: Messages = ()
        self._in_graph: Messages = ()
        self._said: set[str] = set()

    def hear(self, question: bytes, answer: bytes, content_type: str) -> None:
        """Take in a chat completion: what was asked, and the answer, if it came to its end."""
        messages = asked(question)
        if messages is None:
            return
        found = answered(answer, content_type=content_type)
        if found is not None and found.choices > 1:
            self._say("choices", "of %d choices the first is taken for the answer", found.choices)
        self._add([self._kept(message) for message in (*messages, *([found.message] if found else []))])

    def miss(self, path: str) -> None:
        """Only chat completions are recorded."""
        if path.rstrip("/").endswith("/responses"):
            self._say("responses", "only chat completions are recorded, not what is asked of %s", path)

    def settle(self) -> None:
        """Wait a little for what is not written yet."""
        self._courier.settle(SETTLE_SECONDS)

    def _add(self, given: Sequence[Mapping[str, Any]]) -> None:
        with self._lock:
            grown = continued(self._known, given)
            if grown is None:
                self._say(
                    "other",
                    "messages of another conversation pass through its client and are not recorded; "
                    "give each one a client of its own: graphmem.watch(client, task), or watch(client, task, run=…)",
                )
            elif len(grown) > len(self._known):
                self._known = grown
                self._courier.take(grown)

    def _kept(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """The message as it is recorded, and kept on the disk: fit to be stored, and seen by the redactor."""
        fitting = fit(message, self._task.context.limits)
        if fitting is not message:
            self._say(
                "fit", "a text was cut, or a character replaced, that cannot be stored; graphmem.Limits says what can"
            )
        redacted = self._task.context.value(fitting)
        return redacted if isinstance(redacted, Mapping) else {}

    def _written(self, messages: Messages) -> None:
        self._in_graph = messages

    def _refuse(self, error: GraphmemError) -> None:
        with self._lock:
            self._known = self._in_graph or self._known  # what is refused from the start goes on being refused, whole
        hint = " An agent that sends a part of its history alone must go on in the same process." * isinstance(
            error, RunDiffersError
        )
        text = "some messages are not recorded, and set aside (`graphmem doctor` says where). %s%s"
        self._say(f"refused: {type(error).__name__}", text, error, hint)

    def _say(self, what: str, text: str, *about: object) -> None:
        if what not in self._said:
            self._said.add(what)
            logger.warning("%r: " + text, self._task, *about)
