"""What is asked of an OpenAI-compatible endpoint besides the messages, and how to do with less where it refuses some.

Owns the generation settings (FlowState, B.5), the names under which hosts know "no thinking", and the ladder of each
setting. Pure. Invariant: a setting is left out only when the endpoint refused it, and never comes back.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from graphmem.vocabulary import Json

Body = Mapping[str, Json]

OPENAI_URL: Final = "https://api.openai.com/v1"

# Nobody agreed on a name. Others than these hosts mostly run vLLM, SGLang, llama.cpp, or speak as Qwen's own API does.
_THINKING_OFF: Final[tuple[tuple[str, Body], ...]] = (
    ("openai.com", {"reasoning_effort": "none"}),
    ("azure.com", {"reasoning_effort": "none"}),
    ("openrouter.ai", {"reasoning": {"enabled": False}}),
    ("deepseek.com", {"thinking": {"type": "disabled"}}),
    ("z.ai", {"thinking": {"type": "disabled"}}),
    ("bigmodel.cn", {"thinking": {"type": "disabled"}}),
    ("moonshot.ai", {"thinking": {"type": "disabled"}}),
    ("", {"enable_thinking": False, "chat_template_kwargs": {"enable_thinking": False}}),
)
_THINKING: Final = frozenset(name for _, body in _THINKING_OFF for name in body)
_NEEDED: Final = ("model", "messages", "stream")
LENGTHS: Final = ("max_completion_tokens", "max_tokens")


def thinking_off(base_url: str) -> Body:
    """What tells the host of that URL not to think."""
    host = urlsplit(base_url).hostname or ""
    return next(body for name, body in _THINKING_OFF if not name or host == name or host.endswith(f".{name}"))


def json_schema_format(schema: Body, *, name: str = "answer") -> Body:
    """`response_format` for structured outputs by this JSON Schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def without(body: Body, complaint: str, param: str | None) -> tuple[Body, str] | None:
    """The body without the setting that a refusal names, or with what stands in for it, and the name of the setting.

    None when it names none.
    """
    named = (param or "").partition(".")[0].partition("[")[0]
    optional = [name for name in body if name not in _NEEDED]
    in_words = [name for name in optional if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", complaint)]
    for name in [name for name in optional if name == named] + in_words:
        return _stepped_down(body, name), name
    return None


def without_thinking(body: Body) -> Body | None:
    """The body with nothing in it about thinking; None when it says nothing of it."""
    left = {name: value for name, value in body.items() if name not in _THINKING}
    return None if len(left) == len(body) else left


def without_length(body: Body) -> Body | None:
    """The body with no limit of the answer's length; None when it has none."""
    left = {name: value for name, value in body.items() if name not in LENGTHS}
    return None if len(left) == len(body) else left


def is_about_thinking(name: str) -> bool:
    """Whether the setting tells a model not to think."""
    return name in _THINKING


def _stepped_down(body: Body, name: str) -> Body:
    left = {key: value for key, value in body.items() if key != name}
    value = body[name]
    if name == "max_completion_tokens":
        return {**left, "max_tokens": value}
    if name == "response_format" and isinstance(value, Mapping) and value.get("type") == "json_schema":
        return {**left, name: {"type": "json_object"}}
    return left
