"""Soft wrap: the rows of a line, their numbers in a note, and the view while it is scrolled."""

from __future__ import annotations

import random
import re
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.tui.preview import wrapping
from kebab_tui.tui.preview.painting import Line, Span, View, paint_row
from kebab_tui.tui.preview.pane import Preview
from kebab_tui.tui.preview.source_lines import WholeText
from kebab_tui.tui.preview.wrapping import WrappedRows, expanded, wrapped
from tests.tui.preview_hits import hit, note
from tests.tui.test_preview import Host, rows, styled
from tests.tui.test_preview_lines import STYLES, underlined

TEXTS = st.text(
    st.characters(exclude_characters="\n") | st.sampled_from("  \t- 한글🙂e\u0301\u200d👩\ufe0f⌚日本。")
)


def shown(text: str, width: int) -> list[str]:
    line = wrapped(text, width)
    count = len(line.starts)
    return [(" " * line.indent(part) + line.text[slice(*line.span(part))]).rstrip() for part in range(count)]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("the quick brown fox jumps", 10, ["the quick", "brown fox", "jumps"]),
        ("exactly ten", 11, ["exactly ten"]),
        ("a blank may go  beyond", 11, ["a blank may", "go  beyond"]),
        ("여러 낱말을 줄에 맞춘다", 11, ["여러 낱말을", "줄에 맞춘다"]),
        ("가나다라마바사아자차카타파하", 9, ["가나다라", "마바사아", "자차카타", "파하"]),
        ("日本語の文は、どこでも折れる。", 12, ["日本語の文", "は、どこでも", "折れる。"]),
        ("see https://example.com/a/long/path", 14, ["see https://", "example.com/a/", "long/path"]),
        ("as [the unit](https://a.example/x)", 11, ["as [the", "unit](", "https://a.", "example/x)"]),
        ("a word_and_another", 8, ["a word_", "and_", "another"]),
        ("abc defghijklmnopqrstuvw", 10, ["abc defghi", "jklmnopqrs", "tuvw"]),
        ("- an item of a list", 12, ["- an item of", "  a list"]),
        ("  3. an item in it", 15, ["  3. an item in", "     it"]),
        ("- [ ] a task to do", 18, ["- [ ] a task to do"]),
        ("> quoted words", 10, ["> quoted", "  words"]),
        ("    deep code here", 14, ["    deep code", "    here"]),
        ("", 10, [""]),
        ("   ", 2, [""]),
        ("a\tb\tc\td", 9, ["a   b   c", "d"]),
        ("of \u0301a", 3, ["of", " \u0301a"]),
        ("👩\u200d💻👩\u200d💻 e\u0301e\u0301e\u0301", 4, ["👩\u200d💻👩\u200d💻", "e\u0301e\u0301e\u0301"]),
    ],
)
def test_a_line_breaks_between_words(text: str, width: int, expected: list[str]) -> None:
    assert shown(text, width) == expected


@example("00000000\u093a ", 2)
@given(text=TEXTS, width=st.integers(2, 30))
def test_the_rows_of_a_line_joined_are_the_line(text: str, width: int) -> None:
    line = wrapped(text, width)
    view = View(0, width + 4, 2)
    strips = [paint_row(Line(7, text), line, part, view, STYLES) for part in range(len(line.starts))]

    assert {strip.cell_length for strip in strips} == {width + 4}
    assert [strip.text[:4] for strip in strips] == [" 7  ", *["    "] * (len(strips) - 1)]
    painted = "".join(strip.text[4:] for strip in strips)
    assert re.sub(" +", "", painted) == re.sub(" +", "", expanded(text)[0])
    assert "".join(line.text[slice(*line.span(part))] for part in range(len(strips))) == line.text


@given(text=TEXTS, width=st.integers(2, 30))
def test_no_row_begins_inside_a_character(text: str, width: int) -> None:
    line = wrapped(text, width)

    for start in line.starts[1:]:
        assert cell_len(line.text[start]) > 0
        assert line.text[start - 1] != "\u200d"


