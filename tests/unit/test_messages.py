"""Chat messages as rounds and turns: what is tolerated, and what is refused with its place and reason."""

import json
from typing import Any

import pytest

import graphmem
from graphmem.exchange import Round
from graphmem.exchange.messages import NOTHING_SAID, OPENED_BY_ASSISTANT, WENT_ON, Conversation, conversation


def _user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _call(id_: str, name: str, arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def _assistant(content: Any, *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls) or None, **more}


def _tool(id_: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content, **more}


def _rounds(*messages: object) -> tuple[Round, ...]:
    return conversation(messages).rounds


def test_each_message_of_the_user_opens_a_round_and_words_without_calls_answer_it() -> None:
    rounds = _rounds(_user("one"), _user("two"), _assistant("a", _call("x", "get")), _tool("x", "r"), _assistant("b"))
    assert [(r.text, [t.text for t in r.turns], r.is_answered) for r in rounds] == [
        ("one", [], False),
        ("two", ["a", "b"], True),
    ]
    assert rounds[1].turns[0].results == ("r",)


def test_an_assistant_that_speaks_first_or_goes_on_after_its_answer_has_a_round_of_its_own() -> None:
    rounds = _rounds(_assistant("hello"), _user(None), _assistant("a"), _assistant("b"))
    assert [r.text for r in rounds] == [OPENED_BY_ASSISTANT, NOTHING_SAID, WENT_ON]
    assert all(r.is_answered for r in rounds)


def test_messages_give_the_same_rounds_as_they_grow() -> None:
    messages = [
        _user("one"),
        _assistant("so", _call("x", "get"), _call("y", "get")),
        _tool("y", "second"),
        _tool("x", "first"),
        _assistant("done"),
        _assistant("and"),
        _user("two"),
    ]
    whole = conversation(messages)
    for end in range(len(messages)):
        part = conversation(messages[:end])
        for mine, theirs in zip(part.rounds, whole.rounds, strict=False):
            assert mine.text == theirs.text
            assert [(t.text, t.calls) for t in mine.turns] == [(t.text, t.calls) for t in theirs.turns][
                : len(mine.turns)
            ]
            assert part.places == tuple(
                places[: len(r.turns) + 1] for places, r in zip(whole.places, part.rounds, strict=False)
            )


def test_places_are_the_messages_that_things_come_from() -> None:
    messages = [{"role": "system", "content": "policy"}, _user("one"), _assistant("  "), _assistant("a"), _user("two")]
    found = conversation(messages)
    assert found == Conversation(rounds=found.rounds, places=((1, 3), (4,)), system="policy")


def test_system_and_developer_are_the_policy() -> None:
    found = conversation([{"role": "developer", "content": "be brief"}, {"role": "system", "content": "be kind"}])
    assert (found.system, found.rounds) == ("be brief\n\nbe kind", ())


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        (["a", {"type": "input_text", "text": "b"}], "ab"),
        ([{"type": "text", "text": "see "}, {"type": "image_url", "image_url": {"url": "data:…"}}], "see [image_url]"),
        ({"type": "text", "text": {"value": "v"}}, "v"),
        ({"query": "warm?"}, '{"query":"warm?"}'),
        (
            [{"type": "input_file", "file_id": "f"}, {"type": "note", "text": "x"}],
            '[input_file]{"type":"note","text":"x"}',
        ),
    ],
)
def test_content_may_be_text_or_parts(content: object, text: str) -> None:
    assert _rounds(_user(content))[0].text == text


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": [1, None]}, {"a": [1, None]}),
        ("", {}),
        (None, {}),
        ('{"a": ', {"unreadable": '{"a": '}),
        ("[1]", {"unreadable": "[1]"}),
        ('{"a": 99999999999999999999}', {"unreadable": '{"a": 99999999999999999999}'}),
        ('{"a": NaN}', {"unreadable": '{"a": NaN}'}),
    ],
)
def test_arguments_are_an_object_or_kept_as_they_came(arguments: object, read: dict[str, Any]) -> None:
    (call,) = _rounds(_user("q"), _assistant(None, _call("x", "get", arguments)))[0].turns[0].calls
    assert (call.name, call.arguments) == ("get", read)


def test_legacy_functions_and_their_results() -> None:
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "get", "arguments": '{"a":1}'}}
    (round_,) = _rounds(_user("q"), legacy, {"role": "function", "name": "get", "content": "r"})
    assert (round_.turns[0].calls[0].arguments, round_.turns[0].results) == ({"a": 1}, ("r",))


def test_ids_that_repeat_go_to_the_nearest_call_that_is_open() -> None:
    (round_,) = _rounds(
        _user("q"),
        _assistant(None, _call("a", "get"), _call("a", "get")),
        _tool("a", "1"),
        _tool("a", "2"),
        _assistant(None, _call("a", "get")),
        _tool("a", "3"),
    )
    assert [turn.results for turn in round_.turns] == [("1", "2"), ("3",)]


def test_of_calls_with_one_id_the_name_of_the_result_tells_which() -> None:
    calls = (_call("a", "get"), _call("a", "put"), _call("b", "look"))
    results = (_tool("a", "2", name="put"), _tool("b", "3", name="see"), _tool("a", "1", name="look"))
    (round_,) = _rounds(_user("q"), _assistant(None, *calls), *results)
    assert round_.turns[0].results == ("1", "2", "3")


def test_a_result_may_name_its_call_by_its_own_id() -> None:
    results = ({"role": "tool", "id": id_, "content": id_} for id_ in ("b", "a"))
    (round_,) = _rounds(_user("q"), _assistant(None, _call("a", "get"), _call("b", "get")), *results)
    assert round_.turns[0].results == ("a", "b")


