"""Score limits of a query, and the options of hybrid search.

Limits are compared with scores as printed, with six digits: a score of 0.4999996 is
printed as 0.5 and passes a limit of 0.5. The raw RRF of a hit in a single list is
1 / (rrf_k + rank).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from kebab_tui.domain.hit import Notice
from kebab_tui.domain.query import SearchMode, SearchQuery
from kebab_tui.domain.text import is_korean

if TYPE_CHECKING:
    from kebab_tui.search.ranking import FusionSettings

DIGITS = 6
_TINY = 1e-12
"""Much less than half a printed digit, much more than a floating-point error."""


class Limits(NamedTuple):
    """The least exact values that pass; None: no limit."""

    least_score: float | None = None
    least_raw: float | None = None
    rrf_k: int = 60

    @classmethod
    def of(cls, query: SearchQuery, rrf_k: int) -> Limits:
        return cls(_least(query.min_score), _least(query.threshold), rrf_k)

    @property
    def cut(self) -> bool:
        return self.least_score is not None or self.least_raw is not None

    def admit(self, score: float) -> bool:
        return self.least_score is None or score >= self.least_score

    def admit_raw(self, rrf_raw: float) -> bool:
        return self.least_raw is None or rrf_raw >= self.least_raw

    def admit_rank(self, rank: int) -> bool:
        return self.last_rank is None or rank <= self.last_rank

    @property
    def last_rank(self) -> int | None:
        """The last rank in a single list whose raw RRF passes."""
        if self.least_raw is None or self.least_raw <= 0:
            return None
        return max(0, math.floor(1 / self.least_raw - self.rrf_k))

    @property
    def worst_bm25(self) -> float | None:
        """The raw bm25 (lower is better) of the least score, which is -bm25 / (1 - bm25)."""
        if self.least_score is None or self.least_score <= 0:
            return None
        return -self.least_score / (1 - self.least_score) if self.least_score < 1 else -math.inf


def threshold_notices(
    threshold: float, query: SearchQuery, mode: SearchMode, read: str, options: HybridOptions
) -> list[Notice]:
    """The highest reachable sum, if no hit can reach the threshold or there is only one list."""
    fusion = options.fusion(read, query)
    reachable = f"first in both lists has (1+{fusion.vector_weight:g})/({fusion.rrf_k}+1)"
    if mode != "hybrid":
        fusion = replace(fusion, vector_weight=0.0)
        reachable = f"first in this single list has 1/({fusion.rrf_k}+1)"
    most = fusion.best_raw
    if threshold > round(most, DIGITS):
        text = f"No hit can reach --threshold {threshold:g}: the {reachable} = {most:.6f}."
        return [Notice("threshold_unreachable", text, "warning")]
    if mode != "hybrid":
        return [Notice("threshold_single_list", f"Raw RRF: the {reachable} = {most:.6f}.")]
    return []


def _least(limit: float | None) -> float | None:
    return None if limit is None else limit - 0.5 / 10**DIGITS - _TINY


@dataclass(frozen=True, slots=True)
class HybridOptions:
    """The settings of hybrid search for all queries."""

    rrf_k: int = 60
    vector_weight: float = 1.0
    vector_weight_hangul: float = 0.35
    rerank: bool = True

    def fusion(self, read: str, query: SearchQuery) -> FusionSettings:
        """The settings for one query; the script of `read`, the text for the model, decides the weight."""
        from kebab_tui.search.ranking import FusionSettings  # a keyword search loads no fusion

        return FusionSettings(
            rrf_k=self.rrf_k,
            vector_weight=self.vector_weight_hangul if is_korean(read) else self.vector_weight,
            rerank=self.rerank if query.rerank is None else query.rerank,
        )
