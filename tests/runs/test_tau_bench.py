"""Recorded conversations of a real model with real tool results, through the whole loop (`make runs RUNS=DIR`)."""

from typing import Any, LiteralString

import graphmem
from graphmem.inspect import audit
from graphmem.llm.tokens import o200k

from .player import Figures, Player
from .recording import Conversation

_RAW: LiteralString = (
    "MATCH (o:RawObservation {task: $p.task}) RETURN o.id AS id, o.content AS content ORDER BY o.from_step, o.position"
)
_STEPS: LiteralString = "MATCH (s:Step {task: $p.task}) RETURN s.kind AS kind, count(*) AS number"
_LIVE: LiteralString = (
    "MATCH (s:State:Live {task: $p.task}) RETURN s.id AS id, s.request AS request ORDER BY s.born, s.position"
)
_REQUESTS: LiteralString = (
    "MATCH (r:Request {task: $p.task}) RETURN r.text AS text, r.finished_step IS NOT NULL AS finished ORDER BY r.number"
)
_ANSWERS: LiteralString = (
    "MATCH (s:Step {task: $p.task}) WHERE s.kind = 'step' AND s.message <> '' "
    "RETURN s.message AS text ORDER BY s.number"
)


def test_a_recorded_conversation_runs_through_the_whole_loop(
    graph: graphmem.Graph, space: graphmem.Space, conversation: Conversation, figures: list[Figures]
) -> None:
    player = Player(space, conversation, o200k())
    found = player.play()
    figures.append(found)
    p = {"task": f"{space.name}/{player.task}"}

    def rows(name: str, text: LiteralString) -> list[dict[str, Any]]:
        return graph.connection.run(f"tests/runs/{name}", text, p)

    recorded = [call.result for call in conversation.calls]
    assert [row["content"] for row in rows("raw", _RAW)] == recorded
    steps = {row["kind"]: row["number"] for row in rows("steps", _STEPS)}
    assert steps == _nonzero(
        open=len(conversation.rounds),
        step=len(conversation.turns) + found.recalls,
        observe=sum(bool(turn.calls) for turn in conversation.turns),
    )
    answered = [any(turn.is_answer for turn in round_.turns) for round_ in conversation.rounds]
    assert [(row["text"], row["finished"]) for row in rows("requests", _REQUESTS)] == [
        (round_.text, finished) for round_, finished in zip(conversation.rounds, answered, strict=True)
    ]
    assert [row["text"] for row in rows("answers", _ANSWERS)] == [t.text for t in conversation.turns if t.is_answer]
    assert {row["id"]: row["request"] for row in rows("live", _LIVE)} == player.sets.states

    raw = {row["id"]: row["content"] for row in rows("raw", _RAW)}
    assert player.read_back() == {id_: raw[id_] for id_ in player.sets.cited}
    told = [text for id_, text in raw.items() if id_ not in player.sets.cited]
    assert not any(told), "only a result that says nothing may go without a state"
    assert not audit(graph.connection, space.name)


def _nonzero(**counts: int) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number}
