"""Tokens against recall: before each call of a run, is every argument that was said before in what the model is shown?

Runs are played through tasks of their own, with the rule-based writer in the place of the model and several ways to ask
for history; beside them stand the whole history, and at the budget of each moment its last messages and those that BM25
finds. Invariant: every way is asked about the same moments, and about the same literals of each.
"""

import os.path
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Protocol
from uuid import uuid4

from graphmem.errors import InvalidValueError, NotFoundError, UnreadableRunError
from graphmem.exchange.forgetting import forget
from graphmem.exchange.formats import read
from graphmem.exchange.measuring import baselines
from graphmem.exchange.measuring.figures import FULL, Figure, Measured
from graphmem.exchange.measuring.playing import Asking, Player, Seen, Shown, by_oracle, by_rule, not_at_all
from graphmem.exchange.measuring.script import Message, Moment, Script
from graphmem.exchange.values import Run
from graphmem.llm.tokens import Tokenizer, o200k
from graphmem.store import Connection
from graphmem.task import Task
from graphmem.vocabulary import whole_number

INDEX_TOKENS = 8_000


class Spaces(Protocol):
    """What gives spaces, by a connection: a `Graph`."""

    @property
    def connection(self) -> Connection:
        """The connection."""
        ...

    def space(self, name: str) -> "Tasks":
        """A handle on a space."""
        ...


class Tasks(Protocol):
    """What gives handles on tasks: a `Space`."""

    def task(self, name: str, *, psa: bool | None = None, isu: bool | None = None) -> Task:
        """A handle on a task."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to play a run: who asks for history, within which index, without which mechanism.

    `with_path`: MAGE's path, alone and with the status, is measured in the same play; `compared`: last messages and
    BM25 get its budget at each moment.
    """

    name: str
    asking: Asking
    index_tokens: int = INDEX_TOKENS
    psa: bool | None = None
    isu: bool | None = None
    with_path: bool = False
    compared: bool = False


WAYS = (
    Way(name="FlowState", asking=by_rule, with_path=True, compared=True),
    Way(name="FlowState, oracle access", asking=by_oracle),
    Way(name="FlowState, no access", asking=not_at_all, compared=True),
    Way(name="FlowState without PSA", asking=not_at_all, psa=False),
    Way(name="FlowState without ISU", asking=by_rule, isu=False),
)


def at_budgets(budgets: Sequence[int]) -> tuple[Way, ...]:
    """Rule-based access, and none, with indexes folded to these numbers of tokens."""
    return tuple(
        Way(name=f"{name}, index of {tokens}", asking=asking, index_tokens=tokens, compared=True)
        for tokens in budgets
        for name, asking in (("FlowState", by_rule), ("FlowState, no access", not_at_all))
    )


def measure_files(
    graph: Spaces,
    files: Iterable[Path],
    *,
    form: str | None = None,
    budgets: Sequence[int] = (),
    limit: int = 0,
    workers: int = 1,
    on_fault: Callable[[UnreadableRunError], None] | None = None,
    told: Callable[[int], None] = lambda _: None,
) -> Measured:
    """Tokens against recall for recorded runs of one's own, in a new space that is forgotten afterwards.

    `form`: one of `graphmem.exchange.formats.FORMATS`; `budgets`: further sizes of the index in tokens; `limit`: so
    many runs of each file, 0 for all; `on_fault` is told of runs that cannot be read or stored, else the first one is
    raised.

    Raises:
        UnreadableRunError: nothing can be made of a file or a run; nothing was measured.
        InvalidValueError: a budget or number is none, or a run cannot be stored.
    """
    whole_number("limit", limit)
    for tokens in budgets:
        whole_number("a budget", tokens, most=1_000_000)
    found = [run for file in files for run in islice(read(file, form=form, on_fault=on_fault), limit or None)]
    name = f"measure-{uuid4().hex}"
    ways = (*WAYS, *at_budgets(budgets))
    try:
        return measure(
            graph.space(name), found, tokenizer=o200k(), ways=ways, workers=workers, on_fault=on_fault, told=told
        )
    finally:
        with suppress(NotFoundError):
            forget(graph.connection, name)


