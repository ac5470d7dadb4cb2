"""What a way of finding yields before anything is shown: rows in order, each with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.hit import Notice, RetrievalDetail, ScoreKind
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchMode

if TYPE_CHECKING:
    from kebab_tui.search.fusion import Fused, FusionSettings
    from kebab_tui.search.phrases import Phrase
    from kebab_tui.search.ports import Semantics, Vector


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk at its place. `phrases` are what was looked for in it."""

    row: ChunkRow
    rank: int
    score: float
    score_kind: ScoreKind
    detail: RetrievalDetail
    phrases: tuple[Phrase, ...] = ()
    relaxed: bool = False
    further: bool = False
    """A keyword match behind the fused pool of a hybrid list."""
    fused: Fused | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What the model has read of a query, as a vector, and who can be asked with it."""

    semantics: Semantics
    text: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Answer:
    """A page of chunks, and how many there are on all pages."""

    mode: SearchMode
    page: tuple[Ranked, ...] = ()
    total: int = 0
    notices: tuple[Notice, ...] = ()
    complete: bool = True
    asked: Asked | None = None
    fused: tuple[Fused, ...] = ()
    """Every candidate of a hybrid answer, in order; what a what-if works on."""
    fusion: FusionSettings | None = None
