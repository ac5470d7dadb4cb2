"""Markdown as plain text: what stays, what goes, and the time that it takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab_tui.domain.markup import strip_inline_markup, strip_markup
from tests.effort import cpu_seconds


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("## Setup ##\n\nRun  it.", "Setup\nRun it."),
        ("Setup\n=====\n---\nRun it.\n* * *", "Setup\nRun it."),
        ("- one\n2. two\n  * [x] three\n> four", "one\ntwo\nthree\nfour"),
        ("> [!warning]- Mind\n> the gap", "Mind\nthe gap"),
        ("a **b** *c* __d__ _e_ ~~f~~ ==g== ***h***", "a b c d e f g h"),
        ("**[Rust `cargo`](https://x.y)**", "Rust cargo"),
        ("call `__init__` of snake_case_name", "call __init__ of snake_case_name"),
        ("2 * 3 * 4, a == b and c == d, *.md and *.txt", "2 * 3 * 4, a == b and c == d, *.md and *.txt"),
        ("[text](a(b).md 'title') and ![alt](x.png)", "text and alt"),
        ("[one][two] and [three]\n\n[two]: https://x.y 'z'", "one and [three]"),
        ("[[Note]], [[Note#Part|shown]], ![[picture.png|300]]", "Note, shown, picture.png"),
        ("[![badge](a.svg)](https://x.y) text", "badge text"),
        ("see https://www.x.org/a/b?c=d. Or <https://y.org/z>", "see x.org. Or y.org"),
        ("a footnote[^1].\n\n[^1]: Its text.", "a footnote.\nIts text."),
        ("x %%hidden%% y <!-- not\nthis --> z", "x y z"),
        ("<p align=left>Hi<br/>there</p> <b>you</b>, <name>", "Hi there you, <name>"),
        ("3 < 4 &lt; 5 \\* &amp;&nbsp;x", "3 < 4 < 5 * & x"),
        ("A fact. ^block-1\n## Part {#part}", "A fact.\nPart"),
        ("| a | b |\n|:--|--:|\n| [[x\\|y]] | `z` |", "a · b\ny · z"),
        ("a | b\n--- | ---\nc | d", "a · b\nc · d"),
        ("this | that, and no table", "this | that, and no table"),
        (":::note\n{{< param >}}Text\n:::", "Text"),
        ('a {{< tooltip text="pod" term_id="x" >}}, {{< tooltip term_id="job" >}}', "a pod, job"),
        ('{{% heading "next" %}} {{< include "a.md" >}}', "next"),
        ("설정은 **굵게** [[노트|별칭]] 👩‍👩‍👧", "설정은 굵게 별칭 👩‍👩‍👧"),
    ],
)
def test_markup_goes_and_text_stays(markdown: str, shown: str) -> None:
    assert strip_markup(markdown) == shown


def test_code_stays_as_it_is_without_its_fences() -> None:
    assert strip_markup("```sh\n# all\nls **/*.md | wc\n```\n- *one*") == "# all\nls **/*.md | wc\none"
    assert strip_markup("~~~\nx = `a`\n~~~") == "x = `a`"


def test_a_text_of_nothing_but_markup_stays() -> None:
    assert strip_markup("![](x.png)\n\n---") == "![](x.png)\n---"
    assert strip_markup(" \n") == ""


def test_a_title_loses_only_the_markup_inside_it() -> None:
    assert strip_inline_markup("`flex-wrap` in **CSS**") == "flex-wrap in CSS"
    assert strip_inline_markup("# 1. of *") == "# 1. of *"


_PIECES = st.sampled_from(
    [
        "a",
        "가",
        "👩\u200d👧",
        "e\u0301",
        "\n",
        "\n\n",
        "  ",
        "- ",
        "1. ",
        "# ",
        "> ",
        "[ ] ",
        "[x](",
        ")",
        "[[",
        "]]",
        "![",
        "[^1]",
        "`",
        "```\n",
        "~~~\n",
        "**",
        "*",
        "__",
        "_",
        "==",
        "~~",
        "%%",
        "<!--",
        "-->",
        "<b>",
        "</b>",
        "<",
        ">",
        "https://x.y/",
        "{{<",
        ">}}",
        "\\",
        "&amp;",
        "---\n",
        "|",
        ":--",
        "^a",
    ]
)


@given(st.one_of(st.text(max_size=300), st.lists(_PIECES, max_size=80).map("".join)))
def test_plain_lines_are_trimmed_and_bring_nothing_new(text: str) -> None:
    shown = strip_markup(text)
    assert bool(shown) == bool(text.strip())
    assert all(line and line == " ".join(line.split()) for line in shown.split("\n") if shown)
    assert set(shown) <= set(text) | set(" \n·&<>'\"")


@given(st.lists(_PIECES, min_size=1, max_size=4).map("".join))
def test_the_time_is_linear_in_the_text(piece: str) -> None:
    text = piece * (16_000 // len(piece))
    assert cpu_seconds(lambda: strip_markup(text)) < 1
