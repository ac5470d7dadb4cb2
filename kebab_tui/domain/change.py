"""Changes of notes, as values: each describes the present state of one note's file.

A chunk is known by its id, a hash of heading path and text: a known id keeps its row, perhaps with new
lines. A store applies a sequence of changes as one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kebab_tui.domain.document import Document, DocumentFlag, Fingerprint, Passage, Trust
from kebab_tui.domain.ids import DocId


@dataclass(frozen=True, slots=True)
class SaveNote:
    """Store a note as it was read. Chunks with a known text keep their rows.

    `titles`: what its chunks are found by beside their text, one a line: its title, names, tags and
    dates; the first is embedded too.
    `own_trust`: the trust from the note's front matter; None inherits it from the source. `checked_ns`:
    a moment before the file was read; 0 (unknown) makes the next run read it again.
    """

    document: Document
    passages: tuple[Passage, ...]
    own_trust: Trust | None
    chunker: str
    made_by: str
    checked_ns: int = 0
    titles: str = ""
    """Empty: the title of the document."""


@dataclass(frozen=True, slots=True)
class MarkNote:
    """Record that a note could not be read; `keep_text` keeps its last indexed chunks, facts and stamps.

    Only state, reason and flags are then those of `document`.
    """

    document: Document
    made_by: str
    keep_text: bool


@dataclass(frozen=True, slots=True)
class Move:
    """A note whose path changed."""

    doc_id: DocId
    path: str
    raw_path: bytes


@dataclass(frozen=True, slots=True)
class MoveNotes:
    """Change paths in one step, because two notes may have swapped theirs."""

    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class TouchNote:
    """Store the new stamp of a file with unchanged text, and its flags if they are given."""

    doc_id: DocId
    fingerprint: Fingerprint
    checked_ns: int = 0
    flags: tuple[DocumentFlag, ...] | None = None


@dataclass(frozen=True, slots=True)
class RemoveNote:
    """Delete a note whose file no longer exists."""

    doc_id: DocId


Change = SaveNote | MarkNote | MoveNotes | TouchNote | RemoveNote


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """Numbers of changed chunks of one note."""

    added: int = 0
    removed: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of one transaction. The revision stays the same if no search result can differ."""

    revision: int
    chunks_added: int = 0
    chunks_removed: int = 0
    chunks_kept: int = 0
    each: tuple[ChunkCounts, ...] = ()
    """One entry per applied change, in order."""
    failed: Mapping[int, str] = field(default_factory=dict)
    """Index and error of each change that could not be stored."""
