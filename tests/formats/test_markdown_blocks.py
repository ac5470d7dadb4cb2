from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.document import Block
from kebab_tui.formats.markdown import scan_markdown
from kebab_tui.formats.markdown_lines import plain_text
from tests.effort import cpu_seconds, sizes

LINE_STARTS = (
    *(
        "# a",
        "## b ##",
        "#c",
        "text",
        "text | more",
        "- item",
        "* star",
        "1. one",
        "2) two",
        "- ```",
        "-",
        "*",
    ),
    *("```", "````", "~~~", "```js", "  ```", "    ```", "> quote", "> ```", "---", "===", "***", "- - -"),
    *("<!-- c", "-->", "<div>", "</div>", "<pre>", "</pre>", "<a href='x'>", "<?php", "<![CDATA[", "|a|b|"),
    *("|---|---|", "a|b", "-|-", "    code", "\tcode", "  - nested", "   # h", "[x]: /url", "제목", "🥙", ""),
    *(" ", "\u3000", "\u00a0x", "\x0c", "\x00", "\ud800", "\x1c# a", "\u2028"),
)
TEXTS = st.lists(st.one_of(st.sampled_from(LINE_STARTS), st.text(max_size=12)), max_size=30).map("\n".join)


def scan(text: str, start: int = 0) -> tuple[Block, ...]:
    return scan_markdown(text.split("\n"), start)


def shape(text: str) -> list[tuple[str, int, int]]:
    return [(block.kind, block.first, block.last) for block in scan(text)]


def headings(text: str) -> list[tuple[int, int, str]]:
    return [(block.first, block.level, block.text) for block in scan(text) if block.kind == "heading"]


# Headings


@pytest.mark.parametrize(
    ("line", "level", "text"),
    [
        ("# One", 1, "One"),
        ("###### Six", 6, "Six"),
        ("## Closed ##", 2, "Closed"),
        ("## Closed ########  ", 2, "Closed"),
        ("# C#", 1, "C#"),
        ("# Not closed#", 1, "Not closed#"),
        ("#\tTab", 1, "Tab"),
        ("   ## Indented", 2, "Indented"),
        ("##", 2, ""),
        ("## ##", 2, ""),
        ("# 충돌 해결 🥙", 1, "충돌 해결 🥙"),
    ],
)
def test_an_atx_heading_has_a_level_and_plain_text(line: str, level: int, text: str) -> None:
    assert headings(line) == [(1, level, text)]


@pytest.mark.parametrize(
    "line", ["#tag", "####### seven", r"\# escaped", "    # code", "> # quoted", "- # listed"]
)
def test_lines_that_only_look_like_a_heading(line: str) -> None:
    assert headings(line) == []


def test_underlined_paragraphs_are_headings() -> None:
    assert headings("Title\n===\n\ntwo\nlines\n---\n") == [(1, 1, "Title"), (4, 2, "two lines")]


def test_a_setext_heading_includes_its_underline() -> None:
    assert shape("two\nlines\n---\ntext") == [("heading", 1, 3), ("prose", 4, 4)]


@pytest.mark.parametrize(
    "text",
    [
        "\n---",
        "- item\n---",
        "> quote\n---",
        "> quote\nlazy\n===",
        "    code\n---",
        "text\n= =",
        "[x]: /url\n===",
    ],
)
def test_a_line_of_dashes_below_no_paragraph_makes_no_heading(text: str) -> None:
    assert headings(text) == []


def test_a_heading_in_a_list_item_is_no_heading_of_the_note() -> None:
    assert headings("- item\n\n  # nested\n\n# top") == [(5, 1, "top")]


