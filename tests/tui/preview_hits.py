"""Hits and files for the tests of the preview."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.document import PageText
from kebab_tui.domain.errors import UnreadableFileError
from kebab_tui.domain.hit import Highlight, RetrievalDetail, SearchHit
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId, SourceId
from kebab_tui.formats.decode import decode
from kebab_tui.search.snippet import highlight, highlight_phrases


class Engine:
    """The workspace's own answers, without an index behind them."""

    def decode(self, data: bytes) -> Sequence[str]:
        return decode(data).lines

    def page(self, hit: SearchHit, number: int) -> PageText:
        raise UnreadableFileError("has no pages")

    def indexed_text(self, hit: SearchHit, page: int | None) -> PageText:
        return PageText(page or 1, 0, "", ())

    def file_of(self, root: str, raw_path: bytes) -> str:
        return os.path.join(root, os.fsdecode(raw_path))

    def marks(self, text: str, query: str) -> Sequence[Highlight]:
        return highlight(text, highlight_phrases(query))


def hit(
    root: Path,
    path: str = "note.md",
    span: SourceSpan | None = None,
    text: str = "",
    *,
    title: str = "Bread",
    heading: str = "Bread > Crust",
    stale: bool = False,
) -> SearchHit:
    span = span or SourceSpan(1, 1)
    return SearchHit(
        rank=1,
        score=1.0,
        score_kind="look",
        row=ChunkRow(1),
        chunk_id=ChunkId(f"{path}:{span.lines}"),
        doc_id=DocId(path),
        source=SourceId("notes"),
        root=str(root),
        path=path,
        raw_path=os.fsencode(path),
        name="note",
        title=title,
        type="markdown",
        lang="en",
        kind="info",
        heading_path=heading,
        snippet="",
        highlights=(),
        text=text,
        citation=Citation(path, span, heading),
        retrieval=RetrievalDetail("hybrid"),
        retrieval_method="rrf",
        index_version="v",
        chunker_version="c",
        indexed_ns=0,
        stale=stale,
    )


def note(root: Path, lines: Sequence[str], path: str = "note.md") -> Path:
    file = root / path
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
