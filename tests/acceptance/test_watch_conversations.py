"""Which messages that pass a watched client are recorded, and what becomes of the others."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

import graphmem
from graphmem.exchange import all_waiting, catch_up, examine_buffers, record, watch
from graphmem.exchange.watching.catching_up import buffer_of, settle
from graphmem.store import Connection
from tests.acceptance.watched import (
    ANSWER,
    SYSTEM,
    USER,
    ask,
    brought_in,
    brought_in_one,
    check_recorded,
    client,
    echo,
    ledger,
    speak,
)
from tests.acceptance.watched import _no_warnings_of_our_own_statements as _no_warnings_of_our_own_statements
from tests.acceptance.watched import said as said
from tests.openai_server import KEY, Reply, call, calls, completion, openai_server, says


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
                answers.append(speak(watched, messages, f"{name} {turn}"))

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
            clock = {"role": "system", "content": f"It is {turn} o'clock."}
            speak(watched, messages, f"turn {turn}", before=[clock], last=5)
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
            assert speak(watched, messages, text, last=3) == f"you said {text}"  # an agent that was started again
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
            speak(watch(plain, task, folder=tmp_path), messages, f"turn {turn}")
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