def test_a_heading_after_a_list_has_ended_is_one() -> None:
    assert headings("- item\n\ntext\n\n  # top") == [(5, 1, "top")]


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("**Bold** and *slanted*", "Bold and slanted"),
        ("***both*** **a *b* c**", "both a b c"),
        ("snake_case and 2 * 3", "snake_case and 2 * 3"),
        ("_slanted_ __bold__ ~~gone~~", "slanted bold gone"),
        ("the `*args` of `f_x_`", "the *args of f_x_"),
        ("[text](https://example.org/a_(b)) here", "text here"),
        ("![icon](i.png) [text][ref]", "icon text"),
        ("[![badge](b.svg)](https://example.org)", "badge"),
        ("[WIP] plan", "[WIP] plan"),
        ("[[Page]] and [[Page|이름]]", "Page and 이름"),
        ("Anchored {#an-chor}", "Anchored"),
        ("Note[^1]", "Note"),
        ("Q&amp;A", "Q&A"),
        (r"C\* and \`x\`", "C* and `x`"),
        ("<kbd>Ctrl</kbd>+<kbd>C</kbd>", "Ctrl+C"),
        ("Vec<T> and <https://example.org>", "Vec<T> and https://example.org"),
        ("  wide   spaces ", "wide spaces"),
    ],
)
def test_inline_markup_leaves_the_words_of_a_heading(raw: str, plain: str) -> None:
    assert plain_text(raw) == plain


# Code


def test_a_fence_hides_headings() -> None:
    assert shape("```sh\n# comment\n\n```\n# Title") == [("code", 1, 4), ("heading", 5, 5)]


def test_a_longer_fence_contains_a_shorter_one() -> None:
    assert shape("````md\n```\n# a\n```\n````") == [("code", 1, 5)]


def test_tildes_do_not_close_backticks() -> None:
    assert shape("```\n~~~\n# a\n```  \ntext") == [("code", 1, 4), ("prose", 5, 5)]


def test_an_unclosed_fence_reaches_to_the_last_text() -> None:
    assert shape("text\n```\n# a\n\n") == [("prose", 1, 1), ("code", 2, 3)]


def test_inline_code_of_three_backticks_opens_no_fence() -> None:
    assert headings("```inline``` text\n# Title") == [(2, 1, "Title")]


def test_a_fence_in_a_list_item_is_code() -> None:
    text = "1. step\n\n   ```sh\n   # comment\n   ```\n\n2. step\n   - deep\n\n     ~~~\n     x\n     ~~~"
    assert shape(text) == [("prose", 1, 1), ("code", 3, 5), ("prose", 7, 8), ("code", 10, 12)]


def test_a_fence_behind_a_list_marker_is_code() -> None:
    assert shape("- ```js\n  # x\n  ```\n- next") == [("code", 1, 3), ("prose", 4, 4)]


def test_an_unclosed_fence_in_a_list_item_ends_with_the_item() -> None:
    assert shape("- item\n  ```\n  code\n\n# Title") == [("prose", 1, 1), ("code", 2, 3), ("heading", 5, 5)]


def test_indented_lines_are_code_only_outside_of_paragraphs_and_lists() -> None:
    assert shape("text\n    more") == [("prose", 1, 2)]
    assert shape("text\n\n    # code\n\n\tcode\n\ntext") == [("prose", 1, 1), ("code", 3, 5), ("prose", 7, 7)]
    assert shape("- item\n\n    more of it") == [("prose", 1, 3)]
    assert shape("- item\n\ntext\n\n    code") == [("prose", 1, 3), ("code", 5, 5)]


# HTML, comments, tables, and the rest


def test_a_comment_hides_headings_and_is_a_block() -> None:
    assert shape("text\n<!-- one\n\n# two\n-->\n# Title") == [
        ("prose", 1, 1),
        ("comment", 2, 5),
        ("heading", 6, 6),
    ]


def test_html_hides_headings_until_a_blank_line() -> None:
    assert headings("<div>\n# hidden\n</div>\n\n# Title") == [(5, 1, "Title")]
    assert headings('<a class="x">\n# hidden\n\n# Title') == [(4, 1, "Title")]
    assert headings("<b>bold</b> text\n# Title") == [(2, 1, "Title")]


