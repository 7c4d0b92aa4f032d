"""A chat completion read off the wire: whole answers and streams give the same message, and nothing makes it fail."""

import json
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.exchange.watching.wire import answered, asked, is_chat_completion
from tests.openai_server import call, chunks, completion

STREAM = "text/event-stream; charset=utf-8"
CALLS = [call("search", {"q": "Öl"}, "c1"), call("open", {"page": 3}, "c2"), call("search", "{no json", "c3")]
MESSAGES: list[dict[str, Any]] = [
    {"content": "Hello, wörld 🙂."},
    {"content": "Let me look.", "tool_calls": CALLS},
    {"content": None, "tool_calls": CALLS[:1]},
]


def whole(body: Any) -> Any:
    return answered(json.dumps(body).encode(), content_type="application/json")


def streamed(events: list[Any], *, end: str = "data: [DONE]\n\n", newline: str = "\n") -> Any:
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + end
    return answered(text.replace("\n", newline).encode(), content_type=STREAM)


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("with_usage", [False, True])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_stream_gives_the_message_of_a_whole_answer(
    message: Mapping[str, Any], newline: str, *, with_usage: bool
) -> None:
    body = completion(message)
    expected = whole(body)
    assert streamed(list(chunks(body, with_usage=with_usage)), newline=newline) == expected
    assert expected.message["content"] == message["content"]
    assert list(expected.message.get("tool_calls", [])) == list(message.get("tool_calls", []))


def test_a_stream_that_was_broken_off_anywhere_before_its_end_is_no_answer() -> None:
    events = list(chunks(completion(MESSAGES[1]), with_usage=True))
    ends = next(i for i, event in enumerate(events) if event["choices"] and event["choices"][0]["finish_reason"])
    for cut in range(ends + 1):
        assert streamed(events[:cut], end="") is None
    assert streamed(events[: ends + 1], end="") == whole(completion(MESSAGES[1]))
    text = f"data: {json.dumps(events[ends])}"
    assert streamed(events[:ends], end=text) is None  # its empty line did not come


def test_calls_without_numbers_are_told_apart_by_their_ids() -> None:
    def delta(**made: Any) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": {"tool_calls": [made]}}]}

    events = [
        delta(id="c1", type="function", function={"name": "f", "arguments": '{"a"'}),
        delta(function={"arguments": ": 1}"}),
        delta(id="c2", function={"name": "g", "arguments": "{}"}),
    ]
    found = streamed(events)
    assert [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in found.message["tool_calls"]] == [
        ("c1", "f", '{"a": 1}'),
        ("c2", "g", "{}"),
    ]


def test_several_choices_are_counted_and_the_first_one_is_taken_in_whatever_order_they_come() -> None:
    body = completion({"content": "first"}, {"content": "second"}, {"content": "third"})
    events = list(chunks(body, with_usage=False))
    random.Random(4).shuffle(events)
    by_choice = sorted(events, key=lambda event: event["choices"][0]["index"] == 0)
    kept = [event for event in chunks(body, with_usage=False) if event["choices"][0]["index"] == 0]
    mixed = [event for event in by_choice if event["choices"][0]["index"] != 0] + kept
    body["choices"].reverse()
    for found in (whole(body), streamed(mixed)):
        assert (found.message["content"], found.choices) == ("first", 3)


def test_a_refusal_a_legacy_function_and_a_custom_tool_are_kept() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls"}}
    for message in (
        {"content": None, "refusal": "I will not."},
        {"content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"content": None, "tool_calls": [custom]},
    ):
        found = whole(completion(message)).message
        assert {key: found[key] for key in message} == message
        delta: dict[str, Any] = {**message, "role": "assistant"}
        if "tool_calls" in message:
            delta["tool_calls"] = [{"index": 0, **custom}]
        assert streamed([{"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}]).message == found


@pytest.mark.parametrize("role", ["tool", "function"])
def test_a_structured_result_is_kept_as_json_and_parts_of_a_text_as_the_text(role: str) -> None:
    flights, parts = [{"type": "flight", "id": "H1"}], [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    kept = asked(
        json.dumps({"messages": [{"role": role, "content": content} for content in (flights, parts)]}).encode()
    )
    assert kept is not None
    assert [message["content"] for message in kept] == ['[{"type":"flight","id":"H1"}]', "ab"]


def test_only_what_is_recorded_is_kept_of_a_request() -> None:
    question = {
        "model": "m",
        "user": "a-user-id",
        "messages": [
            {"role": "system", "content": "policy"},
            {"role": "developer", "content": "policy"},
            {"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "image_url", "image_url": {}}]},
            {"role": "assistant", "content": None, "audio": {"id": "a", "data": "AAAA", "transcript": "spoken"}},
            {"role": "tool", "tool_call_id": "c1", "content": "result", "mine": "x"},
        ],
    }
    assert asked(json.dumps(question).encode()) == (
        {"role": "user", "content": "Look: [image_url]"},
        {"role": "assistant", "content": None, "audio": {"transcript": "spoken"}},
        {"role": "tool", "content": "result", "tool_call_id": "c1"},
    )


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"messages": 3}', b'{"messages": ["x"]}', b"\xff", b"[" * 10_000]
)
def test_what_is_no_request_is_none(body: bytes) -> None:
    assert asked(body) is None


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/v1/chat/completions", True),
        ("POST", "/openai/deployments/gpt/chat/completions", True),
        ("POST", "/chat/completions/", True),
        ("GET", "/v1/chat/completions", False),
        ("POST", "/v1/chat/completions/chatcmpl-1", False),
        ("POST", "/v1/completions", False),
        ("POST", "/v1/embeddings", False),
    ],
)
def test_chat_completions_are_known_by_their_path(method: str, path: str, *, expected: bool) -> None:
    assert is_chat_completion(method, path) is expected


scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
json_values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "delta", "index", "content", "tool_calls", "function", "id", "arguments", "role"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values, st.sampled_from([STREAM, "application/json", ""]))
def test_whatever_comes_is_an_answer_or_none(value: Any, content_type: str) -> None:
    text = json.dumps(value)
    for body in (text, f"data: {text}\n\ndata: [DONE]\n\n", f'data: {{"choices": {text}}}\n\n'):
        answered(body.encode(), content_type=content_type)
    asked(text.encode())
    asked(json.dumps({"messages": [value]}).encode())


@given(st.binary(max_size=60))
def test_whatever_bytes_come_nothing_fails(body: bytes) -> None:
    for content_type in (STREAM, "application/json"):
        answered(body, content_type=content_type)
    asked(body)
