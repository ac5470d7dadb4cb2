"""Every whole word of the notes, so that an unfinished word can be completed.

The index holds stems: nothing in it begins with `installa`. This list holds the words
as written, folded as the index folds them (by the index's own tokenizer, in a scratch
table that keeps no text), each with its stem. Words are only ever added; one whose
notes are gone just finds nothing. `seen` is how many chunks had it when added, a
measure of commonness and no more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from kebab_tui.store import schema

_FIRST_CJK = "\u1100"
"""Hangul, Han and Kana sort from here on; their unfinished words are found through grams."""

_SCRATCH_INDEX = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.plain USING fts5"
    f"(text, content='', columnsize=0, detail=none, tokenize='{schema.PLAIN_TOKENIZER}')"
)
_SCRATCH_WORDS = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.plain_words USING fts5vocab('temp', 'plain', 'row')"


def prepare(connection: sqlite3.Connection) -> None:
    """Make the scratch tables; outside of any transaction that could be rolled back."""
    connection.execute(_SCRATCH_INDEX)
    connection.execute(_SCRATCH_WORDS)


def learn(connection: sqlite3.Connection, texts: Iterable[str]) -> None:
    """Add the words of new texts, within the caller's transaction."""
    connection.execute("INSERT INTO temp.plain(plain) VALUES ('delete-all')")
    connection.executemany("INSERT INTO temp.plain(rowid, text) VALUES (?, ?)", enumerate(texts, 1))
    _take(connection)


def relearn(connection: sqlite3.Connection) -> None:
    """Start the list anew from all chunks, within the caller's transaction."""
    connection.execute("DELETE FROM words")
    connection.execute("INSERT INTO temp.plain(plain) VALUES ('delete-all')")
    connection.execute(
        "INSERT INTO temp.plain(rowid, text) "
        "SELECT id, title || ' ' || heading_path || ' ' || text FROM chunks"
    )
    _take(connection)


def _take(connection: sqlite3.Connection) -> None:
    connection.execute(
        "UPDATE words SET seen = seen + p.doc FROM temp.plain_words AS p WHERE p.term = words.word"
    )
    connection.execute(
        "INSERT INTO words(word, stem, seen) "
        "SELECT p.term, kebab_stem(p.term), p.doc FROM temp.plain_words AS p "
        "WHERE p.term < ? AND length(p.term) > 1 "
        "AND NOT EXISTS (SELECT 1 FROM words w WHERE w.word = p.term)",
        (_FIRST_CJK,),
    )
    connection.execute("INSERT INTO temp.plain(plain) VALUES ('delete-all')")
