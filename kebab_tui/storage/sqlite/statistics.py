"""The statistics that FTS5 keeps of the corpus, from its own tables."""

from __future__ import annotations

import sqlite3

from kebab_tui.search.ports import Collection


def collection_of(connection: sqlite3.Connection) -> Collection:
    row = connection.execute("SELECT block FROM chunks_fts_data WHERE id = 1").fetchone()
    numbers = varints(row[0]) if row else []
    if not numbers or numbers[0] == 0:
        return Collection(0, 0.0)
    return Collection(numbers[0], sum(numbers[1:]) / numbers[0])


def varints(blob: bytes) -> list[int]:
    """Decode SQLite's variable-length integers: seven bits per byte, high bit for "more", at most 9 bytes."""
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
