"""The reading side of the store: one connection per thread, moments of the corpus.

Never writes, never waits for the writer. Implements `search.ports.Corpus`. A database
that another has taken the place of (a damaged one was set aside) is let go.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import StoreDamagedError
from kebab_tui.search.ports import FieldWeights
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite import recovery
from kebab_tui.storage.sqlite.connection import Detached, translated
from kebab_tui.storage.sqlite.snapshot import AnswerCache, StoreSnapshot

if TYPE_CHECKING:
    from kebab_tui.storage.sqlite.catalogue import Catalogue


_FileStamp = tuple[int, int, int]
_Stamp = tuple[_FileStamp, _FileStamp]


class StoreReader:
    """Opens the database at the first question of each thread."""

    def __init__(self, folder: DataFolder, weights: FieldWeights) -> None:
        self._folder = folder
        self._weights = weights
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._opened_lock = threading.Lock()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[StoreSnapshot]:
        with self._moment() as connection:
            yield StoreSnapshot(connection, self._weights, self._local.answers)

    @contextlib.contextmanager
    def catalogue(self) -> Iterator[Catalogue]:
        from kebab_tui.storage.sqlite.catalogue import Catalogue  # a search by words never needs it

        with self._moment() as connection:
            yield Catalogue(connection)

    @contextlib.contextmanager
    def vectors(self, model: str) -> Iterator[VectorSource]:

        with self._moment() as connection:
            yield VectorSource(connection, model)

    def close(self) -> None:
        """Close every thread's connection; the reader opens anew when asked again."""
        with self._opened_lock:
            while self._opened:
                self._opened.pop().close()
            self._local = threading.local()

    @contextlib.contextmanager
    def _moment(self) -> Iterator[sqlite3.Connection]:
        with self._noticing_damage(), translated(self._folder.database):
            connection = self._connection()
            if connection.in_transaction:  # a question within a question sees the same moment
                yield connection
                return
            with _read_transaction(connection):
                yield connection

    def _connection(self) -> sqlite3.Connection:
        held: tuple[sqlite3.Connection, _Stamp] | None = getattr(self._local, "held", None)
        if held is not None and held[0].in_transaction:
            return held[0]
        stamp = self._stamp()
        if held is not None:
            if stamp == held[1]:
                return held[0]
            recovery.verify_checksums(self._folder)
            if self._is_current(*held, stamp):
                self._local.held = held[0], stamp
                return held[0]
            self._let_go(held[0])
        connection = recovery.open_known(self._folder)
        self._local.held = connection, stamp
        self._local.answers = AnswerCache()
        with self._opened_lock:
            self._opened.append(connection)
        return connection

    def _is_current(self, connection: sqlite3.Connection, then: _Stamp, now: _Stamp) -> bool:
        """Whether a connection still sees what is committed; asked when the files have changed."""
        return not isinstance(connection, Detached) and now[0][0] == then[0][0]

    def _stamp(self) -> _Stamp:
        """Which file has the database's name now, and when it and its log were last written."""
        return _stamp_of(self._folder.database), _stamp_of(self._folder.database + "-wal")

    def _let_go(self, connection: sqlite3.Connection) -> None:
        with self._opened_lock:
            self._opened.remove(connection)
        del self._local.held
        connection.close()

    @contextlib.contextmanager
    def _noticing_damage(self) -> Iterator[None]:
        try:
            yield
        except StoreDamagedError:
            recovery.mark_suspect(self._folder)
            raise


@contextlib.contextmanager
def _read_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _stamp_of(path: str) -> _FileStamp:
    try:
        status = os.stat(path)
    except OSError:
        return 0, 0, 0
    return status.st_ino, status.st_size, status.st_mtime_ns


# The vectors as SQLite keeps them: what a vector index is made from and follows.
#
# Vectors travel as fp16 blobs, as stored. Reads only.

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
