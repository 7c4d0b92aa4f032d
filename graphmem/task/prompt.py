"""Path and status as one prompt, with nothing said twice.

Pure. The order keeps providers' prefix caches working: the index, C and R stand before what changes with every step. A
raw result that the latest observation or the Active State shows in full is only named in R.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from graphmem.state.render import agent_status, input_prompt, observation_text
from graphmem.state.values import Value
from graphmem.task.status import Status
from graphmem.trace import Path
from graphmem.vocabulary import whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Value):
    """What a model is shown: the status, joined with the path where that is told (`path` None: the status alone).

    `budget_tokens` limits the path's part. An output is committed against it by `request.step(prompt, output)`.
    """

    status: Status
    path: Path | None = None
    budget_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.budget_tokens is not None:
            whole_number("budget_tokens", self.budget_tokens)

    def text(self) -> str:
        """The input prompt of FlowState's B.3, with C, R and H of MAGE in its status."""
        status = self.status
        if self.path is None:
            return status.text()
        calls = status.pending.calls if status.pending is not None else ()
        return input_prompt(
            status=agent_status(
                status.history if status.psa else None,
                status.active,
                status.reasons,
                calls,
                path=self.path.parts(budget_tokens=self.budget_tokens, shown=self._shown(), told=self._told()),
            ),
            observation=observation_text(status.observation),
            query=status.query,
        )

    @property
    def tokens(self) -> int:
        """The length of `text()`, counted by the status's tokenizer."""
        return self.status.tokenizer.count(self.text())

    def _shown(self) -> frozenset[str]:
        raw = {state.id for state in self.status.active if state.kind is None}
        return frozenset(raw | {o.id for o in self.status.observation})

    def _told(self) -> frozenset[str]:
        values = (state.value for state in self.status.active)
        return frozenset(
            str(value["response"]) for value in values if isinstance(value, Mapping) and "response" in value
        )
