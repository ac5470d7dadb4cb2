"""The help: what it says first, its two columns at every width, its filter and keys."""

from __future__ import annotations

import pytest

from kebab_tui import __version__
from kebab_tui.search.filter_keys import FILTER_KEYS
from kebab_tui.tui.actions import ACTIONS, SECTIONS, Actions, Section, action_of
from kebab_tui.tui.keymap import keymap
from kebab_tui.tui.screens.help import _IN_PANEL, HelpSheet, filtered, help_groups, help_rows
from kebab_tui.tui.widgets.hit_rows import _WARNINGS, RULES
from kebab_tui.tui.widgets.segments import row_text, row_width
from tests.tui.screen import HostApp, painted, until

pytestmark = pytest.mark.slow


class Host(HostApp):
    def __init__(self, actions: Actions = ACTIONS) -> None:
        super().__init__()
        self.page = HelpSheet(actions, "Hits")

    def on_mount(self) -> None:
        self.push_screen(self.page)


def lines(width: int = 90, text: str = "") -> list[str]:
    groups = list(filtered(help_groups(ACTIONS, "Hits"), text))
    return [row_text(row) for row in help_rows(groups, width)]


@pytest.mark.parametrize("section", SECTIONS)
def test_the_query_language_comes_first_then_the_focused_pane(section: Section) -> None:
    titles = [group.title for group in help_groups(ACTIONS, section)]
    assert titles[:2] == ["What a query can say", section]
    assert set(titles) > set(SECTIONS)


def test_every_filter_is_explained() -> None:
    examples = " ".join(left for left, _ in help_groups(ACTIONS, "Hits")[0].rows)
    for key in FILTER_KEYS:
        assert f"{key}:" in examples


def test_every_rule_and_warning_of_the_hits_is_explained() -> None:
    [signs] = [group for group in help_groups(ACTIONS, "Hits") if group.title == "Signs"]
    explained = [left for left, _ in signs.rows]
    for text in (*RULES.values(), *(text for text, _ in _WARNINGS.values())):
        assert any(text.startswith(one) for one in explained), text


def test_an_action_is_listed_once() -> None:
    meanings = [right for group in help_groups(ACTIONS, "Query") for _, right in group.rows]
    for action in ACTIONS:
        assert sum(meaning in (action.help, action.help + _IN_PANEL) for meaning in meanings) == 1


def test_help_shows_the_keys_of_the_user() -> None:
    rows = dict(row for group in help_groups(keymap({"explain": ("f10",)}), "Query") for row in group.rows)
    assert rows["F10"] == action_of(ACTIONS, "explain").help


def test_editing_keys_that_do_something_else_are_named() -> None:
    [row] = [line for line in lines() if "Edit elsewhere" in line]
    assert "ctrl+y" in row or "ctrl+g" in row
    assert "ctrl+w" not in row


@pytest.mark.parametrize("width", [16, 34, 66, 92])
def test_both_columns_fit_every_width(width: int) -> None:
    rows = list(help_rows(help_groups(ACTIONS, "Hits"), width))
    assert max(map(row_width, rows)) <= width
    words = " ".join(row_text(row) for row in rows).split()
    assert "Mouse" in words and 'phrase"' in words


def test_no_column_is_wider_than_needed() -> None:
    [line] = [line for line in lines(92) if "These words in this order" in line]
    assert line.index("These") <= 26


def test_the_filter_finds_keys_and_meanings() -> None:
    assert lines(text="PHRASE") == [
        "What a query can say",
        '"a phrase"  These words in this order',
    ]
    assert any("F11" in line for line in lines(text="zoom"))
    assert lines(text="f11")[0] == "Screen"
    assert lines(text="no such thing") == []


async def test_the_first_page_has_the_language_the_version_and_the_keys() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        screen = painted(host)
        assert f"help · kebab-tui {__version__}" in screen
        assert '"a phrase"' in screen and "tag:a,b" in screen
        assert "esc close" in screen


async def test_the_help_scrolls_by_lines_and_pages() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        text = host.page.text
        await pilot.press("down", "down", "up")
        assert text.scroll_offset.y == 1
        await pilot.press("pagedown")
        assert text.scroll_offset.y == text.size.height
        await pilot.press("end")
        assert "shift+drag" in painted(host)
        await pilot.press("home")
        assert text.scroll_offset.y == 0


async def test_typing_filters_and_esc_clears_before_it_closes() -> None:
    host = Host()
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"zoom")
        await until(pilot, lambda: "F11" in painted(host) and "phrase" not in painted(host))
        await pilot.press("escape")
        await until(pilot, lambda: "phrase" in painted(host))
        await pilot.press("escape")
        assert host.screen is not host.page


async def test_enter_closes_the_help() -> None:
    host = Host()
    async with host.run_test() as pilot:
        await pilot.press("z", "enter")
        assert host.screen is not host.page


@pytest.mark.parametrize("size", [(20, 5), (40, 12), (400, 120)])
async def test_any_size_works(size: tuple[int, int]) -> None:
    host = Host()
    async with host.run_test(size=size) as pilot:
        await pilot.press("end")
        await until(pilot, lambda: "them" in painted(host))
