"""The keys of the preview on the whole screen, and the header in its frame."""

from __future__ import annotations

import pytest

from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.widgets.segments import CITED
from tests.tui.screen import Screen, SharedScreen, focus, found, painted, until

QUERY = "ownership"


async def opened(pilot: Screen) -> KebabApp:
    app = await found(pilot)
    selected = app.hits.selected
    await until(pilot, lambda: app.preview._hit == selected and not app.typing.is_typing)
    return app


async def test_keys_of_a_focused_preview_scroll_it_and_leave_the_hit(shared: SharedScreen) -> None:
    async with shared(query=QUERY, size=(80, 24)) as pilot:
        app = await opened(pilot)
        await focus(pilot, app.preview)
        await pilot.press("home")
        seen = []
        for key in ("pagedown", "pagedown", "pageup", "down", "up", "end", "home"):
            before = app.preview.scroll_offset.y
            await pilot.press(key)
            seen.append(app.preview.scroll_offset.y - before)

        page = app.preview.page_rows - 1
        assert seen[:5] == [page, page, -page, 1, -1]
        assert app.preview.scroll_offset.y == 0
        assert app.hits.cursor == 0


async def test_the_preview_is_scrolled_from_the_query_box(shared: SharedScreen) -> None:
    async with shared(query=QUERY) as pilot:
        app = await opened(pilot)
        before = app.preview.scroll_offset.y
        await pilot.press("shift+down", "shift+down", "shift+up")

        assert app.preview.scroll_offset.y == before + 1
        assert app.hits.cursor == 0


async def test_wrapping_is_switched_from_the_query_box_and_stays_for_the_next_hit(
    shared: SharedScreen,
) -> None:
    async with shared(query=QUERY) as pilot:
        app = await opened(pilot)
        await pilot.press("alt+z", "down")
        assert not app.preview.wraps
        assert app.preview._rows is not None
        assert not app.preview._rows.wraps
        await pilot.press("alt+z")
        assert app.preview.wraps


async def test_matches_are_gone_through_from_the_query_box(shared: SharedScreen) -> None:
    async with shared(query=QUERY) as pilot:
        app = await opened(pilot)
        await pilot.press("alt+n")
        await until(pilot, lambda: "match 2 of" in painted(app) or "match 1 of" in painted(app))
        first = app.preview._match
        await pilot.press("alt+n", "alt+p")
        await until(pilot, lambda: app.preview._match == first)


@pytest.mark.parametrize(("size", "is_framed"), [((120, 36), True), ((80, 24), False)])
async def test_the_header_is_in_the_frame_or_above_the_note(
    shared: SharedScreen, size: tuple[int, int], is_framed: bool
) -> None:
    async with shared(query="포트 충돌", size=size) as pilot:
        app = await opened(pilot)
        pane = app.preview.region
        header = "infra/포트-충돌.md · 포트 충돌"
        assert header in painted(app).split("\n")[pane.y].replace("\0", "")
        assert (header in app.preview.render_line(0).text) != is_framed
        assert app.preview.page_rows == pane.height - 2  # the frame, or the header and the line of links


async def test_the_cursor_of_the_terminal_is_at_the_passage_while_the_preview_has_the_focus(
    shared: SharedScreen,
) -> None:
    async with shared(query=QUERY) as pilot:
        app = await opened(pilot)
        await focus(pilot, app.preview)
        await pilot.press("shift+down")
        x, y = app.cursor_position

        assert app.preview.content_region.contains(x, y)
        row = y - app.preview.content_region.y
        assert CITED in app.preview.render_line(row).text
        assert row == 0 or CITED not in app.preview.render_line(row - 1).text
