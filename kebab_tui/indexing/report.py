"""What an ingest did, file by file where that matters to the reader.

Files that were fine are counted; files that changed anything or failed are named.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from kebab_tui.domain.ids import SourceId

Outcome = Literal["added", "changed", "moved", "removed", "failed", "skipped", "unchanged"]
OUTCOMES: tuple[Outcome, ...] = ("added", "changed", "moved", "removed", "failed", "skipped", "unchanged")


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """`detail`: the reason of a failure, or where a moved note was before."""

    path: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class SourceReport:
    source: SourceId
    root: str
    counts: dict[Outcome, int]
    files: tuple[FileOutcome, ...]
    problems: tuple[str, ...]
    """Folders and ignore files that could not be read; what was indexed below them stays."""
    paused: str = ""
    """Why the folder could not be looked at; empty when it could."""
    unseen: tuple[bytes, ...] = ()
    """Where the problems are: raw paths, of which each may be a folder."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    sources: tuple[SourceReport, ...]
    chunks_added: int
    chunks_removed: int
    chunks_kept: int
    corpus_revision: int
    seconds: float
    cancelled: bool = False
    healed: str = ""
    """Where a damaged index was set aside; empty when it was sound."""
    read_error: bool = False
    """The index seemed to be damaged, and proved sound when it was read again."""

    def count(self, outcome: Outcome) -> int:
        return sum(source.counts.get(outcome, 0) for source in self.sources)


@dataclass(frozen=True, slots=True)
class NoteChange:
    """What one note's change did, told once it is in the index.

    `saved_ns`: when the file was written or put in its place; None for one that is gone.
    """

    source: SourceId
    path: str
    outcome: Outcome
    detail: str
    chunks_added: int
    chunks_removed: int
    chunks_kept: int
    saved_ns: int | None
    committed_ns: int
    revision: int


@dataclass(frozen=True, slots=True)
class Progress:
    """`total` is known once a folder has been walked; 0 before."""

    source: SourceId
    done: int
    total: int
    chunks: int
    path: str = ""


@dataclass(slots=True)
class Tally:
    """Gathers outcomes while one source is being worked on."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    files: list[FileOutcome] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def note(self, path: str, outcome: Outcome, detail: str = "") -> None:
        self.counts[outcome] += 1
        if outcome != "unchanged":
            self.files.append(FileOutcome(path, outcome, detail))

    def correct(self, failed: list[tuple[FileOutcome, str]]) -> None:
        """Take back what was said too early of files that could not be stored."""
        reasons = dict(failed)
        for place, file in enumerate(self.files):
            if file in reasons:
                self.counts[file.outcome] -= 1
                self.counts["failed"] += 1
                self.files[place] = FileOutcome(file.path, "failed", reasons[file])
        failed.clear()
