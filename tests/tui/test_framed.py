"""The common look of pages: rows at every width, a cursor, keys that come before the rows."""

from __future__ import annotations

from typing import ClassVar

import pytest
from textual.widgets import Static

from kebab_tui.tui.actions import Action, ScreenName
from kebab_tui.tui.screens.framed import Frame, FramedList, FramedRow, FramedScreen, framed_row
from kebab_tui.tui.widgets.segments import Segment, row_text, row_width
from tests.tui.hits import HOSTILE
from tests.tui.screen import HostApp, painted, type_at_once, until

pytestmark = pytest.mark.slow

KEYS = (
    Action("run", "run", "Run", "Palette", query=("enter",), runs="screen.choose", in_footer=True),
    Action("next", "next", "Next", "Palette", query=("ctrl+n",), runs="screen.move(1)", in_footer=True),
    Action("previous", "up", "Up", "Palette", query=("up",), runs="screen.move(-1)"),
    Action("page", "page", "Page", "Palette", query=("pagedown",), runs="screen.page(1)"),
    Action("close", "close", "Close", "Palette", query=("escape",), runs="screen.dismiss", in_footer=True),
)
NAMES = ("가나다", *(f"name {number}" for number in range(100_000)))


class Names(FramedScreen[str]):
    """Finds names that contain the text; late ones when `arrive` is called."""

    screen_name: ClassVar[ScreenName] = "Palette"

    def __init__(self, *, is_late: bool = False, with_preview: bool = False) -> None:
        self.preview = Static("")
        preview = self.preview if with_preview else None
        super().__init__(KEYS, "names", placeholder="type a name", preview=preview)
        self.is_late = is_late
        self.found: list[str] = []
        self.chosen: list[str] = []

    def find(self, text: str) -> None:
        if not self.is_late:
            self.arrive(text)

    def arrive(self, text: str) -> None:
        self.found = [name for name in NAMES if text in name]
        heading = [FramedRow((Segment("Names"),), is_heading=True)]
        rows = [FramedRow((Segment(name),), detail="key") for name in self.found]
        self.show(text, heading + rows if rows else [], empty="no such name")

    def choose(self, place: int) -> None:
        self.chosen.append(self.found[place - 1])


class Host(HostApp):
    def __init__(self, page: Names) -> None:
        super().__init__()
        self.page = page

    def on_mount(self) -> None:
        self.push_screen(self.page)


@pytest.mark.parametrize("width", [1, 5, 16, 40, 200])
@pytest.mark.parametrize("detail", ["", "ctrl+n", HOSTILE, "노트/" * 20])
def test_a_row_fills_its_width_whatever_it_holds(width: int, detail: str) -> None:
    for label in ((Segment("zoom"),), (Segment(HOSTILE), Segment("한글 이름", "words")), ()):
        row = framed_row(FramedRow(label, detail), width, selected=True)
        assert row_width(row) == width
        assert row_text(row).isprintable() or "\u200d" in row_text(row)


def test_the_detail_is_right_aligned_and_the_cursor_a_sign() -> None:
    row = FramedRow((Segment("zo", "words"), Segment("om")), "F11 z")
    assert row_text(framed_row(row, 20)) == "  zoom         F11 z"
    assert row_text(framed_row(row, 20, selected=True)) == "▌ zoom         F11 z"


def test_more_about_a_row_is_left_out_where_it_would_be_a_stump() -> None:
    row = FramedRow((Segment("zoom"),), "F11", more="Zoom the focused pane")
    assert row_text(framed_row(row, 50)) == "  zoom              Zoom the focused pane      F11"
    assert row_text(framed_row(row, 37)) == "  zoom              Zoom the fo…  F11"
    assert row_text(framed_row(row, 36)) == "  zoom" + " " * 27 + "F11"


@pytest.mark.parametrize("width", range(5, 20))
def test_a_label_of_several_parts_that_is_cut_ends_with_an_ellipsis(width: int) -> None:
    row = FramedRow((Segment("flex"), Segment("-line", "words"), Segment("-count")), "web")
    text = row_text(framed_row(row, width))
    assert len(text) == width
    assert ("…" in text) == ("flex-line-count" not in text)


