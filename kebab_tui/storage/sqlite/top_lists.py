"""The best passages of words that occur in very many, so that a search need not score all of them.

bm25 of one word is `idf * (K1 + 1) * x / (x + K1)` with the density `x = f / (1 - B + B * length /
average_length)`; `f`, the weighted occurrences, and `length` belong to the passage, all else to the corpus.
So passages rank by density, whatever `idf` is. A list has the densest passages of one revision, and `bound`,
the density of the next one: no other passage was denser.

bm25 of several words is the sum over them. A passage in no list has at most the sum of the bounds, so a
ranking of the listed passages is that of all as far as it is above that. Where any of the words is enough,
all passages of those without a list are ranked, too.

A list stays of use when notes change. Passages that came later are in the log of changes. Those that
stayed keep `f` and `length`, but the average may have changed from `a` to `b`. Where `b > a`, their densities
grow by

    (1 - B + B * length / a) / (1 - B + B * length / b) <= b / a

since that is `(p + q) / (p + q * a / b)` with `p, q >= 0`; where `b <= a`, they do not grow. So no other
passage is denser than `bound * max(1, b / a)`. `StoreSnapshot.rank` scores all passages where lists do not
reach far enough.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Container
from typing import NamedTuple

from kebab_tui.search.bm25 import K1, inverse_document_frequency
from kebab_tui.search.match import All, Any, Match, Word, any_of
from kebab_tui.search.ports import Collection, FieldWeights
from kebab_tui.storage.sqlite.connection import STEPS_BETWEEN_QUESTIONS, meta_value

COMMON = 10_000
"""Passages with a word from which it has a list; scoring fewer takes less than a hundredth of a second."""
SIZE = 6_000
_SHARE, _SHARE_OF_WORD = 100, 5
"""A list has one passage in 100, at least `SIZE`, but at most one in 5 of those with the word."""
_MOST_WORDS = 800
_MOST_NEW, _SHARE_NEW = 1_000, 500
"""With more new passages, and one in 500, or a larger change of the average length, a list is made again."""
_DRIFT = 0.02
_LITTLE = 0.01
"""A word with less than this share of the best score, such as `the`: its list would tell nothing."""
_ROUNDING = 1e-9
"""Far above the error of the arithmetic, far below the difference of two scores."""
_NEW = """
WITH RECURSIVE later(revision) AS (
  SELECT (SELECT min(revision) FROM changes WHERE revision > ?)
  UNION ALL
  SELECT (SELECT min(c.revision) FROM changes c WHERE c.revision > later.revision)
  FROM later WHERE later.revision IS NOT NULL
)
SELECT DISTINCT c.chunk FROM later CROSS JOIN changes c ON c.revision = later.revision AND c.op = 'add'
WHERE (SELECT op FROM changes f WHERE f.revision = later.revision LIMIT 1) <> 'vector'
"""
"""Skips revisions that stored vectors, maybe millions, by their first row: they have nothing else."""
_ASCII_WORD = re.compile(r"[a-z0-9]+")


class Candidates(NamedTuple):
    """The rows to score, and the raw bm25, positive, that no other row exceeds.

    `unlisted`: what matches this is to be scored, too.
    """

    rows: list[int]
    unlisted: Match | None
    bound: float


class _TopList(NamedTuple):
    """`rows` is JSON; no other row that was there at the revision is denser than `density`."""

    revision: int
    rows: str
    density: float


def candidates(
    connection: sqlite3.Connection,
    match: Match | None,
    weights: FieldWeights,
    collection: Collection,
    frequency: Callable[[Match], int],
) -> Candidates | None:
    """What may be best for all or any of some words; None if their lists do not help."""
    if match is None or collection.chunks < COMMON:
        return None
    parts = match.parts if isinstance(match, All | Any) else (match,)
    lists = {part: top for part in parts if (top := _of_word(connection, part, weights, collection))}
    is_any, size = isinstance(match, Any), collection.chunks
    if not lists or not (is_any or all(_is_common(part, lists, frequency) for part in parts)):
        return None
    if isinstance(match, All) and frequency(match) < SIZE:  # the search needs this number anyway
        return None
    most: dict[Match, float] = {
        part: (K1 + 1) * inverse_document_frequency(size, frequency(part))
        for part in parts
        if isinstance(part, Word)
    }
    best, rows, unlisted, bound = max(most[part] for part in lists), list[int](), list[Match](), 0.0
    for part in parts:
        if most.get(part, best) < _LITTLE * best:
            bound += most[part]
        elif top := lists.get(part):
            rows += json.loads(top.rows)
            bound += most[part] * top.density / (top.density + K1)
        elif is_any:
            unlisted.append(part)
        else:
            return None
    rows += _new_since(connection, min(top.revision for top in lists.values()))
    return Candidates(rows, any_of(tuple(unlisted)) if unlisted else None, bound * (1 + _ROUNDING))


def _is_common(part: Match, lists: Container[Match], frequency: Callable[[Match], int]) -> bool:
    """Words of one letter have no list, either."""
    return part in lists or (isinstance(part, Word) and frequency(part) >= COMMON)


def _of_word(
    connection: sqlite3.Connection, match: Match, weights: FieldWeights, collection: Collection
) -> _TopList | None:
    """The list of a word; None if there is none of use."""
    if not isinstance(match, Word) or match.columns:
        return None
    word = match.text.lower()
    if _ASCII_WORD.fullmatch(word) is None:  # only these are sure to be one and the same token
        return None
    statement = (
        "SELECT t.revision, t.average_length, t.bound, t.rows FROM words w "
        "JOIN top_lists t ON t.word = w.stem AND t.weights = ? WHERE w.word = ?"
    )
    row = connection.execute(statement, (_made_for(weights), word)).fetchone()
    if row is None or not _log_reaches(connection, row[0]):
        return None
    revision, average, bound, rows = row
    bound *= max(1.0, collection.average_length / average) * (1 + _ROUNDING)
    return _TopList(revision, rows, bound)


def _made_for(weights: FieldWeights) -> str:
    """What distinguishes lists: other weights, or an earlier version, which listed words, not stems."""
    return f"stem, {weights!r}"


def missing(connection: sqlite3.Connection, weights: FieldWeights, collection: Collection) -> list[str]:
    """Words for the common stems without a list, or with one that changes have made too long or too loose."""
    if collection.chunks < COMMON:
        return []
    statement = (
        "SELECT w.word, t.revision, t.average_length FROM "
        "(SELECT word, stem, max(seen) AS seen FROM words WHERE seen >= ? "
        "GROUP BY stem ORDER BY 3 DESC LIMIT ?) w "
        "LEFT JOIN top_lists t ON t.word = w.stem AND t.weights = ? ORDER BY w.seen DESC"
    )
    found = connection.execute(statement, (COMMON, _MOST_WORDS, _made_for(weights))).fetchall()
    return [
        word
        for word, revision, average in found
        if _ASCII_WORD.fullmatch(word)
        and (
            revision is None
            or not _log_reaches(connection, revision)
            or abs(collection.average_length / average - 1) > _DRIFT
            or len(_new_since(connection, revision)) > max(_MOST_NEW, collection.chunks // _SHARE_NEW)
        )
    ]


def make(
    connection: sqlite3.Connection,
    word: str,
    weights: FieldWeights,
    collection: Collection,
    cancelled: Callable[[], bool],
) -> tuple[str | float, ...] | None:
    """The row of the list for the stem of a word, by a full ranking; None if cancelled or not common."""
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
    size = min(max(SIZE, collection.chunks // _SHARE), frequency // _SHARE_OF_WORD)
    connection.set_progress_handler(cancelled, STEPS_BETWEEN_QUESTIONS)
    try:
        best = connection.execute(statement, (term, size + 1)).fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT or not cancelled():
            raise
        return None
    finally:
        connection.set_progress_handler(lambda: 0, STEPS_BETWEEN_QUESTIONS)
    bound = _density(best[size][1], collection, frequency) if len(best) > size else 0.0
    rows = json.dumps([row for row, _ in best[:size]], separators=(",", ":"))
    revision = int(meta_value(connection, "corpus_revision") or 0)
    stem = connection.execute("SELECT stem FROM words WHERE word = ?", (word,)).fetchone()[0]
    return stem, _made_for(weights), revision, collection.average_length, bound, rows


def _density(bm25: float, collection: Collection, frequency: int) -> float:
    """The density of a passage with this raw bm25 for a single word."""
    share = -bm25 / inverse_document_frequency(collection.chunks, frequency) / (K1 + 1)
    return K1 * share / (1 - share) if share < 1 else float("inf")


def _log_reaches(connection: sqlite3.Connection, revision: int) -> bool:
    return int(meta_value(connection, "changes_after") or 0) <= revision


def _new_since(connection: sqlite3.Connection, revision: int) -> list[int]:
    return [row for (row,) in connection.execute(_NEW, (revision,))]
