"""Reports of indexing.

They list changed and failed files; unchanged files are only counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from kebab_tui.domain.document import OtherFiles
from kebab_tui.domain.ids import SourceId

Outcome = Literal["added", "changed", "moved", "removed", "failed", "skipped", "unchanged"]
OUTCOMES: tuple[Outcome, ...] = ("added", "changed", "moved", "removed", "failed", "skipped", "unchanged")


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """`detail`: the reason of a failure, the old path of a moved note, or what `.kebabprivate` changed."""

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
    """Unreadable folders and ignore files; notes below them stay in the index."""
    paused: str = ""
    """Why the folder could not be scanned."""
    unseen: tuple[bytes, ...] = ()
    """Raw paths of the problems: files or folders."""
    other_files: OtherFiles = OtherFiles()
    """Only known after a scan of the whole folder."""


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
    """Path of a damaged index that was set aside."""
    read_error: bool = False
    """The index seemed damaged, but a second read found no error."""

    def count(self, outcome: Outcome) -> int:
        return sum(source.counts.get(outcome, 0) for source in self.sources)


@dataclass(frozen=True, slots=True)
class NoteChange:
    """A committed change of one note. `saved_ns`: when the file was saved or moved; None if deleted."""

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
    """`total` is 0 until the folder has been walked."""

    source: SourceId
    done: int
    total: int
    chunks: int
    path: str = ""


@dataclass(slots=True)
class Tally:
    """Collects the outcomes of one source."""

    counts: Counter[Outcome] = field(default_factory=Counter)
    files: list[FileOutcome] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def note(self, path: str, outcome: Outcome, detail: str = "") -> None:
        self.counts[outcome] += 1
        if outcome != "unchanged":
            self.files.append(FileOutcome(path, outcome, detail))

    def correct(self, failed: list[tuple[FileOutcome, str]]) -> None:
        """Mark files as failed that could not be stored."""
        reasons = dict(failed)
        for place, file in enumerate(self.files):
            if file in reasons:
                self.counts[file.outcome] -= 1
                self.counts["failed"] += 1
                self.files[place] = FileOutcome(file.path, "failed", reasons[file])
        failed.clear()
