"""The help sheet and the palette on a screen."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.command import CommandPalette
from textual.widgets import Input, Static

from kebab_tui.tui.actions import ACTIONS, Actions, Facts
from kebab_tui.tui.keymap import keymap
from kebab_tui.tui.screens.help import HelpSheet, help_content, help_groups, palette

pytestmark = pytest.mark.slow


class Host(App[None]):
    def __init__(self, actions: Actions = ACTIONS, facts: Facts | None = None) -> None:
        super().__init__()
        self.actions = actions
        self.facts = facts or Facts(hits=True)
        self.done: list[str] = []

    def compose(self) -> ComposeResult:
        yield Static("below")

    def action_act(self, action_id: str) -> None:
        self.done.append(action_id)


def test_help_is_text_in_two_columns() -> None:
    lines = help_content(help_groups(ACTIONS, "Hits")).plain.splitlines()
    assert lines[0] == "Hits"
    assert len({line.index("Open the citation") for line in lines if "Open the citation" in line}) == 1
    assert any('"a phrase"' in line for line in lines)


def test_help_shows_the_keys_of_the_user() -> None:
    lines = help_content(help_groups(keymap({"explain": ("f9",)}), "Query")).plain.splitlines()
    assert any(line.startswith("F9 ") for line in lines)


@pytest.mark.parametrize("key", ["escape", "q", "question_mark", "enter"])
async def test_a_key_closes_the_sheet(key: str) -> None:
    app = Host()
    async with app.run_test() as pilot:
        await app.push_screen(HelpSheet(ACTIONS, "Hits"))
        await pilot.press(key)
        assert not isinstance(app.screen, HelpSheet)


@pytest.mark.parametrize("size", [(20, 5), (400, 120)])
async def test_the_sheet_fits_every_size(size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        await app.push_screen(HelpSheet(ACTIONS, "Preview"))
        await pilot.press("end")
        assert app.screen.query_one(Static).size.width > 0


async def ask(app: Host, text: str) -> None:
    async with app.run_test() as pilot:
        await app.push_screen(palette())
        app.screen.query_one(Input).value = text
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        await pilot.press("enter")
        if isinstance(app.screen, CommandPalette):
            await pilot.press("enter")
        await pilot.pause()


async def test_an_action_is_found_by_its_name_and_run() -> None:
    app = Host()
    await ask(app, "rescan")
    assert app.done == ["rescan"]


async def test_what_makes_no_sense_now_is_not_found() -> None:
    app = Host(facts=Facts())
    await ask(app, "rerank")
    assert "rerank" not in app.done
