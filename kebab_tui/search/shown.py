"""From ranked rows to the hits that are shown: text, excerpt, citation, state of the file."""

from __future__ import annotations

from kebab_tui.domain.citation import Citation
from kebab_tui.domain.hit import SearchHit
from kebab_tui.search.answer import Answer, Ranked
from kebab_tui.search.ports import FileProbe, FoundChunk, Snapshot
from kebab_tui.search.snippet import snippet

_METHODS = {"lexical": "fts5-bm25", "vector": "cosine", "hybrid": "rrf"}


def hydrate(
    snapshot: Snapshot, answer: Answer, probe: FileProbe, snippet_chars: int, version: str
) -> tuple[SearchHit, ...]:
    """Every chunk of the page that still exists."""
    found = snapshot.hydrate([ranked.row for ranked in answer.page])
    return tuple(
        _hit(ranked, found[ranked.row], answer, probe, snippet_chars, version)
        for ranked in answer.page
        if ranked.row in found
    )


def _hit(
    ranked: Ranked, found: FoundChunk, answer: Answer, probe: FileProbe, snippet_chars: int, version: str
) -> SearchHit:
    chunk, document = found.chunk, found.document
    excerpt = snippet(chunk.text, ranked.phrases, snippet_chars)
    state = probe(found)
    return SearchHit(
        rank=ranked.rank,
        score=ranked.score,
        score_kind=ranked.score_kind,
        row=chunk.row,
        chunk_id=chunk.chunk_id,
        doc_id=document.doc_id,
        source=document.source,
        root=found.root,
        path=document.path,
        raw_path=document.raw_path,
        title=document.title,
        type=document.type,
        lang=document.lang,
        kind=chunk.kind,
        heading_path=chunk.heading_path,
        snippet=excerpt.text,
        highlights=excerpt.highlights,
        text=chunk.text,
        citation=Citation(document.path, chunk.span, chunk.heading_path),
        retrieval=ranked.detail,
        retrieval_method=_METHODS[answer.mode],
        index_version=version,
        chunker_version=found.chunker_version,
        indexed_ns=document.indexed_ns,
        source_title=found.source_title,
        embedding_model=None if answer.asked is None else answer.asked.semantics.model,
        relaxed=ranked.relaxed,
        further=ranked.further,
        stale=state != "same",
        gone=state == "gone",
    )
