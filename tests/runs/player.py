"""Drives one recorded conversation through the whole loop of a task, and compares every answer with the recording.

The rule-based writer and access stand in for the model; their outputs go through the text of the protocol. At one point
of each conversation, drawn from a seed, all handles are dropped and the run goes on from `task.open_request()`.
Whatever a status shows is checked against the paper's sets.
"""

from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final

from graphmem import Access, Request, Space, Status, StepOutput, StepResult, ToolCall, ToolResult
from graphmem.exchange import Turn as WrittenTurn
from graphmem.exchange import access, results, writer
from graphmem.exchange.measuring.playing import content_of_status
from graphmem.exchange.measuring.script import Literal, literals
from graphmem.llm.tokens import Tokenizer
from graphmem.state.protocol import render_output
from graphmem.vocabulary import Json

from .recording import Call, Conversation, Turn
from .sets import Sets

_RECALLS: Final = 4
_TASK: Final = "recorded"


@dataclass(slots=True, kw_only=True)
class Figures:
    """What one conversation came to.

    `outputs` are the recorded ones, `recalls` the steps that only asked for history; `shown` and `history` are tokens
    of the statuses and of the full history over all these steps, `recorded` those of the history over the outputs
    alone, since an agent that has it needs no recalls. Of the `literals` in arguments, `said` are those that the
    history holds, `visible` those that the status held when the call was made.
    """

    name: str
    messages: int
    requests: int = 0
    outputs: int = 0
    recalls: int = 0
    results: int = 0
    states: int = 0
    disclosed: int = 0
    shown: int = 0
    history: int = 0
    recorded: int = 0
    literals: int = 0
    said: int = 0
    visible: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _Restart:
    """The turn at which the handles are dropped, and whether its calls wait for their results then."""

    turn: int
    pending: bool


class Player:
    """One run of a conversation as a task of its own in `space`; the seed decides where it is interrupted."""

    def __init__(
        self,
        space: Space,
        conversation: Conversation,
        tokenizer: Tokenizer,
        *,
        seed: int = 0,
        index_tokens: int = 8_000,
    ) -> None:
        self._space = space
        self._conversation = conversation
        self._tokens = [tokenizer.count(text) for text in conversation.history]
        self._restart = _restart(conversation, seed)
        self._index_tokens = index_tokens
        self._turn = 0
        self._request: Request | None = None
        self.task = f"{_TASK}-{seed}"
        self.sets = Sets()
        self.figures = Figures(name=conversation.name, messages=len(conversation.history))

    def play(self) -> Figures:
        """The whole conversation; a last request without an answer stays open."""
        for round_ in self._conversation.rounds:
            self._open(round_.text)
            for turn in round_.turns:
                if self._restart == _Restart(self._turn, False):
                    self._resume()
                self._play_turn(turn)
                self._turn += 1
        self.figures.requests, self.figures.states = self.sets.number, len(self.sets.states)
        return self.figures

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

    def _play_turn(self, turn: Turn) -> None:
        status = self._status() if not turn.calls else self._recalled(turn)
        self._count(status, turn)
        self.figures.outputs += 1
        self.figures.recorded += sum(self._tokens[: turn.seen])
        calls = tuple(ToolCall(name=call.name, arguments=call.arguments) for call in turn.calls)
        written = WrittenTurn(text=turn.text, calls=calls)
        result = self._commit(status, writer.output(status, written, is_answer=turn.is_answer))
        if turn.calls:
            self._observe(result, turn.calls)
        if turn.is_answer:
            assert result.finished
            self._request = None

    def _recalled(self, turn: Turn) -> Status:
        """The status before the calls of a turn, once what the rule wants was asked for."""
        names = tuple(dict.fromkeys(name for call in turn.calls for name in results.parameters(call.arguments)))
        status = self._status()
        for _ in range(_RECALLS):
            wanted = access.wanted(status, tool=turn.calls[0].name, parameters=names)
            if not wanted:
                break
            self._count(status, turn)
            self.figures.recalls += 1
            result = self._commit(status, StepOutput(delta=writer.notes(status), access=wanted))
            assert result.disclosed == tuple(item.target for item in wanted), "a rule asks for nothing in vain"
            self.figures.disclosed += len(result.disclosed)
            status = self._status()
        self._count_literals(status, turn)
        return status

    def _observe(self, result: StepResult, calls: tuple[Call, ...]) -> None:
        pending = result.pending
        if self._restart == _Restart(self._turn, True):
            self._resume()
            found = self._opened.status().pending
            assert found == pending
            pending = found
        contents = [call.result for call in calls]
        results = [ToolResult(call_id=c.id, content=text) for c, text in zip(pending.calls, contents, strict=True)]
        ids = self._opened.observe(pending, results)
        assert self._opened.observe(pending, results) == ids
        self.sets.observe(ids, contents)
        self.figures.results += len(ids)

    def _count(self, status: Status, turn: Turn) -> None:
        self.figures.shown += status.tokens
        self.figures.history += sum(self._tokens[: turn.seen])

    def _count_literals(self, status: Status, turn: Turn) -> None:
        said, shown = "".join(self._conversation.history[: turn.seen]), content_of_status(status)
        found = [literal for call in turn.calls for literal in _literals(call)]
        self.figures.literals += len(found)
        self.figures.said += sum(literal.said_in(said) for literal in found)
        self.figures.visible += sum(literal.said_in(shown) for literal in found)


def _literals(call: Call) -> tuple[Literal, ...]:
    return literals(ToolCall(name=call.name, arguments=call.arguments))


def _restart(conversation: Conversation, seed: int) -> _Restart | None:
    """A point at which a request is open: the same for every run of a conversation with one seed."""
    turns = conversation.turns
    if not turns:
        return None
    random = Random(f"{conversation.name} {seed}")
    turn = random.randrange(len(turns))
    return _Restart(turn, bool(turns[turn].calls) and random.random() < 0.5)