@pytest.mark.parametrize("key", ["arguments", "input", "args", "parameters"])
def test_arguments_are_found_under_the_names_they_go_by(key: str) -> None:
    call = {"name": "get", "id": "a", key: {"x": 1}}
    assert _rounds(_user("q"), _assistant(None, call))[0].turns[0].calls[0].arguments == {"x": 1}


def test_a_result_that_comes_late_goes_to_its_call() -> None:
    (round_,) = _rounds(
        _user("q"),
        _assistant(None, _call("a", "get")),
        _assistant(None, _call("b", "put")),
        _tool("b", "2"),
        _tool("a", "1"),
    )
    assert [turn.results for turn in round_.turns] == [("1",), ("2",)]


def test_calls_without_results_have_none() -> None:
    (round_,) = _rounds(_user("q"), _assistant(None, _call("a", "get"), _call("b", "get")), _tool("b", "2"))
    assert round_.turns[0].results == (None, "2")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ({"a": 1}, '{"a":1}'),
        ([1, 2], "[1,2]"),
        ([], "[]"),
        ([{"id": 7}], '[{"id":7}]'),
        ([{"type": "flight", "id": "H1"}], '[{"type":"flight","id":"H1"}]'),
        ([{"type": "file", "path": "a.py", "text": "x"}], '[{"type":"file","path":"a.py","text":"x"}]'),
        ([{"type": "text", "text": "see"}, {"type": "image", "data": "…"}], "see[image]"),
        (3.5, "3.5"),
    ],
)
def test_a_result_is_text_or_json(content: object, text: str) -> None:
    (round_,) = _rounds(_user("q"), _assistant(None, _call("a", "get")), _tool("a", content))
    assert round_.turns[0].results == (text,)


def test_reasoning_alone_is_no_turn_and_a_refusal_is_an_answer() -> None:
    rounds = _rounds(_user("q"), _assistant(None, reasoning_content="hm"), _assistant(None, refusal="I cannot"))
    assert [(t.text, t.calls) for t in rounds[0].turns] == [("I cannot", ())]


def test_who_spoke_is_kept() -> None:
    assert _rounds(_user("q"), _assistant("a", name="critic"))[0].turns[0].author == "critic"


def test_objects_of_a_client_library_are_read() -> None:
    class Dumped:
        def __init__(self, plain: dict[str, Any]) -> None:
            self.plain = plain

        def model_dump(self) -> dict[str, Any]:
            return self.plain

    call = Dumped(_call("a", "get", '{"k":2}'))
    (round_,) = _rounds(
        _user("q"), Dumped({"role": "assistant", "content": None, "tool_calls": [call]}), _tool("a", "r")
    )
    assert (round_.turns[0].calls[0].arguments, round_.turns[0].results) == ({"k": 2}, ("r",))


@pytest.mark.parametrize(
    ("messages", "position", "reason"),
    [
        ([_tool("a", "x")], 0, "a result for the call 'a', which no message before it makes"),
        ([_user("q"), _assistant(None, _call("a", "f")), _tool("b", "x")], 2, "call 'b', which no message before"),
        ([_user("q"), _assistant(None, _call("a", "f")), _tool("a", "x"), _tool("a", "y")], 3, "a second result for"),
        ([_user("q"), {"role": "function", "name": "f", "content": "x"}], 1, "call of 'f', which no message"),
        ([_user("q"), {"role": "critic", "content": "no"}], 1, "the unknown role 'critic'; the roles are user"),
        ([{"content": "no role"}], 0, "the unknown role None"),
        (["text"], 0, "it is str, not a chat message"),
        ([_user(7)], 0, "its content is int, not a text, parts or null"),
        ([_user([3])], 0, "a part of its content"),
        ([_user([{"type": "tool_result", "content": "x"}])], 0, "is a tool_result; give calls as tool_calls"),
        ([_user("q"), _assistant(None, {"id": "a", "function": {"arguments": "{}"}})], 1, "a call has no name"),
        ([_user("q"), _assistant(None, {"id": "a", "function": {"name": " "}})], 1, "a call has no name"),
        ([_user("q"), {"role": "assistant", "tool_calls": "get"}], 1, "its tool_calls are no list"),
        ([_user("q"), {"role": "assistant", "tool_calls": [3]}], 1, "a call is int, not a mapping"),
        ([_user("a\x00b")], 0, r"NUL (U+0000) at character 1 cannot be stored; remove or replace it"),
        ([_user("q"), _assistant(None, _call("a", "f")), _tool("a", "\ud800")], 2, "a lone surrogate"),
    ],
)
def test_what_nothing_can_be_made_of_is_refused_with_its_place(messages: list[Any], position: int, reason: str) -> None:
    with pytest.raises(graphmem.UnreadableRunError) as caught:
        conversation(messages, record="runs.jsonl, line 4")
    assert (caught.value.position, caught.value.record) == (position, "runs.jsonl, line 4")
    assert reason in caught.value.reason
    assert str(caught.value) == f"runs.jsonl, line 4, message {position}: {caught.value.reason}"


@pytest.mark.parametrize("messages", ["text", {"role": "user"}, 3, None])
def test_what_is_no_list_of_messages_is_refused(messages: Any) -> None:
    with pytest.raises(graphmem.UnreadableRunError, match="must be a list of chat messages"):
        conversation(messages)


def test_a_round_is_not_answered_by_a_turn_that_calls() -> None:
    (round_,) = _rounds(_user("q"), _assistant("I will look", _call("a", "get")))
    assert not round_.is_answered
    assert json.loads(json.dumps([c.to_dict() for c in round_.turns[0].calls])) == [
        {"name": "get", "arguments": {}, "id": "a"}
    ]
