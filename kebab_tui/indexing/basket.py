"""Changes on their way to the writer: gathered, committed together, told once they are in the index."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kebab_tui.domain.ids import SourceId
from kebab_tui.indexing.report import FileOutcome, NoteChange
from kebab_tui.storage.sqlite.batch import Applied, Change, ChunkCounts, SaveNote
from kebab_tui.storage.sqlite.writer import Writer


@dataclass(frozen=True, slots=True)
class Noted:
    """What is told of a change; `saved_ns`: when its file was put in place."""

    source: SourceId
    file: FileOutcome
    saved_ns: int | None = None


@dataclass(slots=True)
class Basket:
    """Commits by itself when it holds `most_chunks` or `most_seconds` have passed."""

    writer: Writer
    tell: Callable[[NoteChange], None]
    most_chunks: int
    most_seconds: float
    changes: list[tuple[Change, tuple[Noted, ...]]] = field(default_factory=list)
    chunks: int = 0
    since: float = field(default_factory=time.monotonic)
    added: int = 0
    removed: int = 0
    kept: int = 0
    failed: list[tuple[FileOutcome, str]] = field(default_factory=list)
    """Files that could not be stored: what was thought to become of them, and why it did not."""

    def lay(self, change: Change, *noted: Noted) -> None:
        """Put a change in that belongs in one transaction with the next one."""
        self.changes.append((change, noted))

    def put(self, change: Change, *noted: Noted) -> None:
        self.lay(change, *noted)
        if isinstance(change, SaveNote):
            self.chunks += len(change.passages)
        if self.chunks >= self.most_chunks or time.monotonic() - self.since >= self.most_seconds:
            self.commit()

    def commit(self) -> None:
        if self.changes:
            applied: Applied = self.writer.apply([change for change, _ in self.changes])
            self.added += applied.chunks_added
            self.removed += applied.chunks_removed
            self.kept += applied.chunks_kept
            committed, self.changes = self.changes, []
            self._tell(committed, applied)
        self.chunks = 0
        self.since = time.monotonic()

    def _tell(self, committed: list[tuple[Change, tuple[Noted, ...]]], applied: Applied) -> None:
        now = time.time_ns()
        for place, ((_, all_noted), counts) in enumerate(zip(committed, applied.each, strict=True)):
            reason = applied.failed.get(place)
            for noted in all_noted:
                if reason is not None:
                    self.failed.append((noted.file, reason))
                    noted = replace(noted, file=FileOutcome(noted.file.path, "failed", reason))
                self.tell(_told(noted, counts, applied.revision, now))


def _told(noted: Noted, counts: ChunkCounts, revision: int, now: int) -> NoteChange:
    return NoteChange(
        source=noted.source,
        path=noted.file.path,
        outcome=noted.file.outcome,
        detail=noted.file.detail,
        chunks_added=counts.added,
        chunks_removed=counts.removed,
        chunks_kept=counts.kept,
        saved_ns=noted.saved_ns,
        committed_ns=now,
        revision=revision,
    )
