"""What a request adds to a conversation, whatever part of its history an agent sends."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem.exchange.watching.continuing import continued


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def model(text: str | None, *called: str, ids: str = "c") -> dict[str, Any]:
    made = [
        {"id": f"{ids}{i}", "type": "function", "function": {"name": name, "arguments": '{"a": 1, "b": 2}'}}
        for i, name in enumerate(called)
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def tool(text: str, id: str = "c0") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": text}


RUN = (user("find it"), model(None, "search"), tool("found"), model("Here."), user("and now?"), model("Done."))


@pytest.mark.parametrize("count", range(len(RUN) + 1))
def test_a_history_that_grows_is_taken_as_it_is(count: int) -> None:
    assert continued(RUN[:count], RUN) == RUN


@pytest.mark.parametrize("count", range(1, len(RUN) + 1))
def test_a_beginning_of_what_is_known_adds_nothing(count: int) -> None:
    assert continued(RUN, RUN[:count]) == RUN


@pytest.mark.parametrize("begin", range(len(RUN) - 1))
def test_a_window_of_the_last_messages_goes_on_with_all_of_them(begin: int) -> None:
    more = (user("thanks"), model("Welcome."))
    assert continued(RUN, (*RUN[begin:], *more)) == (*RUN, *more)


def test_a_summary_before_the_last_messages_is_no_part_of_the_run() -> None:
    assert continued(RUN, (user("Summary: it was found."), *RUN[-2:], user("on"))) == (*RUN, user("on"))


def test_results_that_were_cut_short_later_are_not_taken_again() -> None:
    shortened = (*RUN[:2], tool("[cleared]"), *RUN[3:], user("on"))
    assert continued(RUN, shortened) == (*RUN, user("on"))


def test_another_result_for_a_call_that_has_one_is_not_added() -> None:
    known = RUN[:4]
    assert continued(known, (*RUN[:2], tool("[cleared]"), user("on"))) == (*known, user("on"))


def test_another_answer_to_the_same_question_follows_the_first() -> None:
    assert continued(RUN[:4], (*RUN[:3], model("There."))) == (*RUN[:4], model("There."))
    known = (*RUN[:4], model("There."))
    assert continued(known, (*RUN[:3], model("There."), user("on"))) == (*known, user("on"))


def test_calls_with_other_ids_and_other_spelling_are_the_same_calls() -> None:
    other = model("", "search", ids="x")
    other["tool_calls"][0]["function"]["arguments"] = '{"b":2,"a":1}'
    history = (RUN[0], other, tool("found", "x0"))
    assert continued(RUN[:2], history) == (*RUN[:2], tool("found", "x0"))


def test_an_answer_that_the_agent_trimmed_is_the_same_answer() -> None:
    known = (user("hi"), model("Hello.\n"))
    assert continued(known, (user("hi"), model("Hello."), user("on"))) == (*known, user("on"))


@pytest.mark.parametrize(
    "other",
    [
        (user("Give this conversation a title."),),
        (user("something else"), model("Done.")),
        (user("something else"), model("Well."), user("and now?")),
        (model("Hello, I begin."),),
    ],
)
def test_messages_that_share_nothing_belong_to_another_conversation(other: Sequence[Any]) -> None:
    assert continued(RUN, other) is None


def test_a_last_word_alone_does_not_join_two_conversations() -> None:
    known = (user("first"), model("OK."))
    assert continued(known, (user("second"), model("OK."), user("on"))) is None


messages = st.lists(
    st.one_of(
        st.builds(user, st.sampled_from(["a", "b", "go on"])),
        st.builds(model, st.sampled_from(["x", "y", None])),
        st.builds(model, st.sampled_from([None, "look"]), st.sampled_from(["f", "g"])),
        st.builds(tool, st.sampled_from(["1", "2"])),
    ),
    max_size=8,
).map(tuple)


@given(messages, messages)
def test_what_is_known_is_never_rewritten(known: Sequence[Any], sent: Sequence[Any]) -> None:
    grown = continued(known, sent)
    assert grown is None or grown[: len(known)] == tuple(known)


@given(messages, messages, st.integers(0, 8))
def test_what_is_new_at_the_end_is_taken_wherever_the_window_begins(
    known: Sequence[Any], new: Sequence[Any], begin: int
) -> None:
    unlike = (user("a beginning"), *known, model("the last word"))
    sent = (*unlike[min(begin, len(unlike) - 2) :], *new)
    assert continued(unlike, sent) == (*unlike, *new)


@given(messages, st.integers(0, 8))
def test_the_same_request_twice_adds_nothing_the_second_time(sent: Sequence[Any], count: int) -> None:
    grown = continued(sent[:count], sent)
    assert grown is None or continued(grown, sent) == grown
