"""The ways in which models miss B.3: what was meant is read and said to be mended, what is missing is not guessed."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from graphmem.state.protocol import parse
from graphmem.state.values import Access, ToolCall
from graphmem.vocabulary import Limits, StateKind
from tests.unit.outputs import ADD, CALL, GOOD, OBJECT, PLAN, blocks, mended, taken

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
