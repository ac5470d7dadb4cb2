"""A painted line is as wide as its pane and contains no control characters."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from textual.strip import Strip

from kebab_tui.tui.preview.painting import Line, Span, View, column_of, paint

STYLES = {
    "text": Style(),
    "cited": Style(bgcolor="blue"),
    "gutter": Style(dim=True),
    "mark": Style(bold=True),
    "cut": Style(bold=True),
    "match": Style(underline=True),
    "heading": Style(italic=True),
}


def painted(text: str, *spans: Span, left: int = 0, width: int = 20, mark: str = " ") -> Strip:
    return paint(Line(7, text, spans, mark), View(left, width, 2), STYLES)


def underlined(strip: Strip) -> str:
    return "".join(segment.text for segment in strip if segment.style and segment.style.underline)


@pytest.mark.parametrize(
    ("text", "left", "shown"),
    [
        ("short", 0, " 7  short           "),
        ("", 0, " 7                  "),
        ("sixteen cells 16", 0, " 7  sixteen cells 16"),
        ("seventeen cells17", 0, " 7  seventeen cells›"),
        ("seventeen cells17", 4, " 7  ‹teen cells17   "),
        ("a\tb", 0, " 7  a   b           "),
        ("한글 한글 한글 한글", 0, " 7  한글 한글 한글 ›"),
        ("한글 한글 한글 한글", 1, " 7  ‹글 한글 한글  ›"),
        ("x" * 5000, 0, " 7  " + "x" * 15 + "›"),
        ("x" * 4990 + "the end..!", 4990, " 7  ‹he end..!      "),
        ("한" * 5000, 2500, " 7  ‹ " + "한" * 6 + " ›"),
        ("bell\x07 esc\x1b[2J", 0, " 7  bell␇ esc␛[2J   "),
        ("\u202eevil", 0, " 7  ␦evil           "),
    ],
)
def test_a_line_shows_the_columns_in_view(text: str, left: int, shown: str) -> None:
    assert painted(text, left=left).text == shown


def test_a_cited_line_has_a_mark_and_a_background_of_its_own() -> None:
    strip = painted("cited", mark="▌")

    assert strip.text.startswith(" 7▌ cited")
    assert {segment.style.bgcolor for segment in strip if segment.style} == {STYLES["cited"].bgcolor}


def test_matches_lie_over_the_colours_of_the_text() -> None:
    strip = painted("# a heading", (0, 11, "heading"), (4, 8, "match"))

    assert underlined(strip) == "head"
    assert all(segment.style.italic for segment in list(strip)[2:6] if segment.style and segment.text.strip())


@pytest.mark.parametrize("text", ["\tport", "가나 port", "x" * 5000 + "port"])
def test_a_match_keeps_its_place_behind_tabs_wide_characters_and_length(text: str) -> None:
    at = text.index("port")

    assert underlined(painted(text, (at, at + 4, "match"), left=max(column_of(text, at) - 2, 0))) == "port"


def test_a_mark_past_the_end_of_a_line_with_tabs_ends_with_it() -> None:
    assert underlined(painted("\t", (0, 2, "match"))) == " " * 4


@given(
    text=st.text(st.characters() | st.sampled_from("\t한🙂\u0301\u200d👩\x1b\x9b"), max_size=60),
    left=st.integers(0, 70),
    width=st.integers(1, 30),
    start=st.integers(0, 60),
    length=st.integers(0, 9),
)
def test_any_line_fits_and_contains_no_control_characters(
    text: str, left: int, width: int, start: int, length: int
) -> None:
    text = text.replace("\n", "")
    strip = painted(text, (start, start + length, "match"), left=left, width=width)

    assert strip.cell_length == width
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", strip.text)
