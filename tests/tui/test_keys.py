"""Keys that come faster than the screen can follow: each means what it would have meant slowly."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.geometry import Offset
from textual.selection import SELECT_ALL
from textual.widgets import Input

from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.current_query import PendingActions
from kebab_tui.tui.screens.why_not_prompt import WhyNotPrompt
from tests.tui.screen import WIDE, SharedScreen, focus, found, kebab, painted, type_at_once, until

pytestmark = pytest.mark.slow


def send(app: KebabApp, sent: str) -> None:
    """What a terminal sends, in one read."""
    assert app._driver is not None
    parser = XTermParser()
    for event in (*parser.feed(sent), *parser.feed("")):
        app._driver.process_message(event)


def press_alt(app: KebabApp, letter: str) -> None:
    """A letter after esc in one read."""
    send(app, f"\x1b{letter}")


def click(app: KebabApp, x: int, y: int) -> None:
    """A click on the screen, in the same read as what is sent next."""
    assert app._driver is not None
    for kind in (events.MouseDown, events.MouseUp):
        app._driver.process_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))


# With alt: most terminals send esc and the letter


async def test_alt_and_a_letter_is_a_key_that_types_nothing(shared: SharedScreen) -> None:
    async with shared(query="owernship") as pilot:
        app = await found(pilot)
        await until(pilot, lambda: app.results.is_corrected)
        press_alt(app, "x")
        await until(pilot, lambda: not app.results.is_corrected)
        press_alt(app, "x")
        await until(pilot, lambda: app.results.is_corrected)
        assert app.box.value == "owernship"


async def test_alt_and_a_letter_without_an_action_is_the_letter(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        press_alt(app, "x")  # nothing is corrected
        press_alt(app, "q")
        await until(pilot, lambda: app.box.value == "rustq")


async def test_alt_and_a_letter_of_an_unavailable_action_types_nothing_from_a_list(
    shared: SharedScreen,
) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        press_alt(app, "x")  # nothing is corrected
        send(app, "y")
        await until(pilot, lambda: app.box.value == "rusty")


# From an input method


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param("한글 검색", id="syllables"),
        pytest.param(unicodedata.normalize("NFD", "한글 검색"), id="syllables in parts"),
        pytest.param("\x1b[200~한글 검색\x1b[201~", id="a paste"),
        pytest.param(f"\x1b[200~{unicodedata.normalize('NFD', '한글 검색')}\x1b[201~", id="a paste of parts"),
        pytest.param("\x1b[0;;54620u\x1b[0;;44544u\x1b[32;;32u\x1b[0;;44160:49353u", id="Kitty protocol"),
    ],
)
@pytest.mark.parametrize("pane", ["box", "hits", "preview", "explain"])
async def test_what_an_input_method_sends_is_typed_from_every_pane(
    shared: SharedScreen, pane: str, sent: str
) -> None:
    async with shared(query="rust ", explain=True) as pilot:
        app = await found(pilot)
        await focus(pilot, getattr(app, pane))
        send(app, sent)
        send(app, "x")
        await until(pilot, lambda: app.box.value == "rust 한글 검색x")
        assert app.cursor_position == app.box.cursor_screen_offset
        await pilot.press("backspace", "backspace")
        assert app.box.value == "rust 한글 검", "a syllable is one character"


async def test_the_cursor_of_the_terminal_is_where_the_focus_is(shared: SharedScreen) -> None:
    async with shared(query="한글", explain=True) as pilot:
        app = await found(pilot)
        end = app.box.content_region.offset + Offset(4, 0)
        assert app.cursor_position == end
        for pane in (app.hits, app.preview, app.explain):
            await focus(pilot, pane)
            await pilot.pause()
            assert pane.content_region.contains_point(app.cursor_position)
        await focus(pilot, app.box)
        await until(pilot, lambda: app.cursor_position == end)


# With the mouse


async def test_enter_after_a_click_takes_the_clicked_hit(data: Path) -> None:
    app = kebab(data, query="rust", mode="lexical", pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        third = app.hits._rows[2].hit.path
        place = app.hits.content_region
        click(app, place.x + 5, place.y + 4)
        type_at_once(app, "\r")
        await until(pilot, lambda: app.return_value)
    assert app.return_value is not None and app.return_value[-1].endswith(third)


async def test_a_letter_after_a_click_goes_to_the_clicked_position(shared: SharedScreen) -> None:
    async with shared(query="ownership") as pilot:
        app = await found(pilot)
        place = app.box.content_region
        click(app, place.x + 2, place.y)
        type_at_once(app, "X")
        await until(pilot, lambda: app.box.value == "owXnership")


async def test_esc_takes_a_selected_text_back(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        app.screen.selections = {app.preview: SELECT_ALL}
        await pilot.press("escape")
        assert not app.screen.selections


# Before the hits are there


@pytest.mark.parametrize(("moves", "place"), [("", 0), ("\x0e\x0e", 2)])
async def test_enter_behind_a_query_takes_a_hit_of_that_query(data: Path, moves: str, place: int) -> None:
    app = kebab(data, query="docker", mode="lexical", pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        before = app.hits._rows[0].hit.path
        type_at_once(app, f"\x15rust{moves}\r")
        await until(pilot, lambda: app.return_value)
        after = app.hits._rows[place].hit.path
    assert before != after
    assert app.return_value is not None and app.return_value[-1].endswith(after)


async def test_more_typing_discards_queued_actions(data: Path) -> None:
    app = kebab(data, query="docker", mode="lexical", pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        type_at_once(app, "\x15rust\r errors")
        await found(pilot)
        assert app.box.value == "rust errors"
        assert app.is_running and app.return_value is None


@pytest.mark.parametrize(
    ("action", "asked", "shown", "held"),
    [
        ("open", False, False, True),
        ("open", True, False, True),
        ("open", True, True, False),
        ("expand", True, False, True),
        ("next_hit", False, False, True),
        ("next_hit", True, False, False),
        ("mode", False, False, False),
    ],
)
def test_which_actions_wait_for_the_hits(action: str, asked: bool, shown: bool, held: bool) -> None:
    waiting = PendingActions()
    assert waiting.defer(action, "rust", asked=asked, shown=shown) == held
    assert waiting.release("rust") == ([action] if held else [])
    assert waiting.release("rust") == []


def test_queued_actions_keep_their_order_and_belong_to_one_query() -> None:
    waiting = PendingActions()
    assert waiting.defer("next_hit", "a", asked=False, shown=False)
    assert waiting.defer("next_hit", "a", asked=True, shown=False), "behind one that waits"
    assert waiting.defer("open", "a", asked=True, shown=False)
    assert waiting.release("a") == ["next_hit", "next_hit", "open"]
    assert waiting.defer("open", "a", asked=True, shown=False)
    assert waiting.defer("copy", "b", asked=True, shown=False)
    assert waiting.release("a") == []
    assert waiting.release("b") == []


# Over the screen


@pytest.mark.parametrize("enter", ["\r", "\r\r"])
async def test_enter_after_a_name_in_the_palette_runs_that_action_once(
    shared: SharedScreen, enter: str
) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        assert app.toggles.explain is False
        type_at_once(app, ("f2", *f"explain{enter}"))
        await until(pilot, lambda: app.toggles.explain)
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.pause()
        assert app.is_running and app.box.value == "rust"


async def test_a_page_is_found_in_the_palette_by_the_name_that_the_readme_has(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        type_at_once(app, ("f2", *"health"))
        await until(pilot, lambda: "files" in painted(app).split("health", 1)[-1])


async def test_a_path_is_completed_from_matching_paths_only(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        type_at_once(app, ("alt+w", *"docker\t"))
        await until(pilot, lambda: "infra/docker.md" in painted(app))
        assert isinstance(app.screen, WhyNotPrompt) and app.screen.query_one(Input).value == "docker"
        await pilot.press("tab")
        assert "docker" in app.screen.query_one(Input).value.removeprefix("docker")


async def test_a_paste_into_a_terminal_without_the_focus_goes_where_the_focus_was(
    shared: SharedScreen,
) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await focus(pilot, app.hits)
        type_at_once(app, ["alt+w"])
        await until(pilot, lambda: isinstance(app.screen, WhyNotPrompt))
        app.post_message(events.AppBlur())
        await until(pilot, lambda: app.focused is None)
        app.post_message(events.Paste("notes/\na.md"))
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "notes/ a.md")
