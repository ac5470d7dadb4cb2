"""Rows fit their width, and columns are aligned."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kebab_tui.tui.widgets.segments import (
    Segment,
    bar,
    columns,
    flow,
    moved,
    one_line,
    row_text,
    row_width,
    wrapped,
)

TEXTS = st.text("ab 가나다e\u0301🙂.-", max_size=60)


@given(TEXTS, st.integers(2, 40))
def test_wrapping_loses_nothing_but_spaces_and_keeps_to_the_width(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(cell_len(line) <= width for line in lines)


@given(st.lists(TEXTS.map(str.strip).filter(bool), max_size=8), st.integers(6, 40))
def test_flowing_pieces_keep_to_the_width_and_their_order(texts: list[str], width: int) -> None:
    rows = list(flow([(Segment(text),) for text in texts], width))
    assert "".join("".join(map(row_text, rows)).split()) == "".join("".join(texts).split())
    assert all(row_width(row) <= width for row in rows)


def test_a_piece_is_not_broken_while_it_fits_on_a_row_of_its_own() -> None:
    rows = list(flow([(Segment("weight 1"),), (Segment("1/(60+3)"),)], 12))
    assert [row_text(row) for row in rows] == ["weight 1", "  1/(60+3)"]


def test_columns_align_by_cells_and_not_by_characters() -> None:
    rows = columns([[Segment("포트"), Segment("1.5")], [Segment("port"), Segment("10.5")]], right=(1,))
    assert [row_text(row) for row in rows] == ["포트   1.5", "port  10.5"]
    assert len({row_width(row) for row in rows}) == 1


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0.0, ""), (1e-9, "▏"), (0.5, "██"), (0.53125, "██▏"), (1.0, "████"), (7.0, "████"), (-1.0, "")],
)
def test_a_bar_shows_its_share_in_eighths_of_a_cell(share: float, drawn: str) -> None:
    assert bar(share, 4) == drawn


def test_a_move_shows_its_direction_by_shape() -> None:
    assert [moved(places) for places in (2, -1, 0)] == ["▲2", "▼1", ""]


def test_what_others_wrote_becomes_one_clean_line() -> None:
    assert one_line("a\n\tb \x1b[31m c") == "a b ␛[31m c"
