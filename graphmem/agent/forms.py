"""In which form a model is shown the run and answers: the four blocks, one JSON object, or the whole history (B.3).

Owns the choice of system message and prompt. Invariant: whatever the form, the run is kept in the graph in the same
way, so that a task begun in one form goes on in another.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from graphmem.agent.history import told
from graphmem.agent.prompts import full_context_message, system_message
from graphmem.agent.tools import Tool
from graphmem.inspect import Reader
from graphmem.state.blocks import DELTA, FOCUS
from graphmem.state.protocol import parse
from graphmem.state.values import StepOutput
from graphmem.task import Prompt, Request, Task


class Form(Protocol):
    """What a model is shown, and what its text stands for."""

    @property
    def has_path(self) -> bool:
        """Whether the path can be shown, and kept by the model."""
        ...

    def system(self, tools: Iterable[Tool], request: Request, *, policy: str, path: bool) -> str:
        """The system message."""
        ...

    def prompt(self, task: Task, shown: Prompt) -> str:
        """The input prompt."""
        ...

    def output(self, text: str) -> str | StepOutput:
        """What is committed of the model's text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Incremental:
    """Status in, states and a decision out (FlowState). `one_object`: as one JSON object instead of the four blocks."""

    one_object: bool = False
    has_path: bool = True

    def system(self, tools: Iterable[Tool], request: Request, *, policy: str, path: bool) -> str:
        """FlowState's system instruction."""
        without = [name for name, is_on in request.options.items() if not is_on]
        return system_message(
            tools,
            policy=policy,
            psa=request.psa,
            isu=request.isu,
            path=path,
            without=without,
            one_object=self.one_object,
        )

    def prompt(self, task: Task, shown: Prompt) -> str:  # noqa: ARG002  # other forms need the task
        """Agent status, latest observation, user query."""
        return shown.text()

    def output(self, text: str) -> str | StepOutput:
        """The text as it is: the store reads both forms."""
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class FullContext:
    """B.3's full-context agent, to compare with: everything said and done so far in, a decision out, no states."""

    reader: Reader
    has_path: bool = False

    def system(self, tools: Iterable[Tool], request: Request, *, policy: str, path: bool) -> str:  # noqa: ARG002  # it has neither states nor a path
        """B.3's system instruction of that agent."""
        return full_context_message(tools, policy=policy)

    def prompt(self, task: Task, shown: Prompt) -> str:
        """The trajectory of the task from its first request on, and what was not taken of the last output."""
        history = told(self.reader, task.space, task.name)
        for reason in shown.status.reasons:
            history.refuse(reason.what, reason.why)
        return history.text()

    def output(self, text: str) -> str | StepOutput:
        """The decision alone; that the state blocks are not there is no flaw."""
        read = parse(text)
        absent = tuple(f"{name} was left out and was read as empty" for name in (FOCUS, DELTA))
        repairs = tuple(repair for repair in read.repairs if repair not in absent)
        return replace(read, delta=(), access=(), repairs=repairs)


BLOCKS: Final = Incremental()
ONE_OBJECT: Final = Incremental(one_object=True)
