"""Judges and summarizers: what decides about a subgoal, and what writes its summary where the agent did not.

A judge is a callable from a `Case` to a `Ruling`, or a `ChatModel` that is asked with our prompt (MAGE, Algorithm 1,
line 39); a summarizer is a callable from the nodes of R to a text, or a `ChatModel`. Neither is ever called inside a
transaction. Invariant: a judge that does not answer with a verdict changes nothing.
"""

import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from itertools import islice
from typing import TypeAlias, TypeGuard

from json_repair import repair_json

from graphmem.errors import InvalidValueError, JudgeError
from graphmem.llm.chat import ChatModel, Message
from graphmem.state.render import UNKNOWN_OUTCOME
from graphmem.state.values import Observation
from graphmem.trace.values import Case, Ruling, TraceNode
from graphmem.vocabulary import json_text, short_name, text_fault

Judge: TypeAlias = Callable[[Case], Ruling] | ChatModel
Summarizer: TypeAlias = Callable[[Sequence[TraceNode]], str] | ChatModel

_RESULT_CHARACTERS = 4_000
_OBJECTS = 100


def ruling(judge: Judge, case: Case) -> Ruling:
    """What the judge says of the case.

    Raises:
        JudgeError: it failed, or answered with something else than a verdict.
    """
    try:
        given = judge.complete(judge_messages(case)).text if isinstance(judge, ChatModel) else judge(case)
        said = _parsed(given) if isinstance(given, str) else given
    except Exception as error:
        raise JudgeError(f"the judge failed ({type(error).__name__}: {error}); no verdict was recorded") from error
    if not _is_verdict(said):
        raise JudgeError(
            f"the judge answered {short_name(repr(given), characters=200)}; it must pass, or fail with feedback. "
            "No verdict was recorded."
        )
    return said


def _is_verdict(said: object) -> TypeGuard[Ruling]:
    """Whether it passes, or fails with feedback that can be stored."""
    if not isinstance(said, Ruling) or not isinstance(said.passed, bool) or not isinstance(said.feedback, str):
        return False
    return text_fault(said.feedback) is None and (said.passed or bool(said.feedback.strip()))


def judge_messages(case: Case) -> list[Message]:
    """The prompt of Maintain: the instruction, the covered trace, the summary."""
    lines = [f"<task_instruction>\n{_safe(case.instruction)}\n</task_instruction>"]
    if case.preferences:
        told = "\n".join(
            json_text({"id": id_, "preference": text, "value": case.values.get(id_)}) for id_, text in case.preferences
        )
        lines.append(f"<preferences>\n{_safe(told)}\n</preferences>")
    lines.append(f"<trace>\n{_safe(chr(10).join(map(_node_line, case.trace)))}\n</trace>")
    if case.summary is not None:
        lines.append(f"<summary>\n{_safe(case.summary.text)}\n</summary>")
    return [Message("system", _prompt("maintain")), Message("user", "\n\n".join(lines))]


def written_summary(summarizer: Summarizer | None, nodes: Sequence[TraceNode]) -> str:
    """A summary of the nodes: by the summarizer, or by the rule.

    Raises:
        InvalidValueError: the summarizer gave no text.
    """
    if summarizer is None:
        return rule_summary(nodes)
    if isinstance(summarizer, ChatModel):
        trace = _safe("\n".join(map(_node_line, nodes)))
        messages = [Message("system", _prompt("summarize")), Message("user", f"<trace>\n{trace}\n</trace>")]
        text = summarizer.complete(messages).text
    elif callable(summarizer):
        text = summarizer(nodes)
    else:
        raise InvalidValueError(f"a summarizer is a callable or a ChatModel, not {short_name(repr(summarizer))}")
    if not isinstance(text, str) or not text.strip():
        raise InvalidValueError("the summarizer gave no text; nothing was compressed")
    return text.strip()


def rule_summary(nodes: Sequence[TraceNode]) -> str:
    """The rule-based summary: each call with its arguments and how its result begins."""
    return "; ".join(_call(seen) for node in nodes for seen in node.results)


def _call(seen: Observation) -> str:
    arguments = ", ".join(f"{name}={_plain(value)}" for name, value in seen.arguments.items())
    content = UNKNOWN_OUTCOME if seen.content is None else short_name(seen.content, characters=160)
    return f"{seen.tool}({short_name(arguments, characters=160)}) -> {content}"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)


def _node_line(node: TraceNode) -> str:
    results = [
        {
            "id": o.id,
            "action": {"name": o.tool, "arguments": dict(o.arguments)},
            "observation": UNKNOWN_OUTCOME if o.content is None else _cut(o.content),
        }
        for o in node.results
    ]
    return json_text({"step": node.number, "results": results})


def _cut(text: str) -> str:
    if len(text) <= _RESULT_CHARACTERS:
        return text
    return f"{text[:_RESULT_CHARACTERS]}… ({len(text) - _RESULT_CHARACTERS} characters left out)"


def _safe(text: str) -> str:
    """The text with no tag of the prompt's frame in it."""
    return re.sub(r"(?i)<(\s*/?\s*(?:task_instruction|preferences|trace|summary)\s*)>", r"<\\\1>", text)


def _parsed(text: str) -> Ruling | None:
    """The verdict in a model's answer: one JSON object with `verdict` and `feedback`, whatever stands around it."""
    said: object = next((said for said in reversed(list(islice(_objects(text), _OBJECTS))) if "verdict" in said), None)
    if said is None:
        found = re.search(r"\{.*\}", text, re.DOTALL)
        said = repair_json(found[0], return_objects=True) if found else None
    if not isinstance(said, dict):
        return None
    verdict = str(said.get("verdict", "")).strip().lower()
    feedback = said.get("feedback")
    if verdict not in ("pass", "fail"):
        return None
    return Ruling(passed=verdict == "pass", feedback=feedback if isinstance(feedback, str) else "")


def _objects(text: str) -> Iterator[dict[str, object]]:
    """The JSON objects that stand in a text as they are."""
    decoder = json.JSONDecoder(strict=False)
    start = text.find("{")
    while start != -1:
        try:
            said, end = decoder.raw_decode(text, start)
        except ValueError:
            start = text.find("{", start + 1)
            continue
        yield said
        start = text.find("{", end)


@functools.cache
def _prompt(name: str) -> str:
    return resources.files("graphmem.trace").joinpath("prompts", f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
