"""A watched client over real HTTP: the caller cannot tell it from the one it was made of, and the graph has the run.

What the graph has is compared with what `record` makes of the same messages, step by step.
"""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

import graphmem
from graphmem.exchange import catch_up, watch
from graphmem.store import Connection
from tests.acceptance.watched import (
    ANSWER,
    RESULTS,
    SYSTEM,
    TOOLS,
    TWO_CALLS,
    USER,
    ask,
    brought_in,
    check_recorded,
    client,
    ledger,
)
from tests.acceptance.watched import _no_warnings_of_our_own_statements as _no_warnings_of_our_own_statements
from tests.acceptance.watched import said as said
from tests.openai_server import KEY, Asked, Reply, calls, fails, openai_server, says


def test_a_run_with_parallel_calls_is_recorded_as_record_would(
    connection: Connection, space: graphmem.Space, tmp_path: Path
) -> None:
    task = space.task("trip")
    with openai_server([calls(*TWO_CALLS, text="Let me look."), says(ANSWER), says("You are welcome.")]) as server:
        watched = watch(client(server), task, folder=tmp_path)
        messages: list[Any] = [SYSTEM, USER]
        first = ask(watched, messages, tools=TOOLS).choices[0].message
        messages += [first, *RESULTS]
        messages.append(ask(watched, messages, tools=TOOLS).choices[0].message)
        messages.append({"role": "user", "content": "Thanks!"})
        messages.append(ask(watched, messages).choices[0].message)
        brought_in(task, tmp_path)
        watched.close()
    check_recorded(connection, space, task, messages)
    assert [row["kind"] for row in ledger(connection, task)] == ["open", "step", "observe", "step", "open", "step"]
    assert "140" in str(task.at(3).path().text())


def test_the_client_is_of_the_same_kind_and_gives_the_same_objects(space: graphmem.Space, tmp_path: Path) -> None:
    script = [calls(*TWO_CALLS), says(ANSWER, is_gzipped=True)]
    with openai_server(script * 2) as server:
        plain = client(server, organization="org", project="project", default_headers={"X-Mine": "1"}, timeout=7.0)
        watched = watch(plain, space.task("t"), folder=tmp_path)
        assert type(watched) is OpenAI
        assert isinstance(watched, OpenAI)
        for name in ("api_key", "organization", "project", "base_url", "timeout", "max_retries", "default_headers"):
            assert getattr(watched, name) == getattr(plain, name)
        given = [ask(watched, [USER]) for _ in script]
        expected = [ask(plain, [USER]) for _ in script]
        assert given == expected
        assert [type(one) for one in given] == [type(one) for one in expected]
        assert given[0].choices[0].message.tool_calls == expected[0].choices[0].message.tool_calls
        plain.close()


class Price(BaseModel):
    usd: int


def every_way(given: OpenAI) -> list[Any]:
    """What comes back by every way in which chat completions can be asked for."""
    ask(given, [SYSTEM, USER], tools=TOOLS, temperature=0.1, extra_body={"mine": 1})
    ask(given.with_options(timeout=3.0, max_retries=1), [USER], extra_headers={"X-Mine": "2"})
    found: list[Any] = [list(ask(given, [USER], stream=True))]
    found.append(list(ask(given, [USER], stream=True, stream_options={"include_usage": True})))
    with given.chat.completions.stream(model="scripted", messages=[USER], tools=TOOLS) as stream:
        found += [type(event) for event in stream]
        found.append(stream.get_final_completion())
    parsed = given.chat.completions.parse(model="scripted", messages=[USER], response_format=Price)
    found += [parsed, parsed.choices[0].message.parsed]
    raw = given.chat.completions.with_raw_response.create(model="scripted", messages=[USER])
    found += [raw.status_code, raw.text, raw.parse()]
    with given.chat.completions.with_streaming_response.create(model="scripted", messages=[USER]) as response:
        found += [response.status_code, response.parse()]
    with given.chat.completions.with_streaming_response.create(model="scripted", messages=[USER]) as response:
        found.append(b"".join(response.iter_bytes()))
    with ask(given, [USER], stream=True) as opened:
        found += [next(opened), next(opened)]
    return found


