"""Reading a model's output: B.3 to the letter, and the ways in which real models miss it."""

import json
import re
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmem.state.protocol import parse, render_output
from graphmem.state.values import Access, Operation, Ref, StepOutput, ToolCall
from graphmem.vocabulary import Limits, Relation, StateKind, text_fault

ADD: dict[str, Any] = {
    "state_set": "judgement",
    "operation": "add",
    "state_id": "plan",
    "summary": "Book hotel A",
    "value": {"hotel": "A", "nights": 2},
    "refs": [{"rel": "derives", "state_id": "obs:3.0"}],
}
PLAN = Operation(
    operation="add",
    id="plan",
    kind=StateKind.JUDGEMENT,
    summary="Book hotel A",
    value={"hotel": "A", "nights": 2},
    has_value=True,
    refs=(Ref(relation=Relation.DERIVES, target="obs:3.0"),),
)
CALL = {"name": "book", "arguments": {"hotel": "A"}}
B3 = """<state_focus>
[{"target_id": "hotel-b", "reason": "its price, to compare"}]
</state_focus>
<state_delta>
[{"state_set": "artifacts", "operation": "add", "state_id": "itinerary", "summary": "Oslo trip", "value": {}, "refs": \
[{"rel": "supports", "state_id": "obs:1.0"}]}]
</state_delta>
<tool_calls>
[{"name": "search", "arguments": {}}]
</tool_calls>
<assistant_message>
{"content": null}
</assistant_message>
"""


def blocks(focus: Any = (), delta: Any = (), calls: Any = (), message: Any = None, body: str | None = None) -> str:
    """The four blocks; a part that is a str stands there as it is, and so does the `body` of the message."""
    parts = {
        "state_focus": list(focus) if isinstance(focus, tuple) else focus,
        "state_delta": list(delta) if isinstance(delta, tuple) else delta,
        "tool_calls": list(calls) if isinstance(calls, tuple) else calls,
        "assistant_message": {"content": message} if body is None else body,
    }
    bodies = {name: part if isinstance(part, str) else json.dumps(part) for name, part in parts.items()}
    return "\n".join(f"<{name}>\n{body}\n</{name}>" for name, body in bodies.items())


OBJECT: dict[str, Any] = {
    "state_focus": [{"target_id": "h", "reason": "r"}],
    "state_delta": [ADD],
    "tool_calls": [CALL],
    "assistant_message": {"content": None},
}
GOOD = blocks(({"target_id": "h", "reason": "r"},), (ADD,), (CALL,))


def taken(output: StepOutput) -> tuple[object, ...]:
    return (output.fault, output.access, output.delta, output.tool_calls, output.message)


def mended(text: str) -> StepOutput:
    """The lenient reading of a text that must be mended, and that strict reading refuses."""
    output = parse(text)
    assert output.fault is None
    assert output.repairs
    assert parse(text, strict=True).fault
    return output


def operation(fields: dict[str, Any], **kwargs: Any) -> Any:
    (only,) = parse(blocks(delta=(fields,)), **kwargs).delta
    return only


# --- B.3 to the letter ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strict", [True, False])
def test_the_text_of_b3_is_read_as_it_stands(strict: bool) -> None:
    output = parse(B3, strict=strict)
    assert output == StepOutput(
        access=(Access(target="hotel-b", reason="its price, to compare"),),
        delta=(
            Operation(
                operation="add",
                id="itinerary",
                kind=StateKind.ARTIFACT,
                summary="Oslo trip",
                value={},
                has_value=True,
                refs=(Ref(relation=Relation.SUPPORTS, target="obs:1.0"),),
            ),
        ),
        tool_calls=(ToolCall(name="search", arguments={}),),
        text=B3,
    )


@pytest.mark.parametrize("word", ["preference", "knowledge", "attribute", "judgement", "artifacts"])
def test_strict_reading_knows_the_five_words_of_b3(word: str) -> None:
    kind = operation({**ADD, "state_set": word}, strict=True).kind
    assert kind is not None
    assert kind.word == word


@pytest.mark.parametrize(
    "fields",
    [
        {"operation": "update", "state_id": "plan", "summary": "Book hotel B"},
        {"operation": "update", "state_id": "plan", "value": None},
        {"operation": "update", "state_id": "plan", "refs": []},
        {"state_set": "judgement", "operation": "update", "state_id": "plan", "value": {}},
        {"operation": "remove", "state_id": "plan"},
        {"state_set": "judgement", "operation": "remove", "state_id": "plan"},
    ],
)
def test_strict_reading_takes_updates_and_removals_with_what_they_need(fields: dict[str, Any]) -> None:
    given = operation(fields, strict=True)
    assert given.fault is None
    assert (given.summary is None, given.has_value, given.refs is None) == (
        "summary" not in fields,
        "value" in fields,
        "refs" not in fields,
    )