def test_a_label_is_cut_once_where_a_wide_character_does_not_fit() -> None:
    row = FramedRow((Segment("기본 데"), Segment("몬셋", "match"), Segment("(A) 생성")))
    assert row_text(framed_row(row, 11)) == "  기본 데… "


async def test_the_frame_has_a_title_and_the_keys_that_fit() -> None:
    host = Host(Names())
    async with host.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "name 1" in painted(host))
        screen = painted(host)
        assert "╭─ names ─" in screen
        assert "enter run · ctrl+n next · esc close" in screen
        await pilot.resize_terminal(36, 12)
        await until(pilot, lambda: "ctrl+n next" not in painted(host))
        assert "enter run · esc close" in painted(host)


async def test_the_cursor_skips_headings_and_stays_in_view() -> None:
    host = Host(Names())
    async with host.run_test(size=(80, 24)) as pilot:
        rows = host.page.rows
        assert rows.cursor == 1
        await pilot.press("up")
        assert rows.cursor == 1
        await pilot.press("pagedown", "pagedown")
        assert rows.scroll_offset.y <= rows.cursor < rows.scroll_offset.y + rows.size.height
        for _ in range(rows.cursor):
            await pilot.press("up")
        assert rows.scroll_offset.y == 0 and "Names" in painted(host)
        assert "▌ 가나다" in painted(host)


async def test_the_row_of_the_cursor_has_a_background_of_its_own() -> None:
    host = Host(Names())
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+n")
        rows = host.page.rows
        grounds = [
            {segment.style.bgcolor for segment in rows.render_line(y) if segment.style} for y in (1, 2)
        ]
        assert [len(ground) for ground in grounds] == [1, 1]
        assert grounds[0] != grounds[1]


async def test_only_the_rows_in_view_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    def counted(row: FramedRow, width: int, *, selected: bool = False) -> tuple[Segment, ...]:
        nonlocal made
        made += 1
        return framed_row(row, width, selected=selected)

    monkeypatch.setattr("kebab_tui.tui.screens.framed.framed_row", counted)
    host = Host(Names())
    async with host.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "name 1" in painted(host))
        await pilot.press("ctrl+n", "pagedown")
        assert 0 < made < 500


async def test_keys_of_one_read_see_the_rows_of_the_text_before_them() -> None:
    host = Host(Names())
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        type_at_once(host, "name 77\x0e\r")
        await until(pilot, lambda: host.page.chosen == ["name 770"])


async def test_keys_wait_for_rows_that_come_late() -> None:
    host = Host(Names(is_late=True))
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        type_at_once(host, "name 77\x0e\r")
        await until(pilot, lambda: host.page.typing_box.value == "name 77")
        host.page.arrive("name")
        assert host.page.chosen == []
        host.page.arrive("name 77")
        assert host.page.chosen == ["name 770"]


async def test_nothing_is_chosen_without_rows() -> None:
    host = Host(Names())
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"nowhere", "enter")
        assert host.page.chosen == []
        assert "no such name" in painted(host)


async def test_a_click_on_a_row_chooses_it() -> None:
    host = Host(Names())
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.click(FramedList, offset=(5, 0))
        await pilot.click(FramedList, offset=(5, 3))
        assert host.page.chosen == ["name 1"]


@pytest.mark.parametrize(
    ("size", "beside", "visible"),
    [((120, 36), True, True), ((80, 24), False, True), ((40, 12), False, False)],
)
async def test_a_preview_is_beside_or_below_the_list(
    size: tuple[int, int], beside: bool, visible: bool
) -> None:
    page = Names(with_preview=True)
    host = Host(page)
    async with host.run_test(size=size) as pilot:
        await until(pilot, lambda: page.rows.size.height)
        preview = page.preview
        assert preview.display is visible
        if visible:
            assert (preview.region.x >= page.rows.region.right) is beside
            assert preview.region.height >= 5 and preview.region.width >= 30


@pytest.mark.parametrize("size", [(20, 5), (40, 10), (400, 120)])
async def test_any_size_works(size: tuple[int, int]) -> None:
    host = Host(Names())
    async with host.run_test(size=size) as pilot:
        await until(pilot, lambda: host.page.query_one(Frame).size.width)
        assert host.page.typing_box.region.height == 1
        assert "▌" in painted(host)
