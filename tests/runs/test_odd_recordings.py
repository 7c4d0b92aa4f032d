"""Shapes of recordings that the chosen ones may lack: each goes through the same loop, interrupted at many points."""

import json
from typing import Any

import pytest

import graphmem
from graphmem.exchange import Run
from graphmem.exchange.messages import conversation
from graphmem.inspect import audit

from .player import Player

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


@pytest.mark.parametrize("index_tokens", [8_000, 60, 0], ids=["whole-index", "folded-index", "no-index"])
@pytest.mark.parametrize("seed", _SEEDS)
def test_an_odd_recording_runs_through_the_whole_loop(
    graph: graphmem.Graph, space: graphmem.Space, seed: int, index_tokens: int
) -> None:
    run = Run(task="odd", rounds=conversation(_ODD).rounds)
    player = Player(space, run, seed=seed, index_tokens=index_tokens)
    player.play()
    results = player.sets.results
    assert (player.sets.requests, len(results)) == ([round_.text for round_ in run.rounds], len(run.calls))
    assert player.read_back() == {id_: results[id_] for id_ in player.sets.cited}
    assert not any(text for id_, text in results.items() if id_ not in player.sets.cited)
    assert not audit(graph.connection, space.name)
