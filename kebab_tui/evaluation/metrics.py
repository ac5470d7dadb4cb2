"""How good one ranked list is, by the usual measures. Every value lies in 0..1, best high.

Definitions are those of trec_eval: nDCG with linear gain and a discount of log2(rank + 1)
against the best possible order of all relevant items; an item is relevant from grade 1.
Refuses lists that name a relevant item twice: its gain would count twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2

Relevant = Mapping[str, int]
_Measure = Callable[[Sequence[str], Relevant], float]


def hit(ranked: Sequence[str], relevant: Relevant) -> float:
    """Whether anything relevant is in the list."""
    return float(any(item in relevant for item in ranked))


def reciprocal_rank(ranked: Sequence[str], relevant: Relevant) -> float:
    return next((1 / rank for rank, item in enumerate(ranked, 1) if item in relevant), 0.0)


def recall(ranked: Sequence[str], relevant: Relevant) -> float:
    """The share of what is relevant that is in the list."""
    return sum(item in relevant for item in ranked) / len(relevant)


def ndcg(ranked: Sequence[str], relevant: Relevant, cutoff: int) -> float:
    gained = _discounted([relevant.get(item, 0) for item in ranked])
    return gained / _discounted(sorted(relevant.values(), reverse=True)[:cutoff])


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))


_KINDS: dict[str, tuple[_Measure, tuple[int, ...]]] = {
    "ndcg": (lambda ranked, relevant: ndcg(ranked, relevant, 10), (10,)),
    "recall": (recall, (10, 100)),
    "mrr": (reciprocal_rank, (10,)),
    "hit": (hit, (1, 3, 5, 10)),
}
METRICS: dict[str, tuple[_Measure, int]] = {
    f"{kind}@{cutoff}": (measure, cutoff) for kind, (measure, cutoffs) in _KINDS.items() for cutoff in cutoffs
}
"""Name -> the measure and how many places of the list it looks at; in the order of reports."""

HEADLINE = "ndcg@10"
"""The one figure by which modes and runs are compared."""
FOUND = "hit@10"
"""What "it was found" means in a comparison of runs."""


def measured(ranked: Sequence[str], relevant: Relevant, depth: int) -> dict[str, float]:
    """Every metric that a list of `depth` places can answer."""
    assert all(grade > 0 for grade in relevant.values())
    assert relevant
    return {
        name: measure(ranked[:cutoff], relevant)
        for name, (measure, cutoff) in METRICS.items()
        if cutoff <= depth
    }