EVERY_ANSWER = [
    calls(*TWO_CALLS),
    says("b"),
    calls(*TWO_CALLS, text="Let me look."),
    says(ANSWER),
    calls(*TWO_CALLS),
    says('{"usd": 3}'),
    says("raw"),
    says("raw, streamed"),
    says("bytes", is_gzipped=True),
    says("broken off by the caller"),
]


def wire(asked: Asked) -> tuple[str, list[tuple[str, str]], bytes]:
    return asked.path, list(asked.headers.items()), asked.body


def test_requests_are_the_same_on_the_wire_byte_for_byte_and_answers_are_equal(
    space: graphmem.Space, tmp_path: Path
) -> None:
    with openai_server(EVERY_ANSWER * 2) as server:
        plain = client(server)
        expected = every_way(plain)
        given = every_way(watch(plain, space.task("t"), folder=tmp_path))
        plain.close()
    count = len(EVERY_ANSWER)
    assert len(server.requests) == 2 * count
    assert [wire(one) for one in server.requests[count:]] == [wire(one) for one in server.requests[:count]]
    assert given == expected


@pytest.mark.parametrize("options", [{}, {"stream_options": {"include_usage": True}}])
def test_streams_are_recorded_as_whole_answers_are(
    connection: Connection, space: graphmem.Space, tmp_path: Path, options: dict[str, Any]
) -> None:
    task = space.task("trip")
    with openai_server([says("never read"), calls(*TWO_CALLS, text="Let me look."), says(ANSWER)]) as server:
        watched = watch(client(server), task, folder=tmp_path)
        ask(watched, [USER], stream=True, **options).close()
        assert len(list(ask(watched, [USER], stream=True, **options))) > 10
        spoken = {"role": "assistant", "content": "Let me look.", "tool_calls": list(TWO_CALLS)}
        messages = [USER, spoken, *RESULTS]
        pieces = [c.choices[0].delta.content for c in ask(watched, messages, stream=True, **options) if c.choices]
        assert "".join(filter(None, pieces)) == ANSWER
        brought_in(task, tmp_path)
        watched.close()
    check_recorded(connection, space, task, [*messages, {"role": "assistant", "content": ANSWER}])


def test_a_stream_that_the_caller_breaks_off_is_recorded_when_the_next_request_tells_what_became_of_it(
    connection: Connection, space: graphmem.Space, tmp_path: Path
) -> None:
    task = space.task("trip")
    with openai_server([says("A long answer that nobody waits for."), says(ANSWER)]) as server:
        watched = watch(client(server), task, folder=tmp_path)
        with ask(watched, [USER], stream=True) as stream:
            heard = [next(stream).choices[0].delta.content for _ in range(3)]
        catch_up(task, folder=tmp_path)
        assert [row["kind"] for row in ledger(connection, task)] == ["open"]
        cut = {"role": "assistant", "content": "".join(filter(None, heard))}
        messages = [USER, cut, {"role": "user", "content": "Shorter, please."}]
        ask(watched, messages)
        brought_in(task, tmp_path)
        watched.close()
    check_recorded(connection, space, task, [*messages, {"role": "assistant", "content": ANSWER}])


def failure(given: OpenAI, **how: Any) -> tuple[Any, ...]:
    with pytest.raises(openai.OpenAIError) as caught:
        list(ask(given, [USER], **how))
    error = caught.value
    return type(error), str(error), getattr(error, "status_code", None), getattr(error, "body", None)


@pytest.mark.parametrize("status", [400, 401, 404, 409, 422, 429, 500, 503])
@pytest.mark.parametrize("streams", [False, True])
def test_an_error_is_the_same_error_and_nothing_is_recorded(
    space: graphmem.Space, tmp_path: Path, status: int, *, streams: bool
) -> None:
    with openai_server([fails(status, "so it is")] * 2) as server:
        plain = client(server)
        watched = watch(plain, space.task("t"), folder=tmp_path)
        assert failure(watched, stream=streams) == failure(plain, stream=streams)
        plain.close()
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_the_server_breaks_off_is_the_same_error(space: graphmem.Space, tmp_path: Path) -> None:
    with openai_server([says(ANSWER, cut_after=3)] * 2) as server:
        plain = client(server)
        watched = watch(plain, space.task("t"), folder=tmp_path)
        assert failure(watched, stream=True) == failure(plain, stream=True)
        plain.close()