def test_preformatted_html_is_code_across_blank_lines() -> None:
    assert shape("<pre>\n\n# x\n</pre>\ntext") == [("code", 1, 4), ("prose", 5, 5)]


def test_a_table_begins_with_its_header() -> None:
    assert shape("text\n| a | b |\n|---|:-:|\n| 1 | 2 |\n3 | 4\n\ntext") == [
        ("prose", 1, 1),
        ("table", 2, 5),
        ("prose", 7, 7),
    ]


def test_a_header_of_other_width_makes_no_table() -> None:
    assert shape("| a | b |\n|---|") == [("prose", 1, 2)]
    assert shape(r"| a \| b |" + "\n|---|") == [("table", 1, 2)]


def test_neighbouring_prose_is_one_block_without_the_blank_lines_around_it() -> None:
    text = "\n\npara\n\n- list\n  - nested\n\n> quote\n\n[^1]: note\n\n$$\nx\n$$\n \n\n# Title\n\n"
    assert shape(text) == [("prose", 3, 14), ("heading", 17, 17)]


def test_lines_before_the_start_are_not_looked_at() -> None:
    assert scan("---\n# a: b\n---\n# Title", start=3) == (Block("heading", 4, 4, 1, "Title"),)


def test_a_note_of_nothing_has_no_blocks() -> None:
    assert scan("") == scan("\n \n\t\n\u3000") == scan_markdown([]) == ()


def test_blocks_are_frozen_values() -> None:
    block = scan("# Title")[0]
    assert block == Block("heading", 1, 1, 1, "Title")
    assert hash(block) == hash(Block("heading", 1, 1, 1, "Title"))
    with pytest.raises(AttributeError):
        block.first = 2  # type: ignore[misc]  # frozen, which is the point


# Any text


@given(TEXTS, st.integers(0, 3))
def test_every_non_blank_line_belongs_to_exactly_one_block(text: str, start: int) -> None:
    lines = text.split("\n")
    covered: list[int] = []
    for block in scan_markdown(lines, start):
        assert lines[block.first - 1].strip()
        assert lines[block.last - 1].strip()
        covered.extend(at for at in range(block.first, block.last + 1) if lines[at - 1].strip())
    assert covered == [at for at, line in enumerate(lines, 1) if line.strip() and at > start]


@given(st.text(alphabet="ab \\`*_~[]()<>&{}!|#^é가", max_size=60))
def test_any_heading_has_plain_text(raw: str) -> None:
    assert plain_text(raw) == plain_text(raw).strip()


@sizes(100_000, 1_000_000)
@pytest.mark.parametrize(
    "unit",
    [
        *(
            "#",
            "# ",
            "`",
            "```\n",
            "~~~ \n",
            "[",
            "](",
            "[[",
            "<",
            ">",
            "> ",
            "-",
            "- ",
            "-\n",
            "- - x\n",
            "---\n",
        ),
        *(
            "=\n",
            "a\n===\n",
            "> a\n===\n",
            "|",
            "|-",
            "a|b\n",
            "|-|-\n",
            "*",
            "*a ",
            "_a ",
            "**a*",
            "&",
            "<a ",
            "<a b='",
        ),
        *(
            "<!--\n",
            "<div>\n",
            "<a>\n",
            " ",
            "    x\n",
            "\t",
            "  - a\n",
            "- a\n  ```\n",
            "1. ",
            "\\",
            "~~a",
            "[x]: y\n",
        ),
        *("# *a_b`[x](\n", "# ``````\n", "# <!-- \n", "- a\n\n      b\n", "{#", "\x00", "가", "\n"),
    ],
)
def test_any_amount_of_anything_takes_linear_time(unit: str, size: int) -> None:
    text = unit * (size // len(unit))
    heading = "# " + text[: len(text) * 3 // 10]
    assert cpu_seconds(lambda: (scan(heading), scan(text))) < size / 50_000
