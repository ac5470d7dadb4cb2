"""Hits and responses for tests."""

from __future__ import annotations

from typing import Any

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.hit import RetrievalDetail, SearchHit, SearchResponse
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId, SourceId

BOTH = RetrievalDetail("hybrid", lexical_rank=1, vector_rank=1)
HOSTILE = (
    "\x1b[2J\x1b]52;c;aGk=\x07\x1bPq\x1b\\ \x9b31m\x9d0;t\x9c \u202eevil\u202c\u2066x\u2069 "
    "e" + "\u0301" * 40 + " [/nope] [@click=app.quit]q[/] \x00\x7f\r\n\t\x08 \ud800\u200b\ufeff"
)


def hit(number: int = 1, path: str = "notes/rust/kb.md", **facts: Any) -> SearchHit:
    lines = facts.pop("span", SourceSpan(12, 34))
    heading = facts.pop("heading_path", "Workspace > Setup")
    text = facts.pop("snippet", "A Rust workspace keeps several crates together")
    made: dict[str, Any] = {
        "rank": number,
        "score": 0.82,
        "score_kind": "rrf",
        "row": ChunkRow(number),
        "chunk_id": ChunkId(f"{number:032x}"),
        "doc_id": DocId(f"{number:032x}"),
        "source": SourceId("notes"),
        "root": "/home/notes",
        "path": path,
        "raw_path": path.encode("utf-8", "surrogatepass"),
        "name": "kb",
        "title": "Workspace",
        "type": "markdown",
        "lang": "en",
        "kind": "info",
        "heading_path": heading,
        "snippet": text,
        "highlights": (),
        "text": text,
        "citation": Citation(path, lines, heading),
        "retrieval": BOTH,
        "retrieval_method": "rrf",
        "index_version": "v",
        "chunker_version": "c",
        "indexed_ns": 1,
    }
    return SearchHit(**(made | facts))


def answer(*hits: SearchHit, query: str = "workspace", **facts: Any) -> SearchResponse:
    made: dict[str, Any] = {
        "query": query,
        "mode": "hybrid",
        "hits": hits,
        "total_matches": len(hits),
        "next_offset": None,
        "notices": (),
        "stages": (),
        "index_version": "v",
        "corpus_revision": 1,
    }
    return SearchResponse(**(made | facts))


def answer_of(count: int, first: int = 1, total: int | None = None) -> SearchResponse:
    """Of so many hits; `total`: of how many, where more follow."""
    hits = (hit(number, f"notes/{number}.md") for number in range(first, first + count))
    whole = count if total is None else total
    return answer(*hits, total_matches=whole, next_offset=count if count < whole else None)
