"""Undoes the latest steps of the schema: an index as the program before them made it, with present notes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

_UNDO = {
    10: """
        DROP TABLE top_lists;
        DROP INDEX documents_by_odd_path;
        DROP INDEX documents_by_path;
        DROP INDEX documents_by_time;
    """,
    9: "DROP TABLE version_documents;",
    8: "ALTER TABLE sources DROP COLUMN use;",
    7: "ALTER TABLE embeddings DROP COLUMN parts_version;",
}


def back_to(version: int, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        for step, statements in _UNDO.items():
            if step > version:
                connection.executescript(statements)
        connection.execute("DELETE FROM meta WHERE key LIKE 'complete@%'")  # no earlier program noted that
        connection.execute("DELETE FROM _sqlite_migrations WHERE name >= ?", (f"{version + 1:04}",))
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
