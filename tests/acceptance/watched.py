"""A watched client and its task, for the tests of both."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from openai import OpenAI

import graphmem
from graphmem.exchange import catch_up, record
from graphmem.exchange.watching.catching_up import settle
from graphmem.store import Connection
from tests.openai_server import KEY, OpenAIServer, Reply, call, says

USER: Any = {"role": "user", "content": "Is hotel A free, and what does it cost?"}
SYSTEM: Any = {"role": "system", "content": "You book hotels."}
TWO_CALLS = (call("is_free", {"hotel": "A"}, "c1"), call("cost", {"hotel": "A", "nights": 2}, "c2"))
RESULTS: tuple[Any, ...] = (
    {"role": "tool", "tool_call_id": "c1", "content": "free"},
    {"role": "tool", "tool_call_id": "c2", "content": '{"usd": 140}'},
)
ANSWER = "It is free and costs 140 USD."
TOOLS: Any = [{"type": "function", "function": {"name": "is_free", "parameters": {"type": "object"}}}]


@pytest.fixture(autouse=True)
def _no_warnings_of_our_own_statements() -> None:
    """Warnings are what some of these tests are about: `said` has them."""


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What the log says, at any level."""
    records: list[str] = []
    handler = logging.Handler(logging.DEBUG)
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]  # a collecting handler
    logger = logging.getLogger("graphmem")
    logger.addHandler(handler)
    yield records
    logger.removeHandler(handler)


def client(server: OpenAIServer, **how: Any) -> OpenAI:
    return OpenAI(base_url=server.url, api_key=KEY, **{"max_retries": 0, **how})


def ask(watched: OpenAI, messages: Sequence[Any], **how: Any) -> Any:
    return watched.chat.completions.create(model="scripted", messages=list(messages), **how)


def speak(watched: OpenAI, messages: list[Any], text: str, *, before: Sequence[Any] = (), last: int = 0) -> str:
    """Say something and hear the answer. Sent is what stands `before`, and all messages or the `last` of them."""
    messages.append({"role": "user", "content": text})
    answer = str(ask(watched, [*before, *messages[-last:]]).choices[0].message.content)
    messages.append({"role": "assistant", "content": answer})
    return answer


def ledger(connection: Connection, task: graphmem.Task) -> list[dict[str, Any]]:
    with connection.transaction() as run:
        return run(
            "MATCH (s:Step {space: $p.space}) WHERE s.task ENDS WITH $p.task "
            "RETURN s.number AS number, s.kind AS kind, s.output AS output, s.author AS author ORDER BY number",
            {"space": task.space, "task": task.name},
        )


def check_recorded(connection: Connection, space: graphmem.Space, task: graphmem.Task, messages: Sequence[Any]) -> None:
    """The task has what `record` makes of these messages, and nothing else."""
    reference = space.task("reference")
    record(reference, messages)
    assert ledger(connection, task) == ledger(connection, reference)
    assert task.path().text() == reference.path().text()


def brought_in(task: graphmem.Task, folder: Path) -> None:
    """Everything that was said is in the graph, and no file is left."""
    assert catch_up(task, folder=folder).refused == ()
    assert list(folder.glob("*")) == []


def echo(question: Any) -> Reply:
    return says(f"you said {question['messages'][-1]['content']}")


def brought_in_one(task: graphmem.Task, folder: Path) -> None:
    assert catch_up(task, folder=folder).refused == ()
    assert settle(task.context.connection, seconds=60.0)  # its courier may be looking whether anything is left
    assert list(folder.glob(f"*{task.name}-*")) == []
