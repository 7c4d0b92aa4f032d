"""What `why` shows of a raw result: the lines that speak of the state above it, in their order."""

from hypothesis import given
from hypothesis import strategies as st

from graphmem_cli.excerpts import GAP, excerpt

POLICY = """HOTEL A: CONDITIONS

1. Payment. The price is charged at once.
2. Arrival. Rooms are ready from 15:00.
3. Cancellation. For every one a fee of 80 USD is kept.
4. Quiet hours are from 22:00.
5. City tax is included."""


def test_the_lines_that_share_words_and_numbers_are_shown_with_gaps_between() -> None:
    assert excerpt(POLICY, "Cancelling costs a fee of 80 USD; our rooms late") == [
        GAP,
        "2. Arrival. Rooms are ready from 15:00.",
        "3. Cancellation. For every one a fee of 80 USD is kept.",
        GAP,
    ]


def test_where_nothing_is_shared_the_first_lines_are_shown() -> None:
    assert excerpt(POLICY, "?")[:2] == ["HOTEL A: CONDITIONS", "1. Payment. The price is charged at once."]
    assert excerpt("one line", "?") == ["one line"]
    assert excerpt("one line", "?", is_whole=False) == ["one line", GAP]


def test_of_one_long_line_the_part_that_matters_is_shown() -> None:
    line = ",".join(f'{{"hotel":"hotel-{i}","usd":{i * 7}}}' for i in range(200))
    shown = excerpt(line, "Hotel 150 costs 1050 USD")
    assert any('"hotel-150","usd":1050' in piece for piece in shown)
    assert sum(map(len, shown)) < 600


@given(st.text(max_size=2_000), st.text(max_size=100))
def test_an_excerpt_is_short_and_of_the_text(content: str, about: str) -> None:
    pieces = [piece for piece in excerpt(content, about) if piece != GAP]
    assert len(pieces) <= 3
    assert all(piece in content and len(piece) <= 160 for piece in pieces)