def test_nobody_at_the_other_end_is_the_same_error(space: graphmem.Space, tmp_path: Path) -> None:
    plain = OpenAI(base_url="http://127.0.0.1:9/v1", api_key=KEY, max_retries=0)
    assert failure(watch(plain, space.task("t"), folder=tmp_path)) == failure(plain)
    plain.close()


def test_an_answer_that_came_after_retries_is_recorded_once(
    connection: Connection, space: graphmem.Space, tmp_path: Path
) -> None:
    task = space.task("t")
    later = {"Retry-After-Ms": "1"}
    script = [fails(500, headers=later), fails(429, headers=later), says(ANSWER)]
    with openai_server(script) as server:
        watched = watch(client(server, max_retries=3), task, folder=tmp_path)
        assert ask(watched, [USER]).choices[0].message.content == ANSWER
        brought_in(task, tmp_path)
        watched.close()
    assert len(server.requests) == 3
    check_recorded(connection, space, task, [USER, {"role": "assistant", "content": ANSWER}])


@pytest.mark.parametrize(
    "odd",
    [
        "no JSON at all",
        {"choices": []},
        {"choices": None},
        {"choices": [{"index": 0, "message": None}]},
        {"choices": [{"message": {"content": [{"type": "text", "text": "parts"}], "tool_calls": [{}]}}]},
        [],
    ],
)
def test_an_odd_answer_reaches_the_caller_as_it_is(
    space: graphmem.Space, tmp_path: Path, odd: Any, said: list[str]
) -> None:
    with openai_server([Reply(body=odd)] * 2) as server:
        plain = client(server)
        watched = watch(plain, space.task("t"), folder=tmp_path)
        assert str(ask(watched, [USER])) == str(ask(plain, [USER]))
        watched.close()
    assert [one for one in said if "could not be recorded" in one] == []


def test_an_asynchronous_client_is_recorded_as_well(
    connection: Connection, space: graphmem.Space, tmp_path: Path
) -> None:
    task = space.task("trip")
    spoken: Any = {"role": "assistant", "content": None, "tool_calls": list(TWO_CALLS)}

    async def converse(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as plain:
            watched = watch(plain, task, folder=tmp_path)
            assert type(watched) is AsyncOpenAI
            create = watched.chat.completions.create
            stream: Any = await create(model="scripted", messages=[USER], stream=True)
            assert {type(chunk).__name__ async for chunk in stream} == {"ChatCompletionChunk"}
            answered = await create(model="scripted", messages=[USER, spoken, *RESULTS])
            assert answered.choices[0].message.content == ANSWER
            with pytest.raises(openai.BadRequestError):
                await create(model="scripted", messages=[USER])
            await watched.close()

    with openai_server([calls(*TWO_CALLS), says(ANSWER), fails(400)]) as server:
        asyncio.run(converse(server.url))
    brought_in(task, tmp_path)
    messages = [USER, spoken, *RESULTS, {"role": "assistant", "content": ANSWER}]
    check_recorded(connection, space, task, messages)


def test_no_key_is_in_the_buffer_the_graph_or_the_log(
    graph: graphmem.Graph,
    connection: Connection,
    space: graphmem.Space,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="graphmem")
    away = graphmem.connect("bolt://127.0.0.1:9", "neo4j", "pass-word-1234", verify=False)
    with openai_server(EVERY_ANSWER) as server:
        every_way(watch(client(server), away.space(space.name).task("t"), folder=tmp_path))
    away.close()
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
    assert any("hotel A" in text for text in texts)
    for file in tmp_path.glob("*.jsonl"):
        assert [one.exchanges for one in graph.catch_up([file])] != [0]
    with connection.transaction() as run:
        texts += [
            json.dumps(row["found"], default=str)
            for row in run("MATCH (n {space: $p.space}) RETURN properties(n) AS found", {"space": space.name})
        ]
    assert len(texts) > 3
    texts.append(caplog.text)
    for secret in (KEY, "Bearer", "Authorization", "authorization", "pass-word-1234"):
        assert [text for text in texts if secret in text] == []
