"""Which panes stand where, by size and by what is switched on."""

from __future__ import annotations

from itertools import product

import pytest

from kebab_tui.tui.layout import SMALLEST, Layout, Pane, Toggles, choose

BOTH: tuple[Pane, ...] = ("hits", "preview")
ALL: tuple[Pane, ...] = ("hits", "preview", "explain")
PLAIN = Toggles()
EXPLAINING = Toggles(explain=True)


@pytest.mark.parametrize(
    ("size", "toggles", "layout"),
    [
        ((80, 24), PLAIN, Layout("stacked", BOTH, frames=False, footer=True)),
        ((99, 30), PLAIN, Layout("stacked", BOTH, True, True)),
        ((100, 29), PLAIN, Layout("beside", BOTH, False, True)),
        ((120, 36), EXPLAINING, Layout("beside", ALL, True, True)),
        ((149, 36), EXPLAINING, Layout("beside", ALL, True, True)),
        ((150, 36), EXPLAINING, Layout("columns", ALL, True, True)),
        ((160, 45), PLAIN, Layout("beside", BOTH, True, True)),
        ((400, 120), EXPLAINING, Layout("columns", ALL, True, True)),
        ((120, 19), PLAIN, Layout("beside", BOTH, False, False)),
        ((120, 20), PLAIN, Layout("beside", BOTH, False, True)),
        ((40, 10), PLAIN, Layout("stacked", BOTH, False, False)),
        ((39, 10), PLAIN, Layout("single", ("hits",), False, False, too_small=True)),
        ((40, 9), EXPLAINING, Layout("single", ("hits",), False, False, too_small=True)),
        ((20, 5), Toggles(zoomed="preview"), Layout("single", ("preview",), False, False, too_small=True)),
        ((120, 36), Toggles(preview=False), Layout("beside", ("hits",), True, True)),
        ((120, 36), Toggles(swapped=True), Layout("stacked", BOTH, True, True)),
        ((80, 24), Toggles(swapped=True), Layout("beside", BOTH, False, True)),
        ((160, 45), Toggles(explain=True, swapped=True), Layout("stacked", ALL, True, True)),
        ((160, 45), Toggles(explain=True, zoomed="explain"), Layout("single", ("explain",), True, True)),
    ],
)
def test_the_layout_of(size: tuple[int, int], toggles: Toggles, layout: Layout) -> None:
    assert choose(*size, toggles) == layout


def test_there_is_always_a_pane_and_a_second_one_only_with_enough_space() -> None:
    zoomed: tuple[Pane | None, ...] = (None, *ALL)
    for width, height in product((1, 20, 39, 40, 80, 100, 150, 400), (1, 5, 9, 10, 19, 20, 120)):
        for preview, explain, swapped, zoom in product((True, False), (True, False), (True, False), zoomed):
            chosen = choose(width, height, Toggles(preview, explain, swapped, zoom))
            assert chosen.panes
            if width < SMALLEST[0] or height < SMALLEST[1]:
                assert len(chosen.panes) == 1 and chosen.too_small