@pytest.mark.parametrize(
    "text",
    [
        *(
            blocks(delta=({key: value for key, value in ADD.items() if key != missing},))
            for missing in ("state_set", "operation", "state_id", "summary", "value", "refs")
        ),
        blocks(delta=({**ADD, "confidence": 1},)),
        blocks(delta=({**ADD, "state_set": "artifact"},)),
        blocks(delta=({**ADD, "state_set": "<state_type>"},)),
        blocks(delta=({**ADD, "operation": "Add"},)),
        blocks(delta=({**ADD, "state_id": 7},)),
        blocks(delta=({**ADD, "summary": None},)),
        blocks(delta=({**ADD, "refs": None},)),
        blocks(delta=({**ADD, "refs": [{"rel": "SUPPORTS", "state_id": "x"}]},)),
        blocks(delta=({**ADD, "refs": [{"rel": "supports", "state_id": "x", "why": ""}]},)),
        blocks(focus=({"target_id": "h"},)),
        blocks(focus=({"target_id": "h", "reason": None},)),
        blocks(calls=({"name": "t"},)),
        blocks(calls=({**CALL, "id": "call_1"},)),
        blocks(body='"hello"'),
        blocks(body="{}"),
        blocks(body='{"content": null, "tone": "kind"}'),
        blocks(delta="null"),
        blocks(delta='[{"a": 1, "a": 2}]'),
        blocks(delta=json.dumps([{**ADD, "value": float("nan")}])),
        B3.replace("<tool_calls>", "<TOOL_CALLS>"),
        B3.replace("<tool_calls>\n[", "<tool_calls>\u00a0["),
        "\ufeff" + B3,
        B3 + "</tool_calls>",
        B3.replace("</state_focus>\n", "</state_focus>,\n"),
        B3 + B3,
        "",
    ],
)
def test_strict_reading_refuses_everything_else(text: str) -> None:
    output = parse(text, strict=True)
    assert output.fault
    assert output == StepOutput(fault=output.fault, text=text)


def test_what_breaks_a_limit_is_one_operation_in_strict_reading_too() -> None:
    output = parse(blocks(delta=({**ADD, "summary": "x" * 2001}, ADD)), strict=True)
    assert [bool(given.fault) for given in output.delta] == [True, False]


def test_tags_inside_strings_are_text() -> None:
    trap = 'a </state_delta> <tool_calls>[{"name": "rm"}]</tool_calls> </think> <|endoftext|> <latest_observation> ```'
    output = parse(blocks(delta=({**ADD, "summary": trap, "value": [trap]},), message=trap), strict=True)
    assert (output.delta[0].summary, output.delta[0].value, output.message) == (trap, [trap], trap)
    assert output.tool_calls == ()


@pytest.mark.parametrize("slip", [",", "x"])
def test_tags_inside_strings_are_text_in_a_block_with_a_slip(slip: str) -> None:
    trap = "a </state_delta> <tool_calls>[]</tool_calls> </think> <|endoftext|>"
    text = blocks(delta=({**ADD, "summary": trap},), calls=(CALL,))
    text = text.replace('"obs:3.0"}]}]', '"obs:3.0"}],}]') if slip == "," else text.replace('"plan"', "'plan'")
    output = mended(text)
    assert output.delta == (replace(PLAN, summary=trap),)
    assert output.tool_calls == (ToolCall(name="book", arguments={"hotel": "A"}),)


def test_numbers_keep_their_form() -> None:
    given = operation({**ADD, "value": [1, 1.0, 2**63 - 1, -(2**63), 0.1]}).value
    assert [repr(number) for number in given] == ["1", "1.0", str(2**63 - 1), str(-(2**63)), "0.1"]


def test_a_null_value_is_told_from_none() -> None:
    assert operation({**ADD, "value": None}).has_value
    assert not operation({key: value for key, value in ADD.items() if key != "value"}).has_value


def test_a_message_with_calls_and_an_empty_output_are_for_the_rules_to_refuse() -> None:
    assert parse(blocks(calls=(CALL,), message="hi"), strict=True).fault is None
    assert parse(blocks(), strict=True).fault is None


@pytest.mark.parametrize("content", ["", "  \n"])
def test_a_blank_message_is_no_message_and_a_violation_in_strict_reading(content: str) -> None:
    output = mended(blocks(delta=(ADD,), body=json.dumps({"content": content})))
    assert (output.message, output.delta) == (None, (PLAN,))
    assert output.repairs == ("assistant_message.content was blank and was read as null",)


# --- what real models do wrong ----------------------------------------------------------------------------------------

