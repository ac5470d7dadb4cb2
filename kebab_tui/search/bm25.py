"""bm25 as FTS5 computes it, so that a sum of term weights equals the number of the index.

`-sum(idf * f * (K1 + 1) / (f + norm))` over the phrases of a query, with f the phrase's occurrences,
weighted by field.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kebab_tui.search.ports import FieldCounts, FieldWeights

K1 = 1.2
B = 0.75
_SMALLEST_IDF = 1e-6


def inverse_document_frequency(chunks: int, frequency: int) -> float:
    """The weight of a phrase by its rarity; positive even for one that occurs everywhere."""
    idf = math.log((chunks - frequency + 0.5) / (frequency + 0.5))
    return idf if idf > 0 else _SMALLEST_IDF


def length_norm(length: int, average_length: float) -> float:
    """The number of occurrences that gives a chunk of this length half of the maximum."""
    return K1 * (1 - B + B * length / average_length)


@dataclass(frozen=True, slots=True)
class TermWeight:
    """The contribution of one phrase of the query to one chunk's score."""

    label: str
    counts: FieldCounts
    weighted_count: float
    frequency: int
    idf: float
    contribution: float
    """Positive; larger is better."""


def term_weight(
    label: str, counts: FieldCounts, frequency: int, idf: float, norm: float, weights: FieldWeights
) -> TermWeight:
    weighted = (
        counts.heading * weights.heading
        + counts.text * weights.text
        + counts.title * weights.title
        + counts.grams * weights.grams
    )
    contribution = idf * weighted * (K1 + 1) / (weighted + norm) if weighted else 0.0
    return TermWeight(label, counts, weighted, frequency, idf, contribution)


def normalised(raw: float) -> float:
    """A raw bm25 as a positive score below 1, in the same order; for display and thresholds."""
    return -raw / (1 + abs(raw))
