"""Titles: one line without control characters."""

from __future__ import annotations

import pytest

from kebab_tui.formats.markdown import scan_markdown
from kebab_tui.formats.note import title_of


def title(text: str, front: str = "", path: str = "folder/file name.md") -> str:
    lines = text.split("\n")
    return title_of(front, scan_markdown(lines), lines, path)


def test_the_sources_of_a_title_come_in_their_order() -> None:
    assert title("intro\n\n## Two\n\n# One\n", front="Front") == "Front"
    assert title("intro\n\n## Two\n\n# One\n") == "One"
    assert title("intro\n\n### Three\n\n## Two\n") == "Two"
    assert title("\n\nintro\nmore\n\n### Three\n") == "intro"
    assert title("```\ncode\n```\n") == "file name"
    assert title("") == "file name"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("- [ ] **Buy** milk", "Buy milk"),
        ("> 1. quoted", "1. quoted"),
        ("3) third", "third"),
        ("---\n\nafter the rule", "after the rule"),
        ("한글 `코드` 제목", "한글 코드 제목"),
    ],
)
def test_a_first_line_loses_its_markup(line: str, name: str) -> None:
    assert title(line).removeprefix("1. ") == name.removeprefix("1. ")


def test_a_title_without_a_word_is_skipped() -> None:
    assert title("# \n\n## Two\n") == "Two"
    assert title("text\n", front="  ") == "text"


def test_a_long_title_is_cut() -> None:
    assert title("# " + "x" * 500) == "x" * 119 + "…"
    assert title("# " + "x" * 120) == "x" * 120


def test_a_title_holds_no_control_characters() -> None:
    assert title("# a\x1b]0;b\x07\u2028c\x00d") == "a ]0;b c d"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.tar.md", "b.tar"),
        ("README", "README"),
        ("caf\udce9.md", "caf�"),
        ("a\nb.md", "a b"),
        ("   .md", "untitled"),
    ],
)
def test_a_file_name_becomes_a_title_that_can_be_stored(path: str, name: str) -> None:
    assert title("", path=path) == name
