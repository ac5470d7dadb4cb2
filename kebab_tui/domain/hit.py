"""A search response: hits with citations, scores and retrieval details; notices and timings.

Every score is positive, higher is better. A raw bm25 appears only in explanations.
Highlights are [start, end) offsets into the snippet, in characters.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.document import HEADING_SEPARATOR, ChunkKind, DocumentType, Language, Trust
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId, SourceId
from kebab_tui.domain.query import SearchMode
from kebab_tui.domain.text import is_korean

ScoreKind = Literal["bm25", "cosine", "rrf", "look", "name"]
NoticeLevel = Literal["info", "warning"]
Highlight = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark about the response: `code` for scripts, `text` for people."""

    code: str
    text: str
    level: NoticeLevel = "info"


CORRECTED = "corrected"
"""The code of the notice about corrections."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A typed word, and the known word that was searched instead."""

    typed: str
    searched: str


@dataclass(frozen=True, slots=True)
class RetrievalDetail:
    """Scores and ranks of a hit in each leg; None in a leg that did not find it."""

    method: SearchMode
    lexical_score: float | None = None
    lexical_rank: int | None = None
    vector_score: float | None = None
    vector_rank: int | None = None
    fusion_score: float = 0.0
    fusion_rank: int | None = None
    rrf_raw: float | None = None
    rerank_score: float | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    rank: int
    score: float
    score_kind: ScoreKind
    row: ChunkRow
    chunk_id: ChunkId
    doc_id: DocId
    source: SourceId
    root: str
    path: str
    raw_path: bytes
    name: str
    title: str
    type: DocumentType
    lang: Language
    kind: ChunkKind
    heading_path: str
    snippet: str
    highlights: tuple[Highlight, ...]
    text: str
    citation: Citation
    retrieval: RetrievalDetail
    retrieval_method: str
    index_version: str
    chunker_version: str
    indexed_ns: int
    day: str = ""
    """What `after:` and `before:` compare: the day that the note states, else the one of its file's time."""
    day_from: str = "modified"
    """`updated`, `date` or `created` of front matter, its `name`, or `modified`: the time of its file."""
    source_title: str = ""
    trust: Trust = Trust.PRIMARY
    embedding_model: str | None = None
    """The model used; None in a keyword response."""
    relaxed: bool = False
    """A partial match: not all of the words are required."""
    further: bool = False
    """A keyword match behind the fused hits; its score is not comparable with theirs."""
    stale: bool = False
    """The file on disk differs from the indexed one."""
    gone: bool = False
    """The file no longer exists."""
    version: str = ""
    """The label of the version that it is of; empty for a present note."""
    distant: bool = False
    """Farther from the query than a hit should be; shown since nothing nearer was found."""

    @property
    def location(self) -> str:
        """The absolute path of the file; of a version, as `git show` takes it."""
        if self.version:
            return f"{self.version}:{self.citation.path}"
        return os.path.join(self.root, os.fsdecode(self.raw_path))

    @property
    def has_comparable_score(self) -> bool:
        """Whether its score compares with those of the other hits."""
        return not self.further and self.score_kind != "name"

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings above the passage, without the title of its note."""
        first, *others = self.heading_path.split(HEADING_SEPARATOR)
        first = "" if first == self.title else first.removeprefix(f"{self.title} · ")
        return tuple(filter(None, (first, *others)))


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of a search: how many candidates it kept and how long it took.

    `kept` is None for a step without candidates, such as encoding the query.
    """

    name: str
    kept: int | None
    milliseconds: float


@dataclass(frozen=True, slots=True)
class SearchResponse:
    query: str
    mode: SearchMode
    hits: tuple[SearchHit, ...]
    total_matches: int
    next_offset: int | None
    notices: tuple[Notice, ...]
    stages: tuple[Stage, ...]
    index_version: str
    corpus_revision: int
    raw: bool = False
    complete: bool = True
    """False for a preview that the full ranking will replace."""
    read: str = ""
    """The query text given to the model: without filters and excluded words."""
    corrections: tuple[Correction, ...] = ()
    corrected: str = ""
    """The query with the corrected words, which its hits are marked with; empty without corrections."""
    vector_share: int = 0
    """Percent of the passages that it could find by meaning; 0 without a search by meaning."""


def partial_matches(hits: Sequence[SearchHit]) -> tuple[Notice, ...]:
    """A notice with the number of partial matches, if there are any."""
    count = sum(hit.relaxed for hit in hits)
    matches = "partial match" if count == 1 else "partial matches"
    return (Notice("relaxed", f"{count} {matches}."),) if count else ()


def append_page(response: SearchResponse, page: SearchResponse) -> SearchResponse:
    """A response with its next page appended."""
    known = {hit.chunk_id for hit in response.hits}
    hits = (*response.hits, *(hit for hit in page.hits if hit.chunk_id not in known))
    others = (notice for notice in response.notices if notice.code != "relaxed")
    return replace(
        response,
        hits=hits,
        total_matches=page.total_matches,
        next_offset=page.next_offset,
        notices=(*others, *partial_matches(hits)),
    )


def ambiguous_paths(hits: Sequence[SearchHit]) -> frozenset[str]:
    """Paths that occur in several sources and thus do not identify a note; a citation names its version."""
    roots: dict[str, set[str]] = {}
    for hit in hits:
        if hit.version:
            continue
        roots.setdefault(hit.path, set()).add(hit.root)
    return frozenset(path for path, found in roots.items() if len(found) > 1)


Badge = Literal[
    "gone",
    "stale",
    "further",
    "relaxed",
    "distant",
    "other language",
    "code",
    "name",
    "words",
    "meaning",
    "both",
]


def badges(hit: SearchHit, korean: bool | None) -> Iterator[Badge]:
    """Single words that qualify a hit, the most important first; last, how it was found.

    `korean`: whether the query is Korean; None if languages are not compared.
    """
    if hit.gone:
        yield "gone"
    elif hit.stale:
        yield "stale"
    if hit.relaxed:
        yield "relaxed"
    if hit.distant:
        yield "distant"
    # Keywords match their own language only, so another one is notable only with a semantic match.
    if korean is not None and hit.retrieval.vector_rank is not None and is_korean(hit.text) != korean:
        yield "other language"
    if hit.kind == "code":
        yield "code"
    if hit.score_kind == "name":
        yield "name"
    elif hit.further:
        yield "further"
    elif hit.retrieval.method == "hybrid":  # the other modes have only one list
        by_words, by_meaning = hit.retrieval.lexical_rank is not None, hit.retrieval.vector_rank is not None
        if by_words and by_meaning:
            yield "both"
        else:
            yield "words" if by_words else "meaning" if by_meaning else "name"
