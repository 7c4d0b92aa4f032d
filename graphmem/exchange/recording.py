"""Record what an agent does, as it does it: the messages of any chat loop become a task; only what is new is written.

Each message of the user opens a request, at once. A turn of the assistant is one step, with the states that the rule-
based writer makes; results of its calls grow the tree when all of them are there, and are awaited until then. A turn
without calls answers the request; one that the user did not wait for ends with `writer.NO_ANSWER`. Every write has a
key that follows from all of the run before it, so that a new process, also after a crash, goes on where the last one
stopped. Invariant: recording a run as it grows, however often it is interrupted or by how many processes at once, makes
the same graph as recording it whole.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from graphmem.errors import (
    AbandonedAttemptError,
    NoOpenRequestError,
    NotFoundError,
    NotPendingError,
    PendingCallsError,
    RequestClosedError,
    RequestOpenError,
    StaleStatusError,
    TaskError,
)
from graphmem.exchange import writer
from graphmem.exchange.events import Event, events
from graphmem.exchange.messages import conversation
from graphmem.exchange.place import Place, Search
from graphmem.exchange.values import Run
from graphmem.state.values import PendingCalls, StepResult, ToolResult, Value
from graphmem.store import Connection
from graphmem.task import Request, Task
from graphmem.trace import Path, World
from graphmem.vocabulary import check_text

_TRIES: Final = 5
_REMEMBERED: Final = 256
_OVERTAKEN: Final = (
    StaleStatusError,
    RequestClosedError,
    RequestOpenError,
    PendingCallsError,
    NotPendingError,
    NotFoundError,
    NoOpenRequestError,
    AbandonedAttemptError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Value):
    """What was new: requests opened, turns, results of calls, states written. `awaited`: calls without results yet."""

    requests: int = 0
    turns: int = 0
    results: int = 0
    states: int = 0
    awaited: int = 0

    def __add__(self, other: "Recorded") -> "Recorded":
        pairs = ((name, getattr(self, name) + getattr(other, name)) for name in self.__slots__)
        return Recorded(**dict(pairs))

    def __bool__(self) -> bool:
        """Whether anything was new."""
        return any((self.requests, self.turns, self.results, self.states))


def record(task: Task, messages: Iterable[object], *, run: str = "") -> Recorded:
    """Record the messages of a chat loop (OpenAI's form), all of them so far; what the task has is not written again.

    Call it whenever they have grown. System messages are not recorded. `run` names the conversation where a task has
    several, one after another: the next one begins when the last request of the one before was answered.

    Raises:
        UnreadableRunError: nothing can be made of a message; nothing was written.
        LimitError: one is too large; nothing was written.
        RunDiffersError: the messages are not those that were recorded; `.position` is the first that differs.
        RequestOpenError: a request that is none of the messages' is open.
        RequestClosedError: a revise left the request that the last messages belong to.
    """
    found = conversation(messages)
    check_text("run", run, max_bytes=1_000)
    made = events(found.rounds, found.places, run=run, context=task.context, is_over=False)
    return Recording(task, made, run=run).write()


def record_run(
    task: Task, run: Run, *, name: str = "", feedback: str | Callable[[Path], str] | None = None
) -> Recorded:
    """Record a run that is over: calls without results are of unknown outcome. A last request may stay unanswered.

    `name` names the run where the task has several. With `feedback` it is one more trial of the same thing: the task
    goes back to its start with that feedback (or what it is for the path of then), the world being restored, and calls
    that were made and answered the same way before merge into the nodes of then.

    Raises:
        RunDiffersError, RequestOpenError, RequestClosedError: as `record`; `.position` counts requests and turns.
    """
    return run_recording(task, run, name=name, feedback=feedback).write()


def run_recording(
    task: Task, run: Run, *, name: str = "", feedback: str | Callable[[Path], str] | None = None
) -> "Recording":
    """What `record_run` writes, not yet written."""
    places: list[list[int]] = []
    for round_ in run.rounds:
        start = places[-1][-1] + 1 if places else 0
        places.append(list(range(start, start + 1 + len(round_.turns))))
    made = events(run.rounds, places, run=name, context=task.context, is_over=True)
    return Recording(task, made, run=name, feedback=feedback)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """How far this process knows a run to be recorded, so that it need not be looked for."""

    place: Place
    key: str
    request: Request | None
    pending: PendingCalls | None


class Recording:
    """One run on its way into a task; with `feedback` the task goes back to its start first."""

    def __init__(
        self,
        task: Task,
        events: Sequence[Event],
        *,
        run: str = "",
        feedback: str | Callable[[Path], str] | None = None,
    ) -> None:
        self._task = task
        self._events = events
        self._feedback = feedback
        self._is_first = not run and feedback is None
        self._memory = _memory(task.context.connection)
        self._name = (task.space, task.name, run, *sorted(task.irreversible))
        self._request: Request | None = None
        self._pending: PendingCalls | None = None
        self._place = Place()
        self._new = Recorded()

    def missing(self) -> Recorded:
        """What `write` would add, but for states; nothing is written."""
        kinds = [event.kind for event in self._events[self._search().done :]]
        results = sum(len(event.contents) for event in self._events[len(self._events) - len(kinds) :])
        return Recorded(requests=kinds.count("open"), turns=kinds.count("turn"), results=results)

    def write(self) -> Recorded:
        """Write what is new."""
        if not self._recall():
            self._find()
        furthest, tries = self._place.done, 0
        while self._place.done < len(self._events):
            try:
                self._write(self._events[self._place.done])
            except _OVERTAKEN:
                # Another process records the same run, or something else was done: look where the task stands now.
                self._find()
                tries += 1
                if tries > _TRIES and self._place.done <= furthest:
                    raise
            if self._place.done > furthest:
                furthest, tries = self._place.done, 0
        self._remember()
        return replace(self._new, awaited=self._awaited())

    def _awaited(self) -> int:
        """How many calls have no results: those of a turn that is the last thing there is."""
        last = self._events[-1] if self._events else None
        return 0 if last is None or last.kind != "turn" or last.turn is None else last.turn.results.count(None)

    def _find(self) -> None:
        self._memory.forget(self._name)
        self._request = self._pending = None
        self._place = self._search()

    def _search(self) -> Place:
        return Search(self._task, self._events, is_first=self._is_first).place()

    def _write(self, event: Event) -> None:
        if self._feedback is not None and self._place.done == 1 and not self._place.went_back:
            self._go_back(self._feedback)
        match event.kind:
            case "open":
                self._open(event)
            case "results":
                self._observe(event)
            case _:
                self._turn(event)
        self._place = replace(self._place, done=self._place.done + 1)

    def _open(self, event: Event) -> None:
        try:
            self._request = self._task.request(event.text, attempt=event.key)
        except RequestOpenError:
            if self._feedback is None or self._place.done:
                raise
            self._end_trial(event)
            self._request = self._task.request(event.text, attempt=event.key)
        self._place = replace(self._place, request=self._request.number)
        self._new += Recorded(requests=1)

    def _end_trial(self, event: Event) -> None:
        """End what the trial before left open, so that this one can begin."""
        request = self._task.open_request()
        status = request.status()
        if self._search().done:
            return  # another process began this trial: what is open is the trial itself
        if status.pending is not None:
            request.observe(status.pending, [ToolResult.unknown(call.id) for call in status.pending.calls])
            status = request.status()
        request.step(status, writer.closing(status), attempt=f"before {event.key}", own_calls=False)

    def _go_back(self, feedback: str | Callable[[Path], str]) -> None:
        """Begin a further trial at the start of the task."""
        path = self._task.path()
        target = path.summaries[0] if path.summaries else None
        is_begun = self._search().done > 1  # by another process: then the path is the trial's own
        if not is_begun and (target is not None or path.recent):
            told = feedback if isinstance(feedback, str) else feedback(path)
            self._task.revise(target, feedback=told, world=World.RESTORED, attempt=self._events[0].key)
        self._place = replace(self._place, went_back=True)

    def _turn(self, event: Event) -> None:
        request = self._opened()
        status = request.status()
        output = writer.output(status, event.turn, is_answer=event.is_answer) if event.turn else writer.closing(status)
        if event.turn is not None and not (output.delta or output.tool_calls or output.message):
            output = replace(output, text=event.turn.text or "")  # words that become no state: the ledger has them
        author = "model" if event.turn is None else event.turn.author or "model"
        result = request.step(status, output, attempt=event.key, author=author, own_calls=False)
        self._pending = result.pending if result.calls else None
        if not result.replayed:
            self._new += _counted(event, result)

    def _observe(self, event: Event) -> None:
        request = self._opened()
        pending = self._pending or request.status().pending
        if pending is None or len(pending.calls) != len(event.contents):
            raise NotPendingError(f"{self._task!r}: the calls of message {event.place} do not wait for results")
        results = [ToolResult(call_id=c.id, content=t) for c, t in zip(pending.calls, event.contents, strict=True)]
        request.observe(pending, results)
        self._pending = None
        self._new += Recorded(results=len(results))

    def _opened(self) -> Request:
        """The request that the events go on in."""
        if self._request is None:
            try:
                self._request = self._task.open_request()
            except TaskError as error:
                raise RequestClosedError(str(error)) from error
            if self._request.number != self._place.request:
                raise RequestClosedError(f"{self._request!r} is open, where request {self._place.request} goes on")
        return self._request

    def _recall(self) -> bool:
        """Whether this process knows the place, the run having grown since at most."""
        known = self._memory.known(self._name)
        if known is None or not 0 < known.place.done <= len(self._events):
            return False
        if self._events[known.place.done - 1].key != known.key:
            return False
        self._place, self._request, self._pending = known.place, known.request, known.pending
        return True

    def _remember(self) -> None:
        if self._events:
            known = _Known(place=self._place, key=self._events[-1].key, request=self._request, pending=self._pending)
            self._memory.remember(self._name, known)


def _counted(event: Event, result: StepResult) -> Recorded:
    return Recorded(turns=event.kind == "turn", states=len(result.added) + len(result.updated))


class _Memory:
    """The places of the runs recorded last through one connection."""

    def __init__(self) -> None:
        self._places: OrderedDict[tuple[str, ...], _Known] = OrderedDict()
        self._lock = Lock()

    def known(self, name: tuple[str, ...]) -> _Known | None:
        with self._lock:
            return self._places.get(name)

    def remember(self, name: tuple[str, ...], known: _Known) -> None:
        with self._lock:
            self._places[name] = known
            self._places.move_to_end(name)
            if len(self._places) > _REMEMBERED:
                self._places.popitem(last=False)

    def forget(self, name: tuple[str, ...]) -> None:
        with self._lock:
            self._places.pop(name, None)


_memories: WeakKeyDictionary[Connection, _Memory] = WeakKeyDictionary()


def _memory(connection: Connection) -> _Memory:
    return _memories.setdefault(connection, _Memory())
