"""One transaction's worth of changes, as rows.

Chunks are compared by id: an id says heading path and text, so a known id is the same
passage, perhaps at other lines. Moving lines touches no index. Opens no transaction
and commits nothing; the writer does.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kebab_tui.domain.document import Document, Fingerprint, Passage, Trust
from kebab_tui.domain.ids import ChunkId, DocId, chunk_ids, text_hash
from kebab_tui.domain.text import embedded_hash, is_hangul
from kebab_tui.storage.sqlite import rows, schema, vocabulary

# What can happen to a note, as the writer is told it.
#
# Each change is one fact about one note, decided from the file's present state; a list
# of them is applied in one transaction or not at all.


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


_SAVE_DOCUMENT = (
    "INSERT INTO documents(doc_id, source_id, raw_path, path, title, type, lang, trust, aliases, flags, "
    "size, mtime_ns, ctime_ns, inode, content_hash, made_by, state, reason, indexed_ns, checked_ns) "
    "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
    "ON CONFLICT(doc_id) DO UPDATE SET title = excluded.title, type = excluded.type, lang = excluded.lang, "
    "trust = excluded.trust, aliases = excluded.aliases, flags = excluded.flags, size = excluded.size, "
    "mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, inode = excluded.inode, "
    "content_hash = excluded.content_hash, made_by = excluded.made_by, state = excluded.state, "
    "reason = excluded.reason, indexed_ns = excluded.indexed_ns, checked_ns = excluded.checked_ns"
)
_INSERT_CHUNK = (
    "INSERT INTO chunks(chunk_id, doc_id, ordinal, kind, line_first, line_last, page, "
    "heading_path, text, title, grams, embed_hash, hangul) "
    "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_CHUNKS_OF = (
    "SELECT chunk_id, id, ordinal, kind, line_first, line_last, page, title, heading_path, text "
    "FROM chunks WHERE doc_id = ?"
)
_MOVE_CHUNK = "UPDATE chunks SET ordinal = ?, kind = ?, line_first = ?, line_last = ?, page = ? WHERE id = ?"
_TOUCH = (
    "UPDATE documents SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, checked_ns = ? WHERE doc_id = ?"
)
_FAIL = "UPDATE documents SET state = ?, reason = ? WHERE doc_id = ?"

UNSTORABLE = (
    sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError,
    ArithmeticError, TypeError, ValueError,
)  # fmt: skip
"""What a value that SQLite does not take is refused with; what a bad disk answers is none of these."""


class Batch:
    """Gathers changes; `visible` says whether a search could see a difference."""

    def __init__(self, connection: sqlite3.Connection, revision: int) -> None:
        self._connection = connection
        self.revision = revision
        self.visible = False
        self._new: list[tuple[Any, ...]] = []
        self._removed: list[tuple[int]] = []
        self._new_titles: list[str] = []
        self._renamed: list[tuple[int, int]] = []
        self._kept = 0
        self._each: list[ChunkCounts] = []

    @property
    def left_behind(self) -> int:
        """Of how many chunks the full text now holds a state that is gone."""
        return len(self._removed) + len(self._renamed)

    def take(self, change: Change) -> None:
        added, removed, kept = len(self._new), len(self._removed), self._kept
        self._take(change)
        self._each.append(
            ChunkCounts(len(self._new) - added, len(self._removed) - removed, self._kept - kept)
        )

    def _take(self, change: Change) -> None:
        match change:
            case SaveNote():
                self._save(change)
            case MarkNote():
                self._mark(change)
            case MoveNotes():
                self._move(change)
            case TouchNote():
                stamp = change.fingerprint
                values = (stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode)
                self._connection.execute(_TOUCH, (*values, change.checked_ns, change.doc_id))
            case RemoveNote():
                self._drop_chunks(self._rows_of(change.doc_id))
                self._connection.execute("DELETE FROM documents WHERE doc_id = ?", (change.doc_id,))
                self.visible = True

    def fail(self, change: Change, reason: str) -> None:
        """Mark the note of a change that cannot be stored; what was last indexed of it stays."""
        match change:
            case SaveNote(document) | MarkNote(document):
                known = self._connection.execute(
                    "SELECT doc_id, state, reason FROM documents "
                    "WHERE doc_id = ? OR (source_id = ? AND raw_path = ?)",
                    (document.doc_id, document.source, document.raw_path),
                ).fetchone()
                if known is None or known[1:] != ("failed", reason):
                    bare = _bare(document, known[0] if known else document.doc_id, reason)
                    self._mark(MarkNote(bare, "", keep_text=True))
            case TouchNote(doc_id):
                self.visible = self._connection.execute(_FAIL, ("failed", reason, doc_id)).rowcount > 0
        self._each.append(ChunkCounts())

    def finish(self, bulk_chunks: int) -> Applied:
        """Write the new chunks, in one statement when they are many, and the change log."""
        if len(self._new) > bulk_chunks:
            self._insert_around_the_trigger()
        elif self._new:
            last = self._last_row()
            self._connection.executemany(_INSERT_CHUNK, self._new)
            self._log_added(last)
        texts = [f"{row[9]} {row[7]} {row[8]}" for row in self._new] + self._new_titles
        if texts:
            vocabulary.learn(self._connection, texts)
        self._connection.executemany(
            "INSERT OR IGNORE INTO changes(revision, chunk, op) VALUES (?, ?, 'remove')",
            [(self.revision, row) for (row,) in self._removed],
        )
        # Another title is another text to embed: who follows the vectors forgets the old one and looks again.
        for op in ("remove", "add"):
            self._connection.executemany(
                f"INSERT OR IGNORE INTO changes(revision, chunk, op) VALUES (?, ?, '{op}')", self._renamed
            )
        revision = self.revision if self.visible else self.revision - 1
        return Applied(revision, len(self._new), len(self._removed), self._kept, tuple(self._each))

    def _save(self, change: SaveNote) -> None:
        document = change.document
        self._write_document(document, change.own_trust, change.made_by, change.checked_ns)
        known = {row[0]: row for row in self._connection.execute(_CHUNKS_OF, (document.doc_id,))}
        ids = self._ids(document.doc_id, change.chunker, change.passages)
        for ordinal, (chunk_id, passage) in enumerate(zip(ids, change.passages, strict=True)):
            row = known.pop(chunk_id, None)
            if row is None:
                self._new.append(_chunk_values(chunk_id, document, ordinal, passage))
            else:
                self._keep(row, rows.storable(document.title), ordinal, passage)
        self._drop_chunks([row[1] for row in known.values()])
        self.visible = True

    def _move(self, change: MoveNotes) -> None:
        # By way of a place no file can have, or a swap would meet its own other half. A title may come
        # from the path: without a maker the note is read again, also when this run ends before it does.
        self._connection.executemany(
            "UPDATE documents SET raw_path = CAST('/' || doc_id AS BLOB) WHERE doc_id = ?",
            [(move.doc_id,) for move in change.moves],
        )
        self._connection.executemany(
            "UPDATE documents SET raw_path = ?, path = ?, made_by = '' WHERE doc_id = ?",
            [(move.raw_path, move.path, move.doc_id) for move in change.moves],
        )
        self.visible = True

    def _keep(self, row: tuple[Any, ...], title: str, ordinal: int, passage: Passage) -> None:
        span = passage.span
        place = (ordinal, passage.kind, span.first, span.last, span.page)
        if row[2:7] != place:
            self._connection.execute(_MOVE_CHUNK, (*place, row[1]))
        if row[7] != title:
            self._new_titles.append(title)
            self._renamed.append((self.revision, row[1]))
            self._connection.execute(
                "UPDATE chunks SET title = ?, grams = ?, embed_hash = ? WHERE id = ?",
                (
                    title,
                    rows.indexed_grams(title, row[8], row[9]),
                    embedded_hash(title, row[8], row[9]),
                    row[1],
                ),
            )
        self._kept += 1

    def _mark(self, change: MarkNote) -> None:
        document = change.document
        if not change.keep_text:
            self._drop_chunks(self._rows_of(document.doc_id))
        values = (document.state, document.reason, document.doc_id)
        if not change.keep_text or self._connection.execute(_FAIL, values).rowcount == 0:
            self._write_document(document, None, change.made_by, 0)
        self.visible = True

    def _write_document(
        self, document: Document, own_trust: Trust | None, made_by: str, checked_ns: int
    ) -> None:
        stamp, now = document.fingerprint, time.time_ns()
        self._connection.execute(
            _SAVE_DOCUMENT,
            (
                document.doc_id, document.source, document.raw_path, document.path,
                rows.storable(document.title), document.type, document.lang,
                None if own_trust is None else int(own_trust),
                rows.as_json(document.aliases), rows.as_json(document.flags),
                stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode,
                document.content_hash, made_by, document.state, document.reason, now, checked_ns,
            ),
        )  # fmt: skip
        self._connection.execute("DELETE FROM document_tags WHERE doc_id = ?", (document.doc_id,))
        self._connection.executemany(
            "INSERT OR IGNORE INTO document_tags(doc_id, folded, tag) VALUES (?, ?, ?)",
            [(document.doc_id, rows.fold(tag), tag) for tag in map(rows.storable, document.tags)],
        )

    def _ids(self, doc: DocId, chunker: str, passages: Sequence[Passage]) -> list[ChunkId]:
        return chunk_ids(doc, chunker, [(p.heading_path, text_hash(p.text)) for p in passages])

    def _rows_of(self, doc: DocId) -> list[int]:
        return [row for (row,) in self._connection.execute("SELECT id FROM chunks WHERE doc_id = ?", (doc,))]

    def _drop_chunks(self, chunk_rows: list[int]) -> None:
        gone = [(row,) for row in chunk_rows]
        self._connection.executemany("DELETE FROM chunks WHERE id = ?", gone)
        self._removed += gone

    def _insert_around_the_trigger(self) -> None:
        last = self._last_row()
        self._connection.execute(schema.DROP_INSERT_TRIGGER)
        self._connection.executemany(_INSERT_CHUNK, self._new)
        self._connection.execute(schema.INDEX_CHUNKS_AFTER, (last,))
        self._connection.execute(schema.INSERT_TRIGGER)
        # Whoever follows the log reads everything anew after a load: faster, and nothing to keep.
        self._connection.execute("UPDATE meta SET value = ? WHERE key = 'changes_after'", (self.revision,))

    def _last_row(self) -> int:
        return int(self._connection.execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0])

    def _log_added(self, last: int) -> None:
        self._connection.execute(
            "INSERT INTO changes(revision, chunk, op) SELECT ?, id, 'add' FROM chunks WHERE id > ?",
            (self.revision, last),
        )


def _bare(document: Document, doc_id: DocId, reason: str) -> Document:
    """No more of a document than says which file it is and what is wrong with it."""
    return replace(
        document, doc_id=doc_id, title=document.path.rpartition("/")[2], lang="und",
        fingerprint=Fingerprint(0, 0, 0, 0), content_hash="",
        state="failed", reason=reason, tags=(), aliases=(), flags=(),
    )  # fmt: skip


def _chunk_values(chunk_id: ChunkId, document: Document, ordinal: int, passage: Passage) -> tuple[Any, ...]:
    span = passage.span
    title = rows.storable(document.title)
    heading, text = rows.storable(passage.heading_path), rows.storable(passage.text)
    return (
        chunk_id, document.doc_id, ordinal, passage.kind, span.first, span.last, span.page,
        heading, text, title, rows.indexed_grams(title, heading, text),
        embedded_hash(title, heading, text), is_hangul(text),
    )  # fmt: skip
