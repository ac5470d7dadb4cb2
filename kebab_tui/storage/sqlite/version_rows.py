"""The statements of versions: which notes belong to which version of a folder.

A version is a source; its note is stored once for all versions that have the same content at the same
path, and belongs to one of them, its home. `blob` is git's id of the content; empty for a version that is
a folder.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.storage.sqlite import rows

if TYPE_CHECKING:
    from kebab_tui.storage.ports import VersionNote

_NOTES = (
    "SELECT v.doc_id, v.version, v.blob, d.raw_path, d.source_id, d.content_hash, d.made_by, d.state, "
    "d.flags FROM version_documents v JOIN documents d ON d.doc_id = v.doc_id WHERE v.version IN "
    "(SELECT value FROM json_each(?))"
)
_COUNTS = (
    "SELECT v.version, count(*), coalesce(sum((SELECT count(*) FROM chunks c WHERE c.doc_id = v.doc_id)), 0) "
    "FROM version_documents v GROUP BY v.version"
)
# A home that goes, or whose note differs by now, leaves the note to another version that has it.
_NEW_HOME = (
    "UPDATE documents SET source_id = (SELECT min(v.version) FROM version_documents v "
    "WHERE v.doc_id = documents.doc_id AND v.version <> ?1) "
    "WHERE source_id = ?1 AND EXISTS (SELECT 1 FROM version_documents v "
    "WHERE v.doc_id = documents.doc_id AND v.version <> ?1) "
    "AND NOT EXISTS (SELECT 1 FROM version_documents v WHERE v.doc_id = documents.doc_id AND v.version = ?1)"
)
_COPY_VECTORS = (
    "INSERT OR IGNORE INTO embeddings(text_hash, model, vector, parts_version) "
    "SELECT e.text_hash, e.model, e.vector, e.parts_version FROM "
    "(SELECT DISTINCT embed_hash FROM chunks c WHERE NOT EXISTS "
    "(SELECT 1 FROM main.embeddings o WHERE o.text_hash = c.embed_hash AND o.model = ?1)) w "
    "CROSS JOIN other.embeddings e ON e.text_hash = w.embed_hash AND e.model = ?1"
)


def notes_of(connection: sqlite3.Connection, versions: Sequence[SourceId]) -> list[VersionNote]:
    from kebab_tui.storage.ports import VersionNote  # a search never needs it

    found = connection.execute(_NOTES, (rows.as_json(versions),))
    return [
        VersionNote(
            DocId(doc),
            SourceId(version),
            blob,
            path,
            SourceId(home),
            text,
            made_by,
            state,
            rows.to_flags(flags),
        )
        for doc, version, blob, path, home, text, made_by, state, flags in found
    ]


def counts(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """The notes and passages of each version."""
    return {version: (notes, chunks) for version, notes, chunks in connection.execute(_COUNTS)}


def versions_of(connection: sqlite3.Connection, docs: Sequence[DocId]) -> dict[DocId, set[str]]:
    """The versions that have each of these notes."""
    statement = (
        "SELECT doc_id, version FROM version_documents WHERE doc_id IN (SELECT value FROM json_each(?))"
    )
    found: dict[DocId, set[str]] = {}
    for doc, version in connection.execute(statement, (rows.as_json(docs),)):
        found.setdefault(DocId(doc), set()).add(version)
    return found


def keep_only(connection: sqlite3.Connection, version: SourceId, docs: Sequence[DocId]) -> None:
    """Take all other notes from a version; those that others have get another home."""
    connection.execute(
        "DELETE FROM version_documents WHERE version = ? AND doc_id NOT IN (SELECT value FROM json_each(?))",
        (version, rows.as_json(docs)),
    )
    connection.execute(_NEW_HOME, (version,))


def set_notes(connection: sqlite3.Connection, version: SourceId, notes: Sequence[tuple[DocId, str]]) -> None:
    connection.executemany(
        "INSERT INTO version_documents(version, doc_id, blob) VALUES (?, ?, ?) "
        "ON CONFLICT(version, doc_id) DO UPDATE SET blob = excluded.blob",
        [(version, doc, blob) for doc, blob in notes],
    )


def homeless(connection: sqlite3.Connection, version: SourceId) -> list[DocId]:
    """The notes at home in a version that it does not have."""
    statement = (
        "SELECT d.doc_id FROM documents d WHERE d.source_id = ?1 AND NOT EXISTS "
        "(SELECT 1 FROM version_documents v WHERE v.doc_id = d.doc_id AND v.version = ?1)"
    )
    return [DocId(doc) for (doc,) in connection.execute(statement, (version,))]


def copy_vectors(connection: sqlite3.Connection, model: str) -> int:
    """Take the missing vectors of a model from the database attached as `other`; returns their number."""
    return max(0, connection.execute(_COPY_VECTORS, (model,)).rowcount)
