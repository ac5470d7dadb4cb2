"""The list of whole words of the notes, for completions.

The full-text index stores stems: none begins with `installa`. This list stores the words as the
index's tokenizer folds them (in a scratch table without text), each with its stem. Words are
only added; a word whose notes are gone finds nothing. `seen` counts the chunks at the time of
adding and only ranks completions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from kebab_tui.storage.sqlite import schema

FIRST_CJK = "\u1100"
"""Hangul, Han and Kana sort from here on; grams find the beginnings of their words."""

_SCRATCH = f"""
CREATE VIRTUAL TABLE temp.plain USING fts5(
  text, content='', columnsize=0, detail=none, tokenize='{schema.PLAIN_TOKENIZER}'
);
CREATE VIRTUAL TABLE temp.plain_words USING fts5vocab('temp', 'plain', 'row');
CREATE TABLE temp.new_words(id INTEGER PRIMARY KEY, word TEXT NOT NULL, seen INTEGER NOT NULL);
CREATE VIRTUAL TABLE temp.stems USING fts5(
  word, content='', columnsize=0, tokenize='{schema.TOKENIZER}'
);
CREATE VIRTUAL TABLE temp.stems_of USING fts5vocab('temp', 'stems', 'instance');
"""

_LEARN = (
    "UPDATE words SET seen = seen + p.doc FROM temp.plain_words AS p WHERE p.term = words.word",
    (
        "INSERT INTO temp.new_words(word, seen) SELECT p.term, p.doc FROM temp.plain_words AS p "
        f"WHERE p.term < '{FIRST_CJK}' AND length(p.term) > 1 "
        "AND NOT EXISTS (SELECT 1 FROM words w WHERE w.word = p.term)"
    ),
    "INSERT INTO temp.stems(rowid, word) SELECT id, word FROM temp.new_words",
    (
        "INSERT INTO words(word, stem, seen) SELECT n.word, s.term, n.seen "
        "FROM temp.stems_of s JOIN temp.new_words n ON n.id = s.doc WHERE s.offset = 0 "
        "ON CONFLICT(word) DO NOTHING"
    ),
    "DELETE FROM temp.new_words",
    "INSERT INTO temp.stems(stems) VALUES ('delete-all')",
    "INSERT INTO temp.plain(plain) VALUES ('delete-all')",
)


def prepare(connection: sqlite3.Connection) -> None:
    """Create the scratch tables of this connection, outside any transaction."""
    connection.executescript(_SCRATCH)


def learn(connection: sqlite3.Connection, texts: Iterable[str]) -> None:
    """Add the words of new texts, within the caller's transaction."""
    connection.executemany("INSERT INTO temp.plain(rowid, text) VALUES (?, ?)", enumerate(texts, 1))
    _add_new_words(connection)


def relearn(connection: sqlite3.Connection) -> None:
    """Rebuild the list from all chunks, within the caller's transaction."""
    connection.execute("DELETE FROM words")
    connection.execute(
        "INSERT INTO temp.plain(rowid, text) "
        "SELECT id, title || ' ' || heading_path || ' ' || text FROM chunks"
    )
    _add_new_words(connection)


def _add_new_words(connection: sqlite3.Connection) -> None:
    for statement in _LEARN:
        connection.execute(statement)
