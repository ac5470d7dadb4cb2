"""The reading side of the store: one connection per thread, moments of the corpus.

Never writes, never waits for the writer. Implements `search.ports.Corpus`.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator

from kebab_tui.search.ports import FieldWeights
from kebab_tui.store.catalogue import Catalogue
from kebab_tui.store.connection import open_reader, translated
from kebab_tui.store.folder import DataFolder
from kebab_tui.store.snapshot import StoreSnapshot
from kebab_tui.store.vector_source import VectorSource


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
            yield StoreSnapshot(connection, self._weights)

    @contextlib.contextmanager
    def catalogue(self) -> Iterator[Catalogue]:
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
        connection = self._connection()
        with translated(self._folder.database):
            if connection.in_transaction:  # a question within a question sees the same moment
                yield connection
                return
            with _read_transaction(connection):
                yield connection

    def _connection(self) -> sqlite3.Connection:
        if not hasattr(self._local, "connection"):
            self._local.connection = open_reader(self._folder.database)
            with self._opened_lock:
                self._opened.append(self._local.connection)
        connection: sqlite3.Connection = self._local.connection
        return connection


@contextlib.contextmanager
def _read_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")
