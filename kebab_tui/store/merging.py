"""Full text that speaks of passages which are gone: kept until it is merged away.

FTS5 merges as it grows, but what was taken away goes on being read at every search: when
four fifths of 100,000 passages had been replaced three times, a search took 5.2 ms instead
of 3.1; merged, 2.9. The number of rows taken away since the last merge stands in `meta`.
"""

from __future__ import annotations

import sqlite3

_GONE = "gone_from_full_text"
_ENOUGH = 500
"""Below this no search feels it."""
_SHARE = 5
"""Nor while fewer than one in so many rows is gone."""
_PAGES = 64
"""How much one step merges: some 5 ms, at most 50, for which a saved note waits."""


def note_gone(connection: sqlite3.Connection, rows: int) -> None:
    if rows:
        connection.execute(
            "INSERT INTO meta(key, value) VALUES (?1, ?2) "
            "ON CONFLICT(key) DO UPDATE SET value = value + excluded.value",
            (_GONE, rows),
        )


def is_due(connection: sqlite3.Connection) -> bool:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_GONE,)).fetchone()
    gone = row[0] if row else 0
    if gone < _ENOUGH:
        return False
    return bool(gone * _SHARE >= connection.execute("SELECT count(*) FROM chunks").fetchone()[0])


def merge_step(connection: sqlite3.Connection, *, first: bool) -> bool:
    """One step of the merge, within a transaction; whether nothing is left to be done.

    The first one takes in all there is; a merge that was cut short begins with such a step again.
    """
    before = connection.total_changes
    connection.execute(
        "INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('merge', ?)", (-_PAGES if first else _PAGES,)
    )
    if connection.total_changes - before >= 2:  # FTS5 documents: fewer say that there was nothing to do
        return False
    forget(connection)
    return True


def forget(connection: sqlite3.Connection) -> None:
    """The full text speaks of nothing but what is there."""
    connection.execute("DELETE FROM meta WHERE key = ?", (_GONE,))
