"""Whatever a text is, reading it ends in time and raises nothing."""

import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphmem.state.protocol import parse, render_output
from graphmem.state.values import Access, Operation, Ref, StepOutput, ToolCall
from graphmem.vocabulary import Relation, StateKind, text_fault
from tests.unit.outputs import ADD, GOOD, blocks, mended


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
