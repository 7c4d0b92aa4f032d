"""OpenAI chat messages: a list of them, or a record that holds one under any key, such as `messages` or `traj`.

What else the record says of the run is kept as its `info`, where it is short. Invariant: the messages are read by
`graphmem.exchange.messages` and by nothing else, so that a file and `graphmem.record` make the same task.
"""

from collections.abc import Mapping
from typing import Any, Final

from graphmem.errors import UnreadableRunError
from graphmem.exchange.messages import conversation
from graphmem.exchange.values import Run
from graphmem.vocabulary import Json, json_text, value_fault

_KEYS: Final = ("messages", "traj", "trajectory", "conversation", "conversations", "history", "dialog", "chat")
_NAMES: Final = ("task_id", "instance_id", "question_ID", "task", "conversation_id", "session_id", "id", "name")
_INFO_CHARACTERS: Final = 2_000


def messages_key(value: object) -> str | None:
    """Under which key a record holds messages; None where it holds none."""
    if not isinstance(value, Mapping):
        return None
    keys = [*(key for key in _KEYS if key in value), *(key for key in value if key not in _KEYS)]
    return next((key for key in keys if _is_messages(value[key])), None)


def matches(value: object) -> bool:
    """Whether a record is of this form."""
    return _is_messages(value) or messages_key(value) is not None


def read(value: Any, *, where: str, index: int) -> Run:
    """The run of a record.

    Raises:
        UnreadableRunError: nothing can be made of its messages.
    """
    key = messages_key(value)
    others = [name for name in value if name != key and _is_messages(value[name])] if isinstance(value, Mapping) else []
    if key is not None and key not in _KEYS and others:
        raise UnreadableRunError(
            f"it holds messages under several keys ({', '.join(map(repr, (key, *others)))}); give each run alone, "
            "in an array or one a line",
            record=where,
        )
    messages = value if key is None else value[key]
    found = conversation(messages, record=where)
    record = {} if key is None else {name: item for name, item in value.items() if name != key}
    trial = record.get("trial", 0)
    task, is_named = name_of(record, index)
    return Run(
        task=task,
        is_named=is_named,
        rounds=found.rounds,
        trial=trial if isinstance(trial, int) and not isinstance(trial, bool) else 0,
        source=where,
        system=found.system,
        info=info_of(record),
    )


def name_of(record: Mapping[str, Any], index: int) -> tuple[str, bool]:
    """What a record calls its task, else its place in the file; whether it is a name."""
    for key in _NAMES:
        name = record.get(key)
        if (isinstance(name, str) and name.strip()) or (isinstance(name, int) and not isinstance(name, bool)):
            return str(name), True
    return str(index), False


def info_of(record: Mapping[str, Any]) -> dict[str, Json]:
    """What a record says beside its messages: what can be stored, and is short."""
    kept = {key: item for key, item in record.items() if value_fault({key: item}) is None}
    return {key: item for key, item in kept.items() if len(json_text(item)) <= _INFO_CHARACTERS}


def _is_messages(value: object) -> bool:
    """Whether it is a list of messages, by the first of them: what is wrong with the others is said of them."""
    first = value[0] if isinstance(value, list | tuple) and value else None
    return isinstance(first, Mapping) and "role" in first
