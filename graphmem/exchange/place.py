"""Where a recording stands in the graph: how many of its events a task has already.

Keys of events are chained, so those in the graph are a beginning of the run: it is found by a search that looks at a
few at once, three reads for ten thousand events. What a fork's origin recorded before the fork is the fork's as well.
What was recorded otherwise than the run says is an error that names the first message that differs. Invariant: nothing
is written here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphmem.errors import RunDiffersError
from graphmem.exchange.events import Event, stored_calls
from graphmem.store import query
from graphmem.task import Task
from graphmem.task.repository import operation_id
from graphmem.trace import content_hash
from graphmem.vocabulary import digest

Row = Mapping[str, Any]
_AT_ONCE: Final = 32
_NEVER: Final = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """`done` events are in the graph; `request` is the number of the one they end in; `went_back`: see `Recording`."""

    done: int = 0
    request: int = 0
    went_back: bool = False


class Search:
    """The search for the place of one run in one task. `is_first`: the task holds no other run before it."""

    def __init__(self, task: Task, events: Sequence[Event], *, is_first: bool) -> None:
        self._task = task
        self._events = events
        self._is_first = is_first
        self._differs_at: int | None = None
        self._row: Row = {"steps": 0, "open": None, "pending_step": None, "beyond": None, "found": ()}

    def place(self) -> Place:
        """Where the run stands.

        Raises:
            RunDiffersError: the task holds something else than the run from some message on.
        """
        differed_at = set[int | None]()
        while True:
            try:
                return self._place()
            except RunDiffersError:
                # Another process may have recorded more between two reads; then the place has moved.
                if self._differs_at in differed_at:
                    raise
                differed_at.add(self._differs_at)
                self._settle()

    def _place(self) -> Place:
        opens = [i for i, event in enumerate(self._events) if event.kind == "open"]
        last, opened = self._last([digest("open", self._events[i].key) for i in opens])
        if opened is None:
            if self._is_first and opens and self._steps():
                raise self._differs(0, "the task holds something else")
            return Place()
        number, start = opened["request"], opens[last]
        end = opens[last + 1] if last + 1 < len(opens) else len(self._events)
        turns = [i for i in range(start + 1, end) if self._events[i].kind in ("turn", "close")]
        found, step = self._last([digest("named", str(number), self._events[i].key) for i in turns])
        at, after = (start, opened["number"]) if step is None else (turns[found], step["number"])
        return self._settled(at, after, number, self._events[start].key)

    def _settled(self, at: int, after: int, number: int, opening: str) -> Place:
        """The place after event `at`, which is step `after`, with what was observed of its calls."""
        back, observed = digest("revise", f"named {opening}"), digest("observe", str(after))
        found = {row["i"]: row for row in self._read([back, observed], after=after)}
        event, done = self._events[at], at + 1
        following = self._events[done] if done < len(self._events) else None
        if 1 in found and event.turn is not None:
            if following is None:
                return Place(done=done, request=number, went_back=0 in found)
            if following.kind == "results" and found[1]["hash"] != self._hash(following):
                raise self._differs(done, "other results were recorded")
            done += 1
        if done < len(self._events) and self._row["beyond"] is not None:
            raise self._differs(done, "the task went on otherwise")
        return Place(done=done, request=number, went_back=0 in found)

    def _hash(self, event: Event) -> str:
        context = self._task.context
        calls = () if event.turn is None else stored_calls(context, event.turn.calls)
        return content_hash(calls, [None if text is None else context.text(text) for text in event.contents])

    def _last(self, keys: Sequence[str]) -> tuple[int, Row | None]:
        """The last of the keys that is in the graph, all before it being there, and its row."""
        low, high, row = 0, len(keys), None
        while low < high:
            step = max(1, -(-(high - low) // _AT_ONCE))
            probes = sorted({*range(low, high, step), high - 1})
            found = {probes[one["i"]]: one for one in self._read([keys[i] for i in probes])}
            there = [i for i in probes if i in found]
            absent = next((i for i in probes if i not in found), high)
            if not there:
                break
            low, row, high = there[-1] + 1, found[there[-1]], absent
        return low - 1, row

    def _read(self, attempts: Sequence[str], *, after: int = _NEVER) -> Sequence[Row]:
        names = {"space": self._task.space, "task": self._task.name}
        rows = self._task.context.connection.read(
            query("exchange/find_recorded"), {**names, "attempts": list(attempts), "after": after}
        )
        if not rows:
            return ()
        self._row = rows[0]
        found: Sequence[Row] = rows[0]["found"]
        return found

    def _settle(self) -> None:
        """Wait until what is being committed is there as a whole."""
        names = {"space": self._task.space, "task": self._task.name}
        self._task.context.connection.read_locked(query("task/settled"), {**names, "op": operation_id()})

    def _steps(self) -> int:
        return int(self._row["steps"])

    def _differs(self, index: int, why: str) -> RunDiffersError:
        self._differs_at, place = index, self._events[index].place
        return RunDiffersError(
            f"{self._task!r}: from message {place} on the messages are not those that were recorded: {why}. Nothing "
            "was written. Give the whole list as it was, with what is new at its end; for another conversation name it "
            "by run=…, or take another task.",
            position=place,
        )
