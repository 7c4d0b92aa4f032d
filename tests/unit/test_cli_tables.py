"""Tables and blocks: they fit, and no stored text drives the terminal."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmem_cli.tables import block, cut, fitted, table, visible, width, wrapped


@given(st.text())
def test_no_control_or_format_character_reaches_the_terminal(text: str) -> None:
    shown = visible(text)
    assert all(unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in shown)
    assert all(unicodedata.category(c) != "Cf" or c == "\u200d" for c in shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b]0;title\x07", "\\x1b[31mred\\x1b]0;title\\x07"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("\x9b31m", "\\x9b31m"),
        ("é 取消 👩\u200d👧", "é 取消 👩\u200d👧"),
    ],
)
def test_what_could_drive_a_terminal_is_escaped_and_what_cannot_is_not(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_lines_of_a_block_stay_lines() -> None:
    assert list(block("a\n\x1b[2Jb", indent="  ")) == ["  a", "  \\x1b[2Jb"]


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert width("取消") == 4
    assert width("e\u0301") == 1
    assert cut("取消取消", 5) == "取消…"
    assert cut("abc", 3) == "abc"


def test_numbers_stand_to_the_right_and_nothing_is_blank() -> None:
    lines = list(table(("N", "WHAT"), [(1, "one"), (10, None), (None, "x")], columns=None))
    assert lines == [" N  WHAT", " 1  one", "10", "    x"]


@given(
    st.lists(st.tuples(st.text(max_size=200), st.integers(), st.text(max_size=60)), max_size=6),
    st.integers(min_value=40, max_value=200),
)
def test_a_table_fits_its_terminal_and_a_row_is_one_line(rows: list[tuple[str, int, str]], columns: int) -> None:
    lines = list(table(("TEXT", "N", "MORE"), rows, columns=columns))
    assert len(lines) == len(rows) + 1
    assert all(width(line) <= columns for line in lines)


@given(
    st.text(max_size=300),
    st.integers(min_value=20, max_value=120),
    st.integers(min_value=0, max_value=80),
)
def test_wrapped_text_fits_and_loses_nothing_but_blanks(text: str, columns: int, depth: int) -> None:
    indent = "│  " * depth
    lines = list(wrapped(text, columns=columns, first=indent, rest=indent))
    assert all(width(line) <= columns for line in lines)
    if depth == 0:
        assert "".join(lines).replace(" ", "") == visible(text).replace(" ", "")


def test_text_is_broken_at_blanks_and_commas() -> None:
    assert list(wrapped('say {"one":1,"two":20,"three":3,"four":4}', columns=26, rest="  ")) == [
        'say {"one":1,"two":20,',
        '  "three":3,"four":4}',
    ]
    assert list(wrapped("it costs no more than 80,000 USD", columns=26)) == ["it costs no more than", "80,000 USD"]


def test_only_the_widest_columns_are_cut() -> None:
    assert fitted([5, 100, 8], 60) == [5, 43, 8]
    assert fitted([5, 10], 60) == [5, 10]
