"""What a way of finding yields before anything is shown: rows in order, each with its evidence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.hit import Notice, RetrievalDetail, ScoreKind, Stage
from kebab_tui.domain.ids import ChunkRow
from kebab_tui.domain.query import SearchMode

if TYPE_CHECKING:
    from kebab_tui.search.ports import Semantics, Vector
    from kebab_tui.search.ranking import Fused, FusionSettings
    from kebab_tui.search.words import Phrase


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
class EncodedQuery:
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
    asked: EncodedQuery | None = None
    fused: tuple[Fused, ...] = ()
    """Every candidate of a hybrid answer, in order; what a what-if works on."""
    fusion: FusionSettings | None = None


# Counts and times the stages of one answer.


@dataclass(slots=True)
class RunningStage:
    """A stage under way; whoever works on it says how many candidates it kept, if it deals with any."""

    kept: int | None = None


class Stopwatch:
    def __init__(self) -> None:
        self._stages: dict[str, Stage] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[RunningStage]:
        """A stage that is entered again goes on where it was left."""
        running = RunningStage()
        start = time.perf_counter()
        yield running
        before = self._stages.pop(name).milliseconds if name in self._stages else 0.0
        taken = (time.perf_counter() - start) * 1000
        self._stages[name] = Stage(name, running.kept, before + taken)

    @property
    def stages(self) -> tuple[Stage, ...]:
        return tuple(self._stages.values())
