"""What an ingest did, file by file where that matters to the reader.

Files that were fine are counted; files that changed anything or failed are named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kebab_tui.domain.ids import SourceId

if TYPE_CHECKING:
    from kebab_tui.indexing.embed import EmbeddingProgress
    from kebab_tui.indexing.status import LiveState
    from kebab_tui.storage.lock import Holder


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


# How a long verb talks to whoever started it: what it tells, and what it asks.


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Called by the thread that does the work."""

    progress: Callable[[Progress], None] = lambda _: None
    cancelled: Callable[[], bool] = lambda: False
    """Asked between two files and between two texts."""
    waiting: Callable[[Holder | None], None] = lambda _: None
    """Told once when another process writes; None when nobody knows which."""
    embedding: Callable[[EmbeddingProgress], None] = lambda _: None
    notice: Callable[[str], None] = lambda _: None
    """Told what the user has to know before the result."""
    changed: Callable[[NoteChange], None] = lambda _: None
    """Told of each note that changed, once that is in the index."""
    stopping: Callable[[], bool] = lambda: False
    """Asked many times within a file: reading it is given up, and it is read again next time."""


@dataclass(frozen=True, slots=True)
class WatchCallbacks:
    """How keeping watch talks to whoever started it; called by the thread that keeps it."""

    stopping: Callable[[], bool]
    """Asked several times a second."""
    changed: Callable[[NoteChange], None] = lambda _: None
    state: Callable[[LiveState], None] = lambda _: None
    """Told a few times a second at most, when something is different."""
    following: Callable[[Holder | None], None] = lambda _: None
    """Another process writes; told once for each, None when nobody knows which."""
