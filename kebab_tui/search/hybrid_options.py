"""How hybrid lists are made, whatever the query. Light: every search carries it, few need more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.query import SearchQuery
from kebab_tui.domain.text import is_hangul

if TYPE_CHECKING:
    from kebab_tui.search.fusion import FusionSettings


@dataclass(frozen=True, slots=True)
class HybridOptions:
    """How hybrid lists are made, whatever the query; `fusion` says it for one."""

    rrf_k: int = 60
    vector_weight: float = 1.0
    vector_weight_hangul: float = 0.35
    second_look: bool = True

    def fusion(self, read: str, query: SearchQuery) -> FusionSettings:
        """For a query of which the model reads `read`; filters and what it excludes have no script."""
        weight = self.vector_weight_hangul if is_hangul(read) else self.vector_weight
        look = self.second_look if query.second_look is None else query.second_look
        from kebab_tui.search.fusion import FusionSettings

        return FusionSettings(rrf_k=self.rrf_k, vector_weight=weight, second_look=look)
