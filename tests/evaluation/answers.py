"""Hits and responses for tests that have no index."""

from __future__ import annotations

from collections.abc import Sequence

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.hit import Notice, RetrievalDetail, SearchHit, SearchResponse
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId, SourceId
from kebab_tui.domain.query import SearchMode


def a_hit(path: str, first: int = 1, last: int = 1, rank: int = 1) -> SearchHit:
    return SearchHit(
        rank=rank,
        score=0.5,
        score_kind="bm25",
        row=ChunkRow(first),
        chunk_id=ChunkId("c"),
        doc_id=DocId("d"),
        source=SourceId("notes"),
        root="/notes",
        path=path,
        raw_path=path.encode(),
        name=path,
        title=path,
        type="markdown",
        lang="en",
        kind="info",
        heading_path="",
        snippet="",
        highlights=(),
        text="",
        citation=Citation(path, SourceSpan(first, last)),
        retrieval=RetrievalDetail("lexical"),
        retrieval_method="fts5-bm25",
        index_version="fts1",
        chunker_version="c1",
        indexed_ns=0,
    )


def a_response(
    hits: Sequence[SearchHit],
    mode: SearchMode = "lexical",
    next_offset: int | None = None,
    notices: tuple[Notice, ...] = (),
) -> SearchResponse:
    return SearchResponse("", mode, tuple(hits), len(hits), next_offset, notices, (), f"{mode}-1", 1)