def test_a_match_keeps_its_look_across_a_break_and_a_tab() -> None:
    text = "\tone long\tmatch here"
    spans: tuple[Span, ...] = ((5, 15, "match"),)
    line = wrapped(text, 12)
    strips = [paint_row(Line(7, text, spans), line, part, View(0, 16, 2), STYLES) for part in (0, 1)]

    assert [underlined(strip).strip() for strip in strips] == ["long", "match"]


@given(
    lines=st.lists(st.text("ab 한\t", max_size=40), min_size=1, max_size=30),
    width=st.integers(2, 12),
    first=st.integers(0, 200),
    piece=st.integers(3, 12),
)
def test_rows_have_the_same_text_in_whatever_order_they_are_counted(
    lines: list[str], width: int, first: int, piece: int
) -> None:
    with (
        patch.object(wrapping, "LONG_LINE", piece),
        patch.object(wrapping, "_PIECE", piece),
        patch.object(wrapping, "_NEAR_BLANK", 2),
    ):
        some, every = WrappedRows(WholeText(lines), width), WrappedRows(WholeText(lines), width)
        some.measure(first, 5)
        for counted in (some, every):
            while counted.measure(0, counted.count):
                pass

        assert some.count == every.count
        assert [some.at(row) for row in range(some.count)] == [every.at(row) for row in range(every.count)]
        assert [some.row_of(some.anchor(row)) for row in range(some.count)] == list(range(some.count))
        for number, text in enumerate(lines, 1):
            parts = [every.at(row) for row in range(every.count) if every.at(row).line == number]
            spans = [
                every.wrapped(number, at).text[slice(*every.wrapped(number, at).span(part))]
                for _, at, part in parts
            ]
            assert "".join(spans).replace(" ", "") == re.sub("[ \t]", "", text)


def test_rows_of_a_file_that_shrinks_become_empty() -> None:
    lines = ["words " * length for length in (20, 5000) * 200]
    rows = WrappedRows(WholeText(lines), 30)
    while rows.measure(0, rows.count):
        pass
    lines[:] = [""] * len(lines)

    for row in range(0, rows.count, 7):
        line, piece, part = rows.at(row)
        start, end = rows.wrapped(line, piece).span(part)
        assert start == end
        rows.row_of(rows.anchor(row))


def text_of(preview: Preview) -> list[str]:
    return [row[preview._view(preview._note).digits + 2 :] for row in rows(preview)[1:]]  # type: ignore[arg-type]


def uneven(count: int = 3000) -> list[str]:
    dice = random.Random(1)
    words = ["window", "서버", "설정", "queue", "pointer", "회의록을", "budget", "정리한다"]
    return [
        f"{number} " + " ".join(dice.choices(words, k=dice.randrange(60))) for number in range(1, count + 1)
    ]


async def test_scrolling_into_lines_not_counted_yet_moves_by_one_row(tmp_path: Path) -> None:
    lines = uneven()
    note(tmp_path, lines)
    async with (app := Host()).run_test(size=(50, 31)) as pilot:
        preview = app.preview
        preview.show(hit(tmp_path, span=SourceSpan(1500, 1500), text=lines[1499]))
        await pilot.pause()
        for step in (-1, 1):
            for _ in range(300):
                before = rows(preview)[1:]
                preview.scroll_by(step)
                after = rows(preview)[1:]
                assert (after[1:], before[1:])[step > 0] == (before[:-1], after[:-1])[step > 0]


async def test_the_ends_of_a_wrapped_note_are_reached(tmp_path: Path) -> None:
    lines = uneven()
    note(tmp_path, lines)
    async with (app := Host()).run_test(size=(50, 31)) as pilot:
        preview = app.preview
        preview.show(hit(tmp_path, span=SourceSpan(1500, 1500), text=lines[1499]))
        await pilot.pause()
        preview.action_scroll_end()
        assert "".join(rows(preview)).replace(" ", "").endswith(lines[-1].replace(" ", "")[-40:])
        assert preview.scroll_offset.y == preview.max_scroll_y
        preview.action_page_up()
        preview.action_scroll_home()
        assert rows(preview)[1].startswith("   1  1 ")


