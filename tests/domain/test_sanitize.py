"""Text from a file never steers the terminal, and stays readable."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.text import INVISIBLE, LONGEST_MARK_RUN, REPLACEMENT, sanitize

ANY_TEXT = st.text(st.characters(exclude_categories=()))
NASTY = st.text("\x1b\x9b\x00\x7f\u202e\u200b\u200d\ud800\u0301\u1161a한👨\n\t ")
SHOWN_FORMAT_CHARACTERS = (
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("a\rb\x08\x00\x7f", "a␍b␈␀␡"),
        ("\x9b2J\x85", "\ufffd2J\ufffd"),
        ("line\n\ttab", "line\n\ttab"),
        ("gnp.\u202etxt", "gnp.␦txt"),
        ("zero\u200bwidth\ufeff\u00ad", "zero␦width␦␦"),
        ("\u2066a\u2069\u200e\u061c", "␦a␦␦␦"),
        ("name\udcff.md", "name\ufffd.md"),
        ("a\u2028b", "a␦b"),
        ("blank\u3164\u115f\uffa0", "blank␦␦␦"),
        ("tag\U000e0041", "tag␦"),
    ],
)
def test_control_characters_are_shown_instead_of_obeyed(raw: str, shown: str) -> None:
    assert sanitize(raw) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text, `code`, 100 %",
        "한국어와 English, 混ぜた",
        "👩‍💻 👨‍👩‍👧 ❤️ ✅ 1️⃣",
        "─" * 80,
        "किताब क्‍ष नमस्ते दुनिया",
        "می‌خواهم",
        "café naïve",
        unicodedata.normalize("NFD", "각설탕과 밥을 먹었습니다"),
        unicodedata.normalize("NFD", "Việt Nam"),
    ],
)
def test_honest_text_of_any_script_is_left_alone(text: str) -> None:
    assert sanitize(text) is text or sanitize(text) == text


def test_a_joiner_that_joins_nothing_is_shown() -> None:
    assert sanitize("pass\u200dword \u200c") == "pass␦word ␦"


@pytest.mark.parametrize("mark", ["\u0301", "\u20dd", "\ufe0f", "\u1161", "\u05b0", "\U0001d167"])
def test_a_tower_of_marks_ends_at_the_eighth(mark: str) -> None:
    kept, cut = mark * LONGEST_MARK_RUN, REPLACEMENT * 5
    assert sanitize("e" + mark * (LONGEST_MARK_RUN + 5) + "x") == "e" + kept + cut + "x"
    assert sanitize("e" + kept + "x" + kept) == "e" + kept + "x" + kept


def all_characters(*categories: str) -> list[str]:
    return [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) in categories]


def test_every_control_and_surrogate_is_replaced() -> None:
    for character in all_characters("Cc", "Cs"):
        assert (sanitize(character) == character) == (character in "\n\t"), hex(ord(character))


def test_every_format_character_that_shows_nothing_is_replaced() -> None:
    hieroglyph_joiners = range(0x13430, 0x13440)
    for character in all_characters("Cf", "Zl", "Zp"):
        if character not in SHOWN_FORMAT_CHARACTERS and ord(character) not in hieroglyph_joiners:
            assert sanitize(character) == INVISIBLE, hex(ord(character))


def test_every_mark_without_width_is_counted() -> None:
    for mark in all_characters("Mn", "Me"):
        assert sanitize(mark * (LONGEST_MARK_RUN + 1)).endswith((REPLACEMENT, INVISIBLE)), hex(ord(mark))


@given(ANY_TEXT | NASTY)
def test_offsets_into_the_text_stay_true(text: str) -> None:
    assert len(sanitize(text)) == len(text)


@given(ANY_TEXT | NASTY)
def test_nothing_obeyed_remains_and_a_second_pass_changes_nothing(text: str) -> None:
    shown = sanitize(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)
    assert sanitize(shown) == shown
