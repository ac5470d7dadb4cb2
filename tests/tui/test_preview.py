"""The preview: the right lines, the matches, and an honest header."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from kebab_tui.domain.citation import Citation, Located, SourceSpan
from kebab_tui.domain.ids import ChunkId
from kebab_tui.settings.settings import Settings
from kebab_tui.tui.preview import open_note, syntax
from kebab_tui.tui.preview.pane import Preview, PreviewEngine
from kebab_tui.workspace import Workspace
from tests.tui.preview_hits import Engine, hit, note

pytestmark = pytest.mark.slow

LINES = [f"line {number}" for number in range(1, 301)]


class Host(App[None]):
    def __init__(self, *, wraps: bool = True) -> None:
        super().__init__()
        self.preview = Preview(Engine())
        self.preview.wraps = wraps

    def compose(self) -> ComposeResult:
        yield self.preview


def rows(preview: Preview) -> list[str]:
    return [preview.render_line(y).text.rstrip() for y in range(preview.size.height)]


def styled(preview: Preview, y: int, attribute: str) -> str:
    segments = preview.render_line(y)
    return "".join(one.text for one in segments if one.style and getattr(one.style, attribute))


def backgrounds(preview: Preview, y: int) -> set[object]:
    return {segment.style.bgcolor for segment in preview.render_line(y) if segment.style}


async def settled(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def test_the_cited_lines_are_a_third_down_with_a_mark(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(60, 31)) as pilot:
        app.preview.show(hit(tmp_path, span=SourceSpan(150, 151), text="line 150\nline 151"))
        await pilot.pause()

        shown = rows(app.preview)
        assert shown[0] == "note.md · Bread › Crust"
        assert shown[11:14] == ["150▌ line 150", "151▌ line 151", "152  line 152"]
        background = [segment.style.bgcolor for segment in app.preview.render_line(11) if segment.style]
        assert background != [
            segment.style.bgcolor for segment in app.preview.render_line(13) if segment.style
        ]


async def test_a_hit_shown_before_the_first_layout_is_scrolled_to_after_it(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    app = Host()
    app.preview.call_after_refresh(
        app.preview.show, hit(tmp_path, span=SourceSpan(150, 150), text="line 150")
    )
    async with app.run_test(size=(60, 31)) as pilot:
        await pilot.resize_terminal(60, 16)
        await pilot.pause()

        assert rows(app.preview)[6] == "150▌ line 150"


@pytest.mark.parametrize("heights", [(16,), (60, 16), (60, 31), (20, 8, 50, 12)], ids=str)
async def test_the_end_of_a_note_is_aimed_at_again_at_each_size(
    tmp_path: Path, heights: tuple[int, ...]
) -> None:
    note(tmp_path, LINES[:49])
    async with (app := Host()).run_test(size=(60, 31)) as pilot:
        app.preview.show(hit(tmp_path, span=SourceSpan(40, 49), text="\n".join(LINES[39:49])))
        await pilot.pause()
        for height in heights:
            await pilot.resize_terminal(60, height)
            await pilot.pause()

        assert any(row.startswith("40▌") for row in rows(app.preview))


async def test_a_resize_leaves_a_reader_where_he_has_scrolled_to(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(60, 31)) as pilot:
        app.preview.show(hit(tmp_path, span=SourceSpan(150, 150), text="line 150"))
        app.preview.scroll_by(40)
        top = app.preview.scroll_offset.y
        await pilot.resize_terminal(60, 16)
        await pilot.pause()

        assert app.preview.scroll_offset.y == top


async def test_a_note_that_was_saved_is_shown_as_it_is_now_where_it_was(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    found = hit(tmp_path, span=SourceSpan(150, 150), text="line 150")
    async with (app := Host()).run_test(size=(60, 31)) as pilot:
        app.preview.show(found)
        await pilot.pause()
        app.preview.scroll_relative(y=5, animate=False)
        note(tmp_path, [*LINES[:150], "a line of today", *LINES[151:]])
        app.preview.reread(found)
        await pilot.pause()
        assert rows(app.preview)[6] == "150▌ line 150", "what was scrolled to stays"
        assert rows(app.preview)[7] == "151  a line of today"


async def test_a_passage_indexed_again_forgets_its_looked_up_place(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    before = hit(tmp_path, span=SourceSpan(150, 150), text="line 157", stale=True)
    async with (app := Host()).run_test(size=(60, 31)) as pilot:
        app.preview.show(before, Located(SourceSpan(157, 157), "moved", 7))
        note(tmp_path, ["new", *LINES])
        app.preview.reread(replace(before, citation=Citation("note.md", SourceSpan(158, 158)), stale=False))
        await pilot.pause()
        assert "moved" not in rows(app.preview)[0]
        assert "158▌ line 157" in rows(app.preview)


async def test_only_the_note_that_is_open_is_read_again(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(60, 31)) as pilot:
        app.preview.show(hit(tmp_path, span=SourceSpan(1, 1), text="line 1"))
        note(tmp_path, ["another"])
        app.preview.reread(replace(hit(tmp_path), chunk_id=ChunkId("another")))
        await pilot.pause()
        assert " 1▌ line 1" in rows(app.preview)[1]


@pytest.mark.parametrize(
    ("located", "state", "row"),
    [
        (Located(SourceSpan(157, 157), "moved", 7), "moved +7", "157▌ line 157"),
        (Located(SourceSpan(160, 160), "changed", 10), "changed since it was indexed", "160┆ line 160"),
        (Located(SourceSpan(150, 150), "gone"), "passage gone", "150  line 150"),
    ],
)
async def test_the_header_shows_that_a_passage_has_moved(
    tmp_path: Path, located: Located, state: str, row: str
) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(70, 31)) as pilot:
        app.preview.show(hit(tmp_path, span=SourceSpan(150, 150), text="line 157", stale=True), located)
        await pilot.pause()

        assert rows(app.preview)[0].endswith(state)
        assert rows(app.preview)[11] == row


@pytest.mark.parametrize("span", [SourceSpan(150, 150), SourceSpan(299, 340), SourceSpan(900, 900)])
async def test_lines_with_other_text_are_never_marked_as_cited(tmp_path: Path, span: SourceSpan) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(70, 31)) as pilot:
        app.preview.show(hit(tmp_path, span=span, text="what the index holds"))
        await pilot.pause()

        assert rows(app.preview)[0].endswith("changed since it was indexed")
        assert not any("▌" in row for row in rows(app.preview))


async def test_the_words_of_the_query_are_marked_by_stem_and_syllable(tmp_path: Path) -> None:
    note(tmp_path, ["Indexes of all kinds", "색인을 다시"])
    async with (app := Host()).run_test(size=(40, 8)) as pilot:
        app.preview.show(hit(tmp_path, text="Indexes of all kinds"), None, "index 색인")
        await pilot.pause()

        assert styled(app.preview, 1, "underline") == "Indexes"
        assert styled(app.preview, 2, "underline") == "색인"


async def test_the_next_match_is_jumped_to_and_the_last_leads_to_the_first(tmp_path: Path) -> None:
    lines = list(LINES)
    lines[9], lines[199] = "a needle", "another needle"
    note(tmp_path, lines)
    async with (app := Host()).run_test(size=(40, 20)) as pilot:
        app.preview.show(hit(tmp_path, span=SourceSpan(100, 100), text="line 100"), None, "needle ")
        for forward, expected in ((True, 200), (True, 10), (False, 200)):
            (app.preview.next_match if forward else app.preview.previous_match)()
            await pilot.pause()
            y = next(y for y, row in enumerate(rows(app.preview)) if "needle" in row)
            assert rows(app.preview)[y].startswith(f"{expected:>3}")
            assert styled(app.preview, y, "reverse") == "needle"


async def test_no_match_is_reported_until_another_note_is_shown(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(60, 20)) as pilot:
        app.preview.show(hit(tmp_path, text="line 1"), None, "zebra")
        app.preview.next_match()
        await pilot.pause()
        assert rows(app.preview)[0].endswith("no match")

        app.preview.show(hit(tmp_path, span=SourceSpan(9, 9), text="line 9"), None, "zebra")
        assert "no match" not in rows(app.preview)[0]


async def test_scrolling_by_line_by_page_and_to_the_ends(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(40, 21)) as pilot:
        preview = app.preview
        preview.show(hit(tmp_path, text="line 1"))
        await pilot.pause()
        moves: list[Callable[[], None]] = [
            partial(preview.scroll_by, 3),
            preview.action_page_down,
            preview.action_page_up,
            preview.action_scroll_end,
            preview.action_scroll_home,
        ]
        seen = []
        for move in moves:
            move()
            seen.append(preview.scroll_offset.y)

        assert seen == [3, 22, 3, 280, 0]


async def test_arrow_keys_scroll_and_go_sideways_as_far_as_there_is_text(tmp_path: Path) -> None:
    note(tmp_path, ["x" * 50, *LINES])
    async with (app := Host(wraps=False)).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, text="x" * 50))
        app.preview.focus()
        await pilot.press("right", "right", "right", "right", "right")
        assert rows(app.preview)[1] == "  1▌ ‹" + "x" * 33
        await pilot.press("left", "left", "left", "down")
        assert rows(app.preview)[1] == "  2  line 1"


async def test_a_line_longer_than_the_view_has_a_sign_at_its_edge(tmp_path: Path) -> None:
    note(tmp_path, ["x" * 35, *LINES])
    async with (app := Host(wraps=False)).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, text="x" * 35))
        await pilot.pause()

        assert app.preview.columns == 39
        assert rows(app.preview)[1].endswith("x›")


async def test_a_match_out_of_view_to_the_right_is_brought_into_view(tmp_path: Path) -> None:
    note(tmp_path, ["한 " * 100 + "needle"])
    async with (app := Host(wraps=False)).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, text="한"), None, "needle")
        app.preview.next_match()
        await pilot.pause()

        assert styled(app.preview, 1, "reverse") == "needle"


async def test_a_passage_far_inside_a_very_long_line_is_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("word " * 100_000 + "here it is " + "word " * 100_000)
    async with (app := Host()).run_test(size=(40, 5)) as pilot:
        app.preview.show(hit(tmp_path, "one.md", text="here it is word"))
        await pilot.pause()

        assert "here it is" in rows(app.preview)[2]

        app.preview.wraps = False
        assert rows(app.preview)[1].startswith("1▌ ‹here it is")


async def test_a_file_that_is_gone_shows_what_the_index_still_has(tmp_path: Path) -> None:
    async with (app := Host()).run_test(size=(60, 10)) as pilot:
        app.preview.show(hit(tmp_path, text="kept\x1b[2J"))
        await pilot.pause()

        assert rows(app.preview)[0].endswith("gone")
        assert "kept␛[2J" in rows(app.preview)


async def test_a_binary_file_is_named_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_bytes(b"\0\1\2" * 999)
    async with (app := Host()).run_test(size=(60, 10)) as pilot:
        app.preview.show(hit(tmp_path))
        await pilot.pause()

        assert rows(app.preview)[0].endswith("binary file")


async def test_a_live_answer_with_the_same_hit_leaves_the_reader_where_he_is(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(40, 20)) as pilot:
        shown = hit(tmp_path, span=SourceSpan(100, 100), text="line 100")
        app.preview.show(shown, None, "lin")
        app.preview.scroll_by(50)
        await pilot.pause()
        before = app.preview.scroll_offset.y
        note(tmp_path, [*LINES, "a line more"])
        app.preview.show(shown, None, "line")
        await pilot.pause()

        assert app.preview.scroll_offset.y == before
        assert styled(app.preview, 1, "underline") == "line"


async def test_a_saved_note_is_read_again(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(40, 20)) as pilot:
        app.preview.show(hit(tmp_path, text="line 1"))
        note(tmp_path, ["one line more", *LINES])
        app.preview.show(hit(tmp_path, text="line 1"), Located(SourceSpan(2, 2), "moved", 1))
        await pilot.pause()

        assert rows(app.preview)[1:3] == ["  1  one line more", "  2▌ line 1"]


@pytest.mark.parametrize("whole", [True, False])
async def test_a_large_file_is_read_away_from_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    monkeypatch.setattr(open_note, "AT_ONCE_BYTES", 10)
    monkeypatch.setattr(open_note, "WHOLE_BYTES", 10_000_000 if whole else 10)
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(40, 31)) as pilot:
        app.preview.show(hit(tmp_path, span=SourceSpan(150, 150), text="line 150"), None, "line")
        assert "reading" in rows(app.preview)[0]
        await settled(pilot)

        assert rows(app.preview)[11] == "150▌ line 150"
        assert app.preview.virtual_size.height == 301


async def test_a_large_file_that_arrives_late_does_not_replace_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_note, "AT_ONCE_BYTES", 1000)
    note(tmp_path, LINES, "large.md")
    note(tmp_path, ["small"], "small.md")
    async with (app := Host()).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, "large.md", text="line 1"))
        app.preview.show(hit(tmp_path, "small.md", text="small"))
        await settled(pilot)

        assert rows(app.preview)[1] == "1▌ small"


async def test_the_indexed_passage_is_there_at_its_place_before_the_page_is_read(tmp_path: Path) -> None:
    async with (app := Host()).run_test(size=(60, 10)):
        app.preview.show(hit(tmp_path, "paper.pdf", SourceSpan(3, 4, page=23), "first\nsecond"))

        assert rows(app.preview)[0].endswith("page 23")
        assert rows(app.preview)[1:5] == ["", "", "▌ first", "▌ second"]
        assert not app.preview.is_certain


async def test_no_colour_leaves_marks_bold_and_text_plain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    note(tmp_path, ["# bread heading"])
    async with (app := Host()).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, text="# bread heading"), None, "bread")
        await pilot.pause()

        assert styled(app.preview, 1, "underline") == "bread"
        assert "heading" not in styled(app.preview, 1, "bold")


async def test_colours_are_painted_when_what_knows_them_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let, load = threading.Event(), syntax._load
    monkeypatch.setattr(syntax, "_ready", {})
    monkeypatch.setattr(syntax, "_load", lambda name: let.wait() and load(name))
    note(tmp_path, ["# bread heading"])
    async with (app := Host()).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, text="# bread heading"))
        await pilot.pause()
        assert "heading" not in styled(app.preview, 1, "bold")
        let.set()
        while "heading" not in styled(app.preview, 1, "bold"):
            await pilot.pause()


async def test_a_theme_repaints_the_lines(tmp_path: Path) -> None:
    note(tmp_path, ["plain"])
    async with (app := Host()).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, text="plain"))
        await pilot.pause()
        dark = app.preview.render_line(1)
        app.theme = "textual-light"
        await pilot.pause()

        assert app.preview.render_line(1) != dark
        assert app.preview.render_line(1).text == dark.text


@pytest.mark.parametrize("size", [(20, 5), (400, 120), (3, 2), (1, 1)])
async def test_every_size_is_filled_and_none_breaks(tmp_path: Path, size: tuple[int, int]) -> None:
    note(tmp_path, ["# 제목 🙂 e\u0301\u0301", *LINES])
    async with (app := Host()).run_test(size=size) as pilot:
        app.preview.show(hit(tmp_path, span=SourceSpan(2, 3), text="line 1\nline 2"), None, "제목")
        app.preview.next_match()
        app.preview.toggle_rendered()
        await settled(pilot)

        assert {app.preview.render_line(y).cell_length for y in range(app.preview.size.height)} <= {
            app.preview.columns
        }


async def test_nothing_is_shown_once_it_is_cleared(tmp_path: Path) -> None:
    note(tmp_path, LINES)
    async with (app := Host()).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, text="line 1"))
        app.preview.clear("No note is selected.")
        await pilot.pause()

        assert rows(app.preview)[:3] == ["", "No note is selected.", ""]


async def test_a_name_that_is_no_text_is_opened_by_its_bytes(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/\xff.md"
    with open(raw, "w") as file:
        file.write("found\n")
    async with (app := Host()).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, "\udcff.md", text="found"))
        await pilot.pause()

        assert rows(app.preview)[1] == "1▌ found"
        assert "\udcff" not in rows(app.preview)[0]


async def test_a_long_search_for_a_match_lets_other_keys_through(tmp_path: Path) -> None:
    note(tmp_path, ["nothing at all in this line"] * 20_000)
    async with (app := Host()).run_test(size=(40, 10)) as pilot:
        app.preview.show(hit(tmp_path, text="nothing"), None, "needle")
        app.preview.next_match()
        assert "no match" not in rows(app.preview)[0]
        app.preview.action_scroll_end()
        while "no match" not in rows(app.preview)[0]:
            await asyncio.wait_for(pilot.pause(), 5)

        assert rows(app.preview)[-1].startswith("20000")


def test_the_workspace_is_what_the_preview_asks(tmp_path: Path) -> None:
    engine: PreviewEngine = Workspace(Settings(), str(tmp_path))

    assert engine.decode(b"one\r\ntwo\n") == ("one", "two")
    assert engine.marks("Indexes of all kinds", "index") == ((0, 7),)
