"""Which panes stand where, by size and by what is switched on."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from kebab_tui.tui.layout import SMALLEST, Layout, LayoutName, Pane, Toggles, choose, swapped
from tests.tui.screen import SharedScreen, found, painted, until

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
        ((120, 36), Toggles(preview=False), Layout("stacked", ("hits",), True, True)),
        ((120, 36), Toggles(False, explain=True), Layout("stacked", ("hits", "explain"), True, True)),
        ((160, 45), Toggles(False, explain=True), Layout("columns", ("hits", "explain"), True, True)),
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


SIZES = ((40, 10), (60, 15), (80, 24), (100, 30), (120, 36), (160, 45), (200, 50))


@pytest.mark.slow
async def test_every_pane_has_its_place_at_every_size(shared: SharedScreen) -> None:
    async with shared(query="rust", size=SIZES[-1]) as pilot:
        app = await found(pilot)
        layouts: tuple[LayoutName, ...] = ("auto", "beside", "below")
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: app.size == size == app.screen.size)  # noqa: B023
            for preview, explain, wanted in product((True, False), (True, False), layouts):
                app.toggles = Toggles(preview, explain)
                app.choices = replace(app.choices, layout=wanted)
                app.arrange()
                await pilot.pause()
                panes = [pane for pane in (app.hits, app.preview, app.explain) if pane.display]
                assert len(panes) == 1 + preview + explain
                where = f"{size} {app.toggles} {wanted}\n{painted(app)}"
                covered = sum(pane.outer_size.area for pane in panes)
                assert covered == app.panes.size.area, where
                assert all(pane.scrollable_content_region.width >= 12 for pane in panes), where
                assert all(pane.scrollable_content_region.height >= 1 for pane in panes), where
                assert app.box.region.width >= 20 and app.status.region.height == 1, where


@pytest.mark.slow
@pytest.mark.parametrize("size", [(150, 36), (200, 50), (300, 80)])
async def test_a_wide_screen_gives_the_preview_what_the_explanation_does_not_need(
    shared: SharedScreen, size: tuple[int, int]
) -> None:
    async with shared(query="rust", explain=True, size=size) as pilot:
        app = await found(pilot)
        await until(pilot, lambda: app.explain.region.width)
        assert app.panes.has_class("-columns")
        assert 40 <= app.explain.outer_size.width <= 56
        assert app.preview.outer_size.width > app.hits.outer_size.width > app.explain.outer_size.width // 2
        assert app.preview.outer_size.width > app.explain.outer_size.width
