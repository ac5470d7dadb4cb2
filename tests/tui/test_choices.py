"""Theme, layout and wrapping: kept in the data folder; the configuration and the command line win."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from kebab_tui.settings.settings import ScreenSettings, Settings
from kebab_tui.tui.choices import FILE, Choices, keep, starting_choices
from tests.tui.screen import WIDE, Screen, found, kebab, painted, until

UNSET = ScreenSettings()
DEFAULTS = Choices("", "auto", wrap=True)


def kept(
    folder: Path, after: Choices, before: Choices = DEFAULTS, settings: ScreenSettings = UNSET
) -> Choices:
    keep(str(folder), settings, before, after)
    return starting_choices(str(folder), UNSET)


def test_what_was_chosen_is_there_at_the_next_start(tmp_path: Path) -> None:
    chosen = Choices("light", "below", wrap=False)
    assert kept(tmp_path, chosen) == chosen


def test_the_configuration_wins_over_what_was_chosen_and_the_command_line_over_both(tmp_path: Path) -> None:
    kept(tmp_path, Choices("light", "below", wrap=False))
    settings = ScreenSettings(theme="nord", layout="auto", wrap="on")
    assert starting_choices(str(tmp_path), settings) == Choices("nord", "auto", wrap=True)
    assert starting_choices(str(tmp_path), settings, "dark").theme == "dark"


def test_what_the_configuration_sets_is_not_kept(tmp_path: Path) -> None:
    settings = ScreenSettings(theme="nord")
    before = starting_choices(str(tmp_path), settings)
    after = replace(before, theme="light", wrap=False)
    assert keep(str(tmp_path), settings, before, after) == ["theme"]
    assert starting_choices(str(tmp_path), UNSET) == Choices("", wrap=False)


def test_the_theme_of_the_command_line_is_kept_only_if_it_is_chosen(tmp_path: Path) -> None:
    before = starting_choices(str(tmp_path), UNSET, "light")
    assert kept(tmp_path, replace(before, layout="below"), before) == Choices("", "below")


def test_two_windows_do_not_lose_each_other_s_choices(tmp_path: Path) -> None:
    kept(tmp_path, Choices(theme="light"))
    assert kept(tmp_path, Choices(wrap=False)) == Choices("light", wrap=False)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b"[" * 4000,
        b"x" * 5000,
        b'{"wrap": 3}',
        b'{"layout": "above"}',
        b'{"theme": 1}',
    ],
)
def test_a_damaged_file_counts_as_missing_and_is_replaced(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)
    assert starting_choices(str(tmp_path), UNSET) == DEFAULTS
    assert kept(tmp_path, Choices("light")).theme == "light"


def test_a_theme_that_is_not_there_any_more_and_an_unknown_key_are_ignored(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"theme": "gone", "wrap": false, "of_a_later_version": {}}')
    assert starting_choices(str(tmp_path), UNSET) == Choices(wrap=False)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_text('{"wrap": false}')
    (tmp_path / FILE).symlink_to("other")
    assert kept(tmp_path, Choices("light")) == Choices("light")
    assert (tmp_path / "other").read_text() == '{"wrap": false}'


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    assert kept(tmp_path / "missing", Choices("light")) == DEFAULTS
    assert os.listdir(tmp_path) == []


async def chosen(pilot: Screen, **changes: object) -> None:
    app = await found(pilot)
    app.choices = replace(app.choices, **changes)  # type: ignore[arg-type]
    await pilot.pause()


async def test_a_choice_is_applied_at_once_and_kept(data: Path) -> None:
    app = kebab(data, mode="lexical")
    async with app.run_test(size=WIDE) as pilot:
        await chosen(pilot, theme="light", wrap=False)
        assert app.theme == "kebab-light"
        assert not app.preview.wraps
        await pilot.press("f6")
        await until(pilot, lambda: app.panes.has_class("-stacked"))
    app = kebab(data, mode="lexical")
    assert app.choices == Choices("light", "below", wrap=False)
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        assert app.theme == "kebab-light"
        assert not app.preview.wraps
        assert app.panes.has_class("-stacked")
        await pilot.press("f6")
        await until(pilot, lambda: app.panes.has_class("-beside"))


async def test_a_choice_against_the_configuration_says_so_once(data: Path) -> None:
    app = kebab(data, settings=Settings(screen=ScreenSettings(layout="beside")), mode="lexical")
    said = "[screen] layout in the configuration wins at the next start"
    async with app.run_test(size=WIDE) as pilot:
        await found(pilot)
        await pilot.press("f6")
        await until(pilot, lambda: said in painted(app))
        assert app.panes.has_class("-stacked")
        app.status.clear_message()
        await pilot.press("f6")
        await until(pilot, lambda: app.panes.has_class("-beside"))
        assert said not in painted(app)
    assert not (data / FILE).exists()
