"""The reading side of the store: one connection per thread, moments of the corpus.

Never writes, never waits for the writer. Implements `search.ports.Corpus`. A database
that another has taken the place of (a damaged one was set aside) is let go.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import StoreDamagedError
from kebab_tui.search.ports import FieldWeights
from kebab_tui.store import damage
from kebab_tui.store.connection import Detached, translated
from kebab_tui.store.folder import DataFolder
from kebab_tui.store.snapshot import Answers, StoreSnapshot

if TYPE_CHECKING:
    from kebab_tui.store.catalogue import Catalogue
    from kebab_tui.store.vector_source import VectorSource

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
        from kebab_tui.store.catalogue import Catalogue  # a search by words never needs it

        with self._moment() as connection:
            yield Catalogue(connection)

    @contextlib.contextmanager
    def vectors(self, model: str) -> Iterator[VectorSource]:
        from kebab_tui.store.vector_source import VectorSource

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
            damage.check_seal(self._folder)
            if self._is_current(*held, stamp):
                self._local.held = held[0], stamp
                return held[0]
            self._let_go(held[0])
        connection = damage.open_known(self._folder)
        self._local.held = connection, stamp
        self._local.answers = Answers()
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
            damage.suspect(self._folder)
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
