"""Matches in a note: their places, and the search for the next one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.hit import Highlight
from kebab_tui.search.snippet import highlight, highlight_phrases
from kebab_tui.tui.preview import matches
from kebab_tui.tui.preview.matches import LONG_LINE, Marks, MatchSpan
from kebab_tui.tui.preview.source_lines import WholeText


def word(wanted: str) -> matches.Find:
    return lambda text: [match.span() for match in re.finditer(wanted, text)]


def found_from(marks: Marks, place: MatchSpan, forward: bool = True) -> list[MatchSpan]:
    return [found for found in marks.search(place, forward) if found is not None]


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("installed", "install the oven", ["install"]),
        ("index", "Indexes and indices", ["Indexes"]),
        ("충돌", "충돌은 포트충돌이다", ["충돌", "충돌"]),
        ("특별", "서울특별시", ["특별"]),
        ('"port conflict"', "a port conflict, no conflict of a port", ["port conflict"]),
        ("wor", "a word works", ["word", "works"]),
        ("how to bake the bread", "the bread to bake", ["bread", "bake"]),
        ("tag:bread cake", "bread and cake", ["cake"]),
        ("'raw AND words'", "raw words", []),
        ("", "anything", []),
    ],
)
def test_a_note_is_marked_by_the_rules_of_the_index(query: str, text: str, marked: Sequence[str]) -> None:
    assert [text[start:end] for start, end in highlight(text, highlight_phrases(query))] == marked


def test_a_match_across_two_lines_is_marked_in_both() -> None:
    text = WholeText(("the port", "conflict again"))
    marks = Marks(text, word("port\nconflict"))

    assert marks.of(1, text.lines[0], 0, 80) == [(4, 8)]
    assert marks.of(2, text.lines[1], 0, 80) == [(0, 8)]


def test_only_the_visible_part_of_a_very_long_line_is_searched() -> None:
    line = "x" * 9_999 + "needle" + "x" * 1_000_000
    looked_at: list[int] = []

    def find(text: str) -> Sequence[Highlight]:
        looked_at.append(len(text))
        return word("needle")(text)

    marks = Marks(WholeText((line,)), find)

    assert marks.of(1, line, 9_990, 10_090) == [(9_999, 10_005)]
    assert sum(looked_at) < 3 * LONG_LINE


def test_each_block_is_searched_once() -> None:
    calls: list[str] = []
    lines = tuple(str(number) for number in range(200))
    marks = Marks(WholeText(lines), lambda text: calls.append(text) or ())  # type: ignore[func-returns-value]
    for number in range(1, 129):
        marks.of(number, lines[number - 1], 0, 80)

    assert len(calls) == 2


@given(
    lines=st.lists(st.text("ab ", max_size=8), max_size=12),
    line=st.integers(1, 13),
    column=st.integers(-1, 8),
    block=st.integers(1, 5),
    long_line=st.integers(2, 9),
)
def test_the_search_visits_every_match_once_in_order_and_wraps_around(
    lines: list[str], line: int, column: int, block: int, long_line: int
) -> None:
    every = [
        MatchSpan(number, match.start())
        for number, text in enumerate(lines, 1)
        for match in re.finditer("a", text)
    ]
    place = MatchSpan(line, column)
    with (
        patch.object(matches, "BLOCK", block),
        patch.object(matches, "LONG_LINE", long_line),
        patch.object(matches, "_PIECE", 3),
        patch.object(matches, "_OVERLAP", 1),
    ):
        marks = Marks(WholeText(lines), word("a"))
        onward = next(iter(found_from(marks, place)), None)
        back = next(iter(found_from(marks, place, forward=False)), None)

    assert onward == next((one for one in [*every, *every[:1]] if one > place), every[0] if every else None)
    assert back == next((one for one in reversed(every) if one < place), every[-1] if every else None)


def test_the_search_pauses_between_blocks() -> None:
    text = WholeText(("nothing",) * 640)

    steps = list(Marks(text, word("needle")).search(MatchSpan(1, -1), forward=True))

    assert steps == [None] * 11


def test_an_empty_note_has_no_match() -> None:
    assert found_from(Marks(WholeText(()), word("a")), MatchSpan(1, -1)) == []
