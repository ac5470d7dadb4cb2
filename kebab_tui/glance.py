"""The index at a glance: sizes, versions, folders, past runs, who writes. Counts, judges nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kebab_tui.domain.document import Source
    from kebab_tui.parts import Parts
    from kebab_tui.semantics.health import VectorState
    from kebab_tui.storage.lock import DataFolder, Holder
    from kebab_tui.storage.sqlite.catalogue import Figures, IndexRun

_RUNS = 5


@dataclass(frozen=True, slots=True)
class Status:
    """What can be known without looking at a single note."""

    figures: Figures
    expected_lexical_version: str
    vectors: VectorState
    sources: list[Source]
    runs: list[IndexRun]
    database: str
    database_bytes: int
    holder: Holder | None


def status_of(parts: Parts, folder: DataFolder) -> Status:
    """All of one moment of the index."""
    from kebab_tui.semantics.health import vector_state
    from kebab_tui.storage.lock import WriterLock
    from kebab_tui.storage.sqlite import schema

    with parts.reader.catalogue() as catalogue:
        return Status(
            figures=catalogue.figures(),
            expected_lexical_version=schema.lexical_version(schema.fts_signature(), parts.recipe.made_by),
            vectors=vector_state(parts.semantics, parts.reader, folder),
            sources=catalogue.sources(),
            runs=catalogue.runs(_RUNS),
            database=folder.database,
            database_bytes=folder.database_bytes(),
            holder=WriterLock(folder.lock).holder(),
        )
