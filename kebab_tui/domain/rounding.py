"""Numbers that are true to the digits shown, and still add up once they are printed.

Rounding may leave a column of parts a digit off its sum. The parts then have more digits
than the sum, as many as it takes until they add up to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log10

_FEWEST = 6
_MOST_ADDED = 6


def printed(parts: Sequence[float], digits: int) -> tuple[list[str], str]:
    """The parts and their sum as texts; the sum has `digits`, and is that of the printed parts, rounded."""
    total = f"{sum(parts):.{digits}f}"
    for added in range(_MOST_ADDED + 1):
        shown = [f"{part:.{digits + added}f}" for part in parts]
        off = sum(map(_units, shown)) - _units(total) * 10**added
        if abs(off) * 2 <= 10**added:
            break
    return shown, total


def _units(number: str) -> int:
    """A printed number in units of its last digit."""
    return int(number.replace(".", ""))


def digits_of_shares(best: float, score_digits: int) -> int:
    """So many that a printed sum, divided by the `best` there could be, gives the score that is printed.

    The shares of a fusion are hundredths or, with a large rrf_k, far less.
    """
    return max(_FEWEST, score_digits + ceil(-log10(best))) if best > 0 else _FEWEST
