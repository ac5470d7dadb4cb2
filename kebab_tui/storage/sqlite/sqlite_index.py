"""The index in one SQLite database of this machine; implements `storage.ports.Index`.

Every command loads this module: it imports the reader, the writer and the checks where they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from kebab_tui.own_files import ChangeCheck
from kebab_tui.storage.lock import DataFolder, WriterLock

if TYPE_CHECKING:
    from kebab_tui.domain.document import Source
    from kebab_tui.search.ports import FieldWeights
    from kebab_tui.storage.ports import Finding, SqlLimits, SqlResult, Waiting, WriterSession
    from kebab_tui.storage.requests import RequestFolder
    from kebab_tui.storage.sqlite.reader import StoreReader
    from kebab_tui.vectors.sync import VectorFollower


class SqliteIndex:
    """The files of the index are in one folder: that of the URL, or else the data folder."""

    def __init__(self, url: str, folder: str, weights: FieldWeights) -> None:
        self._files = DataFolder(url.removeprefix("sqlite://") or folder)
        self._weights = weights
        self.folder = self._files.root
        self.location = self._files.database
        self._leases = {
            "write": WriterLock(self._files.lock),
            "embed": WriterLock(self._files.embedding_lock, makes_folder=False),
        }

    @cached_property
    def reader(self) -> StoreReader:
        from kebab_tui.storage.sqlite.reader import StoreReader

        return StoreReader(self._files, self._weights)

    def exists(self) -> bool:
        return os.path.exists(self._files.database)

    def size(self) -> int:
        return self._files.database_bytes()

    def version(self, made_by: str) -> str:
        from kebab_tui.storage.sqlite import schema

        return schema.lexical_version(schema.fts_signature(), made_by)

    def known_sources(self) -> list[Source] | None:
        from kebab_tui.storage.sqlite import recovery

        return recovery.read_sources(self._files.sources) if os.path.exists(self._files.sources) else None

    def change_check(self) -> Callable[[], bool]:
        # A commit changes the log; the live state and the database are replaced, which changes the folder.
        return ChangeCheck(self._files.root, self._files.database + "-wal").may_have_changed

    def sql(self, statement: str, limits: SqlLimits) -> SqlResult:
        from kebab_tui.storage.sqlite.sql import select

        return select(self._files, statement, limits)

    def check(self, chunker: str) -> Iterator[Finding]:
        from kebab_tui.storage.sqlite.health import check_index

        return check_index(self._files, chunker)

    def vector_index(self, model: str, dims: int, *, may_save: bool = False) -> VectorFollower:
        """FAISS on this machine, which follows the change log."""
        from kebab_tui.vectors.sync import VectorFollower

        return VectorFollower(self.reader, self.folder, model, dims, may_save=lambda: may_save)

    def lease(self, purpose: Literal["write", "embed"]) -> WriterLock:
        return self._leases[purpose]

    def requests(self) -> RequestFolder:
        from kebab_tui.storage.requests import RequestFolder

        return RequestFolder(self._files.root)

    def write(
        self, command: str, timeout_s: float, waiting: Waiting, *, saw_crash: bool = False
    ) -> AbstractContextManager[WriterSession]:
        from kebab_tui.storage.sqlite.write_session import write_session

        lock = self._leases["write"]
        return write_session(
            self._files, lock, command, timeout_s, waiting, saw_crash=saw_crash, weights=self._weights
        )

    def recheck(self, command: str, timeout_s: float, waiting: Waiting) -> str:
        from kebab_tui.storage.sqlite.write_session import recheck

        lock = self._leases["write"]
        lock.acquire(command, timeout_s, waiting)
        try:
            return recheck(self._files)
        finally:
            lock.release()