def measure(
    tasks: Tasks,
    runs: Sequence[Run],
    *,
    tokenizer: Tokenizer,
    ways: Sequence[Way] = WAYS,
    name: str = "measured",
    workers: int = 1,
    on_fault: Callable[[UnreadableRunError], None] | None = None,
    told: Callable[[int], None] = lambda _: None,
) -> Measured:
    """Play every run in every way; each play is a new task called `{name}-{run}-{way}`, by their numbers.

    `workers`: so many runs at once; `on_fault` is told of a run that cannot be stored, and it is left out; `told` hears
    how many runs are done.
    """
    whole_number("workers", workers, least=1, most=64)

    def figures(numbered: tuple[int, Run]) -> dict[str, Figure] | None:
        try:
            return played(*numbered)
        except InvalidValueError as error:
            if on_fault is None:
                raise
            on_fault(UnreadableRunError(str(error), record=numbered[1].source))
            return None

    def played(number: int, run: Run) -> dict[str, Figure]:
        script, meter = Script(run), _Meter(tokenizer)
        meter.full(script)
        for i, way in enumerate(ways, 1):
            task = tasks.task(f"{name}-{number}-{i}", psa=way.psa, isu=way.isu)
            player = Player(task, script, way.asking, index_tokens=way.index_tokens, with_path=way.with_path)
            meter.play(script, way, player.play())
        return meter.figures

    found: dict[str, Figure] = {}
    measured: list[Run] = []
    with ThreadPoolExecutor(max_workers=workers) as pool:
        try:
            for done, one in enumerate(pool.map(figures, enumerate(runs, 1)), 1):
                if one is not None:
                    measured.append(runs[done - 1])
                    for way_name, figure in one.items():
                        found[way_name] = found[way_name] + figure if way_name in found else figure
                told(done)
        except BaseException:
            # An interrupt, or a run that cannot be stored, does not wait for those that have not begun.
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Measured(
        runs=len(measured),
        calls=sum(len(run.calls) for run in measured),
        tokenizer=tokenizer.name,
        exact=tokenizer.exact,
        figures=tuple(found.values()),
    )


class _Meter:
    """Adds up the figures. A prompt is compared with the one before it in the same play."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._counted: dict[str, int] = {}
        self._count_text = tokenizer.count
        self.figures: dict[str, Figure] = {}

    def full(self, script: Script) -> None:
        """The whole history at each moment."""
        before = ""
        for moment in script.moments:
            shown = _of_messages(baselines.full(script, moment))
            self._add(FULL, script, moment, shown, before)
            before = shown.text

    def play(self, script: Script, way: Way, seen: Iterator[Seen]) -> None:
        """One play, and what has its budget."""
        before: dict[str, str] = {}
        for item in seen:
            figure = self._figure(way.name)
            for text in item.asked:
                figure.asked += 1
                figure.asked_tokens += self._count(text)
                before[way.name] = text
            for name, shown in self._shown(script, way, item):
                self._add(name, script, item.moment, shown, before.get(name, ""))
                before[name] = shown.text

    def _shown(self, script: Script, way: Way, seen: Seen) -> Iterator[tuple[str, Shown]]:
        yield way.name, seen.status
        if seen.path is not None and seen.both is not None:
            yield "MAGE path", seen.path
            yield "both", seen.both
        if way.compared:
            budget = self._count(seen.status.text)
            yield (
                f"last messages at the budget of {way.name}",
                _of_messages(baselines.last(script, seen.moment, budget, self._count)),
            )
            if baselines.has_bm25():
                yield (
                    f"BM25 at the budget of {way.name}",
                    _of_messages(baselines.bm25(script, seen.moment, budget, self._count)),
                )

    def _add(self, name: str, script: Script, moment: Moment, shown: Shown, before: str) -> None:
        figure = self._figure(name)
        figure.moments += 1
        figure.tokens += self._count_text(shown.text)
        figure.stable += self._count_text(os.path.commonprefix((shown.text, before)))  # noqa: RUF071  # by characters
        figure.literals += len(moment.literals)
        for literal in moment.literals:
            if literal.said_in(shown.content):
                figure.found += 1
            else:
                figure.misses[script.kind(moment, literal)] += 1
                figure.missed_parameters[f"{literal.tool}.{literal.parameter}"] += 1

    def _figure(self, name: str) -> Figure:
        return self.figures.setdefault(name, Figure(way=name))

    def _count(self, text: str) -> int:
        if text not in self._counted:
            self._counted[text] = self._count_text(text)
        return self._counted[text]


def _of_messages(messages: Sequence[Message]) -> Shown:
    text = "".join(message.shown for message in messages)
    return Shown(text=text, content="\n".join(f"{message.text}\n{message.call}" for message in messages))
