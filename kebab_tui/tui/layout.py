"""The layout of the panes as a pure function of terminal size and toggles; and the themes.

Sizes are in cells. Under 100 columns the hits are above the preview; from 150 the
explanation has its own column; under 30 rows the frames disappear, under 20 the footer;
below 40x10 one pane remains, with a hint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from textual.app import App
from textual.theme import Theme

from kebab_tui.domain.errors import UsageError

Pane = Literal["hits", "preview", "explain"]
Arrangement = Literal["stacked", "beside", "columns", "single"]

NARROW, WIDE = 100, 150
FRAMED, LOW = 30, 20
SMALLEST = (40, 10)
_ORDER: tuple[Pane, ...] = ("hits", "preview", "explain")


@dataclass(frozen=True, slots=True)
class Toggles:
    """The user's choices: visible panes, their arrangement, and a zoomed pane."""

    preview: bool = True
    explain: bool = False
    swapped: bool = False
    zoomed: Pane | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    arrangement: Arrangement
    panes: tuple[Pane, ...]
    frames: bool
    footer: bool
    too_small: bool = False


def choose(width: int, height: int, toggles: Toggles) -> Layout:
    """The layout for a terminal of this size."""
    frames, footer = height >= FRAMED, height >= LOW
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return Layout("single", (toggles.zoomed or "hits",), False, False, too_small=True)
    if toggles.zoomed is not None:
        return Layout("single", (toggles.zoomed,), frames, footer)
    shown = {"hits": True, "preview": toggles.preview, "explain": toggles.explain}
    panes = tuple(pane for pane in _ORDER if shown[pane])
    arrangement: Arrangement = "beside"
    if (width < NARROW) != toggles.swapped:
        arrangement = "stacked"
    elif toggles.explain and width >= WIDE:
        arrangement = "columns"
    return Layout(arrangement, panes, frames, footer)


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
OURS = {"dark": DARK.name, "light": LIGHT.name, "ansi": "ansi-dark"}
"""Short names; `ansi` uses the palette of the terminal."""
_TEXTUAL_DEFAULT = "textual-dark"


def apply_theme(app: App[Any], wanted: str) -> None:
    """Register our themes, and apply the wanted one. Refuses an unknown name, and lists the known ones."""
    for theme in (DARK, LIGHT):
        app.register_theme(theme)
    if not wanted:
        # Without a choice, TEXTUAL_THEME wins, as in every program made with Textual.
        if app.theme == _TEXTUAL_DEFAULT:
            app.theme = DARK.name
        return
    name = OURS.get(wanted, wanted)
    if name not in app.available_themes:
        names = ", ".join([*OURS, *sorted(set(app.available_themes) - set(OURS.values()))])
        raise UsageError(f"unknown theme: {wanted!r}", f"the themes are: {names}")
    app.theme = name
