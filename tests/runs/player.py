"""Drives one recorded run through the whole loop of a task, and compares every answer with the recording.

The rule-based writer and access stand in for the model; their outputs go through the text of the protocol. At one point
of each run, drawn from a seed, all handles are dropped and it goes on from `task.open_request()`. Whatever a status
shows is checked against the paper's sets.
"""

from dataclasses import dataclass
from random import Random
from typing import Final

from graphmem import Access, Request, Space, Status, StepOutput, StepResult, ToolResult
from graphmem.exchange import Run, Turn, access, results, writer
from graphmem.state.protocol import render_output
from graphmem.vocabulary import Json

from .sets import Sets

_ASKS: Final = 4
_TASK: Final = "recorded"


@dataclass(frozen=True, slots=True)
class _Restart:
    """The turn at which the handles are dropped, and whether its calls wait for their results then."""

    turn: int
    pending: bool


class Player:
    """One play of a run as a task of its own in `space`; the seed decides where it is interrupted.

    `asked` counts the steps that only asked for history.
    """

    def __init__(self, space: Space, run: Run, *, seed: int = 0, index_tokens: int = 8_000) -> None:
        self._space = space
        self._run = run
        self._restart = _restart(run, seed)
        self._index_tokens = index_tokens
        self._turn = 0
        self._request: Request | None = None
        self.task = f"{_TASK}-{seed}"
        self.sets = Sets()
        self.asked = 0

    def play(self) -> None:
        """The whole run; a last request without an answer stays open."""
        for number, round_ in enumerate(self._run.rounds, 1):
            self._open(round_.text)
            for turn in round_.turns:
                if self._restart == _Restart(self._turn, False):
                    self._resume()
                self._play_turn(turn, is_answer=round_.has_answer and turn is round_.turns[-1])
                self._turn += 1
            if not round_.has_answer and number < len(self._run.rounds):
                status = self._status()
                self._finish(self._commit(status, writer.closing(status)))

    def read_back(self) -> dict[str, Json]:
        """Every raw result as a disclosure shows it, in the open request or one more."""
        if self._request is None:
            self._open("Show every raw result again.")
        status = self._status()
        raw = tuple(self.sets.results)
        history = tuple(id_ for id_, request in self.sets.states.items() if request < status.request)
        own = tuple(state.id for state in status.active if state.own)
        # The raw ids are asked for too early here: only those that an active state refers to may pass (B.4).
        early = (
            Access(target="obs:999999.1"),
            *(Access(target=t) for t in (*history, *raw, *own, f"request:{status.request}")),
        )
        self._commit(status, StepOutput(delta=writer.notes(status), access=early))
        if raw:
            self._commit(self._status(), StepOutput(access=tuple(Access(target=target) for target in raw)))
        return {state.id: state.value for state in self._status().active if state.kind is None}

    def _open(self, text: str) -> None:
        self._request = self._space.task(self.task).request(text)
        self.sets.open(text)

    @property
    def _opened(self) -> Request:
        assert self._request is not None
        return self._request

    def _resume(self) -> None:
        self._request = None
        self._request = self._space.task(self.task).open_request()
        assert (self._request.number, self._request.text) == (self.sets.number, self.sets.requests[-1])

    def _status(self) -> Status:
        status = self._opened.status(index_tokens=self._index_tokens)
        self.sets.check(status)
        return status

    def _commit(self, status: Status, output: StepOutput) -> StepResult:
        result = self._opened.step(status, render_output(output))
        assert (result.repairs, result.replayed) == ((), False)
        assert [(c.name, c.arguments) for c in result.calls] == [(c.name, c.arguments) for c in output.tool_calls]
        assert result.message == output.message
        self.sets.apply(output, result)
        return result

    def _play_turn(self, turn: Turn, *, is_answer: bool) -> None:
        status = self._asked(turn) if turn.calls else self._status()
        result = self._commit(status, writer.output(status, turn, is_answer=is_answer))
        if turn.calls:
            self._observe(result, turn)
        if is_answer:
            self._finish(result)

    def _finish(self, result: StepResult) -> None:
        assert result.finished
        self._request = None

    def _asked(self, turn: Turn) -> Status:
        """The status before the calls of a turn, once what the rule wants was asked for."""
        names = tuple(dict.fromkeys(name for call in turn.calls for name in results.parameters(call.arguments)))
        status = self._status()
        for _ in range(_ASKS):
            whole = self._opened.status()
            wanted = access.wanted(status, tool=turn.calls[0].name, parameters=names, whole=whole)
            if not wanted:
                break
            self.asked += 1
            result = self._commit(status, StepOutput(delta=writer.notes(status), access=wanted))
            assert result.disclosed == tuple(item.target for item in wanted), "a rule asks for nothing in vain"
            status = self._status()
        return status

    def _observe(self, result: StepResult, turn: Turn) -> None:
        pending = result.pending
        if self._restart == _Restart(self._turn, True):
            self._resume()
            found = self._opened.status().pending
            assert found == pending
            pending = found
        given = [ToolResult(call_id=c.id, content=text) for c, text in zip(pending.calls, turn.results, strict=True)]
        ids = self._opened.observe(pending, given)
        assert self._opened.observe(pending, given) == ids
        self.sets.observe(ids, turn.results)


def _restart(run: Run, seed: int) -> _Restart | None:
    """A point at which a request is open: the same for every play of a run with one seed."""
    turns = run.turns
    if not turns:
        return None
    random = Random(f"{run.task} {run.trial} {seed}")
    turn = random.randrange(len(turns))
    return _Restart(turn, bool(turns[turn].calls) and random.random() < 0.5)
