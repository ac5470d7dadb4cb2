"""Small numbers stay near the large ones they stand for, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from models.build.quantisation import by_column, by_row, low_rank


@pytest.fixture
def table() -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(1).normal(size=(200, 32)).astype(np.float32)


def test_no_value_is_off_by_more_than_half_a_step(
    table: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> None:
    for small in (by_row(table), by_column(table)):
        assert small.values.dtype == np.int8
        assert np.all(np.abs(small.restored() - table) <= small.scale * 0.5001)


def test_a_large_row_does_not_coarsen_its_neighbours(
    table: np.ndarray[tuple[int, ...], np.dtype[np.float32]],
) -> None:
    louder = table.copy()
    louder[0] *= 1000
    assert np.array_equal(by_row(louder).values[1:], by_row(table).values[1:])
    assert np.array_equal(by_column(louder.T).values[:, 1:], by_column(table.T).values[:, 1:])


def test_zeros_stay_zeros() -> None:
    small = by_row(np.zeros((3, 4), np.float32))
    assert not small.restored().any()


def test_a_table_of_low_rank_is_restored(table: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    flat = table[:, :6] @ table[:6]
    coordinates, basis = low_rank(flat, 8)
    assert coordinates.shape == (200, 8) and basis.shape == (8, 32)
    assert coordinates @ basis == pytest.approx(flat, abs=1e-3)


def test_the_mean_is_kept_whatever_the_rank(table: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    shifted = table + np.float32(5)
    coordinates, basis = low_rank(shifted, 2)
    assert (coordinates @ basis).mean(axis=0) == pytest.approx(shifted.mean(axis=0), abs=1e-3)
    assert basis @ basis.T == pytest.approx(np.eye(2), abs=1e-5)