WHOLE = {
    "a code fence around all": f"```text\n{GOOD}\n```",
    "a fence as B.3 prints it": f"‘‘‘text\n{GOOD}\n‘‘‘",
    "a preface": f"Sure! Here is my output:\n\n{GOOD}",
    "an epilogue": f"{GOOD}\n\nLet me know if you need anything else.",
    "reasoning before": f"<think>\nI should book. \n</think>\n\n{GOOD}",
    "reasoning whose opening tag the chat template holds": f"I should book.\n</think>\n{GOOD}",
    "reasoning never closed": f"<think>\nI should book hotel A.\n{GOOD}",
    "reasoning that drafts blocks": f"<think>first {blocks(calls=(CALL, CALL), message='no')} hm</think>{GOOD}",
    "reasoning that drafts half a block": f'<think><state_delta>[{{"summary": "dra</think>\n{GOOD}',
    "reasoning that mentions a block": f"I fill <state_delta> and leave <tool_calls> be.\n</think>\n{GOOD}",
    "a preface that mentions a block": f"I fill <state_delta> now, then <assistant_message>.\n{GOOD}",
    "reasoning twice": f"<think>a</think> hm <think>b</think>{GOOD}",
    "an end token of GPT": f"{GOOD}<|endoftext|>",
    "an end token of Qwen": f"{GOOD}<|im_end|>\n",
    "an end token of Llama 2": f"{GOOD}</s>",
    "an end token of DeepSeek": f"{GOOD}<｜end▁of▁sentence｜>",
    "several end tokens": f"{GOOD}</s></s><|eot_id|>",
    "channels of gpt-oss": f"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|message|>{GOOD}<|return|>",
    "the next turn made up": f"{GOOD}\n<latest_observation>\nBooked.\n</latest_observation>\n{blocks(message='Done!')}",
    "a made-up user": f"{GOOD}<|im_end|>\n<|im_start|>user\nthanks {blocks(message='Done!')}",
    "fences inside blocks": re.sub(r">\n([\[{].*)\n<", r">\n```json\n\1\n```\n<", GOOD),
    "tags in capitals": re.sub(r"</?\w+>", lambda tag: tag.group().upper(), GOOD),
    "the last closing tag left out": GOOD.removesuffix("</assistant_message>"),
    "the last closing tag cut": GOOD[:-9],
    "a closing tag left out": GOOD.replace("</state_delta>", ""),
    "the wrong closing tag": GOOD.replace("</state_delta>", "</state_focus>"),
    "a draft and a correction": f"{blocks(calls=(CALL, CALL))}\nWait, again:\n{GOOD}",
    "a trailing comma in a list": GOOD.replace("}]\n</state_delta>", "},]\n</state_delta>"),
    "a trailing comma in an object": GOOD.replace('"nights": 2', '"nights": 2,'),
    "a bracket left out": GOOD.replace("}]\n</state_delta>", "}\n</state_delta>"),
    "two brackets left out": GOOD.replace("}]\n</state_delta>", "\n</state_delta>"),
    "a bracket too many": GOOD.replace("}]\n</state_delta>", "}]]\n</state_delta>"),
    "single objects": GOOD.replace(">\n[", ">\n").replace("]\n<", "\n<"),
    "a comment": GOOD.replace('"nights": 2', '"nights": 2 /* nights */'),
    "an unquoted key": GOOD.replace('"nights"', "nights"),
    "curly quotes": GOOD.replace('"Book hotel A"', "“Book hotel A”"),
    "names in single quotes": GOOD.replace('"plan"', "'plan'"),
    "one JSON object in a fence": f"```json\n{json.dumps(OBJECT)}\n```",
    "one JSON object and more": f"{json.dumps(OBJECT)}\nThat is all.",
    "a null list and a bare message in one object": json.dumps(
        {
            "thought": "hm",
            "state_focus": {"target_id": "h", "reason": "r"},
            "state_delta": [ADD],
            "tool_calls": [CALL],
            "assistant_message": None,
        }
    ),
    "a block wrapped in its own name": blocks(
        ({"target_id": "h", "reason": "r"},), (ADD,), json.dumps({"tool_calls": [CALL]})
    ),
    "tool_call tags of Qwen": blocks(
        ({"target_id": "h", "reason": "r"},), (ADD,), f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"
    ),
    "a call as OpenAI writes it": blocks(
        ({"target_id": "h", "reason": "r"},),
        (ADD,),
        ({"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"hotel": "A"}'}},),
    ),
    "arguments as a JSON string": blocks(
        ({"target_id": "h", "reason": "r"},), (ADD,), ({**CALL, "arguments": '{"hotel": "A"}'},)
    ),
    "parameters for arguments": blocks(
        ({"target_id": "h", "reason": "r"},), (ADD,), ({"name": "book", "parameters": {"hotel": "A"}},)
    ),
    "an unknown key": blocks(({"target_id": "h", "reason": "r"},), ({**ADD, "confidence": 0.9},), (CALL,)),
    "id for state_id": blocks(
        ({"id": "h", "reason": "r"},), ({"id": "plan", **{k: v for k, v in ADD.items() if k != "state_id"}},), (CALL,)
    ),
    "type for state_set": blocks(
        ({"state_id": "h", "reason": "r"},),
        ({"type": "judgement", **{k: v for k, v in ADD.items() if k != "state_set"}},),
        (CALL,),
    ),
    "keys in capitals": blocks(
        ({"target_id": "h", "reason": "r"},), ({key.upper(): value for key, value in ADD.items()},), (CALL,)
    ),
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE.keys())
def test_a_flaw_is_mended_and_said_and_refused_in_strict_reading(text: str) -> None:
    assert taken(mended(text)) == taken(parse(GOOD))


def test_one_json_object_is_as_good_as_the_blocks_and_refused_in_strict_reading_which_is_b3() -> None:
    output = parse(json.dumps(OBJECT))
    assert taken(output) == taken(parse(GOOD))
    assert output.repairs == ()
    assert parse(json.dumps(OBJECT), strict=True).fault == "the output was one JSON object instead of four blocks"


def test_a_whole_object_in_a_fence_after_a_preface_is_read() -> None:
    inner = json.dumps({"state_delta": [ADD], "assistant_message": {"content": "Done {really}"}})
    assert taken(mended(f"Here {{it}} is:\n```json\n{inner}\n```")) == (None, (), (PLAN,), (), "Done {really}")


@pytest.mark.parametrize("name", ["state_focus", "state_delta", "tool_calls", "assistant_message"])
def test_a_block_that_was_left_out_is_read_as_empty(name: str) -> None:
    text = re.sub(rf"<{name}>.*</{name}>\n?", "", blocks(), flags=re.S)
    output = mended(text)
    assert taken(output) == taken(parse(blocks()))
    assert output.repairs == (f"{name} was left out and was read as empty",)


@pytest.mark.parametrize("body", ["", "null", "None", "{}", "N/A", "[\n]"])
def test_a_blank_body_is_an_empty_block(body: str) -> None:
    assert taken(parse(blocks(body, body, body, body="null"))) == taken(parse(blocks()))


def test_a_block_that_closes_itself_is_empty() -> None:
    assert taken(mended(re.sub(r"<tool_calls>.*</tool_calls>", "<tool_calls/>", blocks(), flags=re.S)))[0] is None


def test_blocks_in_another_order_are_read() -> None:
    first, second = GOOD.split("<tool_calls>")
    assert taken(mended("<tool_calls>" + second + "\n" + first)) == taken(parse(GOOD))


def test_of_a_block_that_stands_twice_the_last_counts() -> None:
    output = mended(blocks(calls=(CALL,)) + "\n" + blocks(calls=({"name": "cancel", "arguments": {}},)))
    assert [call.name for call in output.tool_calls] == ["cancel"]


KINDS = {
    "artifact": "artifact",
    "Artifacts": "artifact",
    "judgment": "judgement",
    "judgments": "judgement",
    "judgements": "judgement",
    "JUDGEMENT": "judgement",
    "preferences": "preference",
    " preference ": "preference",
    "attributes": "attribute",
    "Knowledge": "knowledge",
}


@pytest.mark.parametrize(("spelled", "kind"), KINDS.items())
def test_a_kind_in_another_spelling_is_understood(spelled: str, kind: str) -> None:
    assert mended(blocks(delta=({**ADD, "state_set": spelled},))).delta == (replace(PLAN, kind=StateKind(kind)),)


@pytest.mark.parametrize("spelled", ["DERIVES", "Derives", "derives ", "derived_from", "derives from"])
def test_a_relation_in_another_spelling_is_understood(spelled: str) -> None:
    assert mended(blocks(delta=({**ADD, "refs": [{"rel": spelled, "state_id": "obs:3.0"}]},))).delta == (PLAN,)


@pytest.mark.parametrize(
    "refs",
    [
        {"rel": "derives", "state_id": "obs:3.0"},
        [{"relation": "derives", "target": "obs:3.0"}],
        [{"type": "derives", "source_state_id": "obs:3.0"}],
        [{"derives": "obs:3.0"}],
        {"derives": ["obs:3.0"]},
    ],
)
def test_refs_in_another_form_are_understood(refs: Any) -> None:
    assert mended(blocks(delta=({**ADD, "refs": refs},))).delta == (PLAN,)


@pytest.mark.parametrize(
    "refs", [["obs:3.0"], [{"rel": "supported_by", "state_id": "x"}], "obs:3.0", [{"rel": "derives"}]]
)
def test_a_ref_whose_relation_or_target_must_be_guessed_spoils_its_operation_only(refs: Any) -> None:
    first, second = parse(blocks(delta=({**ADD, "refs": refs}, ADD))).delta
    assert first.fault
    assert first.fault.startswith("state_delta[0]")
    assert (first.operation, first.id, second) == ("add", "plan", PLAN)


@pytest.mark.parametrize(
    "delta",
    [
        "[{'state_set': 'knowledge', 'operation': 'add', 'state_id': 'k', "
        "'summary': \"it's \\'so\\'\", 'value': {'a': None, 'b': True, 'c': 1.0}, 'refs': []}]"
    ],
)
def test_a_list_as_python_prints_it_is_read_exactly(delta: str) -> None:
    (only,) = mended(blocks(delta=delta)).delta
    assert (only.summary, only.value) == ("it's 'so'", {"a": None, "b": True, "c": 1.0})


def test_a_bare_question_mark_is_null_in_a_state() -> None:
    (only,) = mended(GOOD.replace('"nights": 2', '"nights": ?')).delta
    assert only.value == {"hotel": "A", "nights": None}


def test_a_bare_question_mark_is_null_beside_other_slips_too() -> None:
    (only,) = mended(GOOD.replace('"nights": 2', "nights: ?")).delta
    assert only.value == {"hotel": "A", "nights": None}


def test_a_bare_question_mark_is_never_called_with() -> None:
    output = parse(GOOD.replace('{"hotel": "A"}}]', '{"hotel": ?}}]'))
    assert output.fault
    assert "bare ?" in output.fault
    assert (output.tool_calls, output.delta) == ((), ())


def test_a_question_mark_inside_a_text_stays() -> None:
    text = "really?, yes: ?, [?], None, True,}"
    (only,) = mended(GOOD.replace("Book hotel A", text).replace('"nights": 2', '"nights": ?,')).delta
    assert only.summary == text


def test_a_raw_line_break_in_a_text_is_kept() -> None:
    assert (
        mended(blocks(body='{"content": "Dear Ada,\n\tall is booked.\n"}')).message == "Dear Ada,\n\tall is booked.\n"
    )


def test_quotes_inside_a_text_that_were_not_escaped_are_kept() -> None:
    output = mended(blocks(body='{"content": "The room called "Fjord" is free."}'))
    assert output.message == 'The room called "Fjord" is free.'


def test_escapes_survive_a_mended_block() -> None:
    (only,) = mended(GOOD.replace("Book hotel A", r"\ud83d\ude00 \/ \u00e9 \n x ").replace("}]}]", "}],}]")).delta
    assert only.summary == "😀 / é \n x "


def test_escapes_survive_json_repair_too() -> None:
    (only,) = mended(GOOD.replace("Book hotel A", r"\ud83d\ude00 \/ \u00e9").replace('"nights"', "nights")).delta
    assert only.summary == "😀 / é"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("All is booked.", "All is booked."),
        ('He said "no", I\'m afraid: {x}', 'He said "no", I\'m afraid: {x}'),
        ('"All is booked."', "All is booked."),
        ('{"message": "All is booked."}', "All is booked."),
        ('[{"content": "All is booked."}]', "All is booked."),
        ("{'content': 'All is booked.'}", "All is booked."),
        ("{'content': None}", None),
        ("42", "42"),
        ("[Note] bring cash", "[Note] bring cash"),
        ("{}", None),
    ],
)
def test_a_message_in_another_form_is_read(body: str, message: str | None) -> None:
    assert mended(blocks(body=body)).message == message


