"""What one run may take, and what it has taken.

Owns the limits and their errors; each says that the request stays open and how to go on. Invariant: nothing of a step
is lost to a limit, since they are looked at between steps, and the time also while the model is asked.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from graphmem.errors import InvalidValueError, StepLimitError, TimeLimitError, TokenLimitError, UnreadableOutputError
from graphmem.task import Request
from graphmem.vocabulary import short_name, whole_number

_GO_ON = "It stays open; run again to go on, or raise"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """What one run may take before a final response; None for no limit.

    `steps`: model invocations. `tokens`: read and written by them, as the endpoint counts, else as graphmem does; those
    of judges and summarizers are not among them. `seconds`: neither a tool nor a model that does not stream is
    interrupted. `unreadable`: how many outputs in a row of which nothing could be taken are shown back to the model,
    with the reason.
    """

    steps: int | None = 50
    tokens: int | None = None
    seconds: float | None = None
    unreadable: int = 3

    def __post_init__(self) -> None:
        for name in ("steps", "tokens"):
            if getattr(self, name) is not None:
                whole_number(f"the limit {name}", getattr(self, name), least=1)
        whole_number("the limit unreadable", self.unreadable)
        if self.seconds is not None and not (isinstance(self.seconds, int | float) and self.seconds > 0):
            raise InvalidValueError(f"the limit seconds must be a number above 0, not {self.seconds!r}")


@dataclass(slots=True)
class Meter:
    """What a run has taken of its limits."""

    limits: RunLimits
    request: Request
    steps: int = 0
    tokens: int = 0
    refused: int = 0
    began: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raises: StepLimitError, TokenLimitError, TimeLimitError, when the next invocation is not allowed."""
        steps, tokens = self.limits.steps, self.limits.tokens
        if steps is not None and self.steps >= steps:
            raise StepLimitError(
                f"{self.request!r}: no final response in {steps:,} steps. {_GO_ON} the limit of steps."
            )
        if tokens is not None and self.tokens >= tokens:
            raise TokenLimitError(
                f"{self.request!r}: no final response in {self.tokens:,} tokens; the limit is {tokens:,}. "
                f"{_GO_ON} the limit of tokens."
            )
        if self.is_late:
            raise self.too_late()

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        left = self.seconds_left
        return left is not None and left <= 0

    @property
    def seconds_left(self) -> float | None:
        """How long the run may go on; None for as long as it takes."""
        seconds = self.limits.seconds
        return None if seconds is None else self.began + seconds - time.monotonic()

    def too_late(self) -> TimeLimitError:
        """The error for a run whose time is over."""
        return TimeLimitError(
            f"{self.request!r}: no final response in {self.limits.seconds:g} seconds. {_GO_ON} the limit of seconds."
        )

    def spend(self, usage: Mapping[str, int] | None, *, counted: Callable[[], int]) -> None:
        """Count an invocation; `counted` gives its tokens where the endpoint says nothing."""
        self.steps += 1
        said = usage or {}
        total = said.get("total_tokens") or said.get("prompt_tokens", 0) + said.get("completion_tokens", 0)
        if self.limits.tokens is not None:
            self.tokens += total or counted()

    def settle(self, refused: str | None) -> None:
        """Count outputs in a row of which nothing was taken, and why.

        Raises:
            UnreadableOutputError: that was one too many.
        """
        self.refused = 0 if refused is None else self.refused + 1
        if refused is not None and self.refused > self.limits.unreadable:
            raise UnreadableOutputError(
                f"{self.request!r}: nothing could be taken of {self.refused} outputs in a row; the last one: "
                f"{short_name(refused, characters=300)}. It stays open; run again, perhaps with another model, or "
                "raise the limit of unreadable outputs (--max-unreadable)."
            )
