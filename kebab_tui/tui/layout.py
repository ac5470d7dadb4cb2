"""Which panes stand where: a pure answer to the size of the terminal and what is switched on.

Sizes are in cells. Under 100 columns the hits stand above the preview; from 150 on the
explanation has a column of its own; under 30 rows the frames go, under 20 the footer; below
40x10 one pane is left, with a hint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
