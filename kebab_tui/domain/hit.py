"""What is answered: hits with their citations, scores and how they were found.

Every score is positive, best high. A raw bm25 never appears here; it lives in the
explanation. Highlights are [start, end) offsets into the snippet, in characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.document import ChunkKind, DocumentType, Language
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId, SourceId
from kebab_tui.domain.query import SearchMode
from kebab_tui.domain.text import is_hangul

ScoreKind = Literal["bm25", "cosine", "rrf", "look"]
NoticeLevel = Literal["info", "warning"]
Highlight = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader should know about the answer: `code` for scripts, `text` for people."""

    code: str
    text: str
    level: NoticeLevel = "info"


@dataclass(frozen=True, slots=True)
class RetrievalDetail:
    """How each leg saw the hit; None where a leg did not."""

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
    source_title: str = ""
    embedding_model: str | None = None
    """The model by which the answer was made; None in an answer by words."""
    relaxed: bool = False
    """Found only after not all of the words were asked for."""
    further: bool = False
    """A keyword match behind the fused hits: its score does not compare with theirs."""
    stale: bool = False
    """The file on disk is not the one that was indexed."""
    gone: bool = False
    """The file on disk is no longer there."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of an answer: how many candidates it left and how long it took.

    `kept` is None where a step deals with no candidates: reading the query.
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
    """False for a first answer that the full ranking is going to replace."""
    read: str = ""
    """What a model was given of the query: without its filters and what it excludes."""


def relaxed(hits: Sequence[SearchHit]) -> tuple[Notice, ...]:
    """Says how many hits do not have all the words."""
    count = sum(hit.relaxed for hit in hits)
    verb = "does" if count == 1 else "do"
    return (Notice("relaxed", f"{count} of these hits {verb} not have all the words."),) if count else ()


def joined(response: SearchResponse, page: SearchResponse) -> SearchResponse:
    """An answer with its next page: one list, which goes on where the page ends."""
    known = {hit.chunk_id for hit in response.hits}
    hits = (*response.hits, *(hit for hit in page.hits if hit.chunk_id not in known))
    others = (notice for notice in response.notices if notice.code != "relaxed")
    return replace(
        response,
        hits=hits,
        total_matches=page.total_matches,
        next_offset=page.next_offset,
        notices=(*others, *relaxed(hits)),
    )


def twins(hits: Sequence[SearchHit]) -> frozenset[str]:
    """Paths that notes of several folders have: they alone do not tell the note."""
    roots: dict[str, set[str]] = {}
    for hit in hits:
        roots.setdefault(hit.path, set()).add(hit.root)
    return frozenset(path for path, found in roots.items() if len(found) > 1)


# What a reader should know of a hit before trusting it, in single words. Pure; prints nothing.

Badge = Literal["gone", "stale", "further", "relaxed", "other language", "code", "words", "meaning", "both"]


def badges(hit: SearchHit, korean: bool | None) -> Iterator[Badge]:
    """The weightiest first; how the hit was found last.

    `korean`: whether the question is; None where the languages are not compared.
    """
    if hit.gone:
        yield "gone"
    elif hit.stale:
        yield "stale"
    if hit.relaxed:
        yield "relaxed"
    # Words find their own language only: another one is worth a word where meaning had a say.
    if korean is not None and hit.retrieval.vector_rank is not None and is_hangul(hit.text) != korean:
        yield "other language"
    if hit.kind == "code":
        yield "code"
    if hit.further:
        yield "further"
    elif hit.retrieval.method == "hybrid":  # elsewhere there is only one list to stand in
        yield _found_by(hit)


def _found_by(hit: SearchHit) -> Badge:
    if hit.retrieval.vector_rank is None:
        return "words"
    return "meaning" if hit.retrieval.lexical_rank is None else "both"
