"""The sets of runs on which tokens are held against recall: recorded ones by their folder, BFCL from its simulators.

`airline`: recorded conversations of tau-bench; `chained`: all of one user's as the requests of one task. `retail`: gold
calls of tau2-bench's retail tasks, reads answered from its database, which no rule was made for; `retail chained`.
`base`, `miss_param`: gold calls of BFCL multi-turn, executed. Invariant: nothing is copied, and
the order is the data's.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from experiments import bfcl
from graphmem import ToolCall
from graphmem.exchange import Round, Run, Turn
from graphmem.exchange.formats import read

SETS: Final = ("airline", "chained", "retail", "retail chained", "base", "miss_param")
_AIRLINE: Final = Path("tau-bench", "gpt-4o-airline-trials-0-1.json")
_RETAIL: Final = Path("tau2-bench", "retail")


def runs(name: str, data: Path, *, limit: int = 0) -> list[Run]:
    """The runs of a set; `data` is the folder with `tau-bench` and `tau2-bench`. `limit`: so many, evenly spread."""
    match name:
        case "airline":
            found = [run for run, _ in _airline(data)]
        case "chained":
            found = _chains((run, f"{user} {run.trial}") for run, user in _airline(data))
        case "retail":
            found = [run for run, _ in _retail(data)]
        case "retail chained":
            found = _chains(_retail(data))
        case _:
            found = list(bfcl.runs(name))
    return [found[i * len(found) // limit] for i in range(limit)] if 0 < limit < len(found) else found


def _airline(data: Path) -> Iterator[tuple[Run, str]]:
    """Each conversation with its user, trial by trial."""
    path = data / _AIRLINE
    records = json.loads(path.read_text(encoding="utf-8"))
    for run, record in zip(read(path), records, strict=True):
        yield run, record["info"]["task"]["user_id"]


def _chains(found: Iterator[tuple[Run, str]]) -> list[Run]:
    """All runs of one user, one after another, where there are several."""
    by_user: dict[str, list[Run]] = defaultdict(list)
    for run, user in found:
        by_user[user].append(run)
    return [
        replace(same[0], task=user, rounds=tuple(round_ for run in same for round_ in run.rounds))
        for user, same in by_user.items()
        if len(same) > 1
    ]


def _retail(data: Path) -> Iterator[tuple[Run, str]]:
    """Each task as one request with its gold calls, and the user it is about."""
    database = json.loads((data / _RETAIL / "db.json").read_text(encoding="utf-8"))
    for task in json.loads((data / _RETAIL / "tasks.json").read_text(encoding="utf-8")):
        told = task["user_scenario"]["instructions"]
        calls = [ToolCall(name=a["name"], arguments=a["arguments"]) for a in task["evaluation_criteria"]["actions"]]
        answers = [_answer(call, database) for call in calls]
        turns = tuple(Turn(calls=(call,), results=(answer,)) for call, answer in zip(calls, answers, strict=True))
        text = f"{told['reason_for_call']} {told.get('known_info') or ''}".strip()
        if turns:
            yield Run(task=task["id"], rounds=(Round(text=text, turns=turns),)), _user(calls, answers, task["id"])


def _user(calls: Sequence[ToolCall], answers: Sequence[str], default: str) -> str:
    """Whom the calls are about."""
    for call, answer in zip(calls, answers, strict=True):
        if call.name.startswith("find_user_id") and not answer.startswith("Error"):
            return answer
        if "user_id" in call.arguments:
            return str(call.arguments["user_id"])
    return default


def _answer(call: ToolCall, database: Mapping[str, Any]) -> str:
    """What the tool returns: what it reads; after a write the order or user as it was: no later call relies on it."""
    if call.name == "list_all_product_types":
        return json.dumps({product["name"]: id_ for id_, product in database["products"].items()})
    if call.name.startswith("find_user_id"):
        found = [id_ for id_, user in database["users"].items() if _is_meant(user, call.arguments)]
        return found[0] if found else "Error: user not found"
    for name, table in (("order_id", "orders"), ("product_id", "products"), ("user_id", "users")):
        if name in call.arguments:
            item = database[table].get(call.arguments[name])
            return f"Error: {name} not found" if item is None else json.dumps(item)
    return "done"


def _is_meant(user: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    if "email" in given:
        return bool(user["email"] == given["email"])
    named = {**user["name"], "zip": user["address"]["zip"]}
    return all(named.get(key) == value for key, value in given.items())
