"""The palette: what a text finds, in which order; running commands; themes while choosing."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from kebab_tui.tui.actions import ACTIONS, Facts, actions_on
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.screens.folder_prompt import FolderPrompt
from kebab_tui.tui.screens.palette import Command, Palette, commands, match_command, ranked, themes
from tests.tui.screen import (
    WIDE,
    Screen,
    SharedScreen,
    found,
    kebab,
    painted,
    type_at_once,
    until,
)

pytestmark = pytest.mark.slow

EVERYTHING = Facts(**{fact.name: True for fact in fields(Facts)})
KNOWN = (*commands(ACTIONS, EVERYTHING), *themes("kebab-dark"))


def ids(text: str, *recent: str) -> list[str]:
    return [command.id for command, _ in ranked(text, KNOWN, recent)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("mode", "mode"),
        ("open", "open"),
        ("theme", "theme_dark"),
        ("THEME light", "theme_light"),
        ("nord", "theme_nord"),
        ("why", "why_not"),
        ("wn", "why_not"),
        ("gtn", "switcher"),
        ("switcher", "switcher"),
        ("health", "health"),
        ("zm", "zoom"),
        ("ma", "mark"),
        ("dark", "theme_dark"),
        ("put the preview beside", "layout"),
        ("next m", "next_match"),
        ("match", "next_match"),
        ("semantic", "mode"),
        ("ㅡㅐㅇㄷ", "mode"),
        ("솓ㅡㄷ", "theme_dark"),
    ],
)
def test_the_best_command_is_first(text: str, first: str) -> None:
    assert ids(text)[0] == first


def test_every_theme_comes_before_anything_else() -> None:
    found = ids("theme")
    number = sum(one.startswith("theme_") for one in found)
    assert number > 10
    assert all(one.startswith("theme_") for one in found[:number])


def test_the_current_theme_comes_first_then_our_own() -> None:
    labels = [command.label for command in themes("kebab-light")]
    assert labels[:3] == ["Theme: kebab-light", "Theme: kebab-dark", "Theme: ansi-dark"]
    assert [command.detail for command in themes("nord")][:2] == ["current", ""]


@pytest.mark.parametrize("text", ["테마 없음", "x\u1100", "zzzz", "[/nope]", "\x00"])
def test_a_text_that_matches_nothing_finds_nothing(text: str) -> None:
    assert ids(text) == []


def test_an_empty_text_lists_recent_commands_then_those_of_the_footer() -> None:
    found = ids(" ", "zoom", "mode")
    assert found[:2] == ["zoom", "mode"]
    assert set(found) == {command.id for command in KNOWN}
    common = [command.id for command in KNOWN if command.in_footer and command.id != "mode"]
    assert set(found[2 : len(common) + 2]) == set(common)


def test_the_characters_that_match_are_known() -> None:
    command = Command("next_match", "next match", "Go to the next match", "alt+n")
    for text, marked in {"match": "match", "next": "next", "nm": "nm", "nxt": "nxt", "go": ""}.items():
        one = match_command(text, command)
        assert one is not None
        assert "".join(command.label[at] for at in sorted(one.at)) == marked
    assert match_command("next zebra", command) is None


def test_every_action_has_an_entry_with_its_first_key() -> None:
    listed = {command.id: command for command in KNOWN}
    for action in actions_on(ACTIONS, "Main"):
        if action.id != "palette":
            assert listed[action.id].label == action.label


# On the real screen


async def opened(pilot: Screen) -> Palette:
    await pilot.press("f2")
    page = pilot.app.screen
    assert isinstance(page, Palette)
    return page


async def test_a_row_has_label_help_and_key(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await opened(pilot)
        await pilot.press(*"zoom")
        await until(pilot, lambda: "▌ zoom " in painted(app))
        [line] = [line for line in painted(app).splitlines() if "▌ zoom " in line]
        assert "Zoom the focused pane" in line and "F11" in line
        assert "enter run" in painted(app) and "esc close" in painted(app)


async def test_what_makes_no_sense_now_is_not_listed(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await opened(pilot)
        await pilot.press(*"smaller rrf_k")
        await until(pilot, lambda: "no such command" in painted(app))
        await pilot.press("enter")
        assert isinstance(app.screen, Palette)


@pytest.mark.parametrize(("keys", "place"), [("\r", 0), ("\x0e\r", 1)])
async def test_enter_in_the_same_read_runs_the_right_command(
    shared: SharedScreen, keys: str, place: int
) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await opened(pilot)
        command, _ = ranked("next", commands(app.actions, app.facts), [])[place]
        type_at_once(app, "next" + keys)
        await until(pilot, lambda: not isinstance(app.screen, Palette))
        assert app.recent_commands == [command.id]


async def test_a_command_that_ran_is_first_the_next_time(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await opened(pilot)
        await pilot.press(*"layout", "enter")
        await opened(pilot)
        await until(pilot, lambda: "▌ layout" in painted(app))


@pytest.mark.parametrize("key", ["escape", "f2"])
async def test_a_key_closes_the_palette(shared: SharedScreen, key: str) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await opened(pilot)
        await pilot.press("x", key)
        assert not isinstance(app.screen, Palette)
        assert app.box.value == "rust"


async def test_the_palette_of_a_page_runs_the_actions_of_that_page(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await found(pilot)
        await pilot.press("f12")
        below = app.screen
        await opened(pilot)
        await pilot.press(*"retry", "enter")
        await until(pilot, lambda: "no failed files" in painted(app))
        assert app.screen is below


def colours(app: KebabApp) -> list[list[object]]:
    """The cells of the main screen, each with its style, above the status line with its times."""
    strips = app.screen_stack[0]._compositor.render_strips()[: app.status.region.y]
    return [
        [(character, segment.style) for segment in strip for character in segment.text] for strip in strips
    ]


async def previewed(pilot: Screen) -> KebabApp:
    """With the preview, and the counts below it, which come when the keys have rested."""
    app = await found(pilot)
    await until(pilot, lambda: "application: anyhow" in painted(app) and "linked from" in painted(app))
    return app


async def test_a_theme_is_shown_while_choosing_and_esc_brings_the_old_one_back(shared: SharedScreen) -> None:
    async with shared(query="rust") as pilot:
        app = await previewed(pilot)
        before = colours(app)
        page = await opened(pilot)
        await pilot.press(*"theme kebab-l")
        await until(pilot, lambda: app.theme == "kebab-light")
        assert "▌ Theme: kebab-light" in painted(app)
        assert page.styles.background.a == 0, "the screen below is not dimmed"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not page and app.theme == "kebab-dark")
        await until(pilot, lambda: colours(app) == before)


@pytest.mark.parametrize(
    ("theme", "name"), [("light", "kebab-light"), ("nord", "nord"), ("ansi", "ansi-dark")]
)
async def test_after_a_change_the_screen_is_as_if_started_with_the_theme(
    shared: SharedScreen, theme: str, name: str
) -> None:
    """No widget keeps a strip that was painted in the colours of another theme."""
    async with shared(query="rust", theme=theme) as pilot:
        app = await previewed(pilot)
        expected = colours(app)
    async with shared(query="rust", theme="dark") as pilot:
        app = await previewed(pilot)
        await opened(pilot)
        await pilot.press(*f"theme {name}", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await until(pilot, lambda: colours(app) == expected)


async def test_enter_keeps_a_theme_for_the_next_start(tmp_path: Path) -> None:
    app = kebab(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: isinstance(app.screen, FolderPrompt))
        await pilot.press("escape", "f2", *"nord", "enter")
        assert app.theme == "nord"
        await until(pilot, lambda: len(app.screen_stack) == 1)
    assert kebab(tmp_path).theme == "nord"
