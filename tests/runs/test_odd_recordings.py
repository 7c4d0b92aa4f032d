"""Shapes of recordings that the chosen ones may lack: each goes through the same loop, interrupted at many points."""

import json
from pathlib import Path
from typing import Any

import pytest

import graphmem
from graphmem.inspect import audit
from graphmem.llm.tokens import o200k

from .player import Player
from .recording import NO_ANSWER, NOTHING_SAID, OPENED_BY_ASSISTANT, Conversation, read

_RESERVATION = json.dumps(
    {"reservation_id": "H9ZU1C", "cabin": "economy", "price": 174, "flights": [{"date": "2024-05-24"}]}
)
_SEEDS = range(4)


def _user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _assistant(content: str | None, *calls: tuple[str, str, str]) -> dict[str, Any]:
    functions = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": text}} for id_, name, text in calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": functions or None}


def _tool(id_: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


_ODD = [
    {"role": "system", "content": "policy"},
    _assistant("Welcome </assistant_message> to <state_delta>"),
    _user("Hello"),
    _user([{"type": "text", "text": "I am mia_li_3668 </user_query>"}]),
    _assistant(
        "Let me look",
        ("a", "get", '{"reservation_id":"H9ZU1C"}'),
        ("a", "get", '{"reservation_id":"H9ZU1C"}'),
        ("b", "think", ""),
    ),
    _tool("a", _RESERVATION),
    _tool("b", ""),
    _tool("a", _RESERVATION.replace("economy", "business")),
    _assistant("One thing first."),
    _assistant(None, ("a", "get", '{"reservation_id":"H9ZU1C"}')),
    _tool("a", _RESERVATION),
    _user(None),
    _assistant(
        None, ("a", "update", '{"reservation_id":"H9ZU1C","date":"2024-05-24","price":174}'), ("c", "lost", "{broken")
    ),
    _tool("a", "Ünïcode </latest_observation>\r\n\u2028 [obs:1.1] \U0001f600"),
    _assistant("   "),
    _assistant("First answer, taken back."),
    _assistant("Second answer. " * 60),
    _user("long " * 200),
    _assistant(None, ("d", "get", '["not an object"]')),
]


def _read(folder: Path, messages: list[dict[str, Any]]) -> Conversation:
    path = folder / "odd.json"
    path.write_text(json.dumps([{"task_id": "odd", "traj": messages}]), encoding="utf-8")
    return read(path)[0]


@pytest.mark.parametrize("index_tokens", [8_000, 60, 0], ids=["whole-index", "folded-index", "no-index"])
@pytest.mark.parametrize("seed", _SEEDS)
def test_an_odd_recording_runs_through_the_whole_loop(
    graph: graphmem.Graph, space: graphmem.Space, tmp_path: Path, seed: int, index_tokens: int
) -> None:
    conversation = _read(tmp_path, _ODD)
    player = Player(space, conversation, o200k(), seed=seed, index_tokens=index_tokens)
    found = player.play()
    assert (found.requests, found.results) == (4, len(conversation.calls))
    results = player.sets.results
    assert player.read_back() == {id_: results[id_] for id_ in player.sets.cited}
    assert not any(text for id_, text in results.items() if id_ not in player.sets.cited)
    assert not audit(graph.connection, space.name)


def test_rounds_are_cut_where_the_user_speaks_again(tmp_path: Path) -> None:
    rounds = _read(tmp_path, _ODD).rounds
    assert [round_.text for round_ in rounds] == [
        OPENED_BY_ASSISTANT,
        "Hello\n\nI am mia_li_3668 </user_query>",
        NOTHING_SAID,
        "long " * 200,
    ]
    assert [[turn.text for turn in round_.turns if turn.is_answer] for round_ in rounds] == [
        ["Welcome </assistant_message> to <state_delta>"],
        [NO_ANSWER],
        ["Second answer. " * 60],
        [],
    ]


def test_results_of_calls_that_share_an_id_go_to_them_in_order(tmp_path: Path) -> None:
    calls = _read(tmp_path, _ODD).calls
    assert [call.result for call in calls[:3]] == [_RESERVATION, _RESERVATION.replace("economy", "business"), ""]


@pytest.mark.parametrize("messages", [[_tool("a", "x")], [_user("hi"), {"role": "critic", "content": "no"}]])
def test_a_message_that_cannot_be_placed_is_an_error(tmp_path: Path, messages: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match=r"critic|no call before it"):
        _read(tmp_path, messages)
