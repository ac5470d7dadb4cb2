"""A search in progress and its result before hydration: ranked rows with their evidence, stage timings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kebab_tui.domain.hit import Correction, Notice, RetrievalDetail, ScoreKind, Stage
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchFilters, SearchMode, SearchQuery
from kebab_tui.search.limits import Limits
from kebab_tui.search.match import Term
from kebab_tui.search.ports import Semantics, Snapshot, Vector
from kebab_tui.search.query_language import ParsedQuery

if TYPE_CHECKING:  # a keyword search loads no fusion
    from kebab_tui.search.ranking import Fused, FusionSettings


@dataclass(slots=True)
class RunningStage:
    """A stage in progress; `kept` is the number of candidates it kept, None if it has none."""

    kept: int | None = None


@dataclass(slots=True)
class Stopwatch:
    """Times the stages of one search."""

    stages: dict[str, Stage] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[RunningStage]:
        """Time a stage; a stage that is entered again continues."""
        running = RunningStage()
        start = time.perf_counter()
        yield running
        before = self.stages.pop(name).milliseconds if name in self.stages else 0.0
        taken = (time.perf_counter() - start) * 1000
        self.stages[name] = Stage(name, running.kept, before + taken)


@dataclass(frozen=True, slots=True)
class Search:
    """One query on one snapshot. `filters` are those of the text and those given beside it.

    `query` and `parsed` have the corrected words, `typed` the words as typed.
    """

    snapshot: Snapshot
    query: SearchQuery
    parsed: ParsedQuery
    filters: SearchFilters
    limits: Limits
    semantics: Semantics | None = None
    """None: keyword search only."""
    notices: tuple[Notice, ...] = ()
    watch: Stopwatch = field(default_factory=Stopwatch)
    typed: str = ""
    corrections: tuple[Correction, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A chunk with its rank. `phrases` are to be highlighted in it."""

    row: ChunkRow
    rank: int
    score: float
    score_kind: ScoreKind
    detail: RetrievalDetail
    phrases: tuple[Term, ...] = ()
    relaxed: bool = False
    further: bool = False
    """A keyword match behind the fused pool of a hybrid list."""
    fused: Fused | None = None
    distant: bool = False
    """Below the least cosine of a hit."""


@dataclass(frozen=True, slots=True)
class EncodedQuery:
    """The part of a query that the model reads, its vector, and the index to search with it."""

    semantics: Semantics
    text: str
    vector: Vector


@dataclass(frozen=True, slots=True)
class Answer:
    """A page of chunks, and the number of chunks on all pages."""

    mode: SearchMode
    page: tuple[Ranked, ...] = ()
    total: int = 0
    notices: tuple[Notice, ...] = ()
    complete: bool = True
    encoded: EncodedQuery | None = None
    fused: tuple[Fused, ...] = ()
    """Every candidate of a hybrid search, in order, for a what-if."""
    fusion: FusionSettings | None = None
