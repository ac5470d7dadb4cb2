"""Notes and lines of notes as hits, which every pane can show, open and copy; and the visited ones.

Such a hit has no text of its own, except a passage: the engine locates its lines by the index.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kebab_tui.domain.citation import Citation, SourceSpan
from kebab_tui.domain.hit import RetrievalDetail, SearchHit
from kebab_tui.domain.ids import ChunkId, ChunkRow
from kebab_tui.domain.links import LinkedNote
from kebab_tui.domain.names import name_of
from kebab_tui.tui.messages import LinkSection
from kebab_tui.tui.widgets.segments import DOT

if TYPE_CHECKING:
    from kebab_tui.domain.document import Document
    from kebab_tui.search.find_names import FoundNote

MOST_VISITED = 500
MOST_COUNTED = 999
"""Larger counts are shown as `999+`."""


def note_hit(
    note: LinkedNote, citation: Citation | None = None, text: str = "", *, document: Document | None = None
) -> SearchHit:
    """The cited lines of a note as a hit; without a citation the whole note, from its first line or page."""
    place = "" if citation is None else citation.uri
    beginning = SourceSpan(1, 1) if document is None else document.beginning
    return SearchHit(
        rank=1,
        score=0.0,
        score_kind="name",
        row=ChunkRow(0),
        chunk_id=ChunkId(f"{note.doc_id}{place}"),
        doc_id=note.doc_id,
        source=note.source,
        root=note.root,
        path=note.path,
        raw_path=note.raw_path,
        name=name_of(note.path) if document is None else document.name,
        title=note.title,
        type="markdown" if document is None else document.type,
        lang="und" if document is None else document.lang,
        kind="info",
        heading_path="" if citation is None else citation.section,
        snippet="",
        highlights=(),
        text=text,
        citation=Citation(note.path, beginning) if citation is None else citation,
        retrieval=RetrievalDetail("lexical"),
        retrieval_method="name",
        index_version="",
        chunker_version="",
        indexed_ns=0 if document is None else document.indexed_ns,
    )


def hit_of(note: FoundNote) -> SearchHit:
    """A note as a hit on its first line or page, without a passage."""
    found = note.document
    place = LinkedNote(found.doc_id, found.source, note.root, found.path, found.raw_path, found.title)
    return note_hit(place, document=found)


def is_whole(hit: SearchHit) -> bool:
    """Whether a hit is a whole note."""
    return not hit.text and str(hit.chunk_id) == hit.doc_id


def path_of(hit: SearchHit) -> str:
    """The absolute path of the file, in the spelling of the file system; of a version, as git takes it."""
    if hit.version:
        return hit.citation.file
    return os.fsdecode(os.path.join(os.fsencode(hit.root), hit.raw_path))


def count_words(counts: Mapping[LinkSection, int]) -> str:
    """How many links a note has: `links 3 · linked from 5 · similar 4`; empty if they are unknown."""
    shown: dict[LinkSection, str] = {
        "out": "links",
        "in": "linked from",
        "similar": "similar",
        "broken": "broken",
    }
    return f" {DOT} ".join(
        f"{word} {count if count <= MOST_COUNTED else f'{MOST_COUNTED}+'}"
        for section, word in shown.items()
        if (count := counts.get(section)) is not None and (count or section != "broken")
    )


class Visits:
    """The places that the user went through by links, as in a browser."""

    def __init__(self) -> None:
        self._places: list[SearchHit] = []
        self._at = -1

    def go(self, origin: SearchHit, place: SearchHit) -> None:
        """Go from `origin` to another place; the places that were ahead are dropped."""
        ahead = self._at + 1
        del self._places[ahead:]
        if not self._places or self._places[-1].chunk_id != origin.chunk_id:
            self._places.append(origin)
        self._places = [*self._places, place][-MOST_VISITED:]
        self._at = len(self._places) - 1

    def step(self, by: int, present: SearchHit) -> SearchHit | None:
        """One place back (-1) or forward (1) from the one on the screen; None at the end."""
        at = self._at
        if by > 0 or (0 <= at < len(self._places) and self._places[at].chunk_id == present.chunk_id):
            at += by
        if not 0 <= at < len(self._places) or self._places[at].chunk_id == present.chunk_id:
            return None
        self._at = at
        return self._places[at]
