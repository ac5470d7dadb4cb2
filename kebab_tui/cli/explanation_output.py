"""The bm25 of one hit as a table whose printed numbers add up to the printed sum.

Rounding each number by itself would leave the column a digit off its sum; here the
last digits are given out so that they fit (largest remainder).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kebab_tui.cli.output import field
from kebab_tui.cli.table import aligned

if TYPE_CHECKING:
    from kebab_tui.workspace import LexicalExplanation

_DIGITS = 4
_HEADER = ("term", "title", "heading", "text", "grams", "df", "idf", "adds")


def explanation_lines(explanation: LexicalExplanation) -> Iterator[str]:
    total = round(-explanation.bm25, _DIGITS)
    adds = fitted([term.contribution for term in explanation.terms], total)
    weights = explanation.weights
    factors = (weights.title, weights.heading, weights.text, weights.grams)
    rows = [_HEADER, ("× weight", *(f"{factor:g}" for factor in factors), "", "", "")]
    for term, add in zip(explanation.terms, adds, strict=True):
        counts = term.counts
        numbers = (counts.title, counts.heading, counts.text, counts.grams, term.frequency)
        rows.append((field(term.label), *map(str, numbers), f"{term.idf:.{_DIGITS}f}", f"{add:.{_DIGITS}f}"))
    rows.append(("sum", "", "", "", "", "", "", f"{total:.{_DIGITS}f}"))
    yield from aligned(rows, right=range(1, len(_HEADER)))
    yield (
        f"bm25 {-total:.{_DIGITS}f}, as a score {explanation.score:.{_DIGITS}f}"
        f" · {explanation.length} tokens, {explanation.average_length:.1f} on average"
        f" · {explanation.chunks:,} passages"
    )


def fitted(parts: Sequence[float], total: float) -> list[float]:
    """The parts, rounded so that their sum is exactly `total` at the printed precision."""
    unit = 10**_DIGITS
    floors = [int(part * unit) for part in parts]
    missing = round(total * unit) - sum(floors)
    by_remainder = sorted(range(len(parts)), key=lambda place: floors[place] - parts[place] * unit)
    for place in by_remainder[: max(missing, 0)]:
        floors[place] += 1
    return [floor / unit for floor in floors]
