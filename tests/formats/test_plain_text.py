from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.document import Block
from kebab_tui.formats.plain_text import scan_plain


def shape(text: str) -> list[tuple[str, int, int]]:
    return [(block.kind, block.first, block.last) for block in scan_plain(text.split("\n"))]


def test_paragraphs_are_parted_by_blank_lines() -> None:
    assert shape("\none\ntwo\n \n\nthree\n") == [("prose", 2, 3), ("prose", 6, 6)]


def test_markdown_means_nothing_in_plain_text() -> None:
    assert shape("# shell comment\n```\n- x") == [("prose", 1, 3)]


@pytest.mark.parametrize(
    ("text", "rule", "level"),
    [
        ("Packing list", "============", 1),
        ("Packing list", "-----------", 2),
        ("준비물", "======", 1),
        ("준비물", "---", 2),
    ],
)
def test_a_line_underlined_along_its_width_is_a_heading(text: str, rule: str, level: int) -> None:
    blocks = scan_plain(["", text, rule, "passport"])
    assert blocks == (Block("heading", 2, 3, level, text), Block("prose", 4, 4))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Name", "----------------"),
        ("A much longer line", "---"),
        ("----", "----"),
        ("Name Age", "---- ---"),
        ("ab", "=="),
    ],
)
def test_a_rule_of_another_width_is_a_rule(text: str, rule: str) -> None:
    assert shape(f"{text}\n{rule}\nmore") == [("prose", 1, 3)]


def test_only_the_first_line_of_a_paragraph_can_be_a_heading() -> None:
    assert shape("some words\nand a line\n----------") == [("prose", 1, 3)]


def test_lines_before_the_start_are_not_looked_at() -> None:
    assert scan_plain(["---", "x: y", "---", "text"], 3) == (Block("prose", 4, 4),)


@given(
    st.lists(
        st.sampled_from(["", " ", "text", "====", "---", "제목", "\u3000", "\x0c", "a b c"]), max_size=20
    )
)
def test_every_non_blank_line_belongs_to_exactly_one_block(lines: list[str]) -> None:
    covered = [at for block in scan_plain(lines) for at in range(block.first, block.last + 1)]
    assert covered == [at for at, line in enumerate(lines, 1) if line.strip()]