@pytest.mark.parametrize("length", [1, 10, 25, 60])
async def test_as_much_as_possible_of_a_passage_is_seen_below_some_context(
    tmp_path: Path, length: int
) -> None:
    lines = [f"line {number}" for number in range(1, 301)]
    note(tmp_path, lines)
    async with (app := Host()).run_test(size=(60, 31)) as pilot:
        span = SourceSpan(100, 99 + length)
        app.preview.show(hit(tmp_path, span=span, text="\n".join(lines[99 : 99 + length])))
        await pilot.pause()

        above = next(y for y, row in enumerate(rows(app.preview)[1:]) if "▌" in row)
        assert above == {1: 10, 10: 10, 25: 5, 60: 2}[length]


async def test_a_passage_of_one_very_long_line_is_read_by_scrolling_down(tmp_path: Path) -> None:
    words = " ".join(f"word{number} 낱말{number}" for number in range(20_000))
    begin, end = words.index("word9000"), words.index("word9400")
    passage = words[begin:end].strip()
    (tmp_path / "one.md").write_text(f"# Title\n\n{words}\n")
    async with (app := Host()).run_test(size=(60, 31)) as pilot:
        preview = app.preview
        preview.show(hit(tmp_path, "one.md", SourceSpan(3, 3), passage))
        await pilot.pause()
        assert "word9000" in rows(preview)[3]
        seen = text_of(preview)
        while "word9400" not in "".join(seen):
            preview.scroll_by(1)
            seen.append(text_of(preview)[-1])

        assert passage.replace(" ", "") in "".join(seen).replace(" ", "")


async def test_every_row_of_a_cited_line_has_the_mark_and_the_first_one_the_number(tmp_path: Path) -> None:
    note(tmp_path, ["before", "one long line that is cited", "after"])
    async with (app := Host()).run_test(size=(20, 10)) as pilot:
        app.preview.show(hit(tmp_path, span=SourceSpan(2, 2), text="one long line that is cited"))
        await pilot.pause()

        assert rows(app.preview)[1:5] == ["1  before", "2▌ one long line", " ▌ that is cited", "3  after"]


async def test_the_view_stays_at_its_line_when_wrapping_is_switched(tmp_path: Path) -> None:
    lines = uneven()
    note(tmp_path, lines)
    async with (app := Host()).run_test(size=(50, 31)) as pilot:
        preview = app.preview
        preview.show(hit(tmp_path, span=SourceSpan(1500, 1500), text=lines[1499]))
        await pilot.pause()
        preview.wraps = False
        assert rows(preview)[11].startswith("1500▌ 1500 ")
        preview.scroll_by(200)
        top = rows(preview)[1][:12]
        preview.wraps = True
        assert rows(preview)[1][:12] == top
        await pilot.resize_terminal(70, 31)
        await pilot.pause()
        assert rows(preview)[1][:12] == top


async def test_a_match_in_a_row_out_of_view_is_scrolled_to_and_counted(tmp_path: Path) -> None:
    note(tmp_path, ["start", "words before it " * 60 + "needle" + " words after it" * 60, "a needle"])
    async with (app := Host()).run_test(size=(60, 16)) as pilot:
        app.preview.show(hit(tmp_path, text="start"), None, "needle ")
        for number, suffix in ((1, ""), (2, ""), (1, ", from the top")):
            app.preview.next_match()
            await pilot.pause()
            assert rows(app.preview)[0].endswith(f"match {number} of 2{suffix}")
            assert "needle" in {styled(app.preview, y, "reverse") for y in range(1, 16)}
        app.preview.previous_match()
        await pilot.pause()
        assert rows(app.preview)[0].endswith("match 2 of 2, from the end")
        app.preview.show(hit(tmp_path, text="start"), None, "needle ")
        assert rows(app.preview)[0].endswith("match 2 of 2, from the end"), "the same hit, found again"
