"""What can happen to a note, as the writer is told it.

Each change is one fact about one note, decided from the file's present state; a list
of them is applied in one transaction or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kebab_tui.domain.document import Document, Fingerprint, Passage, Trust
from kebab_tui.domain.ids import DocId


@dataclass(frozen=True, slots=True)
class SaveNote:
    """The note reads like this now. Chunks whose text is known keep their rows.

    `own_trust` is what the note says of itself; None leaves it to its source. `checked_ns`
    is a moment before the file was read; 0, not known, has it read again next time.
    """

    document: Document
    passages: tuple[Passage, ...]
    own_trust: Trust | None
    chunker: str
    made_by: str
    checked_ns: int = 0


@dataclass(frozen=True, slots=True)
class MarkNote:
    """The note could not be read now; `keep_text` leaves what was last indexed of it as it was."""

    document: Document
    made_by: str
    keep_text: bool


@dataclass(frozen=True, slots=True)
class Move:
    """The same note, found under another path."""

    doc_id: DocId
    path: str
    raw_path: bytes


@dataclass(frozen=True, slots=True)
class MoveNotes:
    """Notes that changed places, all at once: two of them may have swapped."""

    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class TouchNote:
    """Only the file's stamp is new; the text is what it was."""

    doc_id: DocId
    fingerprint: Fingerprint
    checked_ns: int = 0


@dataclass(frozen=True, slots=True)
class RemoveNote:
    """The file is gone."""

    doc_id: DocId


Change = SaveNote | MarkNote | MoveNotes | TouchNote | RemoveNote


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """What became of the chunks of a note."""

    added: int = 0
    removed: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Applied:
    """What one transaction did. The revision stays when nothing a search could see changed."""

    revision: int
    chunks_added: int = 0
    chunks_removed: int = 0
    chunks_kept: int = 0
    each: tuple[ChunkCounts, ...] = ()
    """For every change that was applied, in order."""
    failed: Mapping[int, str] = field(default_factory=dict)
    """Which of the changes could not be stored, by their place, and why."""
