"""A search request: the text, the mode, the page, the limits and the filters.

Filters by facets combine by AND. Of every other list, one value must match. Times are
nanoseconds since the epoch, `after` inclusive, `before` exclusive.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from kebab_tui.domain.document import ChunkKind, DocumentType, Language, Trust
from kebab_tui.domain.facets import FACETS, FacetKind
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.scope import SourcePart

SearchMode = Literal["lexical", "vector", "hybrid"]
SEARCH_MODES: tuple[SearchMode, ...] = ("lexical", "vector", "hybrid")
MODE_WORDS: dict[SearchMode, str] = {"lexical": "keyword", "vector": "semantic", "hybrid": "hybrid"}
"""What the modes are called in texts for users."""
FacetMatch = Literal["any", "all", "none"]


@dataclass(frozen=True, slots=True)
class FacetFilter:
    """A note must have any, all or none of these values of a kind of facet."""

    kind: str
    match: FacetMatch
    values: tuple[str, ...]

    def __str__(self) -> str:
        """As a user would type it."""
        return f"{'-' * (self.match == 'none')}{FACETS[self.kind].key}:{','.join(self.values)}"


def facet_filters(kind: FacetKind, match: FacetMatch, typed: Iterable[str]) -> tuple[FacetFilter, ...]:
    """The filter by these typed values; none if all are empty."""
    values = tuple(value for text in typed if (value := kind.clean(text)))
    return (FacetFilter(kind.id, match, values),) if values else ()


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """Notes that link to one of these notes, or that one of these links to (`linkedby`)."""

    key: Literal["links", "linkedby"]
    names: tuple[str, ...]
    negated: bool = False
    docs: tuple[DocId, ...] | None = None
    """The notes that pass, once the names are resolved."""

    def __str__(self) -> str:
        return f"{'-' * self.negated}{self.key}:{','.join(self.names)}"


@dataclass(frozen=True, slots=True)
class HasFilter:
    """Notes with a value of one of these kinds of facets."""

    kinds: tuple[str, ...]
    negated: bool = False

    def __str__(self) -> str:
        return f"{'-' * self.negated}has:{','.join(FACETS[kind].plural for kind in self.kinds)}"


@dataclass(frozen=True, slots=True)
class SearchFilters:
    facets: tuple[FacetFilter, ...] = ()
    """At most one for each kind and `match`."""
    types: tuple[DocumentType, ...] = ()
    kinds: tuple[ChunkKind, ...] = ()
    langs: tuple[Language, ...] = ()
    sources: tuple[SourceId, ...] = ()
    paths: tuple[str, ...] = ()
    """Globs relative to the source's root: `*` stays within a folder, `**` does not."""
    paths_none: tuple[str, ...] = ()
    trust_min: Trust | None = None
    after_ns: int | None = None
    """By the day that a note states itself, else by the time of its file; as `before_ns`."""
    before_ns: int | None = None
    modified_after_ns: int | None = None
    """By the time of the file; as `modified_before_ns`."""
    modified_before_ns: int | None = None
    links: tuple[LinkFilter, ...] = ()
    """Every one must pass; as in `has`."""
    has: tuple[HasFilter, ...] = ()
    versions: tuple[str, ...] = ()
    """Labels of versions, such as `v1.2`; without any, only the present notes are searched."""
    version_ids: tuple[SourceId, ...] = ()
    """The versions that are meant, once the labels are resolved."""
    doc_ids: tuple[DocId, ...] = ()
    titles: tuple[str, ...] = ()
    """Every one must occur in the title, ignoring case."""
    headings: tuple[str, ...] = ()
    """Every one must occur in the heading path, ignoring case."""
    within: tuple[SourceId, ...] = ()
    """Only these sources, whatever `sources` names; no query can widen it."""
    scope: tuple[SourcePart, ...] = ()
    """Only these sources or folders: where the search starts. No query can widen it either."""
    without: tuple[SourceId, ...] = ()
    """Not these sources: those that are removed, but not deleted yet."""
    shareable: bool = False
    """Leave out private notes, and those not known not to be: not read yet, or by an early version."""

    @property
    def active(self) -> bool:
        return self != SearchFilters()

    def excluding(self) -> SearchFilters:
        """Only the filters by links, kinds and paths, turned into their opposites."""
        return SearchFilters(
            paths_none=self.paths,
            links=tuple(replace(one, negated=True) for one in self.links),
            has=tuple(replace(one, negated=True) for one in self.has),
        )

    @property
    def chosen(self) -> bool:
        """Whether there is a filter that a query can state."""
        return self != self.unstated

    @property
    def unstated(self) -> SearchFilters:
        """The filters that no query states."""
        return SearchFilters(
            within=self.within, scope=self.scope, without=self.without, shareable=self.shareable
        )


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
    """Only chunks with all the words, no partial matches."""
    exact: bool = False
    """Only the words as typed, no corrections."""
    min_score: float | None = None
    """Only hits with at least this score."""
    threshold: float | None = None
    """Only hits with at least this raw RRF, the sum of w / (rrf_k + rank)."""
    rerank: bool | None = None
    """Whether to rerank a hybrid list; None: as the settings say."""
