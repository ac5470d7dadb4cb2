"""`[screen] keys = "vim"`: an insert mode and a normal mode, and letters that are commands."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.keys import command_keys
from kebab_tui.tui.screens.file_states import FileStatesScreen
from kebab_tui.tui.screens.why_not_prompt import WhyNotPrompt
from tests.tui.screen import (
    VIM,
    WIDE,
    SharedScreen,
    focus,
    found,
    has_keys,
    kebab,
    type_at_once,
    until,
)
from tests.tui.screen import painted as whole

pytestmark = pytest.mark.slow


def painted(app: KebabApp) -> str:
    """The upper border of the query."""
    return whole(app).splitlines()[0]


async def test_typing_comes_first_and_the_border_names_the_normal_mode(shared: SharedScreen) -> None:
    async with shared(vim=True) as pilot:
        app = await found(pilot)
        type_at_once(app, "jq")
        await until(pilot, lambda: app.box.value == "jq")
        assert "NORMAL" not in painted(app)
        await pilot.press("escape")
        await until(pilot, lambda: "NORMAL" in painted(app))
        await pilot.press("i")
        await until(pilot, lambda: "NORMAL" not in painted(app))
        assert app.box.value == "jq" and has_keys(app.box)


@pytest.mark.parametrize("size", [(120, 36), (40, 10)])
async def test_the_normal_mode_is_shown_at_any_size(shared: SharedScreen, size: tuple[int, int]) -> None:
    async with shared(query="rust", vim=True, size=size) as pilot:
        app = await found(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: "NORMAL" in whole(app))


async def test_letters_move_in_the_focused_pane(shared: SharedScreen) -> None:
    async with shared(query="rust", vim=True) as pilot:
        app = await found(pilot)
        await pilot.press("escape", *"jjk")
        assert app.hits.cursor == 1 and has_keys(app.box)
        await pilot.press("G")
        assert app.hits.cursor > 1 and app.hits.is_at_end
        await pilot.press("g")
        assert app.hits.cursor == 0
        await focus(pilot, app.preview)
        await until(pilot, lambda: app.preview.max_scroll_y)
        await pilot.press("j", "j", "ctrl+d")
        assert app.preview.scroll_offset.y > 2 and app.hits.cursor == 0
        await pilot.press("g")
        assert app.preview.scroll_offset.y == 0
        assert app.box.value == "rust"


async def test_a_letter_without_a_command_does_nothing(shared: SharedScreen) -> None:
    async with shared(query="rust", vim=True) as pilot:
        app = await found(pilot)
        await pilot.press("escape")
        for pane in (app.box, app.hits, app.preview):
            await focus(pilot, pane)
            type_at_once(app, "bcdhlprstuvBCDEFMPQRSTUVXZ;,.0123ㅠㅊ츄ß")
            await pilot.pause()
            assert app.box.value == "rust" and has_keys(pane) and app.hits.cursor == 0
            assert len(app.screen_stack) == 1


async def test_keys_that_edit_in_the_box_are_commands_in_normal_mode(shared: SharedScreen) -> None:
    async with shared(query="rust", vim=True) as pilot:
        app = await found(pilot)
        await pilot.press("escape", "ctrl+d")
        half = app.hits.cursor
        assert half > 1 and app.box.value == "rust"
        await pilot.press("ctrl+d")
        assert app.hits.cursor > half
        await pilot.press("ctrl+u", "ctrl+u")
        assert app.hits.cursor == 0 and app.box.value == "rust"
        await pilot.press("i", "ctrl+u")
        assert app.box.value == ""


@pytest.mark.parametrize("key", ["i", "slash", "ctrl+l"])
async def test_keys_that_lead_back_into_the_box(shared: SharedScreen, key: str) -> None:
    async with shared(query="rust", vim=True) as pilot:
        app = await found(pilot)
        await pilot.press("escape")
        await focus(pilot, app.preview)
        await pilot.press(key, *" j")
        assert app.box.value == "rust j" and has_keys(app.box) and not app.is_normal


async def test_a_paste_is_text_in_normal_mode_too(shared: SharedScreen) -> None:
    async with shared(query="rust", vim=True) as pilot:
        app = await found(pilot)
        await pilot.press("escape")
        app.post_message(events.Paste(" jq"))
        await until(pilot, lambda: app.box.value == "rust jq")


async def test_esc_goes_down_its_ladder(shared: SharedScreen) -> None:
    async with shared(query="rust", vim=True) as pilot:
        app = await found(pilot)
        await pilot.press("escape")
        assert app.is_normal and has_keys(app.box)
        await pilot.press("tab", "escape")
        assert has_keys(app.box) and app.box.value == "rust"
        await pilot.press("escape")
        assert app.box.value == "" and app.is_normal
        await pilot.press("up")
        assert app.box.value == "rust"


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("j", "j"),
        ("ㅓ", "j"),
        ("ㅏ", "k"),
        ("ㅜ", "n"),
        ("ㅃㅉㄸㄲㅆㅒㅖ", "QWERTOP"),
        ("하", "gk"),
        ("ㅝ", "nj"),
        ("/", "/"),
    ],
)
def test_korean_letters_are_the_commands_on_the_same_keys(typed: str, keys: str) -> None:
    assert list(command_keys(typed, typed)) == list(keys)


async def test_commands_work_under_the_korean_layout(shared: SharedScreen) -> None:
    async with shared(query="rust", vim=True) as pilot:
        app = await found(pilot)
        await pilot.press("escape")
        type_at_once(app, "ㅓㅓㅏ")
        await until(pilot, lambda: app.hits.cursor == 1)
        type_at_once(app, "ㅓㅓ하")  # the input method joins g and k
        await until(pilot, lambda: app.hits.cursor == 0)
        type_at_once(app, "ㅉ노트")
        await until(pilot, lambda: isinstance(app.screen, WhyNotPrompt))
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "노트")
        assert app.box.value == "rust"


async def test_space_marks_and_e_takes_the_marked_hits(data: Path) -> None:
    app = kebab(data, settings=VIM, query="rust", mode="lexical", pick=True)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("escape", "space", "space")
        assert len(app.hits.marked) == 2
        await pilot.press("e")
        await until(pilot, lambda: app.return_value)


async def test_q_quits(data: Path) -> None:
    app = kebab(data, settings=VIM, query="rust", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("escape", "q")
    assert app.return_value == ()


async def test_the_knobs_of_the_explanation_work_in_both_modes(shared: SharedScreen) -> None:
    async with shared(query="rust", mode="hybrid", explain=True, vim=True) as pilot:
        app = await found(pilot)
        await until(pilot, lambda: app.explain.has_what_if)
        await focus(pilot, app.explain)
        before = app.explain._settings
        type_at_once(app, "]")
        await until(pilot, lambda: app.explain._settings != before)
        await pilot.press("escape", "equals_sign")
        await until(pilot, lambda: app.explain._settings == before)
        await pilot.press("tab", "equals_sign")
        assert app.box.value == "rust" and app.is_normal


async def test_the_list_of_a_page_takes_commands_and_its_text_box_takes_text(data: Path) -> None:
    app = kebab(data, settings=VIM, query="rust", mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("f12")
        page = app.screen
        assert isinstance(page, FileStatesScreen)
        await until(pilot, lambda: not page._is_scanning)
        await pilot.press("b", "G", "o", "G")  # the files of the last group
        assert page.files.cursor > 2 and page.typing_box.value == ""
        await pilot.press("k", "g")
        assert page.files.cursor == 0
        await pilot.press("slash", *"jGq")
        assert page.typing_box.value == "jGq"
        await pilot.press("escape", "q")
        assert len(app.screen_stack) == 1


async def test_without_vim_keys_a_letter_on_a_page_goes_into_its_text_box(shared: SharedScreen) -> None:
    async with shared() as pilot:
        app = await found(pilot)
        await pilot.press("f12")
        page = app.screen
        assert isinstance(page, FileStatesScreen)
        await pilot.press(*"qjr")
        assert page.typing_box.value == "qjr" and page.is_current
