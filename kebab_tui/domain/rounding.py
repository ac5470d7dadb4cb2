"""Numbers that still add up once they are printed.

Rounding each part by itself would leave a column a digit off its sum; here the last
digits are given out so that they fit (largest remainder).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log10

_FEWEST = 6


def fitted(parts: Sequence[float], total: float, digits: int) -> list[float]:
    """The parts, rounded so that their sum is exactly `total` at the printed precision."""
    unit = 10**digits
    floors = [int(part * unit) for part in parts]
    missing = round(total * unit) - sum(floors)
    by_remainder = sorted(range(len(parts)), key=lambda place: floors[place] - parts[place] * unit)
    for place in by_remainder[: max(missing, 0)]:
        floors[place] += 1
    return [floor / unit for floor in floors]


def printed(parts: Sequence[float], digits: int) -> tuple[list[str], str]:
    """The parts and their sum as texts that add up."""
    total = round(sum(parts), digits)
    return [f"{part:.{digits}f}" for part in fitted(parts, total, digits)], f"{total:.{digits}f}"


def digits_of_shares(best: float, score_digits: int) -> int:
    """So many that a printed sum, divided by the `best` there could be, gives the score that is printed.

    The shares of a fusion are hundredths or, with a large rrf_k, far less.
    """
    return max(_FEWEST, score_digits + ceil(-log10(best))) if best > 0 else _FEWEST
