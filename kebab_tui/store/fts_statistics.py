"""The figures behind bm25, as FTS5 itself keeps them.

Chunk lengths and totals are read from FTS5's own tables. How often a phrase stands in
a field is worked out backwards from FTS5's `bm25()` with all weight on that field, so
tokenizing, stemming and phrase matching are the index's and are not repeated here.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence

from kebab_tui.domain.ids import ChunkRow
from kebab_tui.search.bm25 import K1, inverse_document_frequency, length_norm
from kebab_tui.search.ports import Collection, FieldCounts

_ONE_FIELD = ", ".join(
    f"bm25(chunks_fts, 0, 0, {', '.join('1' if i == field else '0' for i in range(4))})" for field in range(4)
)
# The plus keeps the row list away from FTS5, which would start one search per row.
_OCCURRENCES = (
    f"SELECT rowid, {_ONE_FIELD} FROM chunks_fts WHERE chunks_fts MATCH ? "
    "AND +rowid IN (SELECT value FROM json_each(?))"
)


def collection(connection: sqlite3.Connection) -> Collection:
    """How many chunks there are and their mean length in tokens."""
    row = connection.execute("SELECT block FROM chunks_fts_data WHERE id = 1").fetchone()
    numbers = _varints(row[0]) if row else []
    if not numbers or numbers[0] == 0:
        return Collection(0, 0.0)
    return Collection(numbers[0], sum(numbers[1:]) / numbers[0])


def lengths(connection: sqlite3.Connection, wanted: Sequence[ChunkRow]) -> Mapping[ChunkRow, int]:
    """Length in tokens over all fields."""
    statement = "SELECT id, sz FROM chunks_fts_docsize WHERE id IN (SELECT value FROM json_each(?))"
    return {
        ChunkRow(row): sum(_varints(sz)) for row, sz in connection.execute(statement, (json.dumps(wanted),))
    }


def occurrences(
    connection: sqlite3.Connection, match: str, wanted: Sequence[ChunkRow]
) -> Mapping[ChunkRow, FieldCounts]:
    """How often the phrase stands in each field of the given chunks."""
    total = collection(connection)
    sizes = lengths(connection, wanted)
    hits = connection.execute(
        "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (match,)
    ).fetchone()[0]
    idf = inverse_document_frequency(total.chunks, hits)
    counts = {}
    for row, *scores in connection.execute(_OCCURRENCES, (match, json.dumps(wanted))):
        norm = length_norm(sizes[row], total.average_length)
        heading, text, title, grams = (_count(score, idf, norm) for score in scores)
        counts[ChunkRow(row)] = FieldCounts(heading, text, title, grams)
    return counts


def _count(score: float, idf: float, norm: float) -> int:
    """Solve `-score = idf * f * (K1 + 1) / (f + norm)` for f."""
    share = -score / idf
    left = K1 + 1 - share
    if left <= 0 or not math.isfinite(share):
        return 0
    return round(norm * share / left)


def _varints(blob: bytes) -> list[int]:
    """SQLite's variable-length integers: seven bits a byte, high bit for "more", at most nine bytes."""
    numbers = []
    value = length = 0
    for byte in blob:
        length += 1
        if length == 9:
            numbers.append(value << 8 | byte)
            value = length = 0
        elif byte & 0x80:
            value = value << 7 | byte & 0x7F
        else:
            numbers.append(value << 7 | byte)
            value = length = 0
    return numbers
