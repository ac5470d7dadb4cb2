"""A folder of notes with an index of its own, for tests that work on real files."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from kebab_tui.domain.query import SearchFilters, SearchQuery
from kebab_tui.indexing.report import FileOutcome, IngestReport
from kebab_tui.search.ports import FieldWeights
from kebab_tui.settings.settings import Settings
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.sqlite.sqlite_index import SqliteIndex
from kebab_tui.workspace import Callbacks, Workspace

Rows = list[tuple[object, ...]]


def index_in(folder: str) -> SqliteIndex:
    """The index of a data folder."""
    return SqliteIndex("", folder, FieldWeights())


class Vault:
    """Write notes, ingest, ask. `place` gets the folders `notes` and `data`."""

    def __init__(self, place: Path, settings: Settings | None = None) -> None:
        self.root = place / "notes"
        self.data = place / "data"
        self.root.mkdir(exist_ok=True)
        self.workspace = self.opened(settings or Settings())

    @property
    def files(self) -> DataFolder:
        return DataFolder(str(self.data))

    def opened(self, settings: Settings) -> Workspace:
        """Another workspace over the same data, as another process would have."""
        return Workspace(settings, str(self.data))

    def restart(self) -> None:
        """Go on as the next process: perhaps one of another version."""
        self.workspace.close()
        self.workspace = self.opened(Settings())

    def write(self, path: str, content: str | bytes) -> str:
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as handle:
            handle.write(content.encode() if isinstance(content, str) else content)
        return full

    def move(self, old: str, new: str) -> None:
        target = self.root / new
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.root / old, target)

    def ingest(self, callbacks: Callbacks | None = None) -> IngestReport:
        return self.workspace.ingest([str(self.root)], callbacks or Callbacks())

    def outcomes(self) -> dict[str, str]:
        """Ingest, and say what happened to which path; unchanged notes are not named."""
        return {file.path: file.outcome for file in files(self.ingest())}

    def find(self, text: str, filters: SearchFilters | None = None) -> list[str]:
        """Paths of the notes that have all the words, in no order."""
        query = SearchQuery(text, k=1000, strict=True, filters=filters or SearchFilters())
        return sorted({hit.path for hit in self.workspace.search(query).hits})

    def ids(self) -> dict[str, str]:
        return {str(path): str(doc) for path, doc in self.rows("SELECT path, doc_id FROM documents")}

    def rows(self, statement: str, *values: object) -> Rows:
        with sqlite3.connect(self.data / "kebab.sqlite") as connection:
            found = connection.execute(statement, values).fetchall()
        connection.close()
        return found

    def everything(self) -> tuple[Rows, ...]:
        """All that indexing writes about notes; equal before and after means: nothing was touched."""
        tables = ("documents", "facets", "chunks", "changes", "words")
        revision = self.rows("SELECT value FROM meta WHERE key = 'corpus_revision'")
        return (revision, *(self.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables))

    def orphans(self) -> Sequence[object]:
        """Rows without an owner, chunks without full text, and full text without a chunk."""
        unindexed = self.rows("SELECT id FROM chunks EXCEPT SELECT id FROM chunks_fts_docsize")
        ghosts = self.rows("SELECT id FROM chunks_fts_docsize EXCEPT SELECT id FROM chunks")
        return [*self.rows("PRAGMA foreign_key_check"), *unindexed, *ghosts]


def files(report: IngestReport) -> list[FileOutcome]:
    return [file for source in report.sources for file in source.files]
