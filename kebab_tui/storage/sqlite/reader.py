"""Read access to the index: one connection per thread, one consistent snapshot per transaction.

Never writes and never waits for the writer. Implements `storage.ports.Reader`. Opens a new
connection after the database file was replaced, as when a damaged one was set aside, or migrated.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import StoreDamagedError
from kebab_tui.domain.ids import ChunkRow, SourceId
from kebab_tui.domain.interruption import is_superseded
from kebab_tui.domain.text import PARTS_VERSION
from kebab_tui.own_files import Stamp, stamp_of
from kebab_tui.search.ports import Among, FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import recovery
from kebab_tui.storage.sqlite.connection import (
    STEPS_BETWEEN_QUESTIONS,
    Detached,
    is_older,
    meta_value,
    translated,
)
from kebab_tui.storage.sqlite.snapshot import MATCHES, AnswerCache, StoreSnapshot, rows_cache

if TYPE_CHECKING:
    from kebab_tui.storage.ports import PendingCount, PendingText, VectorCount
    from kebab_tui.storage.sqlite.catalogue import StoreCatalogue
    from kebab_tui.storage.sqlite.name_list import NameLists

_ALL = "SELECT c.id, e.vector FROM chunks c JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?"
_CHANGED = (
    "SELECT DISTINCT c.id, e.vector FROM changes g JOIN chunks c ON c.id = g.chunk "
    "JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?1 "
    "WHERE g.revision > ?2 AND g.op <> 'remove' ORDER BY c.id"
)
_WITHOUT = (
    "FROM chunks c LEFT JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?1 "
    f"WHERE coalesce(e.parts_version, 0) < {PARTS_VERSION}"
)


def complete_key(model: str) -> str:
    """The key in `meta` of a revision at which every chunk had a vector of a model, all parts of it."""
    return f"complete@{PARTS_VERSION}:{model}"


class StoreReader:
    """Opens the database at the first read of each thread."""

    def __init__(self, folder: DataFolder, weights: FieldWeights) -> None:
        self._folder = folder
        self._weights = weights
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._opened_lock = threading.Lock()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[StoreSnapshot]:
        with self._transaction() as connection:
            local = self._local
            caches = local.answers, local.matches, local.passing
            yield StoreSnapshot(connection, self._weights, *caches, lambda: self._names)

    @contextlib.contextmanager
    def catalogue(self) -> Iterator[StoreCatalogue]:
        from kebab_tui.storage.sqlite.catalogue import StoreCatalogue  # a keyword search never needs it

        with self._transaction() as connection:
            yield StoreCatalogue(connection)

    def roots(self) -> list[tuple[SourceId, str]]:
        statement = "SELECT source_id, root FROM sources WHERE use <> 'removed' ORDER BY added_ns, source_id"
        with self._transaction() as connection:
            return [(SourceId(source), os.fsdecode(root)) for source, root in connection.execute(statement)]

    @contextlib.contextmanager
    def vectors(self, model: str) -> Iterator[VectorSource]:
        with self._transaction() as connection:
            yield VectorSource(connection, model)

    @cached_property
    def _names(self) -> NameLists:
        from kebab_tui.storage.sqlite.name_list import NameLists  # a search never needs it

        return NameLists()

    def rows(self, among: Among) -> Sequence[ChunkRow]:
        """Every chunk among these, in this thread's snapshot; cached by revision."""
        with self.snapshot() as snapshot:
            return snapshot.rows(among)

    def close(self) -> None:
        """Close the connections of all threads; the next read opens a new one."""
        with self._opened_lock:
            while self._opened:
                self._opened.pop().close()
            self._local = threading.local()
            self.__dict__.pop("_names", None)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            with translated(self._folder.database):
                connection = self._connection()
                is_nested = connection.in_transaction
                if is_nested:  # the same snapshot
                    yield connection
                    return
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("COMMIT")
        except StoreDamagedError:
            recovery.mark_suspect(self._folder)
            raise

    def _connection(self) -> sqlite3.Connection:
        known: tuple[sqlite3.Connection, tuple[Stamp, Stamp]] | None = getattr(self._local, "known", None)
        if known is not None and known[0].in_transaction:
            return known[0]
        stamp = stamp_of(self._folder.database), stamp_of(self._folder.database + "-wal")
        if known is not None:
            connection, before = known
            if stamp == before:
                return connection
            recovery.verify_checksums(self._folder)
            is_same_file = stamp[0][0] == before[0][0]
            if is_same_file and not isinstance(connection, Detached) and not is_older(connection):
                self._local.known = connection, stamp
                return connection
            with self._opened_lock:
                self._opened.remove(connection)
            if "_names" in self.__dict__:
                self._names.forget()
            del self._local.known
            connection.close()
        connection = recovery.open_verified(self._folder)
        connection.set_progress_handler(is_superseded, STEPS_BETWEEN_QUESTIONS)
        self._local.known = connection, stamp
        self._local.answers, self._local.matches = AnswerCache(), AnswerCache(MATCHES)
        self._local.passing = rows_cache()
        with self._opened_lock:
            self._opened.append(connection)
        return connection