def test_a_bare_id_is_an_access_without_a_reason() -> None:
    assert mended(blocks(focus=("h", {"target_id": "i"}))).access == (Access(target="h"), Access(target="i"))


def test_an_id_that_is_a_number_is_read_as_text() -> None:
    assert mended(blocks(delta=({**ADD, "state_id": 7},))).delta == (replace(PLAN, id="7"),)


def test_ids_that_are_long_numbers_are_taken_whole() -> None:
    first, second = 1234567890123456789012345, 1234567890123456789012346
    output = mended(
        blocks(delta=({**ADD, "state_id": first}, {**ADD, "state_id": second}, {**ADD, "state_id": -first}))
    )
    assert [given.id for given in output.delta] == [f"{first}", f"{second}", f"{-first}"]


@pytest.mark.parametrize("digits", [201, 640, 641, 5_000])
def test_an_id_that_is_too_long_a_number_is_a_fault(digits: int) -> None:
    text = blocks(delta=({**ADD, "state_id": 7},)).replace(": 7", f": {'7' * digits}")
    for limits in (Limits(), Limits(id_characters=10_000)):
        (only,) = parse(text, limits=limits).delta
        assert bool(only.fault) == (limits == Limits() or digits > 201)


def test_a_key_that_stands_twice_is_noted_and_the_last_counts() -> None:
    output = mended(GOOD.replace('"nights": 2', '"nights": 1, "nights": 2'))
    assert output.delta == (PLAN,)
    assert "'nights' stands twice" in output.repairs[0]


