"""The layout of the panes as a pure function of terminal size, chosen layout and toggles.

Sizes are in cells. Under 100 columns the hits are above the preview; from 150 the
explanation has its own column; under 30 rows the frames disappear, under 20 the footer;
below 40x10 one pane remains, with a hint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Pane = Literal["hits", "preview", "explain"]
Arrangement = Literal["stacked", "beside", "columns", "single"]
LayoutName = Literal["auto", "beside", "below"]
"""The place of the preview; auto: by the width of the terminal."""

NARROW, WIDE = 100, 150
FRAMED, LOW = 30, 20
SMALLEST = (40, 10)
_ORDER: tuple[Pane, ...] = ("hits", "preview", "explain")


@dataclass(frozen=True, slots=True)
class Toggles:
    """The visible panes, and a zoomed one."""

    preview: bool = True
    explain: bool = False
    zoomed: Pane | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    arrangement: Arrangement
    panes: tuple[Pane, ...]
    frames: bool
    footer: bool
    too_small: bool = False


def choose(width: int, height: int, toggles: Toggles, wanted: LayoutName = "auto") -> Layout:
    """The layout for a terminal of this size."""
    frames, footer = height >= FRAMED, height >= LOW
    if width < SMALLEST[0] or height < SMALLEST[1]:
        return Layout("single", (toggles.zoomed or "hits",), False, False, too_small=True)
    if toggles.zoomed is not None:
        return Layout("single", (toggles.zoomed,), frames, footer)
    shown = {"hits": True, "preview": toggles.preview, "explain": toggles.explain}
    panes = tuple(pane for pane in _ORDER if shown[pane])
    arrangement: Arrangement = "beside"
    if _is_stacked(width, wanted):
        arrangement = "stacked"
    elif toggles.explain and width >= WIDE:
        arrangement = "columns"
    elif not toggles.preview:
        arrangement = "stacked"
    return Layout(arrangement, panes, frames, footer)


def swapped(width: int, present: LayoutName) -> LayoutName:
    """The layout that is not visible now; auto if that is the one by width."""
    stacked = not _is_stacked(width, present)
    if stacked == _is_stacked(width, "auto"):
        return "auto"
    return "below" if stacked else "beside"


def _is_stacked(width: int, wanted: LayoutName) -> bool:
    return width < NARROW if wanted == "auto" else wanted == "below"
