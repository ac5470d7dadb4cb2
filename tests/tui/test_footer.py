"""The footer: the most important keys first, what fits, clicks, and the keys of the focused pane."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import Input

from kebab_tui.tui.actions import Action, bindings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.widgets.footer import KeysLine, key_row, offered
from tests.tui.screen import WIDE, SharedScreen, focus, found, until

ACTIONS = (
    Action("copy", "copy", "Copy", "Hits", ("ctrl+y",), vim=("y",), in_footer=2, runs="app.note('copy')"),
    Action("open", "open", "Open", "Hits", ("f9", "ctrl+o"), in_footer=1, runs="app.note('open')"),
    Action("secret", "secret", "Secret", "Hits", ("f12",), runs="app.note('secret')"),
    Action(
        "match", "match", "Match", "Preview", ("f7",), in_footer=1, in_pane=True, runs="app.note('match')"
    ),
)
EVERYWHERE = tuple(bindings(ACTIONS, "everywhere"))
OPEN, COPY = offered(ACTIONS, EVERYWHERE, None)


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.can_copy = True
        for binding in EVERYWHERE:
            self._bindings.key_to_bindings.setdefault(binding.key, []).append(binding)

    def compose(self) -> ComposeResult:
        yield Input()
        yield KeysLine(ACTIONS)

    def action_note(self, what: str) -> None:
        self.done.append(what)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.can_copy or parameters != ("copy",)


def text_of(app: App[Any]) -> str:
    return app.query_one(KeysLine).render_line(0).text.rstrip()


def labels(active: tuple[Binding, ...], section: str | None = None) -> list[str]:
    keys = offered(ACTIONS, active, section)  # type: ignore[arg-type]
    return [f"{binding.key_display} {binding.description}" for binding in keys]


def test_each_action_of_the_footer_is_there_once_the_most_important_first() -> None:
    assert labels(EVERYWHERE) == ["F9 open", "^y copy"]


def test_the_keys_of_the_focused_pane_come_first() -> None:
    assert labels(EVERYWHERE, "Preview") == ["F7 match", "F9 open", "^y copy"]


def test_in_normal_mode_the_letters_are_shown() -> None:
    assert labels(tuple(bindings(ACTIONS, "vim"))) == ["F9 open", "y copy"]


def test_what_cannot_be_done_is_left_out() -> None:
    assert labels(tuple(binding for binding in EVERYWHERE if binding.description != "open")) == ["^y copy"]


@pytest.mark.parametrize(("width", "second"), [(80, 8), (120, 9)])
def test_keys_are_one_cell_apart_or_two_in_a_wide_terminal(width: int, second: int) -> None:
    assert [placed.start for placed in key_row([OPEN, COPY], width)] == [0, second]


def test_a_key_that_does_not_fit_is_left_out() -> None:
    assert [placed.binding for placed in key_row([OPEN, COPY], 14)] == [OPEN]


async def test_a_key_that_does_nothing_any_more_goes() -> None:
    app = Host()
    async with app.run_test(size=(80, 5)) as pilot:
        await until(pilot, lambda: "F9 open ^y copy" in text_of(app))
        app.can_copy = False
        app.refresh_bindings()
        await until(pilot, lambda: "copy" not in text_of(app))


async def test_a_click_does_what_the_key_does() -> None:
    app = Host()
    async with app.run_test(size=(80, 5)) as pilot:
        await until(pilot, lambda: "copy" in text_of(app))
        copy = next(placed for placed in app.query_one(KeysLine).keys if placed.binding == COPY)
        await pilot.click(KeysLine, offset=(copy.start, 0))
        await pilot.pause()
    assert app.done == ["copy"]


# On the screen


@pytest.mark.slow
async def test_in_80_columns_the_best_keys_are_shown(shared: SharedScreen) -> None:
    async with shared(query="rust", size=(80, 24)) as pilot:
        app = await found(pilot)
        await until(pilot, lambda: "open" in text_of(app))
        keys = "enter open ^g go to note F9 links tab pane F2 commands F1 help F3 preview"
        assert text_of(app) == keys


@pytest.mark.slow
async def test_the_keys_change_with_the_focused_pane(shared: SharedScreen) -> None:
    async with shared(query="rust", explain=True, size=WIDE) as pilot:
        app = await found(pilot)
        assert isinstance(app, KebabApp)
        await focus(pilot, app.preview)
        await until(pilot, lambda: text_of(app).startswith("alt+n next match  alt+p previous match"))
        await focus(pilot, app.hits)
        await until(pilot, lambda: "mark" in text_of(app) and "match" not in text_of(app))
        await focus(pilot, app.box)
        await until(pilot, lambda: text_of(app).startswith("enter open"))
