"""bm25 as FTS5 computes it, so that a sum of term weights equals the number of the index.

`-sum(idf * f * (K1 + 1) / (f + norm))` over the phrases of a query, with f the phrase's occurrences,
weighted by field.
"""

from __future__ import annotations

import math

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


def term_weight(idf: float, weighted_count: float, norm: float) -> float:
    """What a phrase adds to a chunk's score; `weighted_count` is its occurrences, weighted by field."""
    return idf * weighted_count * (K1 + 1) / (weighted_count + norm) if weighted_count else 0.0


def normalised(raw: float) -> float:
    """A raw bm25 as a positive score below 1, in the same order; for display and thresholds."""
    return -raw / (1 + abs(raw))
