"""The kinds of text are right in any block of a note."""

from __future__ import annotations

import pytest

from kebab_tui.tui.preview.source_lines import WholeText
from kebab_tui.tui.preview.syntax import Lexers, StyledRange, Syntax

LEXERS = Lexers()

FENCED = [
    "# Title",
    "",
    "```python",
    *["x = 1"] * 90,
    "# a comment",
    "```",
    "",
    "## After",
    "*so* **it** `is`",
]


@pytest.mark.parametrize(
    ("name", "line", "stretch"),
    [
        ("note.md", "# Title", StyledRange(0, 7, "heading")),
        ("note.MD", "## Title", StyledRange(0, 8, "heading")),
        ("note.md", "so **it** is", StyledRange(3, 9, "strong")),
        ("tool.py", "import os", StyledRange(0, 6, "keyword")),
        ("tool.rs", "// why", StyledRange(0, 6, "comment")),
        ("Makefile", "# why", StyledRange(0, 5, "comment")),
    ],
)
def test_the_suffix_of_the_file_selects_the_lexer(name: str, line: str, stretch: StyledRange) -> None:
    assert stretch in Syntax(name, WholeText((line,))).of(1, LEXERS)


@pytest.mark.parametrize("name", ["note.txt", "note", "note.unheard-of"])
def test_plain_text_has_no_kinds(name: str) -> None:
    assert Syntax(name, WholeText(("# no heading",))).of(1, LEXERS) == ()


def test_a_block_inside_a_fence_is_still_code() -> None:
    syntax = Syntax("note.md", WholeText(FENCED))

    comment = FENCED.index("# a comment") + 1
    assert {stretch.kind for stretch in syntax.of(comment, LEXERS)} == {"comment"}


def test_text_after_a_long_fence_is_text_again() -> None:
    lines = ["```", *["code"] * 100, "```", *["prose"] * 100, "# Heading"]

    assert Syntax("note.md", WholeText(lines)).of(len(lines), LEXERS) == [StyledRange(0, 9, "heading")]


def test_a_string_over_several_lines_is_one_in_each_of_them() -> None:
    syntax = Syntax("tool.py", WholeText(('x = """one', "two", 'three"""')))

    assert [{stretch.kind for stretch in syntax.of(line, LEXERS)} for line in (2, 3)] == [
        {"string"},
        {"string"},
    ]


def test_a_line_beyond_the_end_has_none() -> None:
    assert not Syntax("note.md", WholeText(("# one",))).of(9, LEXERS)
