"""The footer: its keys, what fits, and clicks."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.widgets import Input

from kebab_tui.tui.widgets.footer import KeysLine, key_row

OPEN = Binding("f9", "app.note('open')", "open", key_display="enter")
COPY = Binding("ctrl+y", "app.note('copy')", "copy", key_display="^y")
COPY_TOO = Binding("y", "app.note('copy')", "copy", key_display="y")
SECRET = Binding("f12", "app.note('secret')", "secret", show=False)


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.can_copy = True
        for binding in (OPEN, COPY, COPY_TOO, SECRET):
            self._bindings.key_to_bindings.setdefault(binding.key, []).append(binding)

    def compose(self) -> ComposeResult:
        yield Input()
        yield KeysLine()

    def action_note(self, what: str) -> None:
        self.done.append(what)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.can_copy or parameters != ("copy",)


def text_of(app: Host) -> str:
    return app.query_one(KeysLine).render_line(0).text.rstrip()


def test_each_action_is_shown_once_with_its_first_key() -> None:
    assert [placed.binding for placed in key_row([OPEN, COPY, COPY_TOO, SECRET], 80)] == [OPEN, COPY]


def test_keys_are_one_cell_apart() -> None:
    assert [(placed.start, placed.end) for placed in key_row([OPEN, COPY], 80)] == [(0, 10), (11, 18)]


def test_a_key_that_does_not_fit_is_left_out() -> None:
    assert [placed.binding for placed in key_row([OPEN, COPY], 17)] == [OPEN]


async def test_it_shows_the_keys_that_do_something() -> None:
    app = Host()
    async with app.run_test(size=(80, 5)) as pilot:
        await pilot.pause()
        assert "enter open ^y copy" in text_of(app)
        assert "secret" not in text_of(app)


async def test_a_key_that_does_nothing_any_more_goes() -> None:
    app = Host()
    async with app.run_test(size=(80, 5)) as pilot:
        app.can_copy = False
        app.refresh_bindings()
        await pilot.pause()
        await pilot.pause()
        assert "copy" not in text_of(app)


async def test_a_click_does_what_the_key_does() -> None:
    app = Host()
    async with app.run_test(size=(80, 5)) as pilot:
        await pilot.pause()
        copy = next(placed for placed in app.query_one(KeysLine).keys if placed.binding == COPY)
        await pilot.click(KeysLine, offset=(copy.start, 0))
        await pilot.pause()
    assert app.done == ["copy"]
