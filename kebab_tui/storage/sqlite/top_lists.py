"""The best passages of a word that occurs in very many, so that a search need not score all of them.

bm25 of one word is `idf * (K1 + 1) * x / (x + K1)` with the density `x = f / (1 - B + B * length /
average_length)`; `f`, the weighted occurrences, and `length` belong to the passage, all else to the corpus.
So passages rank by density, whatever `idf` is. A list has the `SIZE` densest passages of one revision, and
`bound`, the density of the next one: no other passage was denser.

It stays of use when notes change. Passages that came later are in the log of changes. Those that stayed keep
`f` and `length`, but the average may have changed from `a` to `b`. Where `b > a`, their densities grow by

    (1 - B + B * length / a) / (1 - B + B * length / b) <= b / a

since that is `(p + q) / (p + q * a / b)` with `p, q >= 0`; where `b <= a`, they do not grow. So no other
passage is denser than `bound * max(1, b / a)`, and a ranking of the listed and the new passages is that of
all as far as it is denser than that. `StoreSnapshot.rank` scores all of them if it is not.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from typing import NamedTuple

from kebab_tui.search.bm25 import K1, inverse_document_frequency
from kebab_tui.search.match import Match, Word
from kebab_tui.search.ports import Collection, FieldWeights
from kebab_tui.storage.sqlite.connection import STEPS_BETWEEN_QUESTIONS, meta_value

COMMON = 50_000
"""Passages with a word from which it has a list; scoring fewer takes less than a tenth of a second."""
SIZE = 3_000
_MOST_WORDS = 64
_MOST_NEW = 1_000
"""With more new passages, or a larger change of the average length, a list is made again."""
_DRIFT = 0.02
_ROUNDING = 1e-9
"""Far above the error of the arithmetic, far below the difference of two densities."""
_ASCII_WORD = re.compile(r"[a-z0-9]+")


class TopList(NamedTuple):
    """The rows to score, as JSON, and the density that no other row exceeds."""

    rows: str
    bound: float


def of_word(
    connection: sqlite3.Connection, match: Match | None, weights: FieldWeights, collection: Collection
) -> TopList | None:
    """The list of a word, with the passages that came since; None if there is no list of use."""
    if not isinstance(match, Word) or match.columns or collection.chunks < COMMON:
        return None
    word = match.text.lower()
    if _ASCII_WORD.fullmatch(word) is None:  # only these are sure to be one and the same token
        return None
    statement = "SELECT revision, average_length, bound, rows FROM top_lists WHERE word = ? AND weights = ?"
    row = connection.execute(statement, (word, repr(weights))).fetchone()
    if row is None or not _log_reaches(connection, row[0]):
        return None
    revision, average, bound, rows = row
    new = _new_since(connection, revision)
    bound *= max(1.0, collection.average_length / average) * (1 + _ROUNDING)
    return TopList(f"{rows[:-1]}{''.join(f',{row}' for row in new)}]", bound)


def density(bm25: float, collection: Collection, frequency: int) -> float:
    """The density of a passage with this raw bm25 for a single word."""
    share = -bm25 / inverse_document_frequency(collection.chunks, frequency) / (K1 + 1)
    return K1 * share / (1 - share) if share < 1 else float("inf")


def missing(connection: sqlite3.Connection, weights: FieldWeights, collection: Collection) -> list[str]:
    """The common words without a list, or with one that changes have made too long or too loose."""
    if collection.chunks < COMMON:
        return []
    statement = (
        "SELECT w.word, t.revision, t.average_length FROM "
        "(SELECT word, seen FROM words WHERE seen >= ? ORDER BY seen DESC LIMIT ?) w "
        "LEFT JOIN top_lists t ON t.word = w.word AND t.weights = ? ORDER BY w.seen DESC"
    )
    found = connection.execute(statement, (COMMON, _MOST_WORDS, repr(weights))).fetchall()
    return [
        word
        for word, revision, average in found
        if _ASCII_WORD.fullmatch(word)
        and (
            revision is None
            or not _log_reaches(connection, revision)
            or abs(collection.average_length / average - 1) > _DRIFT
            or len(_new_since(connection, revision)) > _MOST_NEW
        )
    ]


def make(
    connection: sqlite3.Connection,
    word: str,
    weights: FieldWeights,
    collection: Collection,
    cancelled: Callable[[], bool],
) -> tuple[str | float, ...] | None:
    """The row of the list of a word, by a full ranking; None if cancelled or if the word is not common."""
    by_field = (weights.heading, weights.text, weights.title, weights.grams)
    statement = (
        f"SELECT rowid, bm25(chunks_fts, 0, 0, {', '.join(map(repr, by_field))}) AS score FROM chunks_fts "
        "WHERE chunks_fts MATCH ? ORDER BY score LIMIT ?"
    )
    term = f'"{word}"'
    frequency = connection.execute(
        "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (term,)
    ).fetchone()[0]
    if frequency < COMMON:  # `seen` also counts removed passages
        return None
    connection.set_progress_handler(cancelled, STEPS_BETWEEN_QUESTIONS)
    try:
        best = connection.execute(statement, (term, SIZE + 1)).fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT or not cancelled():
            raise
        return None
    finally:
        connection.set_progress_handler(lambda: 0, STEPS_BETWEEN_QUESTIONS)
    bound = density(best[SIZE][1], collection, frequency) if len(best) > SIZE else 0.0
    rows = json.dumps([row for row, _ in best[:SIZE]], separators=(",", ":"))
    revision = int(meta_value(connection, "corpus_revision") or 0)
    return word, repr(weights), revision, collection.average_length, bound, rows


def _log_reaches(connection: sqlite3.Connection, revision: int) -> bool:
    return int(meta_value(connection, "changes_after") or 0) <= revision


def _new_since(connection: sqlite3.Connection, revision: int) -> list[int]:
    statement = "SELECT DISTINCT chunk FROM changes WHERE revision > ? AND op = 'add'"
    return [row for (row,) in connection.execute(statement, (revision,))]
