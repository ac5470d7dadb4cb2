"""Which panes stand where, by size and by what is switched on."""

from __future__ import annotations

from itertools import product

import pytest

from kebab_tui.tui.layout import SMALLEST, Layout, LayoutName, Pane, Toggles, choose, swapped

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
        ((160, 45), Toggles(explain=True, zoomed="explain"), Layout("single", ("explain",), True, True)),
    ],
)
def test_the_layout_of(size: tuple[int, int], toggles: Toggles, layout: Layout) -> None:
    assert choose(*size, toggles) == layout


@pytest.mark.parametrize(
    ("size", "toggles", "wanted", "layout"),
    [
        ((120, 36), PLAIN, "below", Layout("stacked", BOTH, True, True)),
        ((120, 36), PLAIN, "beside", Layout("beside", BOTH, True, True)),
        ((80, 24), PLAIN, "beside", Layout("beside", BOTH, False, True)),
        ((160, 45), EXPLAINING, "beside", Layout("columns", ALL, True, True)),
        ((160, 45), EXPLAINING, "below", Layout("stacked", ALL, True, True)),
    ],
)
def test_a_chosen_layout_wins_over_the_width(
    size: tuple[int, int], toggles: Toggles, wanted: LayoutName, layout: Layout
) -> None:
    assert choose(*size, toggles, wanted) == layout


@pytest.mark.parametrize(
    ("width", "present", "other"),
    [
        (120, "auto", "below"),
        (120, "below", "auto"),
        (120, "beside", "below"),
        (80, "auto", "beside"),
        (80, "beside", "auto"),
        (80, "below", "beside"),
    ],
)
def test_the_other_layout_looks_different(width: int, present: LayoutName, other: LayoutName) -> None:
    assert swapped(width, present) == other
    assert choose(width, 36, PLAIN, present) != choose(width, 36, PLAIN, other)


def test_there_is_always_a_pane_and_a_second_one_only_with_enough_space() -> None:
    zoomed: tuple[Pane | None, ...] = (None, *ALL)
    for width, height in product((1, 20, 39, 40, 80, 100, 150, 400), (1, 5, 9, 10, 19, 20, 120)):
        layouts: tuple[LayoutName, ...] = ("auto", "beside", "below")
        for preview, explain, wanted, zoom in product((True, False), (True, False), layouts, zoomed):
            chosen = choose(width, height, Toggles(preview, explain, zoom), wanted)
            assert chosen.panes
            if width < SMALLEST[0] or height < SMALLEST[1]:
                assert len(chosen.panes) == 1 and chosen.too_small
