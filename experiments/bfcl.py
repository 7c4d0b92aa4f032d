"""BFCL multi-turn as recorded runs: its gold calls are executed in its own simulators, as they answer.

`bfcl-eval` is installed without its dependencies (the Makefile does); the simulators need but `mpmath` of these. A
`Task` is one entry of a category with its gold calls; a `Simulator` its world, which can be copied deeply and compared
by everything it holds. Calls are read with `ast`, nothing of the data is evaluated. Invariant: tasks, results and
states are the same in every process.
"""

import ast
import copy
import importlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from random import Random
from typing import Any, Final

from graphmem import ToolCall
from graphmem.exchange import Round, Run, Turn
from graphmem.vocabulary import Json

CATEGORIES: Final = ("base", "miss_param")
_SOURCES: Final = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_CLASSES: Final = {
    "GorillaFileSystem": ("gorilla_file_system", "gorilla_file_system"),
    "MathAPI": ("math_api", "math_api"),
    "MessageAPI": ("message_api", "message_api"),
    "TicketAPI": ("ticket_api", "ticket_api"),
    "TradingBot": ("trading_bot", "trading_bot"),
    "TravelAPI": ("travel_booking", "travel_booking"),
    "TwitterAPI": ("posting_api", "posting_api"),
    "VehicleControlAPI": ("vehicle_control", "vehicle_control"),
}
_STATELESS: Final = ("MathAPI",)
_CLOCK: Final = "_last_modified"  # of a file: the time of day, which no answer tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as the data documents it; `parameters` in its own dialect of JSON Schema, `class_name` its simulator."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    class_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One entry of a category: user turns, and for each the gold calls in order (none: the model should ask back)."""

    id: str
    category: str
    questions: tuple[str, ...]
    gold: tuple[tuple[ToolCall, ...], ...]
    config: Mapping[str, Any]
    classes: tuple[str, ...]
    tools: tuple[Tool, ...]

    def simulator(self) -> "Simulator":
        """The world as it is before the first call."""
        return Simulator.of(self.classes, self.config)


@dataclass(frozen=True, slots=True, eq=False)
class Simulator:
    """The instances of a task's classes. Worlds are equal when everything they hold is, random generators included."""

    instances: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, classes: Sequence[str], config: Mapping[str, Any]) -> "Simulator":
        """New instances with their scenarios loaded."""
        instances = {name: _class(name)() for name in classes}
        for name, instance in instances.items():
            if name not in _STATELESS:
                instance._load_scenario(copy.deepcopy(config.get(name, {})), long_context=False)
        return cls(instances)

    def call(self, call: ToolCall) -> str:
        """What a call answers, after it took effect; what it raises is an answer, too."""
        method = self._method(call.name)
        if method is None:
            return f"Error during execution: name '{call.name}' is not defined"
        try:
            answer = method(**copy.deepcopy(dict(call.arguments)))
        except Exception as error:  # noqa: BLE001  # whatever a simulator raises is what BFCL shows the model
            return f"Error during execution: {error}"
        return answer if isinstance(answer, str) else _json(answer)

    def state(self) -> dict[str, Any]:
        """Everything the instances hold, as plain data."""
        return {name: _Walk().plain(vars(instance)) for name, instance in self.instances.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Simulator) and self.state() == other.state()

    __hash__ = None  # type: ignore[assignment]  # it changes with every call

    def _method(self, name: str) -> Callable[..., Any] | None:
        found = [getattr(instance, name, None) for instance in self.instances.values()]
        return None if name.startswith("_") else next((m for m in reversed(found) if inspect.ismethod(m)), None)


def tasks(category: str) -> tuple[Task, ...]:
    """The entries of a category of multi-turn, in the order of the data."""
    questions = _lines("data", f"BFCL_v4_multi_turn_{category}.json")
    answers = {line["id"]: line for line in _lines("data", "possible_answer", f"BFCL_v4_multi_turn_{category}.json")}
    return tuple(_task(category, line, answers[line["id"]]["ground_truth"]) for line in questions)


