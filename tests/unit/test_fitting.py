"""Messages made fit to be recorded: what is fit stays as it is, everything else is within the limits afterwards."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.exchange.messages import conversation
from graphmem.exchange.watching.fitting import fit
from graphmem.vocabulary import Limits, json_text, text_fault
from tests.openai_server import call

LIMITS = Limits(id_characters=40, value_bytes=400, result_bytes=200, text_bytes=300)


def test_a_message_that_is_fit_is_given_back_itself() -> None:
    for message in (
        {"role": "user", "content": "x" * 300},
        {"role": "tool", "tool_call_id": "c1", "content": "é" * 100},
        {"role": "assistant", "content": None, "tool_calls": [call("f", {"a": "x" * 200}, "c1"), call("g", "", "c2")]},
    ):
        assert fit(message, LIMITS) == message
        assert fit(message, LIMITS) is message


@pytest.mark.parametrize("text", ["x" * 201, "é" * 101, "🙂" * 60, "\x00" * 500, "\ud800" * 500, "a\x00b"])
def test_a_text_is_within_the_limit_and_can_be_stored(text: str) -> None:
    fitted = fit({"role": "tool", "tool_call_id": "c1", "content": text}, LIMITS)["content"]
    assert text_fault(fitted) is None
    assert len(fitted.encode()) <= 200
    assert ("cut" in fitted) == (len(text) > 3)


@pytest.mark.parametrize(
    "made",
    [
        call("", "{}", "c1"),
        call("  ", "{}", "c1"),
        call("n" * 100, "{}", "c1"),
        call("f", '{"a": "' + "x" * 1_000, "c1"),
        call("f", {"a": "x" * 1_000}, "c1"),
        call("f", '"' * 390, "c1"),
        {"id": "c1"},
        {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "x" * 900}},
        "no call",
    ],
)
def test_a_call_can_be_recorded(made: Any) -> None:
    message = fit({"role": "assistant", "content": None, "tool_calls": [made]}, LIMITS)
    (found,) = conversation([message]).rounds[0].turns[0].calls
    assert 0 < len(found.name) <= LIMITS.id_characters
    assert len(json_text(found.arguments).encode()) <= LIMITS.value_bytes


texts = st.text(st.sampled_from('a"\\\n\x00é🙂\ud800 '), max_size=600)


@given(texts, texts, texts, st.sampled_from(["user", "assistant"]))
def test_whatever_is_said_is_fit_afterwards_and_stays_so(said: str, name: str, arguments: str, role: str) -> None:
    message: dict[str, Any] = {"role": role, "content": said}
    if role == "assistant":
        message["tool_calls"] = [call(name, arguments, "c1")]
    fitted = fit(message, LIMITS)
    assert fit(fitted, LIMITS) == fitted
    assert len(fitted["content"].encode()) <= LIMITS.text_bytes
    (round_,) = conversation([fitted]).rounds
    for made in (made for turn in round_.turns for made in turn.calls):
        assert text_fault(made.name) is None
        assert len(json_text(made.arguments).encode()) <= LIMITS.value_bytes
