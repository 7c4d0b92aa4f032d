"""A watched client over real HTTP: the caller cannot tell it from the one it was made of, and the graph has the run.

What the graph has is compared with what `record` makes of the same messages, step by step.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

import graphmem
from graphmem.exchange import all_waiting, catch_up, examine_buffers, record, watch
from graphmem.exchange.watching.catching_up import buffer_of, settle
from graphmem.store import Connection
from tests.openai_server import KEY, Asked, OpenAIServer, Reply, call, calls, completion, fails, openai_server, says

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


# --- what the caller gets ---------------------------------------------------------------------------------------------


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


def test_asynchronous_conversations_at_the_same_time_have_a_task_each(
    connection: Connection, space: graphmem.Space, tmp_path: Path
) -> None:
    tasks = [space.task(f"t{i}") for i in range(6)]

    async def one(plain: AsyncOpenAI, task: graphmem.Task) -> None:
        watched = watch(plain, task, folder=tmp_path)
        messages: list[Any] = []
        for turn in range(3):
            messages.append({"role": "user", "content": f"{task.name} {turn}"})
            answered = await watched.chat.completions.create(model="scripted", messages=messages)
            messages.append(answered.choices[0].message)

    async def all_of_them(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key=KEY) as plain:
            await asyncio.gather(*(one(plain, task) for task in tasks))

    with openai_server(iter(lambda: echo, None)) as server:
        asyncio.run(all_of_them(server.url))
    for task in tasks:
        brought_in_one(task, tmp_path)
        rows = ledger(connection, task)
        assert [row["kind"] for row in rows] == ["open", "step"] * 3
        assert all(f"you said {task.name}" in row["output"] for row in rows[1::2])


def echo(question: Any) -> Reply:
    return says(f"you said {question['messages'][-1]['content']}")


def brought_in_one(task: graphmem.Task, folder: Path) -> None:
    assert catch_up(task, folder=folder).refused == ()
    assert settle(task.context.connection, seconds=60.0)  # its courier may be looking whether anything is left
    assert list(folder.glob(f"*{task.name}-*")) == []


def test_two_threads_with_one_client_break_nothing(
    connection: Connection, space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    task = space.task("t")
    answers: list[str] = []
    with openai_server(iter(lambda: echo, None)) as server:
        watched = watch(client(server), task, folder=tmp_path)

        def converse(name: str) -> None:
            messages: list[Any] = []
            for turn in range(4):
                messages.append({"role": "user", "content": f"{name} {turn}"})
                messages.append(ask(watched, messages).choices[0].message)
                answers.append(messages[-1].content)

        threads = [threading.Thread(target=converse, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        brought_in(task, tmp_path)
        watched.close()
    assert sorted(answers) == sorted(f"you said {name} {turn}" for name in ("one", "two") for turn in range(4))
    rows = ledger(connection, task)
    assert [row["kind"] for row in rows] == ["open", "step"] * 4  # the conversation that began, whole, and no other
    assert sum("another conversation" in one for one in said) == 1


def test_what_is_no_client_is_refused_with_what_to_give(space: graphmem.Space) -> None:
    for wrong in (None, "sk-key", openai, object()):
        with pytest.raises(graphmem.InvalidValueError, match=r"watch\(OpenAI\(\), task\)"):
            watch(wrong, space.task("t"))


# --- what is recorded -------------------------------------------------------------------------------------------------


def test_of_several_choices_the_first_is_taken_and_the_one_that_the_agent_took_follows(
    connection: Connection, space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    task = space.task("t")
    choices = completion({"content": "first"}, {"content": "second"})
    with openai_server([Reply(body=choices), Reply(body=choices), says("third")]) as server:
        watched = watch(client(server), task, folder=tmp_path)
        assert len(ask(watched, [USER], n=2).choices) == 2
        assert len(list(ask(watched, [USER], n=2, stream=True))) > 4
        ask(watched, [USER, {"role": "assistant", "content": "second"}, {"role": "user", "content": "And?"}])
        brought_in(task, tmp_path)
        watched.close()
    assert [one for one in said if "choices" in one] == [f"{task!r}: of 2 choices the first is taken for the answer"]
    answers = [row["output"] for row in ledger(connection, task) if row["kind"] == "step"]
    assert [next(w for w in ("first", "second", "third") if w in answer) for answer in answers] == [
        "first",
        "second",
        "third",
    ]


def test_an_agent_that_sends_the_last_messages_alone_is_recorded_whole(
    connection: Connection, space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    task = space.task("t")
    messages: list[Any] = []
    with openai_server(iter(lambda: echo, None)) as server:
        watched = watch(client(server), task, folder=tmp_path)
        for turn in range(8):
            messages.append({"role": "user", "content": f"turn {turn}"})
            answered = ask(watched, [{"role": "system", "content": f"It is {turn} o'clock."}, *messages[-5:]])
            messages.append({"role": "assistant", "content": answered.choices[0].message.content})
        brought_in(task, tmp_path)
        watched.close()
    check_recorded(connection, space, task, messages)
    assert said == []


def test_messages_of_another_conversation_are_left_out_and_that_is_said_once(
    connection: Connection, space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    task = space.task("t")
    with openai_server(iter(lambda: echo, None)) as server:
        watched = watch(client(server), task, folder=tmp_path)
        first = {"role": "assistant", "content": ask(watched, [USER]).choices[0].message.content}
        for i in range(3):
            ask(watched, [SYSTEM, {"role": "user", "content": f"A title for conversation {i}, please"}])
        messages = [USER, first, {"role": "user", "content": "on"}]
        ask(watched, messages)
        brought_in(task, tmp_path)
        watched.close()
    check_recorded(connection, space, task, [*messages, {"role": "assistant", "content": "you said on"}])
    assert len(said) == 1
    assert "another conversation" in said[0]


def test_a_second_conversation_has_a_name_of_its_own(
    connection: Connection, space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    task = space.task("t")
    with openai_server(iter(lambda: echo, None)) as server:
        plain = client(server)
        ask(watch(plain, task, folder=tmp_path), [USER])
        brought_in(task, tmp_path)
        ask(watch(plain, task, run="second", folder=tmp_path), [{"role": "user", "content": "Another day"}])
        assert catch_up(task, run="second", folder=tmp_path).refused == ()
        plain.close()
    assert [row["kind"] for row in ledger(connection, task)] == ["open", "step"] * 2
    assert said == []


def test_messages_that_differ_from_what_the_task_has_are_set_aside_with_what_to_do(
    graph: graphmem.Graph, connection: Connection, space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    task = space.task("t")
    record(task, [USER, {"role": "assistant", "content": ANSWER}])
    before = ledger(connection, task)
    with openai_server(iter(lambda: echo, None)) as server:
        watched = watch(client(server), task, folder=tmp_path)
        messages: list[Any] = []
        for text in ("Something else", "Something else again"):
            messages.append({"role": "user", "content": text})
            messages.append(ask(watched, messages[-3:]).choices[0].message)  # an agent that was started again
            assert messages[-1].content == f"you said {text}"
            assert settle(graph.connection, seconds=60.0)
        watched.close()
    assert ledger(connection, task) == before
    assert sum("not those that were recorded" in one for one in said) == 1
    (aside,) = all_waiting(tmp_path)
    assert (aside.is_refused, aside.exchanges) == (True, 2)
    check = examine_buffers(tmp_path)
    assert check.verdict == "wrong"
    assert check.command == f"graphmem catch-up --run NAME {aside.path}"
    assert len(graph.catch_up([Path(aside.path)])[0].refused) == 1
    assert all_waiting(tmp_path) == (aside,)
    (caught,) = graph.catch_up([Path(aside.path)], run="later")
    assert (caught.exchanges, caught.refused, list(tmp_path.iterdir())) == (2, (), [])
    assert [row["kind"] for row in ledger(connection, task)] == ["open", "step"] * 3


def test_a_new_process_goes_on_where_the_last_one_stopped(
    connection: Connection, space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    task = space.task("t")
    messages: list[Any] = []
    with openai_server(iter(lambda: echo, None)) as server:
        plain = client(server)
        for turn in range(3):
            messages.append({"role": "user", "content": f"turn {turn}"})
            answered = ask(watch(plain, task, folder=tmp_path), messages)
            messages.append({"role": "assistant", "content": answered.choices[0].message.content})
        brought_in(task, tmp_path)
        plain.close()
    check_recorded(connection, space, task, messages)
    assert said == []


def test_other_endpoints_pass_and_the_one_that_is_missed_is_named(
    space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    embedding = {"object": "list", "model": "m", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]}
    response = {"id": "r", "object": "response", "output": [], "model": "m"}
    with openai_server([Reply(body=embedding), Reply(body=response), Reply(body=response)]) as server:
        watched = watch(client(server), space.task("t"), folder=tmp_path)
        made = watched.embeddings.create(model="m", input="x", encoding_format="float")
        assert made.data[0].embedding == [0.5]
        for _ in range(2):
            assert watched.responses.create(model="m", input="hi").id == "r"
        watched.close()
    assert len(said) == 1
    assert "/responses" in said[0]
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_stored_is_cut_or_replaced_and_the_run_goes_on(
    graph: graphmem.Graph, connection: Connection, space: graphmem.Space, tmp_path: Path, said: list[str]
) -> None:
    task = space.task("t")
    long = call("write", {"text": 'é"\n' * 400_000}, "c2")
    odd = [call("read", '{"path": "a' + '\\"' * 300_000, "c1"), long, call("", "{}", "c3"), call("n" * 999, "{}", "c4")]
    results = ["nul \x00 byte", "x" * (2 << 20), "y", "z"]
    messages: list[Any] = [{"role": "user", "content": "é" * (1 << 20)}]
    with openai_server([calls(*odd), says("lone \ud800"), says("and on")]) as server:
        watched = watch(client(server), task, folder=tmp_path)
        messages.append(ask(watched, messages).choices[0].message)
        for i, text in enumerate(results):
            messages.append({"role": "tool", "tool_call_id": f"c{i + 1}", "content": text})
        assert ask(watched, messages).choices[0].message.content == "lone \ud800"
        messages.append({"role": "assistant", "content": "lone \ufffd"})
        messages.append({"role": "user", "content": "more"})
        ask(watched, messages)
        assert settle(graph.connection, seconds=120.0)
        watched.close()
    assert list(tmp_path.iterdir()) == []
    assert [row["kind"] for row in ledger(connection, task)] == ["open", "step", "observe", "step", "open", "step"]
    contents = [str(result.content) for node in task.at(3).path().recent for result in node.results]
    assert contents[0] == "nul \ufffd byte"
    assert contents[1].endswith("… [cut: it has 2,097,152 characters]")
    assert len(contents[1].encode()) == 1 << 20
    assert contents[2:] == ["y", "z"]
    assert [one for one in said if "cannot be stored" in one] == said


def test_pictures_are_named_and_not_kept(connection: Connection, space: graphmem.Space, tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 100_000}}
    message = {"role": "user", "content": [{"type": "text", "text": "What is it? "}, picture]}
    task = space.task("t")
    with openai_server([says("A cat.")]) as server:
        watched = watch(client(server), task, folder=tmp_path)
        ask(watched, [message])
        brought_in(task, tmp_path)
        watched.close()
    check_recorded(connection, space, task, [message, {"role": "assistant", "content": "A cat."}])


# --- secrets ----------------------------------------------------------------------------------------------------------


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


def test_a_task_that_is_forgotten_is_forgotten_in_the_buffer_as_well(
    graph: graphmem.Graph,
    space: graphmem.Space,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GRAPHMEM_HOME", str(tmp_path))
    for name in ("t", "other"):
        record(space.task(name), [USER])
        buffer_of(space.task(name)).append([USER, {"role": "assistant", "content": "a secret"}])
    space.forget("t", dry_run=True)
    assert len(all_waiting()) == 2
    space.forget("t")
    assert [one.task for one in all_waiting()] == ["other"]
    assert [one.task for one in graph.catch_up()] == ["other"]