# --- outputs that were cut off ----------------------------------------------------------------------------------------


def test_a_message_that_was_cut_is_kept_and_said_to_be_cut() -> None:
    output = mended(blocks(message="Your room is booked").split("ed", 1)[0])
    assert output.message == "Your room is book"
    assert "the output ended inside assistant_message" in output.repairs


@pytest.mark.parametrize(
    ("cut", "message"),
    [
        ('{"content": "a', "a"),
        ('{"content": "a"', "a"),
        ('{"content": "a\\n', "a\n"),
        ('{"content": "a\\', "a"),
        ('{"content": "a\\u00', "a"),
        ('{"content": "a\\ud83d', "a"),
        ('{"content": "a<|im_end|>', "a"),
        ('{"content": nul', None),
        ('{"content":', None),
        ('{"cont', None),
        ("{", None),
        ("", None),
    ],
)
def test_of_a_message_only_its_content_is_ever_shown(cut: str, message: str | None) -> None:
    assert mended(GOOD.split('{"content"')[0] + cut).message == message


def test_an_operation_that_was_cut_is_not_completed_by_a_guess() -> None:
    text = blocks(delta=(ADD, {**ADD, "state_id": "late"}))
    output = mended(text[: text.rindex('"summary"') + 18])
    assert output.delta[0] == PLAN
    assert (output.delta[1].id, len(output.delta)) == ("late", 2)
    assert output.delta[1].fault
    assert "ended inside" in output.delta[1].fault


@pytest.mark.parametrize(
    "cut", ['{"hotel"', '{"hotel": "A', '{"hotel": "A"', '{"hotel": "A", "guests": [{"name": "Ada"}']
)
def test_a_call_that_was_cut_is_not_made(cut: str) -> None:
    text = blocks(delta=(ADD,)).split("<tool_calls>")[0] + '<tool_calls>[{"name": "book", "arguments": ' + cut
    output = parse(text)
    assert output.fault
    assert "ended inside" in output.fault
    assert (output.tool_calls, output.delta) == ((), ())


def test_calls_that_are_whole_but_for_brackets_are_made() -> None:
    text = blocks(delta=(ADD,)).split("<tool_calls>")[0] + '<tool_calls>[{"name": "book", "arguments": {"hotel": "A"}'
    assert mended(text).tool_calls == (ToolCall(name="book", arguments={"hotel": "A"}),)


def test_a_cut_object_form_is_not_completed_by_a_guess() -> None:
    whole = json.dumps({"state_delta": [ADD], "tool_calls": [CALL]})
    assert mended(whole[:-1]).tool_calls
    assert parse(whole[:-3]).fault
    assert parse(whole[:-6]).fault


# --- limits and faults ------------------------------------------------------------------------------------------------

FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "a NUL in the summary": ({"summary": "a\x00"}, "summary: NUL (U+0000) at character 1"),
    "a lone surrogate in the id": ({"state_id": "a\ud800"}, "state_id: a lone surrogate (U+D800) at character 1"),
    "a NUL deep in the value": ({"value": {"a": [1, "\x00"]}}, "value.a[1]: NUL"),
    "a lone surrogate in a key": ({"value": {"\udfff": 1}}, "value key: a lone surrogate"),
    "NaN": ({"value": float("nan")}, "not a finite number"),
    "Infinity": ({"value": [float("-inf")]}, "value[0]"),
    "an integer beyond 64 bits": ({"value": 2**63}, "64 bits"),
    "an integer of thousands of digits": ({"value": 10**4200}, "64 bits"),
    "a blank id": ({"state_id": ""}, "use 1 to 200"),
    "a long id": ({"state_id": "x" * 201}, "use 1 to 200"),
    "a long summary": ({"summary": "x" * 2001}, "2,001 characters; the limit is 2,000"),
    "too many refs": ({"refs": [{"rel": "derives", "state_id": "x"}] * 201}, "the limit is 200"),
    "a NUL in a ref": ({"refs": [{"rel": "derives", "state_id": "\x00"}]}, "NUL"),
    "an unknown kind": ({"state_set": "fact"}, "use preference, knowledge, attribute, judgement, artifacts"),
    "an unknown operation": ({"operation": "upsert"}, "use add, update, remove"),
    "a summary that is no text": ({"summary": {"a": 1}}, "summary is an object, not a text"),
    "refs that are a number": ({"refs": 3}, "refs is 3"),
}


@pytest.mark.parametrize(("change", "reason"), FAULTS.values(), ids=FAULTS.keys())
def test_an_operation_that_cannot_be_taken_says_why_and_stops_no_other(change: dict[str, Any], reason: str) -> None:
    output = parse(blocks(delta=({**ADD, **change}, {**ADD, "state_id": "other"})))
    first, second = output.delta
    assert output.fault is None
    assert reason in (first.fault or "")
    assert text_fault(first.id) is None
    assert second == replace(PLAN, id="other")


def test_a_fault_keeps_a_legal_operation_and_else_says_unknown() -> None:
    kept = operation({"operation": "remove"})
    assert (kept.operation, kept.id, bool(kept.fault)) == ("remove", "", True)
    assert operation({**ADD, "operation": None}).operation == "unknown"
    assert operation({"operation": "Remove ", "state_id": "y", "refs": "x"}).operation == "remove"
    assert operation({"state_id": "plan", "operation": "upsert"}).id == "plan"


def test_an_update_that_changes_nothing_stops_nothing_else_in_strict_reading_either() -> None:
    output = parse(blocks(delta=({"operation": "update", "state_id": "plan"}, ADD)), strict=True)
    assert output.fault is None
    assert [bool(given.fault) for given in output.delta] == [True, False]


def test_an_entry_that_is_no_object_is_a_fault_of_its_own() -> None:
    output = parse(blocks(focus=(3, {"target_id": "h", "reason": "r"}), delta=("add plan", ADD)))
    assert [bool(access.fault) for access in output.access] == [True, False]
    assert [bool(given.fault) for given in output.delta] == [True, False]


@pytest.mark.parametrize("entry", [{"target_id": "\x00", "reason": "r"}, {"target_id": "h", "reason": "\ud800"}, {}])
def test_an_access_that_cannot_be_taken_stops_no_other(entry: dict[str, Any]) -> None:
    bad, good = parse(blocks(focus=(entry, {"target_id": "h", "reason": "r"}))).access
    assert bad.fault
    assert good == Access(target="h", reason="r")


@pytest.mark.parametrize(
    "call",
    [
        "book",
        {},
        {"name": "", "arguments": {}},
        {"name": "x" * 201, "arguments": {}},
        {"name": "t", "arguments": [1]},
        {"name": "t", "arguments": "hotel A"},
        {"name": "t", "arguments": {"a": "\x00"}},
        {"name": "t", "arguments": {"a": float("inf")}},
        {"name": "t", "arguments": {"a": 2**64}},
        {"name": "\ud800", "arguments": {}},
        {"name": 3, "arguments": {}},
    ],
)
def test_a_call_that_cannot_be_taken_is_the_fault_of_the_whole_output(call: Any) -> None:
    output = parse(blocks(delta=(ADD,), calls=(CALL, call)))
    assert output.fault
    assert output.fault.startswith("tool_calls[1]")
    assert (output.delta, output.tool_calls) == ((), ())


@pytest.mark.parametrize("content", ["a\x00", "\udc00", 3, {"a": 1}, ["a"]])
def test_a_message_that_cannot_be_taken_is_the_fault_of_the_whole_output(content: Any) -> None:
    output = parse(blocks(delta=(ADD,), body=json.dumps({"content": content})))
    assert output.fault
    assert output.delta == ()


@pytest.mark.parametrize("text", ["", "   ", "I am sorry, I cannot do that.", "{", '{"answer": 42}', "<think>hm", "[]"])
def test_an_output_without_a_block_says_what_to_write(text: str) -> None:
    output = parse(text)
    assert output.text == text
    assert output.fault
    assert "state_delta" in output.fault or "ended" in output.fault


