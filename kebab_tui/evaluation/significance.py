"""What a mean is worth: a bootstrap interval around it, and a paired test between two.

Resamples queries, which is what differs from one set to the next. Always the same dice:
the same figures give the same answer. Knows nothing of metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RESAMPLES = 2_000
PERMUTATIONS = 10_000
SIGNIFICANT = 0.05
_SEED = 20_240_229
_INTERVAL = (2.5, 97.5)
_BLOCK = 1_000_000
"""How many dice are thrown at once: bounds the memory, not the result."""
_EQUAL = 1e-12

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Difference:
    """How paired values differ: `mean` is second minus first, `p` the chance of as much by luck alone."""

    mean: float
    p: float
    wins: int
    losses: int
    draws: int


def intervals(values: Mapping[str, Sequence[float]]) -> dict[str, Interval]:
    """The 95 % interval of each mean, by percentiles of resampled means; all from the same draws."""
    import numpy as np  # here: a search never pays for it

    if not values or not next(iter(values.values())):
        return {}
    table = np.array(list(values.values()), dtype=np.float64)
    dice = np.random.RandomState(_SEED)  # its stream is frozen; the newer generators may change theirs
    count = table.shape[1]
    means = np.empty((RESAMPLES, table.shape[0]))
    for resample in range(RESAMPLES):
        means[resample] = table[:, dice.randint(0, count, count)].mean(axis=1)
    low, high = np.percentile(means, _INTERVAL, axis=0)
    return {name: (float(low[i]), float(high[i])) for i, name in enumerate(values)}


def difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """A paired randomisation test, two-sided: would swapping sides at random do as much?"""
    import numpy as np

    changes = np.array(second, dtype=np.float64) - np.array(first, dtype=np.float64)
    moved = changes[np.abs(changes) > _EQUAL]
    wins = int((moved > 0).sum())
    counts = (wins, len(moved) - wins, len(changes) - len(moved))
    if not len(moved):
        return Difference(0.0, 1.0, *counts)
    dice = np.random.RandomState(_SEED)
    seen, extreme, least = 0, 0, abs(moved.sum()) - _EQUAL
    while seen < PERMUTATIONS:
        rows = min(PERMUTATIONS - seen, max(1, _BLOCK // len(moved)))
        signs = dice.randint(0, 2, (rows, len(moved)), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ moved) >= least).sum())
        seen += rows
    return Difference(float(changes.mean()), (extreme + 1) / (PERMUTATIONS + 1), *counts)
