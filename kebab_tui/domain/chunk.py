"""A passage of a note: the unit that is indexed, found and cited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.identity import ChunkId, ChunkRow, DocId

ChunkKind = Literal["info", "code"]
CHUNK_KINDS: tuple[ChunkKind, ...] = ("info", "code")
HEADING_SEPARATOR = " > "


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk before it has an id: what the chunker makes of a note.

    `text` is exactly the lines `span` names, joined by newlines; of a line that is larger
    than a passage may be, a part.
    """

    kind: ChunkKind
    heading_path: str
    text: str
    span: SourceSpan


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage as the store keeps it."""

    row: ChunkRow
    chunk_id: ChunkId
    doc_id: DocId
    ordinal: int
    kind: ChunkKind
    heading_path: str
    text: str
    span: SourceSpan
