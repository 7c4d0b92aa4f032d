"""What happens in a run of an agent, as lines for whoever watches it.

Owns the words. Invariants: everything goes to stderr, so that stdout has the answer alone; every text of models, tools
and users goes through `visible`.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import click

from graphmem.agent.events import (
    Answered,
    Asking,
    Calling,
    Event,
    Invocation,
    Opened,
    Returned,
    Said,
)
from graphmem.state.values import ToolCall
from graphmem.vocabulary import json_text, short_name
from graphmem_cli.options import say
from graphmem_cli.tables import visible

_RESULT_CHARACTERS: Final = 200
_COUNTS: Final = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens", "total_tokens")


class Telling:
    """A listener of one run that says what happens, and counts what it costs. `request`: that of the run, once it is
    there. `hide` takes secrets out of a text.
    """

    def __init__(self, model: str, *, shows_output: bool, hide: Callable[[str], str]) -> None:
        self.request: int | None = None
        self.steps = 0
        self.usage: Counter[str] = Counter()
        self._model = model
        self._shows_output = shows_output
        self._hide = hide
        self._is_in_line = False

    def __call__(self, event: Event) -> None:
        """Say it."""
        if isinstance(event, Said):
            self._piece(event.text)
            return
        self._end_line()
        if isinstance(event, Opened):
            self.request = event.request
        if isinstance(event, Asking):
            self.steps = event.step
        if isinstance(event, Invocation):
            self.usage.update({name: (event.usage or {}).get(name, 0) for name in _COUNTS})
        for line in self._lines(event):
            say(self._hide(line))

    @contextmanager
    def waits(self) -> Iterator[None]:
        """Inside, it is said when the endpoint is waited for, and what it does not take."""
        logger, handler = logging.getLogger("graphmem.llm"), logging.Handler(logging.INFO)
        handler.emit = lambda record: self._note(record.getMessage())  # type: ignore[method-assign]  # all it does
        before = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.setLevel(before)
            logger.removeHandler(handler)

    def counted(self) -> dict[str, int]:
        """The tokens of the run, as far as the endpoint counted them."""
        return {name: self.usage[name] for name in _COUNTS if self.usage[name]}

    def _note(self, text: str) -> None:
        self._end_line()
        say(self._hide(f"[{self.steps}]   {text}"))

    def _piece(self, text: str) -> None:
        if not self._shows_output:
            return
        if not text and self._is_in_line:
            self._end_line()
            say("(the answer broke off; it begins anew)")
            return
        click.echo(visible(text, newlines=True), err=True, nl=False)
        self._is_in_line = not text.endswith("\n")

    def _end_line(self) -> None:
        if self._is_in_line:
            click.echo(err=True)
        self._is_in_line = False

    def _lines(self, event: Event) -> Iterator[str]:
        match event:
            case Opened(is_resumed=True):
                yield f"goes on with request {event.request}: {short_name(event.text, characters=_RESULT_CHARACTERS)}"
            case Opened():
                yield f"request {event.request}: {short_name(event.text, characters=_RESULT_CHARACTERS)}"
            case Answered():
                said = "outcome unknown" if event.content is None else _short(event.content)
                yield f"left by an earlier run without a result: {_call(event.call)}: {said}"
            case Asking():
                yield f"[{event.step}] asking {self._model}"
            case Calling():
                yield f"[{self.steps}] {_call(event.call)}"
            case Returned():
                yield f"[{self.steps}]   -> {_short(event.content)}"
            case Invocation():
                yield from _became(self.steps, event)
            case _:
                return


def _became(step: int, done: Invocation) -> Iterator[str]:
    """What became of an output."""
    result = done.result
    signs = (("+", result.added), ("~", result.updated), ("-", result.removed), (">", result.disclosed))
    changed = [f"{sign}{id_}" for sign, ids in signs for id_ in ids]
    tokens = _tokens(done.usage)
    if changed or tokens:
        yield f"[{step}] {' '.join(changed)}{'; ' if changed and tokens else ''}{tokens}"
    if result.refused is not None:
        yield f"[{step}] nothing was taken: {short_name(result.refused, characters=_RESULT_CHARACTERS)}"
    yield from (f"[{step}] not taken: {reason.what}: {reason.why}" for reason in result.rejected)
    yield from (f"[{step}] repaired: {short_name(repair, characters=_RESULT_CHARACTERS)}" for repair in result.repairs)


def _tokens(usage: Mapping[str, int] | None) -> str:
    if not usage:
        return ""
    read, wrote = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
    cached = f" ({usage['cached_tokens']:,} cached)" if usage.get("cached_tokens") else ""
    return f"{read:,}{cached} + {wrote:,} tokens"


def _call(call: ToolCall) -> str:
    return f"{call.name} {short_name(json_text(call.arguments), characters=_RESULT_CHARACTERS)}"


def _short(content: str) -> str:
    return short_name(content, characters=_RESULT_CHARACTERS)
