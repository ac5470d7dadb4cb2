"""How good one ranked list is, by the usual measures. Every value lies in 0..1, best high.

Definitions are those of trec_eval: nDCG with linear gain and a discount of log2(rank + 1)
against the best possible order of all relevant items; whatever is graded is relevant.
A ranking names no relevant item twice, and something is always relevant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2

Relevant = Mapping[str, int]
"""Item -> grade, above 0."""
_Measure = Callable[[Sequence[str], Relevant, int], float]


def hit(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    """Whether anything relevant is in the list."""
    return float(any(item in relevant for item in ranked[:cutoff]))


def reciprocal_rank(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    return next((1 / rank for rank, item in enumerate(ranked[:cutoff], 1) if item in relevant), 0.0)


def recall(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    """The share of what is relevant that is in the list."""
    return sum(item in relevant for item in ranked[:cutoff]) / len(relevant)


def ndcg(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    best = sorted(relevant.values(), reverse=True)
    return _gained([relevant.get(item, 0) for item in ranked[:cutoff]]) / _gained(best[:cutoff])


def _gained(grades: Sequence[int]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades, 1))


METRICS: dict[str, tuple[_Measure, int]] = {
    "ndcg@10": (ndcg, 10),
    "recall@10": (recall, 10),
    "recall@100": (recall, 100),
    "mrr@10": (reciprocal_rank, 10),
    "hit@1": (hit, 1),
    "hit@3": (hit, 3),
    "hit@5": (hit, 5),
    "hit@10": (hit, 10),
}
"""Name -> the measure and how many places of the list it looks at; in the order of reports."""

HEADLINE = "ndcg@10"
"""The one figure by which modes and runs are compared."""
FOUND = "hit@10"
"""What "it was found" means in a comparison of runs."""


def measured(ranked: Sequence[str], relevant: Relevant, depth: int) -> dict[str, float]:
    """Every metric that a list of `depth` places can answer."""
    return {
        name: measure(ranked, relevant, cutoff)
        for name, (measure, cutoff) in METRICS.items()
        if cutoff <= depth
    }
