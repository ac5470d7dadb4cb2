"""Numbers made smaller: 8-bit integers with one scale per row or column, and tables of lower rank.

Symmetric everywhere (zero stays zero), so a row of zeros costs nothing and means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
LARGEST = 127


@dataclass(frozen=True, slots=True)
class Quantised:
    """`values * scale` is what was meant; `scale` broadcasts over the axis that was not kept apart."""

    values: NDArray[np.int8]
    scale: Floats

    def restored(self) -> Floats:
        restored: Floats = self.values * self.scale
        return restored


def by_row(table: Floats) -> Quantised:
    """A scale for each row: an embedding is not coarsened by its neighbours."""
    return _quantised(table, axis=1)


def by_column(weight: Floats) -> Quantised:
    """A scale for each output channel of `x @ weight`; one for the whole matrix costs 4 % of cosine."""
    return _quantised(weight, axis=0)


def _quantised(table: Floats, axis: int) -> Quantised:
    scale = np.abs(table).max(axis=axis, keepdims=True).astype(np.float32) / np.float32(LARGEST)
    scale[scale == 0] = 1
    return Quantised(np.round(table / scale).astype(np.int8), scale)


def low_rank(table: Floats, rank: int) -> tuple[Floats, Floats]:
    """`coordinates, basis` with `coordinates @ basis` near the table; the mean's direction is kept exactly."""
    mean = table.mean(axis=0)
    centred = table - mean
    _, directions = np.linalg.eigh(centred.T @ centred)
    main = directions[:, ::-1][:, : rank - 1]
    towards_mean = (mean / max(float(np.linalg.norm(mean)), 1e-12))[:, None]
    basis = np.linalg.qr(np.concatenate([towards_mean, main], axis=1))[0].T.astype(np.float32)
    return (table @ basis.T).astype(np.float32), np.ascontiguousarray(basis)
