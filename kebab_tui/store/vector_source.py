"""The vectors as SQLite keeps them: what a vector index is made from and follows.

Vectors travel as fp16 blobs, as stored. Reads only.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kebab_tui.domain.errors import StoreDamagedError

_ALL = "SELECT c.id, e.vector FROM chunks c JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?"
_CHANGED = (
    "SELECT DISTINCT c.id, e.vector FROM changes g JOIN chunks c ON c.id = g.chunk "
    "JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?1 "
    "WHERE g.revision > ?2 AND g.op <> 'remove' ORDER BY c.id"
)
_WITHOUT = (
    "FROM chunks c LEFT JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?1 "
    "WHERE e.text_hash IS NULL"
)


@dataclass(frozen=True, slots=True)
class StoredVector:
    row: int
    vector: bytes


@dataclass(frozen=True, slots=True)
class VectorChanges:
    """Everything that happened to vectors between two revisions."""

    revision: int
    added: list[StoredVector]
    removed: list[int]


@dataclass(frozen=True, slots=True)
class PendingText:
    """A text that a model has not read yet."""

    text_hash: bytes
    title: str
    heading_path: str
    text: str


class VectorSource:
    """Valid only while its read transaction lasts."""

    def __init__(self, connection: sqlite3.Connection, model: str) -> None:
        self._connection = connection
        self._model = model

    def revision(self) -> int:
        return int(self._meta("corpus_revision"))

    def all(self) -> Iterator[tuple[int, bytes]]:
        """Every chunk that has a vector, in no order: sorting would read the chunks' whole table."""
        yield from self._connection.execute(_ALL, (self._model,))

    def changes_after(self, revision: int) -> VectorChanges | None:
        """What a follower at `revision` has missed; None when the log does not reach back so far."""
        if revision < int(self._meta("changes_after")) or revision > self.revision():
            return None
        added = [StoredVector(*row) for row in self._connection.execute(_CHANGED, (self._model, revision))]
        removed = self._connection.execute(
            "SELECT DISTINCT chunk FROM changes WHERE revision > ? AND op = 'remove'", (revision,)
        )
        return VectorChanges(self.revision(), added, [row for (row,) in removed])

    def vectors(self, rows: Sequence[int]) -> dict[int, bytes]:
        statement = (
            "SELECT c.id, e.vector FROM chunks c JOIN embeddings e "
            "ON e.text_hash = c.embed_hash AND e.model = ? WHERE c.id IN (SELECT value FROM json_each(?))"
        )
        return dict(self._connection.execute(statement, (self._model, json.dumps(list(rows)))))

    def pending(self, limit: int) -> list[PendingText]:
        """Texts without a vector, those of the latest changed notes first; each once."""
        statement = (
            "SELECT c.embed_hash, c.title, c.heading_path, c.text FROM chunks c JOIN ("
            "SELECT max(w.id) AS id, max(d.mtime_ns) AS mtime "
            f"FROM (SELECT c.id, c.doc_id, c.embed_hash {_WITHOUT}) w "
            "JOIN documents d ON d.doc_id = w.doc_id "
            "GROUP BY w.embed_hash ORDER BY mtime DESC, id LIMIT ?2"
            ") p ON p.id = c.id ORDER BY p.mtime DESC, c.id"
        )
        return [PendingText(*row) for row in self._connection.execute(statement, (self._model, limit))]

    def pending_since(self, revision: int) -> list[PendingText] | None:
        """Those of chunks that came after a revision; None when the log does not reach back so far."""
        if revision < int(self._meta("changes_after")) or revision > self.revision():
            return None
        statement = (
            "SELECT DISTINCT c.embed_hash, c.title, c.heading_path, c.text "
            "FROM changes n JOIN chunks c ON c.id = n.chunk WHERE n.revision > ?2 AND n.op = 'add' "
            "AND NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.text_hash = c.embed_hash AND e.model = ?1)"
        )
        return [PendingText(*row) for row in self._connection.execute(statement, (self._model, revision))]

    def still_pending(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Those of the texts that some chunk still has, and that still have no vector."""
        statement = (
            "SELECT DISTINCT c.embed_hash FROM chunks c WHERE c.embed_hash = ?2 AND NOT EXISTS "
            "(SELECT 1 FROM embeddings e WHERE e.text_hash = c.embed_hash AND e.model = ?1)"
        )
        found = (self._connection.execute(statement, (self._model, each)).fetchone() for each in hashes)
        return {row[0] for row in found if row is not None}

    def stored_count(self) -> int:
        """How many vectors this model has made, whether or not a chunk uses them."""
        statement = "SELECT count(*) FROM embeddings WHERE model = ?"
        return int(self._connection.execute(statement, (self._model,)).fetchone()[0])

    def used_count(self) -> int:
        """How many of them some chunk uses."""
        statement = (
            "SELECT count(*) FROM embeddings e WHERE e.model = ? "
            "AND EXISTS (SELECT 1 FROM chunks c WHERE c.embed_hash = e.text_hash)"
        )
        return int(self._connection.execute(statement, (self._model,)).fetchone()[0])

    def pending_count(self) -> int:
        """How many chunks still have no vector."""
        return int(self._connection.execute(f"SELECT count(*) {_WITHOUT}", (self._model,)).fetchone()[0])

    def pending_texts(self) -> int:
        """How many texts those are: the same text in several chunks is one."""
        statement = f"SELECT count(DISTINCT c.embed_hash) {_WITHOUT}"
        return int(self._connection.execute(statement, (self._model,)).fetchone()[0])

    def _meta(self, key: str) -> int:
        found = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if found is None:
            raise StoreDamagedError(f"the index is damaged: it does not say its {key}")
        return int(found[0])
