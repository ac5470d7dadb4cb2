"""Colours: readable in the dark and in the light, and none of them the only sign of something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.color import Color
from textual.widget import Widget

from kebab_tui.domain.errors import UsageError
from kebab_tui.settings.settings import ScreenSettings, Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.launch import Options
from kebab_tui.tui.themes import THEMES, apply_theme
from kebab_tui.tui.widgets.segments import CITED, CURSOR
from tests.tui.screen import WIDE, Screen, SharedScreen, focus, found, kebab, painted, until

pytestmark = pytest.mark.slow

TEXT, MARK = 4.5, 3.0
"""Contrast ratios that WCAG asks of text of ordinary size, and of shapes with a meaning."""
MARKS = {"hits-list--bar", "hits-list--cursor", "hits-list--mark"}
GROUNDS = {
    "preview--": ("preview--cited", "preview--header"),
    "hits-list--": ("hits-list--row",),
    "rows--": ("framed-list--row",),
}
"""Backgrounds on which the other components of a widget are painted."""
COLOURED = tuple(theme for theme in THEMES if not theme.startswith("ansi"))
"""What the palette of a terminal looks like is not known here."""


def contrast(ink: Color, ground: Color) -> float:
    light, dark = sorted((_luminance(ink), _luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    parts = (part / 255 for part in color.rgb)
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def pairs_of(widget: Widget) -> Iterator[tuple[str, Color, Color, float]]:
    """Each colour of a widget, what it is painted on, and the contrast that it needs."""
    ground, ink = widget.background_colors[1], widget.colors[3]
    yield f"{widget!r}", ink, ground, TEXT
    components = widget._get_component_classes() - {"screen--selection"}  # a background only
    styles = {name: widget.get_component_rich_style(name) for name in components}
    inks = {name: Color.from_rich_color(style.color) for name, style in styles.items()}
    grounds = {name: Color.from_rich_color(style.bgcolor) for name, style in styles.items()}
    for name, own in inks.items():
        others = next((names for prefix, names in GROUNDS.items() if name.startswith(prefix)), ())
        for under in (grounds[name], *(grounds[other] for other in others if other in grounds)):
            yield f"{name} of {widget!r}", own, under, MARK if name in MARKS else TEXT
    if widget.has_focus and widget.styles.border_top[0]:
        yield f"border of {widget!r}", widget.styles.border_top[1], ground, MARK
    if widget.show_vertical_scrollbar:
        styles_ = widget.styles
        yield f"scrollbar of {widget!r}", styles_.scrollbar_color, styles_.scrollbar_background, MARK


def unreadable(app: App[Any]) -> list[str]:
    return [
        f"{app.theme}: {name}: {ink.hex} on {under.hex}: {contrast(ink, under):.2f}"
        for widget in app.screen.walk_children(with_self=True)
        if isinstance(widget, Widget) and widget.display
        for name, ink, under, least in pairs_of(widget)
        if contrast(ink, under) < least
    ]


def named_colours(app: App[Any]) -> list[str]:
    """Texts in colours of the terminal's palette: the application replaces none by RGB values."""
    return [
        f"{app.theme}: {segment.text!r}"
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style is not None
        for color in (segment.style.color, segment.style.bgcolor)
        if color is not None and color.triplet is None
    ]


async def unreadable_in_any_theme(pilot: Screen) -> list[str]:
    found: list[str] = []
    for theme in COLOURED:
        apply_theme(pilot.app, theme)
        await pilot.pause()
        found += unreadable(pilot.app) + named_colours(pilot.app)
    return found


@pytest.mark.parametrize("pane", ["box", "hits", "preview", "explain"])
async def test_every_text_and_every_mark_of_a_pane_can_be_seen(shared: SharedScreen, pane: str) -> None:
    async with shared(query="rust tag:rust", explain=True, size=(160, 45)) as pilot:
        app = await found(pilot)
        await focus(pilot, getattr(app, pane))
        assert not await unreadable_in_any_theme(pilot)


@pytest.mark.parametrize("key", ["f12", "f1", "f2", "ctrl+g", "alt+w"])
async def test_every_text_and_every_mark_of_a_page_can_be_seen(shared: SharedScreen, key: str) -> None:
    async with shared(query="rust tag:rust", explain=True, size=(160, 45)) as pilot:
        app = await found(pilot)
        await pilot.press(key)
        await until(pilot, lambda: len(app.screen_stack) == 2)
        assert not await unreadable_in_any_theme(pilot)


async def test_without_colours_nothing_looks_like_something_else(
    shared: SharedScreen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with shared(query="ownership", size=(120, 36)) as pilot:
        app = await found(pilot)
        await until(pilot, lambda: any(CITED in line[48:] for line in painted(app).splitlines()))

        def look(widget: Widget, name: str) -> str:
            """The style without its colours."""
            return str(widget.get_component_rich_style(name).without_color)

        assert app.no_color
        assert look(app.hits, "hits-list--match") != look(app.hits, "hits-list--text")
        assert look(app.preview, "preview--match") != look(app.preview, "preview--cited")
        assert look(app.status, "status-line--warning") != look(app.status, "status-line--fact")
        rows = [app.hits.render_line(y).text for y in range(app.hits.size.height)]
        assert len([row for row in rows if row.startswith(CURSOR)]) == 2
        marked = [line for line in painted(app).splitlines() if CITED in line[48:]]
        assert marked and "owner" in "".join(marked)
        app.status.show_error("no")
        await until(pilot, lambda: "error: no" in painted(app))


def test_an_unknown_theme_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as refusal:
        KebabApp(Options(theme="drak"), Settings())
    assert refusal.value.message == "--theme: unknown theme: 'drak'"
    assert refusal.value.exit_code == 2
    with pytest.raises(UsageError, match=r"\[screen\] theme: unknown theme: 'noird'"):
        KebabApp(Options(), Settings(screen=ScreenSettings(theme="noird")))
    for name in ("dark", "light", "ansi", "nord"):
        assert name in refusal.value.hint


@pytest.mark.parametrize(
    ("theme", "name"), [("light", "kebab-light"), ("ansi", "ansi-dark"), ("nord", "nord")]
)
async def test_a_theme_is_applied(embedded_place: Path, theme: str, name: str) -> None:
    app = kebab(embedded_place / "data", mode="lexical", theme=theme)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: app.theme == name)


def test_the_theme_for_all_programs_made_with_textual_holds_here_too() -> None:
    app = KebabApp(Options(), Settings())
    assert app.theme == "kebab-dark"
    app.theme = "nord"  # what TEXTUAL_THEME does
    apply_theme(app, "")
    assert app.theme == "nord"


async def test_in_the_terminal_s_own_colours_no_text_is_as_its_ground(shared: SharedScreen) -> None:
    async with shared(query="rust", theme="ansi") as pilot:
        app = await found(pilot)
        cited = app.preview.get_component_rich_style("preview--cited")
        for name in app.preview._get_component_classes():
            style = app.preview.get_component_rich_style(name)
            is_default = style.color is None or style.color.is_default
            assert is_default or style.color != cited.bgcolor, name
