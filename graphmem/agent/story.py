"""How a script is told: outputs in the four blocks of B.3, with what the store must answer to each.

Owns the words in which `script` is written and the check of every answer. A part of a script is a generator: it is
sent what a prompt shows and yields what a model would say to it. Invariant: an answer that differs from what the script
counts on ends the run with `StoryError`.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from graphmem.agent.seen import Seen
from graphmem.errors import StoryError
from graphmem.llm.chat import Completion, Message
from graphmem.state.protocol import render_output
from graphmem.state.values import Access, Operation, Ref, StepOutput, StepResult, ToolCall
from graphmem.vocabulary import Relation, StateKind

PREFERENCE: Final = StateKind.PREFERENCE
KNOWLEDGE: Final = StateKind.KNOWLEDGE
ATTRIBUTE: Final = StateKind.ATTRIBUTE
JUDGEMENT: Final = StateKind.JUDGEMENT
ARTIFACT: Final = StateKind.ARTIFACT


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An output, and the parts of it that must be rejected; `is_refused` when all of it must be."""

    output: StepOutput
    rejects: tuple[str, ...] = ()
    is_refused: bool = False
    is_flawed: bool = False

    @property
    def text(self) -> str:
        """What the model writes."""
        text = render_output(self.output)
        return flawed(text) if self.is_flawed else text

    def check(self, result: StepResult) -> None:
        """Compare the store's answer with what the script counts on.

        Raises:
            StoryError: they differ.
        """
        done = (
            ()
            if self.is_refused
            else tuple(op for op in self.output.delta if f"{op.operation} {op.id}" not in self.rejects)
        )
        asked = (
            ()
            if self.is_refused
            else tuple(a.target for a in self.output.access if f"access {a.target}" not in self.rejects)
        )
        wanted = {
            "added": _ids(done, "add"),
            "updated": _ids(done, "update"),
            "removed": _ids(done, "remove"),
            "disclosed": asked,
            "rejected": self.rejects,
            "refused": self.is_refused,
            "repaired": self.is_flawed,
        }
        found = {
            **{name: getattr(result, name) for name in ("added", "updated", "removed", "disclosed")},
            "rejected": tuple(reason.what for reason in result.rejected),
            "refused": result.refused is not None,
            "repaired": bool(result.repairs),
        }
        wrong = [f"{name}: {found[name]}, not {wanted[name]}" for name in wanted if found[name] != wanted[name]]
        if wrong:
            raise StoryError(f"step {result.step} did not go as the script tells: {'; '.join(wrong)}")


Part: TypeAlias = Callable[[Seen], Generator[Said, Seen, None]]


class Story:
    """A chat model that plays the parts of a script, one a request."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = iter(parts)
        self._run: Generator[Said, Seen, None] | None = None
        self._said: Said | None = None

    def complete(self, messages: Sequence[Message]) -> Completion:
        """What the script says to this prompt."""
        seen = Seen.of(messages)
        if self._run is None:
            self._run = next(self._parts)(seen)
            self._said = next(self._run)
        else:
            self._said = self._run.send(seen)
        if self._said.output.message is not None and not self._said.is_refused:
            self._run = None
        return Completion(text=self._said.text)

    def check(self, result: StepResult) -> None:
        """Compare the store's answer to the last output with what the script counts on."""
        if self._said is None:
            raise StoryError("the story has not begun")
        self._said.check(result)


def say(
    *delta: Operation,
    access: Mapping[str, str] | None = None,
    calls: Sequence[ToolCall] = (),
    message: str | None = None,
    rejects: Sequence[str] = (),
    is_refused: bool = False,
    is_flawed: bool = False,
) -> Said:
    """An output: operations, what to disclose and why, and a decision."""
    asked = tuple(Access(target=target, reason=reason) for target, reason in (access or {}).items())
    output = StepOutput(delta=delta, access=asked, tool_calls=tuple(calls), message=message)
    return Said(output=output, rejects=tuple(rejects), is_refused=is_refused, is_flawed=is_flawed)


def add(kind: StateKind, state_id: str, summary: str, value: dict[str, Any], **refs: str | Sequence[str]) -> Operation:
    """Add a state; refs by relation, as in `derives="obs:1.1"`."""
    return Operation(
        operation="add", id=state_id, kind=kind, summary=summary, value=value, has_value=True, refs=_refs(refs)
    )


def update(state_id: str, summary: str, value: dict[str, Any], **refs: str | Sequence[str]) -> Operation:
    """Update a state; its refs stay where none are given."""
    given = _refs(refs) if refs else None
    return Operation(operation="update", id=state_id, summary=summary, value=value, has_value=True, refs=given)


def remove(state_id: str) -> Operation:
    """Remove a state."""
    return Operation(operation="remove", id=state_id)


def use(name: str, **arguments: str | int) -> ToolCall:
    """Call a tool."""
    return ToolCall(name=name, arguments=arguments)


def pick(entity: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """What of an entity is worth keeping in a state."""
    return {name: entity[name] for name in names}


def flawed(text: str) -> str:
    """The text as real models write it now and then: in a code fence, with a trailing comma in each list."""
    return "```text\n" + text.replace("}]\n</", "},]\n</") + "\n```"


def _refs(refs: Mapping[str, str | Sequence[str]]) -> tuple[Ref, ...]:
    return tuple(
        Ref(relation=Relation(relation), target=target)
        for relation, targets in refs.items()
        for target in ([targets] if isinstance(targets, str) else targets)
    )


def _ids(delta: tuple[Operation, ...], operation: str) -> tuple[str, ...]:
    return tuple(op.id for op in delta if op.operation == operation)
