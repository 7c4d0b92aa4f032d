"""Chat messages to be recorded, and everything that a task then holds, as a value that two tasks can be compared by."""

import json
import random
from typing import Any, LiteralString

import graphmem

_STEPS: LiteralString = """
MATCH (s:Step {task: $p.task})
WITH s ORDER BY s.number
RETURN s {.number, .kind, .author, .request, .output, .message, .calls, .added, .updated, .removed, .rejected, .refused,
  .visited, .merged, .world, .note, .abandoned_step} AS row
"""
_RAW: LiteralString = """
MATCH (o:RawObservation {task: $p.task})-[:CHILD_OF]->(n:TraceNode {task: $p.task})
WITH o, n ORDER BY o.from_step, o.position
RETURN o {.id, .tool, .arguments, .content, .request, .from_step, node: n.number} AS row
"""
_STATES: LiteralString = """
MATCH (s:State {task: $p.task})
WITH s ORDER BY s.born, s.position, s.from_step
RETURN s {.id, .summary, .value, .request, .from_step, .to_step, live: s:Live,
  refs: [(s)-[r:SUPPORTS|DERIVES|FOLLOWS|SUPERSEDES]->(m) | type(r) + ' ' + m.id]} AS row
"""
_REQUESTS: LiteralString = """
MATCH (r:Request {task: $p.task})
WITH r ORDER BY r.number
RETURN r {.number, .text, .opened_step, .finished_step, .abandoned_step} AS row
"""
_TREE: LiteralString = """
MATCH (n:TraceNode {task: $p.task})
OPTIONAL MATCH (n)-[:CHILD_OF]->(m:TraceNode)
OPTIONAL MATCH (n)<-[:COVERS]-(c:SummaryNode)
WITH n, m.number AS parent, c ORDER BY n.number, c.from_step
WITH n, parent, collect(c.text) AS covered
RETURN n {.number, .name, .depth, .from_step, parent: parent, on_path: n:OnPath, covered: covered} AS row
ORDER BY row.number
"""


def picture(graph: graphmem.Graph, task: graphmem.Task) -> dict[str, list[Any]]:
    """Everything of a task but its own name and what a clock or chance decides."""
    p = {"task": f"{task.space}/{task.name}"}
    parts = {"steps": _STEPS, "raw": _RAW, "states": _STATES, "requests": _REQUESTS, "tree": _TREE}

    def rows(name: str, text: LiteralString) -> list[Any]:
        found = [row["row"] for row in graph.connection.run(f"tests/{name}", text, p)]
        for row in found:
            row.get("refs", []).sort()
        return found

    return {name: rows(name, text) for name, text in parts.items()}


def user(text: str | None) -> dict[str, Any]:
    return {"role": "user", "content": text}


def says(text: str | None, *calls: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    made = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for id_, name, arguments in calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": made or None}


def result(id_: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content}


def booking() -> list[dict[str, Any]]:
    """A conversation with most of what can happen: parallel calls, no answer, an answer taken up, ids that repeat."""
    reservation = {"reservation_id": "H9ZU1C", "user_id": "mia_li_3668", "cabin": "economy", "price": 174}
    return [
        {"role": "system", "content": "You book flights."},
        user("I am mia_li_3668; change my flight."),
        says("Let me look.", ("a", "get_user", {"user_id": "mia_li_3668"}), ("b", "get_reservation", {"id": "H9ZU1C"})),
        result("b", json.dumps(reservation)),
        result("a", json.dumps({"user_id": "mia_li_3668", "reservations": ["H9ZU1C"]})),
        says("Which day?"),
        user("The 24th"),
        user("of May, I mean."),
        says(None, ("a", "update", {"id": "H9ZU1C", "date": "2024-05-24"})),
        result("a", "Ünïcode \r\n\u2028 [obs:1.1] \U0001f600"),
        says(None, ("c", "lost", {})),
        says("It is done."),
        says("Anything else?"),
        user("Cancel it all."),
        says("Wait", ("d", "cancel", {"id": "H9ZU1C"})),
        result("d", ""),
        user("Stop!"),
        says(None, ("e", "think", {"thought": "hm"})),
    ]


def long_conversation(turns: int, *, seed: int = 1) -> list[dict[str, Any]]:
    """Requests of a few turns each, of words drawn from a seed."""
    drawn = random.Random(seed)
    messages: list[dict[str, Any]] = []
    for i in range(turns):
        if not messages or drawn.random() < 0.2:
            messages.append(user(f"request {i}: find item_{drawn.randrange(100)}"))
        if drawn.random() < 0.8:
            messages += [
                says(None, (f"c{i}", "find", {"item": drawn.randrange(10)})),
                result(f"c{i}", json.dumps({"item_id": f"item_{i}", "price": drawn.randrange(1000)})),
            ]
        else:
            messages += [says(f"answer {i}"), user(f"next {i}")]
    return messages
