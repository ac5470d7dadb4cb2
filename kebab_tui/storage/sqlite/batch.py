"""How one transaction stores changes of notes as rows.

Chunks are compared by id: a known id keeps its row, perhaps with new lines, and the full text
stays untouched. Opens no transaction and commits nothing; the writer does.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import replace
from typing import Any

from kebab_tui.domain.change import (
    Applied,
    Change,
    ChunkCounts,
    MarkNote,
    MoveNotes,
    RemoveNote,
    SaveNote,
    TouchNote,
)
from kebab_tui.domain.document import Document, DocumentFlag, Fingerprint, Trust
from kebab_tui.domain.facets import NAME_KINDS, values_of
from kebab_tui.domain.ids import DocId, chunk_ids, text_hash
from kebab_tui.domain.names import distinct_names
from kebab_tui.domain.text import embedded_hash, is_korean
from kebab_tui.domain.tokens import grams
from kebab_tui.storage.sqlite import rows, schema, vocabulary

_SAVE_DOCUMENT = (
    "INSERT INTO documents(doc_id, source_id, raw_path, path, title, type, lang, trust, flags, "
    "size, mtime_ns, ctime_ns, inode, content_hash, made_by, state, reason, indexed_ns, checked_ns, dated, "
    "dated_by) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "
    "ON CONFLICT(doc_id) DO UPDATE SET title = excluded.title, type = excluded.type, lang = excluded.lang, "
    "trust = excluded.trust, flags = excluded.flags, size = excluded.size, "
    "mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, inode = excluded.inode, "
    "content_hash = excluded.content_hash, made_by = excluded.made_by, state = excluded.state, "
    "reason = excluded.reason, indexed_ns = excluded.indexed_ns, checked_ns = excluded.checked_ns, "
    "dated = excluded.dated, dated_by = excluded.dated_by"
)
_INSERT_CHUNK = (
    "INSERT INTO chunks(chunk_id, doc_id, ordinal, kind, line_first, line_last, page, "
    "heading_path, text, title, grams, embed_hash, hangul) "
    "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_INSERT_FACET = (
    "INSERT INTO facets(doc_id, ordinal, kind, folded, value, line, target, extra) VALUES (?,?,?,?,?,?,?,?)"
)
_DROP_NAMES = "DELETE FROM note_names WHERE doc_id = ? AND (names <> ? OR grams <> ?)"
"""Changed names get a new id: readers that follow the ids find them."""
_SAVE_NAMES = "INSERT INTO note_names(doc_id, names, grams) VALUES (?, ?, ?) ON CONFLICT(doc_id) DO NOTHING"
_CHUNKS_OF = (
    "SELECT chunk_id, id, ordinal, kind, line_first, line_last, page, title, heading_path, text "
    "FROM chunks WHERE doc_id = ?"
)
_MOVE_CHUNK = "UPDATE chunks SET ordinal = ?, kind = ?, line_first = ?, line_last = ?, page = ? WHERE id = ?"
_TOUCH = (
    "UPDATE documents SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, checked_ns = ? WHERE doc_id = ?"
)
_FLAG = "UPDATE documents SET flags = ? WHERE doc_id = ? AND flags <> ?"
_FAIL = "UPDATE documents SET state = ?, reason = ? WHERE doc_id = ?"

UNSTORABLE = (
    sqlite3.DataError, sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError,
    ArithmeticError, TypeError, ValueError,
)  # fmt: skip
"""Errors of a value that SQLite cannot store; a disk fault raises none of them."""


class Batch:
    """Collects changes; `visible` is whether a search result can differ."""

    def __init__(self, connection: sqlite3.Connection, revision: int) -> None:
        self._connection = connection
        self.revision = revision
        self.visible = False
        self.obsolete_rows = 0
        """Rows that the finished changes leave behind in the full-text index."""
        self._new: list[tuple[Any, ...]] = []
        self._removed: list[tuple[int]] = []
        self._new_titles: list[str] = []
        """Of known chunks, for the list of words."""
        self._renamed: list[tuple[int, int]] = []
        self._kept = 0
        self._each: list[ChunkCounts] = []

    def add(self, change: Change) -> None:
        added, removed, kept = len(self._new), len(self._removed), self._kept
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
                if change.flags is not None:
                    self._flag(change.doc_id, change.flags)
            case RemoveNote():
                self._drop_chunks(self._rows_of(change.doc_id))
                self._connection.execute("DELETE FROM documents WHERE doc_id = ?", (change.doc_id,))
                self.visible = True
        self._each.append(
            ChunkCounts(len(self._new) - added, len(self._removed) - removed, self._kept - kept)
        )

    def fail(self, change: Change, reason: str) -> None:
        """Mark the note of a change that cannot be stored; its last indexed chunks stay."""
        match change:
            case SaveNote(document) | MarkNote(document):
                known = self._connection.execute(
                    "SELECT doc_id, state, reason, flags FROM documents "
                    "WHERE doc_id = ? OR (source_id = ? AND raw_path = ?)",
                    (document.doc_id, document.source, document.raw_path),
                ).fetchone()
                if known is None or known[1:3] != ("failed", reason):
                    # Private if the text that stays is, or the one that could not be stored.
                    stored = rows.to_flags(known[3]) if known else ()
                    flags = (*stored, *(flag for flag in document.flags if flag not in stored))
                    bare = replace(
                        document, doc_id=known[0] if known else document.doc_id,
                        title=document.path.rpartition("/")[2], lang="und",
                        fingerprint=Fingerprint(0, 0, 0, 0), content_hash="",
                        state="failed", reason=reason, facets=(), flags=flags,
                    )  # fmt: skip
                    self._mark(MarkNote(bare, "", keep_text=True))
            case TouchNote(doc_id):
                self.visible = self._connection.execute(_FAIL, ("failed", reason, doc_id)).rowcount > 0
        self._each.append(ChunkCounts())

    def finish(self, bulk_chunks: int) -> Applied:
        """Write the new chunks and the change log; more than `bulk_chunks` are indexed by one statement."""
        execute = self._connection.execute
        if self._new:
            last = int(execute("SELECT coalesce(max(id), 0) FROM chunks").fetchone()[0])
            is_bulk = len(self._new) > bulk_chunks
            if is_bulk:
                execute(schema.DROP_INSERT_TRIGGER)
            self._connection.executemany(_INSERT_CHUNK, self._new)
            if is_bulk:
                execute(schema.INDEX_CHUNKS_AFTER, (last,))
                execute(schema.INSERT_TRIGGER)
                # After a bulk load followers of the log read everything again: faster, and no log to store.
                execute("UPDATE meta SET value = ? WHERE key = 'changes_after'", (self.revision,))
            else:
                execute(
                    "INSERT INTO changes(revision, chunk, op) SELECT ?, id, 'add' FROM chunks WHERE id > ?",
                    (self.revision, last),
                )
        texts = [f"{row[9]} {row[7]} {row[8]}" for row in self._new] + self._new_titles
        if texts:
            vocabulary.learn(self._connection, texts)
        self._connection.executemany(
            "INSERT OR IGNORE INTO changes(revision, chunk, op) VALUES (?, ?, 'remove')",
            [(self.revision, row) for (row,) in self._removed],
        )
        # A new title changes the embedded text: followers drop the old vector and fetch the new one.
        for op in ("remove", "add"):
            self._connection.executemany(
                f"INSERT OR IGNORE INTO changes(revision, chunk, op) VALUES (?, ?, '{op}')", self._renamed
            )
        self.obsolete_rows = len(self._removed) + len(self._renamed)
        revision = self.revision if self.visible else self.revision - 1
        return Applied(revision, len(self._new), len(self._removed), self._kept, tuple(self._each))

    def _save(self, change: SaveNote) -> None:
        document, passages = change.document, change.passages
        self._write_document(document, change.own_trust, change.made_by, change.checked_ns)
        known = {row[0]: row for row in self._connection.execute(_CHUNKS_OF, (document.doc_id,))}
        texts = [(passage.heading_path, text_hash(passage.text)) for passage in passages]
        ids = chunk_ids(document.doc_id, change.chunker, texts)
        titles = rows.storable(change.titles or document.title)
        for ordinal, (chunk_id, passage) in enumerate(zip(ids, passages, strict=True)):
            span = passage.span
            place = (ordinal, passage.kind, span.first, span.last, span.page)
            row = known.pop(chunk_id, None)
            if row is not None:
                self._keep(row, titles, place)
                continue
            heading, text = rows.storable(passage.heading_path), rows.storable(passage.text)
            self._new.append(
                (
                    chunk_id, document.doc_id, *place, heading, text, titles,
                    rows.indexed_grams(titles, heading, text), embedded_hash(titles, heading, text),
                    is_korean(text),
                )
            )  # fmt: skip
        self._drop_chunks([row[1] for row in known.values()])
        self.visible = True

    def _keep(self, row: tuple[Any, ...], titles: str, place: tuple[Any, ...]) -> None:
        chunk, heading, text = row[1], row[8], row[9]
        if row[2:7] != place:
            self._connection.execute(_MOVE_CHUNK, (*place, chunk))
        if row[7] != titles:
            self._new_titles.append(titles)
            self._renamed.append((self.revision, chunk))
            derived = rows.indexed_grams(titles, heading, text), embedded_hash(titles, heading, text)
            self._connection.execute(
                "UPDATE chunks SET title = ?, grams = ?, embed_hash = ? WHERE id = ?",
                (titles, *derived, chunk),
            )
        self._kept += 1

    def _move(self, change: MoveNotes) -> None:
        # Through unique temporary paths, because notes may swap theirs. Without `made_by` the next run
        # reads the note again: its title may come from the path.
        self._connection.executemany(
            "UPDATE documents SET raw_path = CAST('/' || doc_id AS BLOB) WHERE doc_id = ?",
            [(move.doc_id,) for move in change.moves],
        )
        self._connection.executemany(
            "UPDATE documents SET raw_path = ?, path = ?, made_by = '' WHERE doc_id = ?",
            [(move.raw_path, move.path, move.doc_id) for move in change.moves],
        )
        self.visible = True

    def _mark(self, change: MarkNote) -> None:
        document = change.document
        if not change.keep_text:
            self._drop_chunks(self._rows_of(document.doc_id))
        values = (document.state, document.reason, document.doc_id)
        if not change.keep_text or self._connection.execute(_FAIL, values).rowcount == 0:
            self._write_document(document, None, change.made_by, 0)
        else:
            self._flag(document.doc_id, document.flags)
        self.visible = True

    def _flag(self, doc: DocId, flags: tuple[DocumentFlag, ...]) -> None:
        row = rows.as_json(flags)
        self.visible |= self._connection.execute(_FLAG, (row, doc, row)).rowcount > 0

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
                rows.as_json(document.flags),
                stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode,
                document.content_hash, made_by, document.state, document.reason, now, checked_ns,
                document.dated, document.dated_by,
            ),
        )  # fmt: skip
        self._connection.execute("DELETE FROM facets WHERE doc_id = ?", (document.doc_id,))
        self._connection.executemany(_INSERT_FACET, rows.facet_rows(document))
        called = (name for kind in NAME_KINDS for name in values_of(document.facets, kind))
        names = rows.storable(distinct_names(called))
        for statement in (_DROP_NAMES, _SAVE_NAMES):
            self._connection.execute(statement, (document.doc_id, names, grams(names)))

    def _rows_of(self, doc: DocId) -> list[int]:
        return [row for (row,) in self._connection.execute("SELECT id FROM chunks WHERE doc_id = ?", (doc,))]

    def _drop_chunks(self, chunk_rows: list[int]) -> None:
        dropped = [(row,) for row in chunk_rows]
        self._connection.executemany("DELETE FROM chunks WHERE id = ?", dropped)
        self._removed += dropped
