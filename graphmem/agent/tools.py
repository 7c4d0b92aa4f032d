"""Tools of an agent: what a model may call, how it is told of them, and how a call becomes the text of its result.

Owns nothing of the run. Invariant: calling never raises for what a tool or a model did wrong; the result says so.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, get_type_hints

from graphmem.errors import InvalidValueError
from graphmem.state.values import ToolCall
from graphmem.vocabulary import Json, Limits, check_text, json_text, short_name

_TYPES: Final = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}
_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A callable with what a model is told of it. `parameters` is a JSON Schema of its keyword arguments.

    `irreversible`: what it did cannot be undone, so a revise lists its calls.
    """

    name: str
    description: str
    function: Callable[..., object]
    parameters: Mapping[str, Json] = field(default_factory=dict)
    irreversible: bool = False

    @classmethod
    def of(cls, function: Callable[..., object], *, name: str | None = None, irreversible: bool = False) -> "Tool":
        """A tool made of a function: its name, the first line of its docstring, a schema from its type hints.

        It is called with the arguments as they stand in JSON, whatever its hints say.

        Raises:
            InvalidValueError: its parameters cannot be told.
        """
        if inspect.iscoroutinefunction(function):
            raise InvalidValueError(
                f"{function!r} is asynchronous, and the loop waits for nobody; give a function that runs it, such as "
                "one with asyncio.run"
            )
        line = (inspect.getdoc(function) or "").partition("\n")[0]
        return cls(
            name=name or function.__name__,
            description=line,
            function=function,
            parameters=_schema(function),
            irreversible=irreversible,
        )

    @classmethod
    def from_openai(
        cls, schema: Mapping[str, Any], function: Callable[..., object], *, irreversible: bool = False
    ) -> "Tool":
        """A tool told as OpenAI's `tools` tell it, `{"type": "function", "function": {…}}`, run by `function`.

        Raises:
            InvalidValueError: the schema has no name, or `function` cannot be called.
        """
        told = schema.get("function", schema) if isinstance(schema, Mapping) else None
        name = told.get("name") if isinstance(told, Mapping) else None
        if not isinstance(told, Mapping) or not isinstance(name, str) or not name:
            raise InvalidValueError(
                'a tool schema is {"type": "function", "function": {"name": …, "description": …, "parameters": {…}}}, '
                f"not {short_name(repr(schema), characters=120)}"
            )
        if not callable(function):
            raise InvalidValueError(f"the tool {name} needs a function to run, not {short_name(repr(function))}")
        return cls(
            name=name,
            description=str(told.get("description") or ""),
            function=function,
            parameters=told.get("parameters") or {},
            irreversible=irreversible,
        )

    def described(self) -> str:
        """The tool as JSON, for the system message."""
        return json_text({"name": self.name, "description": self.description, "parameters": self.parameters})


def tools_of(given: object) -> tuple[Tool, ...]:
    """The tools that a value stands for: a `Tool`, a function, a pair of an OpenAI tool schema and its function, a
    mapping from names to functions, or a list of these.

    Raises:
        InvalidValueError: it is something else, or two tools have one name.
    """
    match given:
        case Tool():
            found: tuple[Tool, ...] = (given,)
        case (Mapping() as schema, function) if callable(function):
            found = (Tool.from_openai(schema, function),)
        case {"function": Mapping()}:
            raise InvalidValueError("a tool schema needs its function: give the pair (schema, function)")
        case Mapping():
            found = tuple(Tool.of(function, name=name) for name, function in given.items() if callable(function))
            if len(found) < len(given):
                raise InvalidValueError("a mapping of tools leads from names to functions")
        case list() | tuple():
            found = tuple(tool for item in given for tool in tools_of(item))
        case _ if callable(given) and hasattr(given, "__name__"):
            found = (Tool.of(given),)
        case _:
            raise InvalidValueError(
                f"{short_name(repr(given))} is no tool: give functions, graphmem.agent.Tool, or pairs of an OpenAI "
                "tool schema and its function"
            )
    names = [tool.name for tool in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidValueError(f"two tools are called {', '.join(twice)}; give each another name")
    return found


def _schema(function: Callable[..., object]) -> dict[str, Json]:
    try:
        hints = get_type_hints(function)
        given = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise InvalidValueError(
            f"the parameters of {function!r} cannot be told ({error}); make a Tool of it"
        ) from error
    named = [
        parameter for parameter in given if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    properties: dict[str, Any] = {parameter.name: _json_schema(hints.get(parameter.name, str)) for parameter in named}
    definitions = {name: one for schema in properties.values() for name, one in schema.pop("$defs", {}).items()}
    required = [parameter.name for parameter in named if parameter.default is inspect.Parameter.empty]
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
    return {**schema, "$defs": definitions} if definitions else schema


def _json_schema(hint: Any) -> dict[str, Any]:
    if isinstance(hint, type) and hint in _TYPES:
        return {"type": _TYPES[hint]}
    from pydantic import PydanticUserError, TypeAdapter  # takes a while to load, and most hints are plain types

    try:
        return TypeAdapter(hint).json_schema()
    except PydanticUserError:  # a type that no JSON stands for
        return {"type": _TYPES.get(getattr(hint, "__origin__", hint), "string")}


def call(tools: Mapping[str, Tool], wanted: ToolCall) -> str:
    """What the call returned, as text: strings verbatim, other values as JSON, errors in words."""
    tool = tools.get(wanted.name)
    if tool is None:
        return f"error: there is no tool {wanted.name!r}; the tools are {', '.join(sorted(tools)) or 'none'}"
    try:
        returned = tool.function(**wanted.arguments)
        text = returned if isinstance(returned, str) else json_text(returned)
        return check_text("the result", text, max_bytes=_LIMITS.result_bytes)
    except Exception as error:  # noqa: BLE001  a tool is foreign code: whatever it raises is for the model to read
        return _told(error)


def _told(error: Exception) -> str:
    text = f"error: {type(error).__name__}: {error}"
    try:
        return check_text("the error", text, max_bytes=_LIMITS.result_bytes)
    except Exception:  # noqa: BLE001  an error may quote what made the result unfit; its kind is always fit
        return f"error: {type(error).__name__}"
