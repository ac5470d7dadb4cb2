"""Writes less during a first load: what has random keys is made at its end, checkpoints are rare.

Each commit of a load writes most pages of such an index again, first to the log and then to the
database. Without them, searches by words and the vectors find all that is stored; looking up a tag or a
link reads the whole table of facets, a chunk by its id the table of chunks.

The facets, whose key begins with the random id of a note, are kept by the number of its row meanwhile,
which grows: `facets` is a view of them, with triggers that take what is written to it. Their names have a
small index, since every search looks for a note of that name. A killed load leaves
all that as it is; the next writer completes it at its end, or at the end of the load that it continues.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

from kebab_tui.storage.sqlite import schema
from kebab_tui.storage.sqlite.connection import cache_as_usual, checkpoint_as_usual
from kebab_tui.storage.sqlite.rows import IS_NAME

_FEWEST_FILES = 2_000
_SHARE = 2
"""A load has at least half as many files as the index."""
_SMALLEST_LOG = 128 << 20
_CACHE_KB = 128 << 10
"""The pages that a commit changes: what does not fit goes to the log more than once."""
_INDEXES = {
    "chunks_by_name": schema.CHUNKS_BY_NAME,
    "chunks_by_vector": schema.CHUNKS_BY_VECTOR,
    "facets_by_value": schema.FACETS_BY_VALUE,
}
_COLUMNS = "ordinal, kind, folded, value, line, target, extra"
_NEW = ", ".join(f"new.{name}" for name in _COLUMNS.split(", "))
_LEAVE_OUT_FACETS = f"""
CREATE TABLE loaded_facets(
  note INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  kind TEXT NOT NULL,
  folded TEXT NOT NULL,
  value TEXT NOT NULL,
  line INTEGER,
  target TEXT,
  extra TEXT,
  PRIMARY KEY (note, ordinal)
) WITHOUT ROWID;
CREATE INDEX loaded_names ON loaded_facets(folded) WHERE {IS_NAME};
INSERT INTO loaded_facets(note, {_COLUMNS})
SELECT d.rowid, {_COLUMNS} FROM documents d CROSS JOIN facets f ON f.doc_id = d.doc_id
ORDER BY d.rowid, f.ordinal;
DROP TABLE facets;
CREATE VIEW facets AS
SELECT d.doc_id, {_COLUMNS} FROM loaded_facets l JOIN documents d ON d.rowid = l.note;
CREATE TRIGGER facets_ii INSTEAD OF INSERT ON facets BEGIN
INSERT INTO loaded_facets(note, {_COLUMNS})
SELECT d.rowid, {_NEW} FROM documents d WHERE d.doc_id = new.doc_id; END;
CREATE TRIGGER facets_id INSTEAD OF DELETE ON facets BEGIN
DELETE FROM loaded_facets WHERE ordinal = old.ordinal
AND note = (SELECT d.rowid FROM documents d WHERE d.doc_id = old.doc_id); END;
CREATE TRIGGER loaded_facets_of_documents AFTER DELETE ON documents BEGIN
DELETE FROM loaded_facets WHERE note = old.rowid; END;
"""
# In the order of the index on ids: nothing is sorted, and the table is written from left to right.
_MAKE_FACETS = f"""
DROP VIEW facets;
{schema.CREATE_FACETS};
INSERT INTO facets(doc_id, {_COLUMNS})
SELECT d.doc_id, {_COLUMNS} FROM documents d CROSS JOIN loaded_facets l ON l.note = d.rowid
ORDER BY d.doc_id, l.ordinal;
DROP TRIGGER loaded_facets_of_documents;
DROP TABLE loaded_facets;
"""


def is_first_load(connection: sqlite3.Connection, files: int) -> bool:
    """Whether to leave indexes out while so many files are read."""
    if files < _FEWEST_FILES:
        return False
    (known,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    return bool(files * _SHARE >= known)


def leave_out(connection: sqlite3.Connection) -> None:
    """Drop the indexes; that of vectors only while there are none, as each of them is looked up in it."""
    connection.execute("DROP INDEX IF EXISTS chunks_by_name")
    if not _has_loaded_facets(connection):
        _run(connection, _LEAVE_OUT_FACETS)
    if connection.execute("SELECT 1 FROM embeddings LIMIT 1").fetchone() is None:
        connection.execute("DROP INDEX IF EXISTS chunks_by_vector")


def is_incomplete(connection: sqlite3.Connection) -> bool:
    """Whether a load has left something out."""
    return bool(_missing_indexes(connection))  # that of facets goes with their table


def complete(connection: sqlite3.Connection) -> None:
    """Make what was left out, within the caller's transaction."""
    if _has_loaded_facets(connection):
        _run(connection, _MAKE_FACETS)
    for statement in _missing_indexes(connection):
        connection.execute(statement)


def _missing_indexes(connection: sqlite3.Connection) -> list[str]:
    there = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index'").fetchall()
    return [statement for name, statement in _INDEXES.items() if (name,) not in there]


def _has_loaded_facets(connection: sqlite3.Connection) -> bool:
    return (
        connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'facets' AND type = 'view'").fetchone()
        is not None
    )


def _run(connection: sqlite3.Connection, script: str) -> None:
    for statement in schema.statements_of(script):
        connection.execute(statement)


def prepare(connection: sqlite3.Connection) -> None:
    """Leave checkpoints to `checkpoint_rarely`, and keep what a commit changes in memory."""
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")


def finish(connection: sqlite3.Connection) -> None:
    """Back to the usual settings."""
    checkpoint_as_usual(connection)
    cache_as_usual(connection)
    connection.execute("PRAGMA shrink_memory")


def checkpoint_rarely(connection: sqlite3.Connection, path: str) -> None:
    """Checkpoint once the log is as large as the database, which then has doubled."""
    with contextlib.suppress(OSError):  # SQLite meets the same error and reports it better
        if os.path.getsize(f"{path}-wal") > max(_SMALLEST_LOG, os.path.getsize(path)):
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
