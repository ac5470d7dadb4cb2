"""Which panes stand where: a pure answer to the size of the terminal and what is switched on.

Sizes are in cells. Under 100 columns the hits stand above the preview; from 150 on the
explanation has a column of its own; under 30 rows the frames go, under 20 the footer; below
40x10 one pane is left, with a hint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from textual.theme import Theme

from kebab_tui.domain.errors import UsageError

if TYPE_CHECKING:
    from textual.app import App


Pane = Literal["hits", "preview", "explain"]
Arrangement = Literal["stacked", "beside", "columns", "single"]

NARROW, WIDE = 100, 150
FRAMED, LOW = 30, 20
SMALLEST = (40, 10)


@dataclass(frozen=True, slots=True)
class Toggles:
    """What the user has switched: panes, the way they stand, and one pane alone."""

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
    return Layout(_arrangement(width, toggles), panes, frames, footer)


_ORDER: tuple[Pane, ...] = ("hits", "preview", "explain")


def _arrangement(width: int, toggles: Toggles) -> Arrangement:
    stacked = (width < NARROW) != toggles.swapped
    if stacked:
        return "stacked"
    return "columns" if toggles.explain and width >= WIDE else "beside"


# The colours of the screen: two of our own, and all that Textual has.
#
# `dark`, `light` and `ansi` (the terminal's own palette) are the names to remember. Refuses
# a name that there is not, with those that there are.


def _quiet(background: str, edge: str, focus: str, bar: str) -> dict[str, str]:
    """What is not text stays behind it: edges, scrollbars, the footer."""
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
    variables=_quiet("#16171f", "#3d4257", "#7aa2f7", "#3d4257"),
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
    variables=_quiet("#fbfaf7", "#bdb8aa", "#2257c4", "#bdb8aa"),
)
OURS = {"dark": DARK.name, "light": LIGHT.name, "ansi": "ansi-dark"}


def dress(app: App[Any], wanted: str) -> None:
    """Make our themes known, and put on the one that is wanted."""
    for theme in (DARK, LIGHT):
        app.register_theme(theme)
    app.theme = _name(app, wanted)


def _name(app: App[Any], wanted: str) -> str:
    if not wanted:
        # TEXTUAL_THEME holds for every program made with Textual; nothing said is ours.
        return app.theme if app.theme != _PLAIN else DARK.name
    name = OURS.get(wanted, wanted)
    if name not in app.available_themes:
        names = ", ".join([*OURS, *sorted(set(app.available_themes) - set(OURS.values()))])
        raise UsageError(f"there is no theme {wanted!r}", f"the themes are: {names}")
    return name


_PLAIN = "textual-dark"
"""What Textual puts on where nobody says anything."""
