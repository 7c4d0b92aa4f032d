"""Recorded conversations of a real model with real tool results, through the whole loop (`make runs RUNS=DIR`)."""

from typing import Any, LiteralString

import graphmem
from graphmem.exchange import Run
from graphmem.exchange.writer import NO_ANSWER
from graphmem.inspect import audit

from .player import Player

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


def test_a_recorded_run_goes_through_the_whole_loop(graph: graphmem.Graph, space: graphmem.Space, run: Run) -> None:
    player = Player(space, run)
    player.play()
    p = {"task": f"{space.name}/{player.task}"}

    def rows(name: str, text: LiteralString) -> list[dict[str, Any]]:
        return graph.connection.run(f"tests/runs/{name}", text, p)

    raw = {row["id"]: row["content"] for row in rows("raw", _RAW)}
    assert list(raw.values()) == [result for turn in run.turns for result in turn.results]
    answers = [round_.turns[-1].text if round_.has_answer else NO_ANSWER for round_ in run.rounds]
    is_over = run.rounds[-1].has_answer
    steps = {row["kind"]: row["number"] for row in rows("steps", _STEPS)}
    assert steps == _nonzero(
        open=len(run.rounds),
        step=len(run.turns) + player.asked + sum(not round_.has_answer for round_ in run.rounds[:-1]),
        observe=sum(bool(turn.calls) for turn in run.turns),
    )
    assert [(row["text"], row["finished"]) for row in rows("requests", _REQUESTS)] == [
        (round_.text, number < len(run.rounds) or is_over) for number, round_ in enumerate(run.rounds, 1)
    ]
    assert [row["text"] for row in rows("answers", _ANSWERS)] == (answers if is_over else answers[:-1])
    assert {row["id"]: row["request"] for row in rows("live", _LIVE)} == player.sets.states

    assert player.read_back() == {id_: raw[id_] for id_ in player.sets.cited}
    told = [text for id_, text in raw.items() if id_ not in player.sets.cited]
    assert not any(told), "only a result that says nothing may go without a state"
    assert not audit(graph.connection, space.name)


def _nonzero(**counts: int) -> dict[str, int]:
    return {name: number for name, number in counts.items() if number}
