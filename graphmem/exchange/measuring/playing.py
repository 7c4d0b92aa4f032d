"""A recorded run played through a task, with the writer in the place of the model, to see what each prompt shows.

Each turn is a step against the status that a model would have been given; before a turn with calls an `Asking` may ask
for history, in steps of their own. Invariant: nothing is shown that the graph did not give.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphmem.exchange import access, writer
from graphmem.exchange.measuring.script import Literal, Moment, Script
from graphmem.exchange.values import Round, Turn
from graphmem.state.values import Access, StepOutput, StepResult, ToolResult
from graphmem.task import Prompt, Request, Status, Task
from graphmem.trace import Path
from graphmem.vocabulary import Json, json_text

_ASKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A prompt: its text, and what of that is content, without ids and the words of the protocol."""

    text: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a task shows at a moment. `asked`: the prompts of the steps before it that only asked for history.

    `path`: MAGE's alone, and `both` in one prompt, where they were read.
    """

    moment: Moment
    status: Shown
    asked: tuple[str, ...] = ()
    path: Shown | None = None
    both: Shown | None = None


@dataclass(slots=True)
class Known:
    """What the states and raw results of a task hold, for who may look: the oracle."""

    values: dict[str, str] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)
    refs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    answered: int = 0

    def respond(self, request: int, message: str) -> None:
        """Without ISU, a response is a state that rests on the raw results of its request."""
        self.values[f"response-{request}"] = message
        self.refs[f"response-{request}"] = tuple(list(self.raw)[self.answered :])
        self.answered = len(self.raw)


# What to ask for: given what is shown, the same with the whole index, the moment, and what the task holds.
Asking = Callable[[Status, Status, Moment, Known], tuple[Access, ...]]


def by_rule(status: Status, whole: Status, moment: Moment, known: Known) -> tuple[Access, ...]:
    """Rule-based access; it looks at neither values nor what is known."""
    del known
    return access.wanted(status, tool=moment.tools[0], parameters=moment.parameters, whole=whole)


def not_at_all(status: Status, whole: Status, moment: Moment, known: Known) -> tuple[Access, ...]:
    """No access."""
    del status, whole, moment, known
    return ()


def by_oracle(status: Status, whole: Status, moment: Moment, known: Known) -> tuple[Access, ...]:
    """The fewest states that hold what is missing, of those that may be asked for; states with it behind them else."""
    del whole
    shown = content_of_status(status)
    missing = [literal for literal in moment.literals if not literal.said_in(shown)]
    active = {state.id for state in status.active}
    lines = [line.id for entry in status.index for line in entry.states if line.id not in active]
    raw = [r.id for state in status.active for r in state.related if r.id in known.raw and r.id not in active]
    now = {id_: known.values.get(id_, "") for id_ in lines} | {id_: known.raw[id_] for id_ in raw}
    behind = {id_: "\n".join(known.raw[target] for target in known.refs.get(id_, ())) for id_ in lines}
    chosen = _covering(missing, now)
    left = [x for x in missing if not any(x.said_in(now[id_]) for id_ in chosen)]
    chosen += [id_ for id_ in _covering(left, behind) if id_ not in chosen]
    return tuple(Access(target=target, reason="oracle") for target in chosen)


def _covering(missing: list[Literal], texts: dict[str, str]) -> list[str]:
    """Greedily: what holds most of the missing, the shorter one first."""
    chosen: list[str] = []
    while missing and texts:
        held = {id_: [x for x in missing if x.said_in(text)] for id_, text in texts.items()}
        best = max(held, key=lambda id_: (len(held[id_]), -len(texts[id_])))
        if not held[best]:
            break
        chosen.append(best)
        missing = [x for x in missing if x not in held[best]]
    return chosen


class Player:
    """One play of a run in a new task. `with_path`: the path is read, too."""

    def __init__(
        self, task: Task, script: Script, asking: Asking, *, index_tokens: int | None = 8_000, with_path: bool = False
    ) -> None:
        self._task = task
        self._script = script
        self._asking = asking
        self._index_tokens = index_tokens
        self._with_path = with_path
        self._known = Known()

    def play(self) -> Iterator[Seen]:
        """What was shown at each moment, as the play goes on."""
        moments = iter(self._script.moments)
        rounds = self._script.run.rounds
        for number, round_ in enumerate(rounds):
            request = self._task.request(round_.text)
            for i, turn in enumerate(round_.turns):
                status = request.status(index_tokens=self._index_tokens)
                if turn.calls:
                    seen, status = self._seen(request, status, next(moments))
                    yield seen
                self._turn(request, status, turn, is_answer=_answers(round_, i))
            if not round_.has_answer and number < len(rounds) - 1:
                status = request.status(index_tokens=self._index_tokens)
                self._step(request, status, writer.closing(status))

    def _seen(self, request: Request, status: Status, moment: Moment) -> tuple[Seen, Status]:
        """What is shown once what was wanted had been asked for, and the status that it is."""
        asked: list[str] = []
        for _ in range(_ASKS):
            whole = request.status() if status.history.folded else status
            wanted = self._asking(status, whole, moment, self._known)
            if not wanted:
                break
            asked.append(status.text())
            self._step(request, status, StepOutput(delta=writer.notes(status), access=wanted))
            status = request.status(index_tokens=self._index_tokens)
        shown = Shown(text=status.text(), content=content_of_status(status))
        if not self._with_path:
            return Seen(moment=moment, status=shown, asked=tuple(asked)), status
        path = self._task.path()
        both = Prompt(status=status, path=path)
        content = content_of_path(path)
        alone = Shown(text=f"{path.text()}\n\n{status.query}", content=f"{content}\n{status.query}")
        together = Shown(text=both.text(), content=f"{content}\n{shown.content}")
        return Seen(moment=moment, status=shown, asked=tuple(asked), path=alone, both=together), status

    def _turn(self, request: Request, status: Status, turn: Turn, *, is_answer: bool) -> None:
        output = writer.output(status, turn, is_answer=is_answer)
        if not (output.delta or output.tool_calls or output.message is not None):
            return
        result = self._step(request, status, output)
        if turn.calls:
            given = [ToolResult(call_id=c.id, content=r) for c, r in zip(result.calls, turn.results, strict=True)]
            ids = request.observe(result, given)
            self._known.raw |= {id_: text or "" for id_, text in zip(ids, turn.results, strict=True)}

    def _step(self, request: Request, status: Status, output: StepOutput) -> StepResult:
        result = request.step(status, output, own_calls=False)
        for op in output.delta:
            if op.operation != "remove":
                self._known.values[op.id] = _plain(op.value)
                self._known.refs[op.id] = tuple(ref.target for ref in op.refs or () if ref.target.startswith("obs:"))
        if not status.isu and output.message is not None:
            self._known.respond(request.number, output.message)
        return result


def _answers(round_: Round, i: int) -> bool:
    return round_.has_answer and i == len(round_.turns) - 1


def content_of_status(status: Status) -> str:
    """Everything that a status shows but ids and the protocol's own words."""
    parts = [status.query]
    for entry in status.index:
        parts += [entry.text, *(line.summary for line in entry.states)]
    for state in status.active:
        parts += [state.summary, _plain(state.value)]
    for observation in status.observation:
        parts += [json_text(observation.arguments), observation.content or ""]
    return "\n".join(parts)


def content_of_path(path: Path) -> str:
    """Everything that a path says but keys and numbers of nodes."""
    parts = [summary.text for summary in path.summaries]
    for node in path.recent:
        parts += [f"{json_text(result.arguments)}\n{result.content or ''}" for result in node.results]
    return "\n".join(parts)


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else json_text(value)
