"""An output on its way into the ledger: read, checked and made fit to be stored.

Pure. Text of a model never raises here; a `StepOutput` made by hand goes through the same reading, so that nothing
reaches the graph by a way on which it was not checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphmem.errors import InvalidValueError
from graphmem.state.protocol import parse, render_output
from graphmem.state.values import Operation, PendingCalls, StepOutput, ToolCall, ToolResult
from graphmem.task.context import Context
from graphmem.vocabulary import Json, check_text, json_text, text_fault, value_fault


def parsed_output(output: str | StepOutput, strict: bool, context: Context) -> StepOutput:
    """The output, with every text in it checked; a `StepOutput` goes through the same text as a model's does."""
    if isinstance(output, str):
        return parse(output, strict=strict, limits=context.limits)
    if not isinstance(output, StepOutput):
        raise InvalidValueError(f"output must be the model's text or a StepOutput, not {type(output).__name__}")
    if output.fault is not None:
        return output
    output = replace(output, delta=tuple(_with_value_checked(operation) for operation in output.delta))
    for call in output.tool_calls:
        fault = value_fault(call.arguments, path=f"the arguments of {call.name}")
        if fault is not None:
            raise InvalidValueError(fault)
    checked = parse(render_output(output), limits=context.limits)
    if checked.fault is not None:
        raise InvalidValueError(f"the StepOutput cannot be stored: {checked.fault}")
    # B.3 has no place for what was found wrong in a part, nor for ids of calls: they are put back.
    return replace(
        checked,
        delta=tuple(replace(c, fault=g.fault or c.fault) for c, g in zip(checked.delta, output.delta, strict=True)),
        access=tuple(replace(c, fault=g.fault or c.fault) for c, g in zip(checked.access, output.access, strict=True)),
        tool_calls=_with_ids(checked.tool_calls, output.tool_calls),
        repairs=output.repairs,
        text=output.text or checked.text,
    )


def actions(calls: tuple[ToolCall, ...]) -> list[tuple[str, str]]:
    return [(call.name, json_text(call.arguments, sort_keys=True)) for call in calls]


def _with_value_checked(operation: Operation) -> Operation:
    fault = value_fault(operation.value)
    return operation if fault is None else replace(operation, value=None, fault=operation.fault or fault)


def _with_ids(calls: tuple[ToolCall, ...], given: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    ids = [call.id for call in given if call.id]
    for id_ in ids:
        check_text("the id of a call", id_, max_bytes=1_000)
        if ids.count(id_) > 1 or id_.startswith("call:"):
            raise InvalidValueError(
                f"the call id {id_!r} is not one call's own: give each another one, not call:…, or none"
            )
    return tuple(replace(call, id=own.id) for call, own in zip(calls, given, strict=True))


def storable(text: str, limit: int) -> str:
    """The text as the ledger keeps it: a character that no text may hold is replaced, what is too long is cut."""
    if text_fault(text) is not None:
        text = "".join("�" if text_fault(character) else character for character in text)
    if len(text.encode()) > limit:
        text = text.encode()[:limit].decode(errors="ignore")
    return text


def usage_text(usage: Mapping[str, Json] | None, context: Context) -> str | None:
    if usage is None:
        return None
    if not isinstance(usage, Mapping):
        raise InvalidValueError(f"usage must be a mapping, not {usage!r}")
    fault = value_fault(usage, path="usage")
    if fault is not None:
        raise InvalidValueError(fault)
    return json_text(context.value(usage))


def ordered_results(pending: PendingCalls, results: Sequence[ToolResult]) -> list[ToolResult]:
    """The results in the order of the calls, exactly one each."""
    if not isinstance(results, list | tuple) or not all(isinstance(result, ToolResult) for result in results):
        raise InvalidValueError(f"results must be a list of ToolResult, not {results!r}")
    given = {result.call_id: result for result in results}
    wanted = [call.id for call in pending.calls]
    if len(given) != len(results):
        raise InvalidValueError("two results name the same call; give one result for each call id")
    extra, missing = sorted(set(given) - set(wanted)), [id_ for id_ in wanted if id_ not in given]
    if extra or missing:
        faults = [f"no result for {id_}" for id_ in missing] + [f"no such call: {id_}" for id_ in extra]
        raise InvalidValueError(
            f"{'; '.join(faults)}. Every call needs one result; ToolResult.unknown(call_id) where nobody knows."
        )
    return [given[id_] for id_ in wanted]