@pytest.mark.parametrize("body", ["add the plan", "42", '"x"', "[[[", "true"])
def test_a_block_that_is_no_list_is_a_fault_or_a_fault_of_its_entries(body: str) -> None:
    output = parse(blocks(delta=body))
    assert output.fault or all(given.fault for given in output.delta)


def test_a_value_too_large_is_a_fault_of_its_operation() -> None:
    limits = Limits(value_bytes=10)
    assert operation({**ADD, "value": "x" * 8}, limits=limits).fault is None
    assert "11 bytes" in (operation({**ADD, "value": "x" * 9}, limits=limits).fault or "")
    assert operation({**ADD, "value": "é" * 5}, limits=limits).fault


def test_an_output_too_large_is_a_fault() -> None:
    assert "the limit is 100" in (parse(GOOD, limits=Limits(text_bytes=100)).fault or "")


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", ["focus", "delta", "calls"])
def test_too_many_entries_are_the_fault_of_the_whole_output(name: str, strict: bool) -> None:
    entry: Any = {"focus": {"target_id": "h", "reason": "r"}, "delta": ADD, "calls": CALL}[name]
    few: dict[str, Any] = {name: (entry,) * 3}
    many: dict[str, Any] = {name: (entry,) * 4}
    limits = Limits(entries=3)
    assert parse(blocks(**few), strict=strict, limits=limits).fault is None
    output = parse(blocks(**many), strict=strict, limits=limits)
    assert "has 4 entries; the limit is 3" in (output.fault or "")
    assert (output.access, output.delta, output.tool_calls) == ((), (), ())


def test_of_many_repairs_fifty_are_listed_and_the_others_counted() -> None:
    keys = {f"key {index}": index for index in range(1_000)}
    output = mended(blocks(delta=({**ADD, **keys}, {**ADD, "k" * 5_000: 1})))
    assert (len(output.repairs), output.repairs[-1]) == (51, "and 951 more")
    assert len(mended(blocks(delta=({**ADD, **dict(list(keys.items())[:50])},))).repairs) == 50


def test_a_repair_is_a_short_sentence_however_long_the_slip() -> None:
    output = mended(GOOD.replace("<state_delta>", f"<state_delta{' ' * 5_000}>") + f"<|{'x' * 5_000}|>")
    assert all(len(said) <= 500 for said in output.repairs)