class VectorSource:
    """The stored vectors of one model, as fp16 blobs. Valid only during its read transaction."""

    def __init__(self, connection: sqlite3.Connection, model: str) -> None:
        self._connection = connection
        self._model = model

    def revision(self) -> int:
        return self._meta("corpus_revision")

    def all(self) -> Iterator[tuple[int, bytes]]:
        """Every chunk with a vector, unordered: sorting would read the whole table of chunks."""
        yield from self._connection.execute(_ALL, (self._model,))

    def change_count(self, revision: int) -> int | None:
        if not self._log_reaches(revision):
            return None
        statement = "SELECT count(*) FROM changes WHERE revision > ?"
        return int(self._connection.execute(statement, (revision,)).fetchone()[0])

    def changes_after(self, revision: int) -> tuple[list[tuple[int, bytes]], list[int]] | None:
        """Chunks with a new vector and removed chunks; None if the log does not reach back so far."""
        if not self._log_reaches(revision):
            return None
        added = self._connection.execute(_CHANGED, (self._model, revision)).fetchall()
        removed = self._connection.execute(
            "SELECT DISTINCT chunk FROM changes WHERE revision > ? AND op = 'remove'", (revision,)
        )
        return added, [row for (row,) in removed]

    def vectors(self, rows: Sequence[int]) -> dict[int, bytes]:
        statement = (
            "SELECT c.id, e.vector FROM chunks c JOIN embeddings e "
            "ON e.text_hash = c.embed_hash AND e.model = ? WHERE c.id IN (SELECT value FROM json_each(?))"
        )
        return dict(self._connection.execute(statement, (self._model, json.dumps(list(rows)))))

    def pending(self, limit: int) -> list[PendingText]:
        """Distinct texts without a vector, from the most recently changed notes first; then outdated ones."""
        from kebab_tui.storage.ports import PendingText  # a search never needs it

        statement = (
            "SELECT c.embed_hash, c.title, c.heading_path, c.text, coalesce(e.vector, x'') "
            "FROM chunks c JOIN (SELECT max(w.id) AS id, max(d.mtime_ns) AS mtime, w.outdated "
            "FROM (SELECT c.id, c.doc_id, c.embed_hash, e.text_hash IS NOT NULL AS outdated "
            f"{_WITHOUT}) w JOIN documents d ON d.doc_id = w.doc_id "
            "GROUP BY w.embed_hash ORDER BY w.outdated, mtime DESC, id LIMIT ?2"
            ") p ON p.id = c.id LEFT JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?1 "
            "ORDER BY p.outdated, p.mtime DESC, c.id"
        )
        return [PendingText(*row) for row in self._connection.execute(statement, (self._model, limit))]

    def pending_of(self, rows: Sequence[ChunkRow]) -> list[PendingText]:
        """As `pending`: the texts of these chunks, in their order."""
        from kebab_tui.storage.ports import PendingText

        statement = (
            "SELECT c.embed_hash, c.title, c.heading_path, c.text, coalesce(e.vector, x'') "
            "FROM json_each(?2) n CROSS JOIN chunks c ON c.id = n.value "
            "LEFT JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?1 "
            f"WHERE coalesce(e.parts_version, 0) < {PARTS_VERSION} GROUP BY c.embed_hash ORDER BY min(n.key)"
        )
        values = (self._model, json.dumps(list(rows)))
        return [PendingText(*row) for row in self._connection.execute(statement, values)]

    def pending_since(self, revision: int) -> list[PendingText] | None:
        """Texts of chunks added after a revision; None if the log does not reach back so far."""
        from kebab_tui.storage.ports import PendingText

        if not self._log_reaches(revision):
            return None
        statement = (
            "SELECT DISTINCT c.embed_hash, c.title, c.heading_path, c.text, coalesce(e.vector, x'') "
            "FROM changes n JOIN chunks c ON c.id = n.chunk "
            "LEFT JOIN embeddings e ON e.text_hash = c.embed_hash AND e.model = ?1 "
            "WHERE n.revision > ?2 AND n.op = 'add' "
            f"AND coalesce(e.parts_version, 0) < {PARTS_VERSION}"
        )
        return [PendingText(*row) for row in self._connection.execute(statement, (self._model, revision))]

    def still_pending(self, hashes: Sequence[bytes]) -> set[bytes]:
        """The texts that a chunk still uses and that still have no vector, or an outdated one."""
        statement = (
            "SELECT DISTINCT c.embed_hash FROM chunks c WHERE c.embed_hash = ?2 AND NOT EXISTS "
            "(SELECT 1 FROM embeddings e WHERE e.text_hash = c.embed_hash AND e.model = ?1 "
            f"AND e.parts_version >= {PARTS_VERSION})"
        )
        found = (self._connection.execute(statement, (self._model, each)).fetchone() for each in hashes)
        return {row[0] for row in found if row is not None}

    def pending_count(self, *, fully: bool = False) -> PendingCount:
        from kebab_tui.storage.ports import PendingCount

        statement = (
            "SELECT count(*) FILTER (WHERE e.text_hash IS NULL), "
            "count(DISTINCT c.embed_hash) FILTER (WHERE e.text_hash IS NULL), "
            f"count(DISTINCT e.text_hash) {_WITHOUT}"
        )
        values: list[str | int] = [self._model]
        if not fully and (complete := self.complete_at()) is not None:
            statement += " AND c.id IN (SELECT chunk FROM changes WHERE revision > ?2 AND op = 'add')"
            values.append(complete)
        return PendingCount(*self._connection.execute(statement, values).fetchone())

    def complete_at(self) -> int | None:
        """A revision at which no chunk was pending, if one is noted and the log has what was added since."""
        revision = meta_value(self._connection, complete_key(self._model))
        # Look at the table at least: it may be damaged.
        has_any = self._connection.execute("SELECT 1 FROM embeddings LIMIT 1").fetchone() is not None
        return (
            int(revision) if revision is not None and has_any and self._log_reaches(int(revision)) else None
        )

    def count(self) -> VectorCount:
        from kebab_tui.storage.ports import VectorCount

        statement = (
            "SELECT (SELECT count(*) FROM embeddings WHERE model = ?1), "
            "(SELECT count(*) FROM embeddings e WHERE e.model = ?1 "
            "AND EXISTS (SELECT 1 FROM chunks c WHERE c.embed_hash = e.text_hash))"
        )
        return VectorCount(*self._connection.execute(statement, (self._model,)).fetchone())

    def _log_reaches(self, revision: int) -> bool:
        return self._meta("changes_after") <= revision <= self.revision()

    def _meta(self, key: str) -> int:
        value = meta_value(self._connection, key)
        if value is None:
            raise StoreDamagedError(f"index corrupted: no {key} in table meta")
        return int(value)