def run(task: Task) -> Run:
    """The run of an agent that makes the gold calls, one an output, in a world of its own."""
    world = task.simulator()
    rounds = []
    for question, calls in zip(task.questions, task.gold, strict=True):
        turns = tuple(Turn(calls=(call,), results=(world.call(call),)) for call in calls)
        rounds.append(Round(text=question, turns=turns))
    return Run(
        task=task.id,
        rounds=tuple(rounds),
        source=f"bfcl {task.category}",
        info={"category": task.category, "classes": list(task.classes)},
    )


def runs(category: str) -> Iterator[Run]:
    """The runs of all tasks of a category."""
    return map(run, tasks(category))


def sample(category: str, count: int, *, seed: int = 0) -> tuple[Task, ...]:
    """Some tasks of a category, in its order; all of them when `count` is 0."""
    found = tasks(category)
    if count == 0 or count >= len(found):
        return found
    return tuple(found[i] for i in sorted(Random(seed).sample(range(len(found)), count)))


def parsed_call(text: str, parameters: Callable[[str], Sequence[str]]) -> ToolCall:
    """A call written as Python with literal arguments; `parameters(tool)` names those that are given by position.

    Raises:
        ValueError: it is something else.
    """
    call = ast.parse(text.strip(), mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"{text!r} is no call of a tool")
    names = [*parameters(call.func.id)[: len(call.args)], *(keyword.arg for keyword in call.keywords)]
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    arguments: dict[str, Json] = {}
    for name, value in zip(names, given, strict=True):
        if name is None or name in arguments:
            raise ValueError(f"{text!r} does not name its arguments one by one")
        arguments[name] = ast.literal_eval(value)
    return ToolCall(name=call.func.id, arguments=arguments)


def _task(category: str, line: Mapping[str, Any], gold: Sequence[Sequence[str]]) -> Task:
    excluded = set(line.get("excluded_function", ()))
    tools = tuple(tool for name in line["involved_classes"] for tool in _tools(name) if tool.name not in excluded)
    parameters = {tool.name: tuple(tool.parameters["properties"]) for name in _CLASSES for tool in _tools(name)}
    return Task(
        id=line["id"],
        category=category,
        questions=tuple("\n".join(message["content"] for message in turn) for turn in line["question"]),
        gold=tuple(tuple(parsed_call(text, parameters.__getitem__) for text in turn) for turn in gold),
        config=line["initial_config"],
        classes=tuple(line["involved_classes"]),
        tools=tools,
    )


@cache
def _tools(class_name: str) -> tuple[Tool, ...]:
    return tuple(
        Tool(
            name=line["name"],
            description=line["description"],
            parameters=line["parameters"],
            class_name=class_name,
        )
        for line in _lines("data", "multi_turn_func_doc", f"{_CLASSES[class_name][1]}.json")
    )


@cache
def _class(name: str) -> Callable[[], Any]:
    found: Callable[[], Any] = getattr(importlib.import_module(f"{_SOURCES}.{_CLASSES[name][0]}"), name)
    return found


def _lines(*parts: str) -> list[dict[str, Any]]:
    text = resources.files("bfcl_eval").joinpath(*parts).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _json(answer: object) -> str:
    """As BFCL writes an answer: a dict as JSON, everything else as Python writes it."""
    try:
        return json.dumps(answer) if isinstance(answer, dict) else str(answer)
    except (TypeError, ValueError):
        return str(answer)


class _Walk:
    """Plain data of anything; an object met again is told by the number it got when it was met first."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def plain(self, value: object) -> Any:
        match value:
            case dict():
                return {key: self.plain(value[key]) for key in sorted(value, key=repr) if key != _CLOCK}
            case list() | tuple():
                return [self.plain(item) for item in value]
            case set() | frozenset():
                return sorted(map(repr, value))
            case Random():
                return value.getstate()
        if not hasattr(value, "__dict__") or isinstance(value, type):
            return value
        if id(value) in self.numbers:
            return ("object", self.numbers[id(value)])
        self.numbers[id(value)] = len(self.numbers)
        return (type(value).__name__, self.plain(vars(value)))
