"""The themes: our own and those of Textual."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.theme import BUILTIN_THEMES, Theme


def _muted(background: str, edge: str, focus: str) -> dict[str, str]:
    """Colours of edges, scrollbars and the footer."""
    return {
        "border": focus,
        "border-blurred": edge,
        "footer-background": background,
        "footer-key-foreground": focus,
        "scrollbar": edge,
        "scrollbar-hover": focus,
        "scrollbar-active": focus,
        "scrollbar-background": background,
        "scrollbar-background-hover": background,
        "scrollbar-background-active": background,
        "scrollbar-corner-color": background,
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
    variables=_muted("#16171f", "#3d4257", "#7aa2f7"),
)
LIGHT = Theme(
    name="kebab-light",
    primary="#2257c4",
    secondary="#0b6e85",
    warning="#8a5300",
    error="#b3213f",
    success="#33691e",
    accent="#a8430b",
    foreground="#22242c",
    background="#fbfaf7",
    surface="#f0eee8",
    panel="#e6e3da",
    dark=False,
    variables=_muted("#fbfaf7", "#bdb8aa", "#2257c4"),
)
SHORT = {"dark": DARK.name, "light": LIGHT.name, "ansi": "ansi-dark"}
"""Short names; `ansi` uses the palette of the terminal."""
THEMES: tuple[str, ...] = (*SHORT, *sorted(set(BUILTIN_THEMES) - set(SHORT.values())))
"""The names a user can choose."""
_TEXTUAL_DEFAULT = "textual-dark"


def register_themes(app: App[Any]) -> None:
    for theme in (DARK, LIGHT):
        app.register_theme(theme)


def apply_theme(app: App[Any], wanted: str) -> None:
    """Apply one of `THEMES`; without a choice TEXTUAL_THEME wins, as in every program made with Textual."""
    if wanted:
        app.theme = SHORT.get(wanted, wanted)
    elif app.theme == _TEXTUAL_DEFAULT:
        app.theme = DARK.name
