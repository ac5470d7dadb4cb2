"""What is asked: the text, the mode, how many, and the filters.

Tag groups combine by AND: a note must carry one of `tags_any`, every one of
`tags_all` and none of `tags_none`. Every other list is "one of these". Times are
nanoseconds since the epoch, `after` inclusive, `before` exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kebab_tui.domain.document import ChunkKind, DocumentType, Language, Trust
from kebab_tui.domain.ids import DocId, SourceId

SearchMode = Literal["lexical", "vector", "hybrid"]
SEARCH_MODES: tuple[SearchMode, ...] = ("lexical", "vector", "hybrid")


@dataclass(frozen=True, slots=True)
class SearchFilters:
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_none: tuple[str, ...] = ()
    types: tuple[DocumentType, ...] = ()
    kinds: tuple[ChunkKind, ...] = ()
    langs: tuple[Language, ...] = ()
    sources: tuple[SourceId, ...] = ()
    paths: tuple[str, ...] = ()
    """Globs anchored at the source's root: `*` stays within a folder, `**` does not."""
    paths_none: tuple[str, ...] = ()
    trust_min: Trust | None = None
    after_ns: int | None = None
    before_ns: int | None = None
    doc_ids: tuple[DocId, ...] = ()
    titles: tuple[str, ...] = ()
    """Every one must occur in the title, in any case."""
    headings: tuple[str, ...] = ()
    """Every one must occur in the heading path, in any case."""

    @property
    def active(self) -> bool:
        return self != SearchFilters()


@dataclass(frozen=True, slots=True)
class SearchQuery:
    text: str
    mode: SearchMode = "hybrid"
    k: int = 10
    offset: int = 0
    filters: SearchFilters = field(default_factory=SearchFilters)
    typing: bool = False
    """The last word may be unfinished: it also matches as a prefix."""
    strict: bool = False
    """Only chunks with all the words; the list is not filled up with relaxed ones."""
    min_score: float | None = None
    """Only hits whose shown score is at least this."""
    threshold: float | None = None
    """Only hits whose raw RRF, the sum of w / (rrf_k + rank), is at least this."""
    rerank: bool | None = None
    """Whether to rerank a hybrid list; None: as the settings say."""
