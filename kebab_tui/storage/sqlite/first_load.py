"""Leaves indexes with random keys out of a first load, and makes them at its end.

Each commit of a load would write most pages of such an index again: of the 17 GB that the log took for a
million passages, half. An index that is missing slows down only `chunks_named` and what needs an index of
texts that have vectors: the writer makes it before it stores one. A killed load leaves the indexes out; the
next writer makes them at its end, or at the end of the load that it continues.
"""

from __future__ import annotations

import sqlite3

from kebab_tui.storage.sqlite import schema

_FEWEST_FILES = 2_000
_SHARE = 2
"""A load has at least half as many files as the index."""
_CHECKPOINT_PAGES = 32_768
"""Pages that several commits change go into the database once."""
_INDEXES = {"chunks_by_name": schema.CHUNKS_BY_NAME, "chunks_by_vector": schema.CHUNKS_BY_VECTOR}


def is_first_load(connection: sqlite3.Connection, files: int) -> bool:
    """Whether to leave indexes out while so many files are read."""
    if files < _FEWEST_FILES:
        return False
    (known,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    return bool(files * _SHARE >= known)


def leave_out(connection: sqlite3.Connection) -> None:
    """Drop the indexes; that of vectors only while there are none."""
    connection.execute("DROP INDEX IF EXISTS chunks_by_name")
    if connection.execute("SELECT 1 FROM embeddings LIMIT 1").fetchone() is None:
        connection.execute("DROP INDEX IF EXISTS chunks_by_vector")


def missing(connection: sqlite3.Connection) -> list[str]:
    """The statements that make the indexes left out."""
    there = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index'").fetchall()
    return [statement for name, statement in _INDEXES.items() if (name,) not in there]


def checkpoint_rarely(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