@pytest.mark.parametrize("depth", [99, 900, 5_000, 200_000])
@pytest.mark.parametrize("strict", [True, False])
def test_nesting_too_deep_is_a_fault_and_no_crash(depth: int, strict: bool) -> None:
    text = blocks(delta=json.dumps([ADD]).replace("2", "[" * depth + "]" * depth))
    assert "nested deeper" in (parse(text, strict=strict).fault or "")
    assert parse(text[: len(text) // 2]).text


def test_a_value_of_fifty_levels_is_no_fault() -> None:
    text = blocks(delta=json.dumps([ADD]).replace("2", "[" * 50 + "]" * 50))
    assert parse(text, strict=True).delta[0].fault is None


def _adversarial(characters: int) -> dict[str, str]:
    """Texts of about so many characters, each of which tempts a reader to look at the same text again and again."""

    def many(piece: str, share: int = 1) -> str:
        return piece * (characters // share // len(piece))

    bad = "<state_delta>[{ bad "
    return {
        "strings and ends of reasoning": bad + many('"a": "b", ', 2) + many(" </think>", 2),
        "end tokens": '{"state_delta":[]' + many("</s>") + "x",
        "end tokens in lines": '{"state_delta":[]' + many("</s> \n") + "x",
        "line breaks in a fence": f"<state_delta>```json\n{{bad{many(chr(10))}x</state_delta>",
        "spaces in a fence": f"<state_delta>```json\n{{bad{many(' ')}x",
        "spaces in an object": '{"state_delta": [bad' + many(" ") + "x",
        "fences after an object": '{"state_delta": [bad}]}' + many("``` ") + "x",
        "open parentheses": "<state_delta>[{'a': " + many("(") + "</state_delta>",
        "a few open parentheses in each of many calls": "<tool_calls>["
        + many('{"name":"a","arguments":"{a' + "(" * 1_000 + '"},')
        + "{}]</tool_calls>",
        "fields of an f-string": f"<state_delta>[f'{many('{a}')}']</state_delta>",
        "quotes": f'<state_delta>["{many(chr(34))}]</state_delta>',
        "single quotes": f"<state_delta>['{many(chr(39))}]</state_delta>",
        "escapes": '<state_delta>["' + many("\\x"),
        "brackets": f"<state_delta>[{many('[],')}x]</state_delta>",
        "commas": f"<state_delta>[{many(', ')}]</state_delta>",
        "question marks": f"<state_delta>[{many('?')} x]</state_delta>",
        "tags inside strings": '<state_delta>["a", ' * 999 + many('"a", ') + "</think>",
        "messages inside messages": '<assistant_message>["' + many('<assistant_message>", "'),
        "keys that are unknown": bad[:-5]
        + ",".join(f'"{key}": 1' for key in range(characters // 10))
        + "}]</state_delta>",
        "refs": '<state_delta>[{"operation": "update", "state_id": "a", "refs": {"supports": ['
        + many("1,")
        + "1]}}]</state_delta>",
        "digits": f"<state_delta>[{many('1')}]</state_delta>",
    }


def _seconds(text: str) -> float:
    started = time.process_time()  # of this process alone: another one on the machine does not count
    parse(text)
    return time.process_time() - started


@pytest.mark.parametrize("name", _adversarial(100))
def test_an_adversarial_text_is_read_in_a_time_in_proportion_to_its_length(name: str) -> None:
    seconds = _seconds(_adversarial(200_000)[name])
    assert seconds < 5
    if seconds > 0.5:  # ten times the text: ten times the time, where a quadratic reader takes a hundred times
        assert seconds < 30 * _seconds(_adversarial(20_000)[name])


@pytest.mark.parametrize(
    "piece",
    [
        "<state_delta>",
        "<state_delta>[",
        '<state_delta>["',
        "<think>",
        "</think>",
        '\\"',
        '"',
        "[",
        "{",
        '{"a":',
        "<|x|>",
        "`",
        "?,",
    ],
)
def test_a_degenerate_text_is_read_in_time(piece: str) -> None:
    assert _seconds(GOOD[:-60] + piece * (200_000 // len(piece))) < 5
    assert _seconds(piece * (200_000 // len(piece))) < 5


def test_what_is_too_long_to_be_mended_says_so_and_valid_json_is_never_too_long() -> None:
    long = {**ADD, "value": ["a"] * 50_000}
    assert parse(blocks(delta=(long,))).delta[0].fault is None
    assert "too long to be mended" in (parse(blocks(delta=(long,)).replace('"value"', "value")).fault or "")
    assert mended(blocks(delta=({**ADD, "value": ["a"] * 5_000},)).replace('"value"', "value")).delta[0].fault is None


def test_a_text_mended_by_json_repair_is_made_of_plain_texts() -> None:
    (only,) = mended(blocks(delta=({**ADD, "value": "x" * 5_000},)).replace('"value"', "value")).delta
    assert type(only.value) is str


# --- properties -------------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12) | st.sampled_from(
    [
        "</state_delta>",
        "<tool_calls>",
        "</think>",
        '"',
        "\\",
        "<|endoftext|>",
        "```",
        "?",
        "{",
        "],",
        "<latest_observation>",
    ]
)
ids = texts.filter(bool)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
values = st.recursive(
    scalars | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
refs = st.lists(st.builds(Ref, relation=st.sampled_from(Relation), target=ids), max_size=2).map(tuple)
kinds = st.sampled_from(StateKind)
adds = st.builds(
    Operation,
    operation=st.just("add"),
    id=ids,
    kind=kinds,
    summary=texts,
    value=values,
    has_value=st.just(True),
    refs=refs,
)
updates = st.builds(
    Operation, operation=st.just("update"), id=ids, kind=st.none() | kinds, summary=texts, refs=st.none() | refs
)
removals = st.builds(Operation, operation=st.just("remove"), id=ids, kind=st.none() | kinds)
outputs = st.builds(
    StepOutput,
    delta=st.lists(adds | updates | removals, max_size=3).map(tuple),
    access=st.lists(st.builds(Access, target=ids, reason=texts), max_size=2).map(tuple),
    tool_calls=st.lists(
        st.builds(ToolCall, name=texts.filter(str.strip), arguments=st.dictionaries(texts, values, max_size=2)),
        max_size=2,
    ).map(tuple),
    message=st.none() | texts.filter(str.strip),
)
quick = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(outputs)
def test_what_is_rendered_is_read_back_and_lenient_reading_mends_nothing(output: StepOutput) -> None:
    text = render_output(output)
    strict = parse(text, strict=True)
    assert repr(replace(strict, text="")) == repr(output)
    assert parse(text) == strict


@quick
@given(outputs, st.data())
def test_a_mutilated_output_raises_nothing_and_what_it_says_can_be_stored(
    output: StepOutput, data: st.DataObject
) -> None:
    text = render_output(output)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(start, min(len(text), start + 12)))
        text = (
            text[:start]
            + data.draw(st.text(max_size=3) | st.sampled_from(['"', "'", "}", "]", ",", "<"]))
            + text[stop:]
        )
    for strict in (True, False):
        read = parse(text, strict=strict)
        assert read.text == text
        faults = [read.fault, *(given.fault for given in read.delta), *(access.fault for access in read.access)]
        assert all(text_fault(said) is None for said in (*read.repairs, *filter(None, faults)))
        if read.fault:
            assert (read.delta, read.access, read.tool_calls, read.message) == ((), (), (), None)


@quick
@given(st.text() | st.text("<>/{}[]\",:'?\\ \n`abstate_deltool_calls", max_size=60))
def test_any_text_raises_nothing(text: str) -> None:
    assert parse(text).text == parse(text, strict=True).text == text


@quick
@given(outputs, st.sampled_from([",]", ",}", "]"]))
def test_a_slip_outside_strings_changes_nothing_that_was_written(output: StepOutput, slip: str) -> None:
    text = render_output(output)
    marks = {
        ",]": ("]\n</state_delta>", ",]\n</state_delta>"),
        ",}": ("}\n</assistant_message>", ",}\n</assistant_message>"),
    }
    before, after = marks.get(slip, ("]\n</state_focus>", "\n</state_focus>"))
    head, tail = text.rsplit(before, 1)
    if (slip == ",]" and not output.delta) or (slip == "]" and not output.access):
        return
    assert repr(replace(parse(head + after + tail), text="", repairs=())) == repr(output)
