"""How a database comes to the present schema, step by step.

The only module that imports sqlite_utils: its import pulls NumPy and costs more than
a whole search, so readers and a writer of an up-to-date database never come here.
A step that has shipped is never edited; a new schema is a new step.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from kebab_tui.domain.text import RECIPE_VERSION
from kebab_tui.store import schema

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations


def _steps() -> Migrations:
    from sqlite_utils.migrations import Migrations

    steps = Migrations("kebab")

    @steps(name="0001_notes_and_words")
    def first(db: Database) -> None:
        for statement in _statements(schema.TABLES):
            db.execute(statement)
        db.execute(schema.FTS_TABLE)
        db.execute("INSERT INTO chunks_fts(chunks_fts, rank) VALUES ('hashsize', ?)", [schema.FTS_HASH_BYTES])
        for trigger in (schema.INSERT_TRIGGER, schema.DELETE_TRIGGER, schema.UPDATE_TRIGGER):
            db.execute(trigger)
        db.execute(
            "INSERT INTO meta(key, value) "
            "VALUES ('corpus_revision', 0), ('changes_after', 0), ('fts_signature', ?), ('embed_recipe', ?)",
            [schema.fts_signature(), RECIPE_VERSION],
        )
        db.execute("PRAGMA user_version = 1")

    return steps


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the database to the present schema; each step is one transaction."""
    from sqlite_utils import Database

    # Always our own connection: left to itself sqlite_utils may pick another SQLite.
    _steps().apply(Database(connection))


def _statements(script: str) -> list[str]:
    """Split our own DDL; `executescript` would commit the migration's transaction half-way."""
    return [part for part in script.split(";\n") if part.strip()]
