"""Characters as a reader sees them stay whole."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kebab_tui.search.snippet import border_after, border_before, is_border


def _characters(text: str) -> list[str]:
    borders = [i for i in range(len(text) + 1) if is_border(text, i)]
    return [text[start:end] for start, end in pairwise(borders)]


@pytest.mark.parametrize(
    "characters",
    [
        ["a", "b"],
        ["e\u0301", "x"],
        ["👩‍👩‍👧", "👍🏽", "❤️"],
        ["🇰🇷", "🇺🇸", "a"],
        ["\u1112\u1161\u11ab", "\u1100\u1173\u11af"],
        ["가", "각\u11a8", "나"],
        ["ｶﾞ", "ﾊﾟ"],
    ],
)
def test_a_text_falls_apart_into_these_characters(characters: list[str]) -> None:
    assert _characters("".join(characters)) == characters


def test_the_nearest_border_on_either_side() -> None:
    text = "ae\u0301\u0302b"
    assert border_before(text, 3) == 1
    assert border_after(text, 3, 5) == 4


def test_where_there_is_no_border_the_place_itself_is_taken() -> None:
    text = "a" + "\u0301" * 9
    assert border_before(text, 5, 2) == 5
    assert border_after(text, 5, 8) == 8
