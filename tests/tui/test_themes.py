"""Colours: readable in the dark and in the light, and none of them the only sign of something."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color
from textual.widget import Widget

from kebab_tui.domain.errors import UsageError
from kebab_tui.settings.settings import ScreenSettings, Settings
from kebab_tui.tui.app import KebabApp
from kebab_tui.tui.launch import Options
from kebab_tui.tui.themes import apply_theme
from tests.tui.screen import WIDE, SharedScreen, found, kebab, until

pytestmark = pytest.mark.slow

LEAST = 4.5
"""What WCAG asks of text of ordinary size."""
NOT_TEXT = {"hits-list--bar", "hits-list--cursor"}
"""Shapes; the score stands beside the bar, and the row of the cursor has a ground of its own."""
GROUNDS = {"preview--cited", "preview--header", "hits-list--row"}


def contrast(ink: Color, ground: Color) -> float:
    light, dark = sorted((_luminance(ink), _luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    parts = (part / 255 for part in color.rgb)
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def inks(widget: Widget) -> dict[str, tuple[Color, Color]]:
    """Every component of a widget: its colour and what it stands on."""
    names = sorted(widget._get_component_classes())
    styles = {name: widget.get_component_rich_style(name) for name in names}
    return {
        name: (Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
        for name, style in styles.items()
    }


async def painted_in(app: KebabApp) -> dict[str, tuple[Color, Color]]:
    panes = (app.box, app.chips, app.hits, app.preview, app.explain, app.status, app.words, app.footer)
    return {name: pair for pane in panes for name, pair in inks(pane).items()}


@pytest.mark.parametrize("theme", ["dark", "light"])
async def test_every_text_can_be_read(shared: SharedScreen, theme: str) -> None:
    async with shared(query="rust", explain=True, theme=theme, size=(160, 45)) as pilot:
        app = await found(pilot)
        pairs = await painted_in(app)
        cited = pairs["preview--cited"][1]
        row = pairs["hits-list--row"][1]
        for name, (ink, ground) in pairs.items():
            if name in NOT_TEXT or name in GROUNDS:
                continue
            grounds = [ground]
            if name.startswith("preview--"):
                grounds.append(cited)
            if name.startswith("hits-list--"):
                grounds.append(row)
            for under in grounds:
                assert contrast(ink, under) >= LEAST, f"{name}: {ink.hex} on {under.hex}"


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
