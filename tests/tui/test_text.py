"""Sanitised text, cuts between characters, widths in cells."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from kebab_tui.tui.widgets.segments import border, cut, cut_middle, cut_path, sanitize_line, take, take_end
from tests.tui.hits import HOSTILE

_MIXED = st.text(
    alphabet=st.sampled_from("ab 각설ㅏ👍🏽👩\u200d\ufe0f❤e\u0301\u1100\u1161🇰🇷x/."), max_size=60
)


def test_cleaning_removes_control_characters() -> None:
    shown = sanitize_line(HOSTILE)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Cf")]
    assert "[/nope]" in shown


@given(st.text())
def test_cleaning_keeps_every_offset(text: str) -> None:
    assert len(sanitize_line(text)) == len(text)


def test_a_line_break_and_a_tab_cannot_leave_their_row() -> None:
    assert sanitize_line("a\nb\tc\r") == "a␊b␉c␍"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("workspace", 9, "workspace"),
        ("workspace", 5, "work…"),
        ("설계 문서", 5, "설계…"),
        ("설계 문서", 4, "설…"),
        ("workspace", 1, "…"),
        ("workspace", 0, ""),
        ("", 3, ""),
    ],
)
def test_a_text_is_cut_at_its_end(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown


@pytest.mark.parametrize(
    ("path", "width", "shown"),
    [
        ("notes/rust/kb.md", 16, "notes/rust/kb.md"),
        ("notes/rust/kb.md", 12, "notes…/kb.md"),
        ("notes/rust/kb.md", 7, "…/kb.md"),
        ("notes/rust/kb.md", 6, "kb.md"),
        ("notes/rust/workspaces.md", 9, "work…s.md"),
        ("workspaces-of-rust.md", 11, "works…st.md"),
        ("노트/설계/작업공간.md", 15, "노…/작업공간.md"),
        ("notes/rust/kb.md", 1, "…"),
        ("notes/rust/kb.md", 0, ""),
    ],
)
def test_a_path_loses_its_folders_before_its_name(path: str, width: int, shown: str) -> None:
    assert cut_path(path, width) == shown


@given(_MIXED, st.integers(0, 40))
@example("\u200d\u200daa", 1)
def test_no_cut_is_wider_than_asked(text: str, width: int) -> None:
    for shown in (take(text, width), take_end(text, width), cut(text, width), cut_middle(text, width)):
        assert cell_len(shown) <= width
    assert cell_len(cut_path(text, width)) <= width


@given(_MIXED, st.integers(0, 40))
def test_what_is_taken_is_the_beginning_or_the_end(text: str, width: int) -> None:
    assert text.startswith(take(text, width))
    assert text.endswith(take_end(text, width))


@given(_MIXED, st.integers(0, 60))
def test_parts_between_borders_are_together_as_wide_as_the_whole(text: str, at: int) -> None:
    at = border(text, min(at, len(text)))
    assert cell_len(text[:at]) + cell_len(text[at:]) == cell_len(text)


def test_a_text_of_megabytes_is_cut_without_being_measured() -> None:
    assert cut("a" * 10_000_000, 5) == "aaaa…"
    assert take_end("a" * 10_000_000, 5) == "aaaaa"
