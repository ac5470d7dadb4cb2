"""Rendered Markdown: Obsidian's syntax, the marked passage, matches, and its place in the preview."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style
from textual.app import App, ComposeResult

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.tui.preview import painting
from kebab_tui.tui.preview import rendered as rendered_module
from kebab_tui.tui.preview.markdown_rows import MarkdownRows
from kebab_tui.tui.preview.matches import MatchSpan
from kebab_tui.tui.preview.pane import Preview
from kebab_tui.tui.preview.rendered import Rendered, rendered
from kebab_tui.tui.widgets.segments import sanitize_line
from tests.effort import cpu_seconds
from tests.tui.hits import HOSTILE
from tests.tui.preview_hits import Engine, hit, note

WIDTH = 42


def made(text: str, width: int = WIDTH) -> Rendered:
    found = rendered(text.split("\n"), width, lambda: False)
    assert found is not None
    return found


def shown(text: str, width: int = WIDTH) -> list[str]:
    return [row.text.rstrip() for row in made(text, width)._rows]


def styled(text: str, name: str) -> str:
    """The parts of the rendered text that have a style."""
    spans = [(row.text, span) for row in made(text)._rows for span in row.spans]
    return " ".join(row[start:end] for row, (start, end, style) in spans if style == name)


# Obsidian's syntax


def test_a_callout_has_its_kind_and_title_and_is_open_if_folded() -> None:
    assert shown("> [!warning]- 뜨거움 *hot*\n> Do not touch.\n>\n> > [!tip]\n> > - inner") == [
        "│ Warning: 뜨거움 hot",
        "│ Do not touch.",
        "│",
        "│ │ Tip",
        "│ │ • inner",
    ]
    assert styled("> [!warning] Hot\n> Not.", "number") == "│  Warning: Hot │ "


def test_an_alert_of_github_is_a_callout_and_a_quote_is_none() -> None:
    assert shown("> [!NOTE]\n> Text\n\n> quoted") == ["│ Note", "│ Text", "", "│ quoted"]


def test_tasks_have_boxes() -> None:
    text = "- [ ] open\n- [x] done\n- [/] half\n- [-] cancelled\n- [>] later\n- [?] why\n1. [ ] first"

    assert shown(text) == ["☐ open", "☑ done", "◐ half", "☒ cancelled", "▷ later", "[?] why", "1. ☐ first"]


def test_marks_lose_their_signs_but_not_in_code() -> None:
    assert shown("a ==b *c*== `==d==` e == f ==") == ["a b c ==d== e == f =="]
    assert styled("a ==b *c*== d", "marked") == "b  c"


def test_comments_are_dim_in_lines_and_in_blocks() -> None:
    text = "a %%b%% c\n\n%%\nd **e**\n%%\nf"

    assert shown(text) == ["a %%b%% c", "", "%%", "d **e**", "%%", "f"]
    assert styled(text, "comment") == "%%b%% %% d **e** %%"


def test_wikilinks_are_text_and_embeds_are_labels() -> None:
    assert shown("[[빵#굽기|the bread]] [[빵#굽기]] ![[빵]] ![[a.png|300]]", 90) == [
        "the bread 빵 › 굽기 [embedded: 빵] [image: a.png]"
    ]
    assert shown("| a |\n|---|\n| [[b\\|c]] |") == ["a", "─", "c"]


def test_tags_are_coloured_and_numbers_are_none() -> None:
    assert styled("#태그 a#b #in/ner #12 ## x", "name") == "#태그 #in/ner"


def test_block_ids_are_hidden_and_powers_stay() -> None:
    assert shown("text 2 ^ 3 x^y ^id-1") == ["text 2 ^ 3 x^y"]


def test_footnotes_and_math_stay_as_typed() -> None:
    text = "a[^1] $b_1 * c_2 * d$ \\$5\n\n[^1]: word\n\n$$\na_1 * b *\n$$"

    assert shown(text) == ["a[^1] $b_1 * c_2 * d$ $5", "", "[^1]: word", "", "$$", "a_1 * b *", "$$"]


def test_front_matter_is_a_list_of_properties() -> None:
    text = "---\ntitle: '빵'\ntags: [a, b]\naliases:\n  - Brot\n---\n# Heading"

    assert shown(text) == [
        "title    빵",
        "tags     a, b",
        "aliases",
        "         Brot",
        "",
        "Heading",
        "━━━━━━━",
    ]


def test_an_unknown_fence_is_plain() -> None:
    assert shown("```dataview\nTABLE *x*\n```") == ["  TABLE *x*"]
    assert shown("```\nlast line") == ["  last line"]


def test_html_is_shown_without_its_tags_and_comments_are_dim() -> None:
    text = "<table><tr><td><b>a</b>, b</td><td>c</td></tr></table>\n\n<!-- d\ne -->\n\nf<br>g <u>h</u>"

    assert shown(text) == ["a, b c", "", "<!-- d", "e -->", "", "f", "g h"]
    assert styled(text, "comment") == "<!-- d e -->"


def test_code_is_coloured_by_its_language() -> None:
    assert "def" in styled("```python\ndef f(): pass\n```", "keyword")


# Rows


def test_headings_are_underlined_and_lose_their_ids() -> None:
    assert shown("# 하나 둘 {#one-two}\n> ## Two {#\n> ### Three") == [
        "하나 둘",
        "━━━━━━━",
        "",
        "│ Two {#",
        "│ ──────",
        "│",
        "│ Three",
    ]


def test_blank_rows_are_where_the_source_has_them_one_at_a_time() -> None:
    assert shown("a\n\n\n\nb\n- c\n- d\n\n\n- e") == ["a", "", "b", "• c", "• d", "", "• e"]


def test_lines_that_an_editor_wrapped_are_joined_and_others_stay() -> None:
    long = "word " * 13
    assert shown(f"{long}\nend of it.", 100) == [f"{long}end of it."]
    assert shown("one\ntwo") == ["one", "two"]
    assert shown(f"{long}\nshort:\n{long}", 100) == [long.rstrip() + " short:", long.rstrip()]


def test_a_paragraph_that_is_too_long_to_parse_is_shown_as_typed() -> None:
    assert shown("*a*\n" + "[b] " * 6000, 60)[:2] == ["*a*", ("[b] " * 14).rstrip()]


def test_korean_is_broken_between_words_and_japanese_anywhere() -> None:
    assert shown("가나다라 마바사아 자차", 14) == ["가나다라", "마바사아", "자차"]
    assert shown("日本語の長い文章", 12) == ["日本語の長", "い文章"]


def test_a_table_fits_and_its_columns_are_aligned() -> None:
    text = "| 이름 | 값 |\n|---|--:|\n| 가나다 | 1 |\n| b | " + "long words " * 6 + "|"
    rows = shown(text)

    assert rows[:3] == ["이름   │" + " " * 30 + "값", "───────┼" + "─" * 32, "가나다 │" + " " * 31 + "1"]
    assert {cell_len(row.split("│")[0]) for row in rows if "│" in row} == {7}


def test_a_table_with_too_many_columns_is_shown_cell_by_cell() -> None:
    head = "|".join(f"column {number}" for number in range(12))
    text = f"|{head}|\n|{'---|' * 12}\n|{'|'.join(f'cell {number}' for number in range(12))}|"

    assert "column 11 cell 11" in shown(text)


def test_a_link_is_shown_and_never_made() -> None:
    found = made("See [here](file:///etc/passwd) and [there](../x.md).", 60)

    assert shown("See [here](file:///etc/passwd) and [there](../x.md).", 60) == [
        "See here (file:///etc/passwd) and there."
    ]
    styles = dict.fromkeys(("text", "cited", "mark", "link", "gutter"), Style())
    assert not any(segment.style and segment.style.link for segment in found.paint(1, " ", None, styles))


def test_what_entities_and_escapes_make_is_cleaned() -> None:
    text = "a &#x202e; b \x1b[2J \x9b0m\n\n    \x1b]52;c;x\x07"
    text += f"\n\n> [!\x1b[2J] {HOSTILE}\n\n| {HOSTILE}\n|--\n| x"
    rows = "".join(shown(text))

    assert rows == sanitize_line(rows)


PIECES = [
    *"[]()!#*_`~=%$^|>-+<&;:.x가🙂 \\\n\t\r\x1b\u200d\u0301",
    "- [x] ",
    "> [!note]",
    "```",
    "---\n",
    "|-|-\n",
]
STYLES = {*painting._PARTS, "struck"} - {"text", "cited", "header"}
"""Those without a background."""
MARKUP = st.lists(st.sampled_from(PIECES), max_size=80).map("".join)


@settings(max_examples=1500, deadline=None)
@given(MARKUP, st.integers(1, 50))
def test_any_text_has_clean_rows_that_fit_in_the_order_of_its_lines(text: str, width: int) -> None:
    rows = made(text, width)._rows

    for row in rows:
        assert row.text == sanitize_line(row.text)
        assert {name for _, _, name in row.spans} <= STYLES
        assert 1 <= row.first <= row.last <= text.count("\n") + 1
        assert cell_len(row.text) <= max(width - 2, 12)
    assert [row.first for row in rows] == sorted(row.first for row in rows)
    assert [row.last for row in rows] == sorted(row.last for row in rows)


@pytest.mark.parametrize(
    "unit",
    ["==", "[[", "[", "![[a", "> ", ">", "%%", "$", "$$ x\n", "^a ", "#a ", "[^", "*a ", "- ", "- [ ] ",
     "| a", "|a|b\n|-|-\n", "> [!a]\n", "a <!--", "`` ", "&#x20;", "가", " ", "\n", "- - - - a\n"],
)  # fmt: skip
def test_rendering_takes_linear_time(unit: str) -> None:
    def seconds(length: int) -> float:
        lines = (unit * (length // len(unit))).split("\n")
        return min(cpu_seconds(lambda: rendered(lines, WIDTH, lambda: False)) for _ in range(3))

    assert seconds(16_000) < 20 * seconds(2_000) + 0.1


def test_rendering_a_long_note_can_be_cancelled() -> None:
    waiting = iter([False, True])

    assert rendered(["# a", "text"] * 4, WIDTH, lambda: next(waiting)) is None


def test_a_table_of_many_columns_can_be_cancelled_after_each_row() -> None:
    columns = 60
    lines = ["|" + "a|" * columns, "|" + "-|" * columns, *["|" + "b|" * columns] * 20]
    made = MarkdownRows(lines, WIDTH)
    counts = [len(made.rows) for _ in made.add_blocks()]
    assert max(after - before for before, after in pairwise(counts)) <= columns + 1
    assert len(made.rows) > 20 * columns


# The passage and the matches


@pytest.mark.parametrize(
    ("lines", "first", "last", "cited"),
    [
        (["Before.", "", "- cited one", "- cited two", "", "After."], 3, 4, ["• cited one", "• cited two"]),
        (["```", "code one", "code two", "```", "After"], 3, 3, ["  code two"]),
        (["| a |", "|---|", "| b |", "| c |"], 3, 3, ["b"]),
        (["> [!note] Title", "> one", "> two"], 2, 2, ["│ one"]),
        (["---", "a: b", "c: d", "---"], 3, 3, ["c  d"]),
        (["a", "", "b", "", "c"], 1, 3, ["a", "", "b"]),
        (["x " * 40, "y " * 40], 2, 2, [("y " * 20).rstrip()] * 2),
    ],
)
def test_the_rows_of_a_passage(lines: list[str], first: int, last: int, cited: list[str]) -> None:
    found = made("\n".join(lines))

    assert [found._rows[row].text.rstrip() for row in found.rows_of(first, last)] == cited


def test_the_matches_are_those_of_the_rendered_text() -> None:
    found = made("a **Rust**y\n\n[[x|러스트 도구]] [rust](https://rust.org)", 60)
    found.mark(lambda text: Engine().marks(text, "rust 러스트"))
    places = [place for place in found.search(MatchSpan(1, -1), forward=True) if place]

    assert places[:3] == [MatchSpan(3, 0), MatchSpan(3, 7), MatchSpan(3, 21)]


# In the preview


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.preview = Preview(Engine())

    def compose(self) -> ComposeResult:
        yield self.preview


def rows(preview: Preview) -> list[str]:
    return [preview.render_line(y).text.rstrip() for y in range(preview.size.height)]


def underlined(preview: Preview, y: int) -> str:
    return "".join(one.text for one in preview.render_line(y) if one.style and one.style.underline)


async def until(condition: Callable[[], object]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError


async def test_it_stays_on_for_other_hits_notes_and_queries(tmp_path: Path) -> None:
    note(tmp_path, ["# Bread", "", "- one *loaf*", "- two"])
    note(tmp_path, ["- [x] done"], "other.md")
    async with (app := Host()).run_test(size=(40, 12)):
        preview = app.preview
        preview.show(hit(tmp_path, text="# Bread"), None, "one")
        preview.toggle_rendered()
        await until(lambda: "▌ Bread" in rows(preview) and "  • one loaf" in rows(preview))

        preview.show(hit(tmp_path, span=SourceSpan(4, 4), text="- two"), None, "two")
        assert "▌ • two" in rows(preview)
        assert underlined(preview, rows(preview).index("▌ • two")) == "two"
        preview.show(hit(tmp_path, "other.md", text="- [x] done"), None, "two")
        await until(lambda: "▌ ☑ done" in rows(preview))

        preview.toggle_rendered()
        assert rows(preview)[1] == "1▌ - [x] done"


async def test_what_is_no_markdown_shows_its_source_and_the_next_note_is_rendered(tmp_path: Path) -> None:
    note(tmp_path, ["*a*"], "a.txt")
    note(tmp_path, ["*b*"], "b.md")
    async with (app := Host()).run_test(size=(60, 12)):
        preview = app.preview
        preview.show(hit(tmp_path, "a.txt", text="*a*"))
        preview.toggle_rendered()
        assert rows(preview)[0].endswith("not Markdown: source") and rows(preview)[1] == "1▌ *a*"

        preview.show(hit(tmp_path, "b.md", text="*b*"))
        await until(lambda: rows(preview)[1] == "▌ b")
        assert "source" not in rows(preview)[0]


async def test_a_note_that_is_too_long_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kebab_tui.tui.preview.pane.LONGEST", 3)
    note(tmp_path, ["*long*"])
    async with (app := Host()).run_test(size=(60, 12)):
        app.preview.show(hit(tmp_path, text="*long*"))
        app.preview.toggle_rendered()

        assert rows(app.preview)[0].endswith("too long to render") and rows(app.preview)[1] == "1▌ *long*"


async def test_a_rendering_that_takes_long_arrives_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rendered_module, "_AT_ONCE_S", 0.0)
    go_on: list[bool] = []

    def slow(lines: Sequence[str], width: int, cancelled: Callable[[], bool]) -> Rendered | None:
        while not go_on:
            time.sleep(0.001)
        return rendered(lines, width, cancelled)

    monkeypatch.setattr(rendered_module, "rendered", slow)
    note(tmp_path, ["*a*"])
    async with (app := Host()).run_test(size=(60, 12)):
        app.preview.show(hit(tmp_path, text="*a*"))
        app.preview.toggle_rendered()
        assert rows(app.preview)[1] == "1▌ *a*"
        go_on.append(True)
        await until(lambda: rows(app.preview)[1] == "▌ a")


async def test_an_edit_keeps_the_former_rendering_until_the_new_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(tmp_path, ["*a*"])
    async with (app := Host()).run_test(size=(60, 12)):
        found = hit(tmp_path, text="*a*")
        app.preview.show(found)
        app.preview.toggle_rendered()
        await until(lambda: rows(app.preview)[1] == "▌ a")
        monkeypatch.setattr(rendered_module, "_AT_ONCE_S", 0.0)
        note(tmp_path, ["*a*", "", "*b*"])
        app.preview.reread(found)

        assert rows(app.preview)[1] == "▌ a"
        await until(lambda: "  b" in rows(app.preview))


async def test_the_passage_is_a_third_down_and_matches_follow_from_there(tmp_path: Path) -> None:
    note(
        tmp_path, ["words", "", *["- item"] * 60, "", "The *cited* words", "", *["- item"] * 60, "", "words"]
    )
    async with (app := Host()).run_test(size=(40, 31)):
        preview = app.preview
        preview.show(hit(tmp_path, span=SourceSpan(64, 64), text="The *cited* words"), None, "words")
        preview.toggle_rendered()
        await until(lambda: rows(preview)[11] == "▌ The cited words")
        preview.focus()
        await until(lambda: app.cursor_position.y == 11)

        preview.next_match()
        assert rows(preview)[11] == "▌ The cited words"
        preview.next_match()
        await until(lambda: "  words" in rows(preview))
        preview.previous_match()
        await until(lambda: "▌ The cited words" in rows(preview))


@pytest.mark.parametrize("size", [(20, 5), (400, 120), (3, 2), (1, 1)])
async def test_every_size_is_filled(tmp_path: Path, size: tuple[int, int]) -> None:
    note(tmp_path, ["# 제목 🙂", "", "| 가 | b |", "|---|---|", "| 🙂 | " + "긴 " * 40 + "|", "", "> > text"])
    async with (app := Host()).run_test(size=size) as pilot:
        app.preview.show(hit(tmp_path, text="# 제목 🙂"), None, "제목")
        app.preview.toggle_rendered()
        await pilot.pause(0.1)

        assert {app.preview.render_line(y).cell_length for y in range(app.preview.size.height)} <= {
            app.preview.columns
        }
