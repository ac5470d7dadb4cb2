"""The filter chips, each with a way to remove it."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from kebab_tui.search.query_language import Chip
from kebab_tui.tui.widgets.query_text import ChipsLine, chip_row
from kebab_tui.workspace import Workspace

QUERY = "설계 tag:rust path:notes/** lang:ko"


def chips_of(text: str) -> tuple[Chip, ...]:
    return Workspace.parse(text).chips


def test_every_filter_in_force_has_its_chip() -> None:
    placed, left = chip_row(chips_of(QUERY), 80)
    assert [chip.label for chip in placed] == [" tag:rust × ", " path:notes/** × ", " lang:ko × "]
    assert left == 0


def test_a_filter_that_is_not_in_force_has_none() -> None:
    assert chips_of("tag: type:nonsense rust") == ()


def test_what_does_not_fit_is_counted() -> None:
    placed, left = chip_row(chips_of(QUERY), 20)
    assert [chip.label for chip in placed] == [" tag:rust × "]
    assert left == 2


def test_a_long_value_is_cut() -> None:
    [placed], _ = chip_row(chips_of(f"tag:{'설계' * 50}"), 80)
    assert placed.label.endswith("… × ")
    assert placed.end <= 36


@given(st.lists(st.text("ab설👩\x1b[", min_size=1, max_size=30), max_size=8), st.integers(0, 120))
def test_chips_fit_side_by_side_into_the_row(labels: list[str], width: int) -> None:
    chips = [Chip(0, 1, label) for label in labels]
    placed, left = chip_row(chips, width)
    assert len(placed) + left == len(chips)
    assert all(a.end < b.start for a, b in pairwise(placed))
    assert all(chip.end <= width and chip.end - chip.start == cell_len(chip.label) for chip in placed)
    assert not any("\x1b" in chip.label for chip in placed)


class Host(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.text = QUERY
        self.line = ChipsLine()

    def compose(self) -> ComposeResult:
        yield self.line

    def on_mount(self) -> None:
        self.line.show(chips_of(self.text))

    def on_chips_line_removed(self, event: ChipsLine.Removed) -> None:
        self.text = Workspace.remove_chip(self.text, event.chip)
        self.line.show(chips_of(self.text))


async def test_a_click_takes_its_filter_out() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.click(ChipsLine, offset=(15, 0))
        assert app.text == "설계 tag:rust lang:ko"


async def test_a_click_beside_the_chips_changes_nothing() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.click(ChipsLine, offset=(70, 0))
        assert app.text == QUERY


async def test_the_last_filter_can_be_dropped_until_none_is_left() -> None:
    app = Host()
    async with app.run_test() as pilot:
        for left in ("설계 tag:rust path:notes/**", "설계 tag:rust", "설계", "설계"):
            app.line.drop_last()
            await pilot.pause()
            assert app.text == left
        assert not app.line.display


@pytest.mark.parametrize("size", [(20, 5), (400, 120)])
async def test_it_takes_one_row_at_every_size(size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert app.line.size.height == 1
        assert cell_len(app.line.render().plain) <= size[0]


async def test_text_of_a_filter_is_never_markup() -> None:
    app = Host()
    async with app.run_test() as pilot:
        app.line.show(chips_of("tag:[/nope]"))
        await pilot.pause()
        assert "tag:[/nope]" in app.line.render().plain


async def test_a_wrong_filter_is_marked_and_the_first_to_be_dropped() -> None:
    app = Host()
    async with app.run_test() as pilot:
        parsed = Workspace.parse("rust type:pfd tag:a ")
        app.text = "rust type:pfd tag:a "
        app.line.show(parsed.chips, parsed.refused)
        await pilot.pause()
        assert app.line.render().plain.split("×")[0].strip() == "✗ type:pfd"
        app.line.drop_last()
        await pilot.pause()
        assert app.text == "rust tag:a"


async def test_on_the_edge_of_a_frame_it_is_as_wide_as_its_chips() -> None:
    app = Host()
    async with app.run_test(size=(60, 12)) as pilot:
        app.screen.styles.layers = ("base", "overlay")  # type: ignore[assignment]
        app.line.add_class("-on-edge")
        app.line.show(chips_of(QUERY))
        await pilot.pause()
        assert app.line.size.width == cell_len(app.line.render().plain.rstrip()) <= 40
        assert app.line.render().plain.rstrip().endswith("+1")
        await pilot.click(ChipsLine, offset=(1, 0))
        assert app.text == "설계 path:notes/** lang:ko"
