"""The chat model over real HTTP: what it asks, what it reads, what it does when the endpoint refuses, fails or lies."""

import email.utils
import json
import logging
import threading
import time
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from graphmem.errors import (
    AnswerCutError,
    AnswerRefusedError,
    ContextLengthError,
    GraphmemError,
    InvalidValueError,
    ModelError,
    ModelLoginError,
    ModelMissingError,
    ModelUnreachableError,
    RateLimitError,
)
from graphmem.llm.chat import ChatModel, Completion, Message, StreamingModel
from graphmem.llm.failures import retry_after
from graphmem.llm.openai_chat import OpenAIChatModel
from graphmem.llm.parameters import thinking_off
from tests.openai_server import KEY, OpenAIServer, Reply, Scripted, completion, fails, openai_server, says

ASKED = [Message("system", "Be brief."), Message("user", "hi")]


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds between tries, which the tests do not wait."""
    waited: list[float] = []
    monkeypatch.setattr("graphmem.llm.openai_chat.sleep", waited.append)
    return waited


def model_at(server: OpenAIServer, **how: Any) -> OpenAIChatModel:
    return OpenAIChatModel("tiny", base_url=server.url, **how)


def asked_of(script: Iterable[Scripted], **how: Any) -> tuple[Completion, list[Any]]:
    """The answer, and the bodies that were sent for it."""
    with openai_server(script) as server:
        answer = model_at(server, **how).complete(ASKED)
    return answer, [asked.json for asked in server.requests]


def refuses(param: str, message: str | None = None, status: int = 400) -> Reply:
    said = message or f"Unsupported parameter: '{param}' is not supported with this model."
    return Reply(body={"error": {"message": said, "type": "invalid_request_error", "param": param}}, status=status)


def stream_of(*lines: str) -> Reply:
    return Reply(body="".join(f"data: {line}\n\n" for line in lines), headers={"Content-Type": "text/event-stream"})


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_the_settings_are_those_of_the_papers_evaluation() -> None:
    answer, (body,) = asked_of([says("hello")])
    assert answer.text == "hello"
    assert body == {
        "model": "tiny",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "temperature": 0.1,
        "top_p": 1.0,
        "max_completion_tokens": 32768,
        "enable_thinking": False,
        "chat_template_kwargs": {"enable_thinking": False},
    }


def test_none_leaves_a_setting_to_the_endpoint_and_thinking_is_not_switched_off_when_it_is_wanted() -> None:
    unset = {"temperature": None, "top_p": None, "max_completion_tokens": None, "thinking": True}
    _, (body,) = asked_of([says("hello")], **unset, body={"seed": 7})
    assert body.keys() == {"model", "messages", "seed"}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "reasoning_effort"),
        ("https://openai.com.example.org/v1", "enable_thinking"),
        ("https://openrouter.ai/api/v1", "reasoning"),
        ("https://api.deepseek.com", "thinking"),
        ("http://127.0.0.1:8080/v1", "chat_template_kwargs"),
    ],
)
def test_each_host_is_told_not_to_think_in_its_own_words(url: str, name: str) -> None:
    assert name in thinking_off(url)


def test_a_schema_is_sent_as_a_strict_response_format() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    _, (body,) = asked_of([says("{}")], response_schema=schema)
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["strict"] is True
    assert body["response_format"]["json_schema"]["schema"] == schema


def test_it_is_a_model_that_streams() -> None:
    model = OpenAIChatModel("tiny")
    assert isinstance(model, ChatModel)
    assert isinstance(model, StreamingModel)


# --- what the endpoint refuses ----------------------------------------------------------------------------------------


def test_an_endpoint_that_knows_no_max_completion_tokens_is_given_max_tokens_from_then_on() -> None:
    with openai_server([refuses("max_completion_tokens"), says("one"), says("two")]) as server:
        model = model_at(server)
        assert [model.complete(ASKED).text for _ in range(2)] == ["one", "two"]
    lengths = [(b.get("max_completion_tokens"), b.get("max_tokens")) for b in (asked.json for asked in server.requests)]
    assert lengths == [(32768, None), (None, 32768), (None, 32768)]
    assert model.left_out == ("max_completion_tokens",)


@pytest.mark.parametrize(
    "refusal",
    [
        refuses("enable_thinking", "Unrecognized request argument supplied: enable_thinking"),
        refuses("", "body.enable_thinking: Extra inputs are not permitted", status=422),
        Reply(body={"detail": [{"loc": ["body", "enable_thinking"], "msg": "extra"}]}, status=422),
    ],
)
def test_a_word_for_thinking_that_is_refused_is_left_out_quietly(refusal: Reply) -> None:
    with openai_server([refusal, says("one")]) as server:
        model = model_at(server)
        assert model.complete(ASKED).text == "one"
    assert model.left_out == ()
    assert "enable_thinking" not in server.requests[1].json
    assert "chat_template_kwargs" in server.requests[1].json


def test_an_endpoint_that_refuses_without_a_reason_is_asked_once_more_without_a_word_of_thinking() -> None:
    answer, (_, second) = asked_of([fails(400, "Bad Request"), says("one")])
    assert answer.text == "one"
    assert not second.keys() & {"enable_thinking", "chat_template_kwargs"}


def test_a_refusal_that_names_nothing_ends_after_that() -> None:
    bad = fails(400, "Bad Request")
    with openai_server([bad, bad]) as server, pytest.raises(ModelError, match=r"status 400.*Bad Request"):
        model_at(server).complete(ASKED)
    assert len(server.requests) == 2


def test_structured_outputs_step_down_to_json_and_then_to_text() -> None:
    answer, bodies = asked_of(
        [refuses("response_format"), refuses("response_format"), says("{}")], response_schema={"type": "object"}
    )
    assert answer.text == "{}"
    assert [(body.get("response_format") or {}).get("type") for body in bodies] == ["json_schema", "json_object", None]


def test_settings_that_a_reasoning_model_refuses_are_left_out_and_listed() -> None:
    settings = ("temperature", "top_p", "max_completion_tokens", "max_tokens")
    with openai_server([*map(refuses, settings), says("x")]) as server:
        model = model_at(server)
        model.complete(ASKED)
    assert model.left_out == settings
    assert "temperature" not in server.requests[-1].json


def test_a_prompt_that_leaves_no_room_for_the_longest_answer_is_tried_without_a_limit_of_the_answer() -> None:
    long = fails(400, "This model's maximum context length is 8192 tokens, you requested 33000")
    answer, bodies = asked_of([long, says("one")])
    assert answer.text == "one"
    assert "max_completion_tokens" not in bodies[1]


# --- what the endpoint answers ----------------------------------------------------------------------------------------


def test_usage_is_flat_with_the_cached_tokens_apart() -> None:
    body = completion(
        {"content": "x"},
        prompt_tokens_details={"cached_tokens": 16, "audio_tokens": None},
        completion_tokens_details={"reasoning_tokens": 3},
    )
    answer, _ = asked_of([Reply(body=body)])
    assert answer.usage == {
        "prompt_tokens": 20,
        "completion_tokens": 10,
        "total_tokens": 30,
        "cached_tokens": 16,
        "reasoning_tokens": 3,
    }


def test_usage_of_another_spelling_or_none_is_read_as_far_as_it_goes() -> None:
    other = completion({"content": "x"}, prompt_cache_hit_tokens=5, prompt_tokens="many")
    assert asked_of([Reply(body=other)])[0].usage == {"completion_tokens": 10, "total_tokens": 30, "cached_tokens": 5}
    without = {**completion({"content": "x"}), "usage": None}
    assert asked_of([Reply(body=without)])[0].usage is None


def test_a_stream_is_told_piece_by_piece_and_counts_its_tokens() -> None:
    pieces: list[str] = []
    body = completion({"content": "Hello, world"}, prompt_tokens_details={"cached_tokens": 4})
    with openai_server([Reply(body=body)]) as server:
        answer = model_at(server).stream(ASKED, pieces.append)
    assert answer.text == "Hello, world"
    assert pieces == ["Hell", "o, w", "orld"]
    assert answer.usage is not None
    assert answer.usage["cached_tokens"] == 4
    assert server.requests[0].json["stream_options"] == {"include_usage": True}


def test_a_stream_that_breaks_off_is_asked_for_again_and_says_that_it_begins_anew() -> None:
    pieces: list[str] = []
    with openai_server([says("Hello, world", cut_after=3), says("Hello")]) as server:
        assert model_at(server).stream(ASKED, pieces.append).text == "Hello"
    assert pieces == ["Hell", "o, w", "", "Hell", "o"]


def test_a_stream_without_an_end_is_no_answer() -> None:
    event = {"choices": [{"index": 0, "delta": {"content": "Send 100"}, "finish_reason": None}]}
    script = [stream_of(json.dumps(event), "[DONE]")] * 2
    with openai_server(script) as server, pytest.raises(ModelUnreachableError, match="broke off"):
        model_at(server, retries=1).stream(ASKED)


def test_an_error_inside_a_stream_is_one() -> None:
    failed = stream_of(json.dumps({"error": {"message": "overloaded", "code": 503}}))
    with openai_server([failed, says("later")]) as server:
        assert model_at(server).stream(ASKED).text == "later"
    with openai_server([failed]) as server, pytest.raises(ModelUnreachableError, match="overloaded"):
        model_at(server, retries=0).stream(ASKED)


@pytest.mark.parametrize("streams", [False, True])
def test_an_answer_that_ended_at_the_limit_of_its_tokens_is_an_error_with_what_came(streams: bool) -> None:
    with openai_server([Reply(body=completion({"content": "<state_fo"}, finish="length"))]) as server:
        model = model_at(server)
        with pytest.raises(AnswerCutError, match="max_completion_tokens") as caught:
            model.stream(ASKED) if streams else model.complete(ASKED)
    assert caught.value.text == "<state_fo"
    assert caught.value.usage is not None
    assert caught.value.usage["completion_tokens"] == 10


@pytest.mark.parametrize("streams", [False, True])
def test_a_content_filter_and_a_model_that_declines_are_errors(streams: bool) -> None:
    filtered = Reply(body=completion({"content": "half"}, finish="content_filter"))
    declined = Reply(body=completion({"content": None, "refusal": "I will not."}))
    prompt = fails(400, "The response was filtered due to the prompt triggering content management policy")
    with openai_server([filtered] if streams else [filtered, declined, prompt, prompt]) as server:
        model = model_at(server)
        with pytest.raises(AnswerRefusedError, match="content filter"):
            model.stream(ASKED) if streams else model.complete(ASKED)
        if not streams:
            with pytest.raises(AnswerRefusedError, match="I will not"):
                model.complete(ASKED)
            with pytest.raises(AnswerRefusedError, match="refused the prompt"):
                model.complete(ASKED)


GARBAGE: tuple[Reply, ...] = (
    Reply(body="<html>Welcome</html>", headers={"Content-Type": "text/html"}),
    Reply(body='{"choices": [', headers={"Content-Type": "application/json"}),
    Reply(body="[]", headers={"Content-Type": "application/json"}),
    Reply(body="null", headers={"Content-Type": "application/json"}),
    Reply(body={"choices": []}),
    Reply(body={"choices": [{}]}),
    Reply(body={"choices": ["x"]}),
    Reply(body={"choices": {"message": 1}}),
    Reply(body={"choices": [{"message": None}]}),
    Reply(body={}),
)


@pytest.mark.parametrize("reply", GARBAGE)
def test_garbage_is_an_error_that_asks_for_the_url(reply: Reply) -> None:
    with openai_server([reply] * 2) as server, pytest.raises(ModelError, match="base_url"):
        model_at(server, retries=0).complete(ASKED)


@pytest.mark.parametrize("reply", [*GARBAGE, stream_of("{]"), stream_of("[1]", "[DONE]"), stream_of("[DONE]")])
def test_garbage_in_place_of_a_stream_is_an_error_too(reply: Reply) -> None:
    told = Reply(body=reply.body if isinstance(reply.body, str) else json.dumps(reply.body), headers=reply.headers)
    with openai_server([told] * 2) as server, pytest.raises(ModelError):
        model_at(server, retries=0).stream(ASKED)


def test_an_empty_answer_is_an_empty_text_for_the_parser_to_judge() -> None:
    assert asked_of([Reply(body=completion({"content": None}))])[0].text == ""


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind", "says_what"),
    [
        (fails(401, "Incorrect API key provided"), ModelLoginError, "OPENAI_API_KEY"),
        (fails(403, "no"), ModelLoginError, "OPENAI_API_KEY"),
        (fails(404, "The model `tiny` does not exist"), ModelMissingError, "'tiny'.*/v1"),
        (fails(429, "You exceeded your current quota"), RateLimitError, "quota"),
        (fails(429, "slow down", headers={"Retry-After": "9000"}), RateLimitError, "patience"),
        (fails(413, "prompt is too long: 300000 tokens"), ContextLengthError, "more context"),
        (fails(418, "teapot"), ModelError, "status 418"),
    ],
)
def test_what_will_not_get_better_is_not_tried_again_and_says_what_to_do(
    reply: Reply, kind: type[GraphmemError], says_what: str
) -> None:
    with openai_server([reply] * 3) as server, pytest.raises(kind, match=says_what):
        model_at(server).complete(ASKED)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_get_better_is_tried_again(status: int, waits: list[float]) -> None:
    answer, bodies = asked_of([fails(status), fails(status), says("late")])
    assert answer.text == "late"
    assert len(bodies) == 3
    assert 0.3 < waits[0] <= 0.5 < waits[1] <= 1


def test_retry_after_is_honoured_and_then_the_retries_run_out(waits: list[float]) -> None:
    script = [fails(429, "slow", headers={"Retry-After": "7"}), fails(429, "slow", headers={"retry-after-ms": "1500"})]
    with openai_server([*script, fails(429, "slow")]) as server, pytest.raises(RateLimitError, match="slow"):
        model_at(server, retries=2).complete(ASKED)
    assert waits == [7.0, 1.5]


def test_retry_after_may_be_a_date() -> None:
    when = email.utils.formatdate(time.time() + 20, usegmt=True)
    assert 15 < (retry_after({"retry-after": when}) or 0) <= 20
    assert retry_after({"retry-after": email.utils.formatdate(0, usegmt=True)}) == 0
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


def test_nobody_at_the_url_is_said_so() -> None:
    with openai_server([]) as server:
        url = server.url
    with pytest.raises(ModelUnreachableError, match=f"nobody answers at {url}"):
        OpenAIChatModel("tiny", base_url=url, retries=1).complete(ASKED)


def test_an_endpoint_that_does_not_answer_in_time_is_said_so() -> None:
    with openai_server([says("late", delay_seconds=0.6)]) as server:
        started = time.monotonic()
        with pytest.raises(ModelUnreachableError, match="in time"):
            model_at(server, timeout_seconds=0.1, retries=0).complete(ASKED)
        assert time.monotonic() - started < 0.6


def test_a_stream_ends_when_its_time_is_over_retries_included() -> None:
    slow = says("0123456789" * 40, pause_seconds=0.05)
    with openai_server([slow] * 9) as server:
        started = time.monotonic()
        with pytest.raises(ModelUnreachableError, match="in time"):
            model_at(server).stream(ASKED, timeout_seconds=0.5)
        assert time.monotonic() - started < 4
    with openai_server([fails(500, headers={"Retry-After": "60"})] * 9) as server:
        with pytest.raises(ModelUnreachableError, match="status 500"):
            model_at(server).stream(ASKED, timeout_seconds=5)
        assert len(server.requests) == 1


def test_what_the_callback_raises_is_the_callers_own() -> None:
    def broken(_piece: str) -> None:
        raise ValueError("mine")

    with openai_server([says("hello")]) as server, pytest.raises(ValueError, match="mine"):
        model_at(server).stream(ASKED, broken)


def test_an_interrupt_in_the_middle_of_a_stream_leaves_a_model_that_can_be_asked_again() -> None:
    def interrupted(_piece: str) -> None:
        raise KeyboardInterrupt

    with openai_server([says("hello" * 50, pause_seconds=0.01), says("again")]) as server:
        model = model_at(server)
        with pytest.raises(KeyboardInterrupt):
            model.stream(ASKED, interrupted)
        assert model.complete(ASKED).text == "again"


# --- the key ----------------------------------------------------------------------------------------------------------


def test_the_key_is_sent_as_a_bearer_token_and_read_at_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with openai_server([says("one")]) as server:
        model = model_at(server, key_variable="MY_KEY")
        monkeypatch.setenv("MY_KEY", KEY)
        model.complete(ASKED)
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {KEY}"


def test_an_endpoint_of_ones_own_needs_no_key_and_openai_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert asked_of([says("one")])[0].text == "one"
    with pytest.raises(ModelLoginError, match="set OPENAI_API_KEY"):
        OpenAIChatModel("gpt-5").complete(ASKED)
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\u2028ä")
    with pytest.raises(ModelLoginError, match="characters"):
        OpenAIChatModel("gpt-5").complete(ASKED)


def test_the_url_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with openai_server([says("one")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert OpenAIChatModel("tiny").complete(ASKED).text == "one"


@pytest.mark.parametrize("url", ["", "api.openai.com/v1", f"https://{KEY}@api.openai.com/v1", "ftp://x", f"{KEY}@x"])
def test_a_url_that_is_none_or_holds_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidValueError, match="base_url") as caught:
        OpenAIChatModel("tiny", base_url=url)
    assert KEY not in str(caught.value)


def echoing(asked: Any) -> Reply:
    return fails(400, f"you sent {KEY} in {asked['model']}")


ECHOES: Mapping[str, list[Scripted]] = {
    "refused": [fails(401, f"Incorrect API key provided: {KEY}")],
    "bad request": [echoing, echoing],
    "garbage": [Reply(body=f"your key is {KEY}")],
    "declined": [Reply(body=completion({"content": None, "refusal": f"not for {KEY}"}))],
    "in the stream": [stream_of(json.dumps({"error": {"message": KEY}}))],
}


@pytest.mark.parametrize("name", ECHOES)
def test_the_key_is_in_no_repr_error_traceback_or_log(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with openai_server(ECHOES[name]) as server:
        model = model_at(server, retries=0)
        with pytest.raises(GraphmemError) as caught:
            model.stream(ASKED) if "stream" in name else model.complete(ASKED)
    told = "".join(traceback.format_exception(caught.value)) + f"{caught.value!r} {model!r} {vars(caught.value)}"
    assert KEY not in told
    assert KEY not in caplog.text
    assert caught.value.__cause__ is None
    context = caught.value.__context__
    assert context is None or not hasattr(context, "request")


def test_the_key_in_a_text_can_be_hidden() -> None:
    model = OpenAIChatModel("tiny")
    assert model.hidden(f"env: OPENAI_API_KEY={KEY}") == "env: OPENAI_API_KEY=***"
    assert model.hidden("nothing") == "nothing"


def test_an_answer_that_holds_the_key_is_told_without_it_however_it_is_cut_into_pieces() -> None:
    text = f"x{KEY}y{KEY[:9]}z{KEY[:5]}"
    pieces: list[str] = []
    with openai_server([says(text), says(text)]) as server:
        model = model_at(server)
        assert model.stream(ASKED, pieces.append).text == f"x***y{KEY[:9]}z{KEY[:5]}"
        assert model.complete(ASKED).text == f"x***y{KEY[:9]}z{KEY[:5]}"
    assert "".join(pieces) == f"x***y{KEY[:9]}z{KEY[:5]}"


def test_a_model_may_be_shared_by_threads() -> None:
    with openai_server([refuses("temperature"), *[says("x")] * 16]) as server:
        model = model_at(server)
        model.complete(ASKED)
        answers: list[str] = []
        threads = [threading.Thread(target=lambda: answers.append(model.complete(ASKED).text)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == ["x"] * 8
