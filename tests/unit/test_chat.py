"""The scripted model: the outputs in turn, and a clear end."""

import pytest

from graphmem.errors import InvalidValueError
from graphmem.llm.chat import ChatModel, Completion, Message, ScriptedModel


def test_a_script_answers_in_turn_and_a_callable_sees_the_messages() -> None:
    model: ChatModel = ScriptedModel(["one", lambda messages: messages[-1].content.upper()])
    said = [Message("user", "two")]
    assert [model.complete(said), model.complete(said)] == [Completion("one"), Completion("TWO")]


def test_a_script_that_has_run_out_says_how_long_it_was() -> None:
    model = ScriptedModel(iter(["one"]))
    model.complete([])
    with pytest.raises(InvalidValueError, match="holds 1 outputs"):
        model.complete([])
