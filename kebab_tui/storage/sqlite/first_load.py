"""Writes less during a first load: indexes with random keys are made at its end, checkpoints are rare.

Each commit of a load writes most pages of such an index again, first to the log and then to the
database. Without them, searches by words and the vectors find all that is stored; looking up a name, a
tag or a link reads the whole table of facets, a chunk by its id the table of chunks. A killed load leaves
the indexes out; the next writer makes them at its end, or at the end of the load that it continues.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3

from kebab_tui.storage.sqlite import schema
from kebab_tui.storage.sqlite.connection import cache_as_usual, checkpoint_as_usual

_FEWEST_FILES = 2_000
_SHARE = 2
"""A load has at least half as many files as the index."""
_SMALLEST_LOG = 128 << 20
_CACHE_KB = 256 << 10
"""The pages that a commit changes: what does not fit goes to the log more than once."""
_INDEXES = {
    "chunks_by_name": schema.CHUNKS_BY_NAME,
    "chunks_by_vector": schema.CHUNKS_BY_VECTOR,
    "facets_by_value": schema.FACETS_BY_VALUE,
}


def is_first_load(connection: sqlite3.Connection, files: int) -> bool:
    """Whether to leave indexes out while so many files are read."""
    if files < _FEWEST_FILES:
        return False
    (known,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    return bool(files * _SHARE >= known)


def leave_out(connection: sqlite3.Connection) -> None:
    """Drop the indexes; that of vectors only while there are none, as each of them is looked up in it."""
    connection.execute("DROP INDEX IF EXISTS chunks_by_name")
    connection.execute("DROP INDEX IF EXISTS facets_by_value")
    if connection.execute("SELECT 1 FROM embeddings LIMIT 1").fetchone() is None:
        connection.execute("DROP INDEX IF EXISTS chunks_by_vector")


def missing(connection: sqlite3.Connection) -> list[str]:
    """The statements that make the indexes left out."""
    there = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'index'").fetchall()
    return [statement for name, statement in _INDEXES.items() if (name,) not in there]


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
