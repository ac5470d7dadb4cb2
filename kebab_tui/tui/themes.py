"""The themes: our own, and those of Textual with colours that can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from textual.app import App
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme


def _muted(background: str, edge: str, bar: str, focus: str) -> dict[str, str]:
    """Colours of edges, scrollbars, the footer and placeholders."""
    return {
        "border": focus,
        "border-blurred": edge,
        "footer-background": background,
        "footer-key-foreground": focus,
        "scrollbar": bar,
        "scrollbar-hover": focus,
        "scrollbar-active": focus,
        "scrollbar-background": background,
        "scrollbar-background-hover": background,
        "scrollbar-background-active": background,
        "scrollbar-corner-color": background,
        "text-disabled": "auto 60%",
    }


DARK = Theme(
    name="kebab-dark",
    primary="#7aa2f7",
    secondary="#7dcfff",
    warning="#e0af68",
    error="#f7768e",
    success="#9ece6a",
    accent="#ff9e64",
    foreground="#d5d9e8",
    background="#16171f",
    surface="#1e202b",
    panel="#272a38",
    variables=_muted("#16171f", "#3d4257", "#6d738e", "#7aa2f7"),
)
LIGHT = Theme(
    name="kebab-light",
    primary="#2257c4",
    secondary="#09637a",
    warning="#8a5300",
    error="#b3213f",
    success="#33691e",
    accent="#983b07",
    foreground="#22242c",
    background="#fbfaf7",
    surface="#f7f5f1",
    panel="#e6e3da",
    dark=False,
    variables=_muted("#fbfaf7", "#bdb8aa", "#857f72", "#2257c4"),
)
SHORT = {"dark": DARK.name, "light": LIGHT.name, "ansi": "ansi-dark"}
"""Short names; `ansi` uses the palette of the terminal."""
_OURS = {theme.name: theme for theme in (DARK, LIGHT)}
THEMES: tuple[str, ...] = (*SHORT, *sorted(set(BUILTIN_THEMES) - set(SHORT.values())))
"""The names a user can choose."""
_TEXTUAL_DEFAULT = "textual-dark"
_NOTES, _PRIMARY, _TEXT, _BAR = 7.5, 6.5, 4.8, 3.1
"""Contrast ratios: more than the 4.5 of text, as some is fainter or on a tint of its colour; 3 for bars."""
_COLORS = (
    "primary", "secondary", "warning", "error", "success", "accent",
    "foreground", "background", "surface", "panel",
)  # fmt: skip
_TINT = 0.14
"""The share of the primary colour in the background of the cited lines."""


def apply_theme(app: App[Any], wanted: str) -> None:
    """Apply one of `THEMES`; without a choice TEXTUAL_THEME wins, as in every program made with Textual."""
    name = SHORT.get(wanted, wanted) or (DARK.name if app.theme == _TEXTUAL_DEFAULT else app.theme)
    if theme := _OURS.get(name) or BUILTIN_THEMES.get(name):
        app.register_theme(theme if name in _OURS or theme.ansi else readable(theme))
    if app.theme == name:
        app.stylesheet.set_variables(app.get_css_variables())
    app.theme = name


def readable(theme: Theme) -> Theme:
    """The theme with quiet edges, and each colour as far from the backgrounds as text needs."""
    generated = theme.to_color_system().generate()
    colors = {name: Color.parse(generated[name]) for name in _COLORS}
    extreme = Color.parse("white" if theme.dark else "black")
    grounds = [colors["background"], colors["surface"], colors["panel"]]
    primary = _clear(colors["primary"], extreme, grounds, _PRIMARY)
    grounds += [ground.blend(primary, _TINT) for ground in grounds]
    clear = {name: _clear(color, extreme, grounds) for name, color in colors.items()}
    background, foreground = colors["background"], _clear(colors["foreground"], extreme, grounds, _NOTES)
    muted = _clear(background.blend(foreground, 0.55), foreground, grounds)
    edge = background.blend(foreground, 0.25)
    bar = _clear(edge, foreground, grounds, _BAR)
    variables = {
        **_muted(background.hex, edge.hex, bar.hex, primary.hex),
        "text-muted": muted.hex,
        "text-disabled": muted.hex,
        "input-selection-background": background.blend(primary, _TINT).hex,
    }
    return replace(
        theme,
        primary=primary.hex,
        secondary=clear["secondary"].hex,
        warning=clear["warning"].hex,
        error=clear["error"].hex,
        success=clear["success"].hex,
        accent=clear["accent"].hex,
        foreground=foreground.hex,
        background=background.hex,
        surface=colors["surface"].hex,
        panel=colors["panel"].hex,
        variables=variables,
    )


def _clear(color: Color, extreme: Color, grounds: Sequence[Color], least: float = _TEXT) -> Color:
    """The colour, moved towards the extreme until it contrasts with each of the backgrounds."""
    for step in range(20):
        moved = color.blend(extreme, step / 20)
        if all(contrast(moved, ground) >= least for ground in grounds):
            return moved
    return extreme


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of WCAG, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(color: Color) -> float:
    parts = (part / 255 for part in color.rgb)
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
