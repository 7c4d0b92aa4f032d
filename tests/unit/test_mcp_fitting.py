"""Replies within a budget: always, and with nothing lost in silence."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from graphmem.integrations.mcp import LEAST_TOKENS
from graphmem.integrations.mcp.fitting import Lines, Reply, fitted, page
from graphmem.llm.tokens import estimate
from graphmem.vocabulary import json_text

COUNT = estimate().count
LISTS = (Lines(name="index", how="query states", newest=True), Lines(name="active", how="show"))


class Long(str):
    """A long text that says how long it is, not what."""

    def __repr__(self) -> str:
        return f"Long({len(self)})"


texts = st.one_of(st.text(max_size=20), st.integers(1, 60_000).map(lambda n: Long("ab " * n)))
items = st.fixed_dictionaries(
    {"id": st.text(min_size=1, max_size=8), "content": texts},
    optional={"value": st.recursive(texts, lambda inner: st.lists(inner, max_size=4), max_leaves=6)},
)
replies = st.fixed_dictionaries(
    {
        "next": st.just("go on"),
        "request": st.fixed_dictionaries({"id": st.just("request:1"), "text": texts}),
        "index": st.lists(items, max_size=30),
        "active": st.lists(items, max_size=30),
    }
)


@settings(deadline=None)
@given(data=replies, budget=st.integers(LEAST_TOKENS, 5_000))
def test_a_reply_fits_and_what_it_shows_is_what_there_is(data: dict[str, Any], budget: int) -> None:
    found = fitted(Reply(data=data, lists=LISTS), budget_tokens=budget, count=COUNT)
    assert COUNT(json_text(found)) <= budget
    if "left_out" not in found:
        assert found == data
        return
    assert found["left_out"]
    assert all(left["how"] and left["left_out"] for left in found["left_out"])
    kept = len(found["index"])
    assert [line["id"] for line in found["index"]] == [
        line["id"] for line in data["index"][len(data["index"]) - kept :]
    ]
    assert [line["id"] for line in found["active"]] == [line["id"] for line in data["active"][: len(found["active"])]]
    for shown, whole in zip(found["active"], data["active"], strict=False):
        content = shown["content"]
        assert content == whole["content"] or whole["content"].startswith(content.removesuffix("…"))
    for name in ("index", "active"):
        missing = len(data[name]) - len(found[name])
        told = [left for left in found["left_out"] if left["what"] == name]
        assert [left["left_out"].split()[0] for left in told] == ([f"{missing:,}"] if missing else [])


heads = st.fixed_dictionaries(
    {
        "id": st.text(max_size=111),
        "tool": texts,
        "refs": st.lists(st.text(min_size=80, max_size=111), max_size=60),
        "calls": st.lists(
            st.fixed_dictionaries({"name": texts, "arguments": st.dictionaries(texts, texts)}), max_size=9
        ),
    }
)


@settings(deadline=None)
@given(data=heads, budget=st.integers(LEAST_TOKENS, 5_000))
def test_a_reply_fits_though_nothing_of_it_is_a_list_of_lines(data: dict[str, Any], budget: int) -> None:
    found = fitted(Reply(data=data), budget_tokens=budget, count=COUNT)
    assert COUNT(json_text(found)) <= budget
    assert found.get("left_out") or found == data
    missing = len(data["refs"]) - len(found["refs"])
    told = [left["left_out"] for left in found.get("left_out", ()) if left["what"] == "refs"]
    assert told == ([f"{missing:,} further items"] if missing else [])
    assert all(
        shown == whole or whole.startswith(shown.removesuffix("…"))
        for shown, whole in zip(found["refs"], data["refs"], strict=False)
    )


def test_a_text_that_is_cut_is_named_with_the_call_that_gives_it() -> None:
    data = {
        "active": [{"id": "fee", "value": ["x" * 100_000]}],
        "observation": [{"id": "obs:1.1", "content": "y" * 90_000}],
    }
    found = fitted(Reply(data=data), budget_tokens=2_000, count=COUNT)
    assert [left["how"] for left in found["left_out"]] == ["show with id fee", "show with id obs:1.1"]
    assert [left["what"] for left in found["left_out"]] == ["active[0].value", "observation[0].content"]
    assert found["active"][0]["value"].startswith('["xxx')


def test_a_list_cut_beside_many_texts_is_told_of_with_its_count() -> None:
    data = {"calls": [{"name": "n" * 2_000}] * 9, "refs": ["r" * 100] * 40}
    found = fitted(Reply(data=data), budget_tokens=LEAST_TOKENS, count=COUNT)
    told = {left["what"]: left["left_out"] for left in found["left_out"]}
    assert told["refs"] == f"{40 - len(found['refs'])} further items"


@settings(deadline=None)
@given(text=st.text(max_size=400).map(lambda part: part * 30), budget=st.integers(300, 2_000))
def test_pages_of_a_text_are_the_text(text: str, budget: int) -> None:
    whole, offset = "", 0
    while True:
        found = page({"id": "a"}, text, offset, budget_tokens=budget, count=COUNT)
        assert COUNT(json_text(found)) <= budget
        whole += found["text"]
        if found["next_offset"] is None:
            break
        assert found["next_offset"] > offset
        offset = found["next_offset"]
    assert whole == text
