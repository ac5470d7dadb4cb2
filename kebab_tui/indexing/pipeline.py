"""One file at a time from its bytes to a change for the writer.

Reads, parses and cuts; a file that cannot be read becomes a row with a reason, never an
exception. Writes nothing itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace

from kebab_tui.chunking.chunker import chunk
from kebab_tui.chunking.sections import ChunkLimits
from kebab_tui.domain import document
from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped, TookTooLongError
from kebab_tui.domain.document import Document, Fingerprint, ParsedNote, Passage, Trust
from kebab_tui.domain.errors import UnreadableFileError, UnsuitableFileError
from kebab_tui.domain.ids import DocId, SourceId, document_id
from kebab_tui.files.read import FileContent, VanishedFileError, read_file
from kebab_tui.files.walk import FoundFile
from kebab_tui.formats.decode import ReadLimits
from kebab_tui.indexing.reconcile import checked_ns
from kebab_tui.indexing.report import FileOutcome, NoteChange
from kebab_tui.storage.sqlite import rows
from kebab_tui.storage.sqlite.batch import Applied, Change, ChunkCounts, MarkNote, SaveNote, TouchNote
from kebab_tui.storage.sqlite.catalogue import KnownFile
from kebab_tui.storage.sqlite.writer import Writer


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that decides what a file's bytes become."""

    limits: ReadLimits = ReadLimits()
    chunk_limits: ChunkLimits = ChunkLimits()

    @property
    def chunker(self) -> str:
        return document.chunker(self.chunk_limits.target, self.chunk_limits.cap)

    @property
    def made_by(self) -> str:
        return document.made_by(self.chunker)


@dataclass(frozen=True, slots=True)
class Patience:
    """When reading a file is given up. Lives as long as the process that reads."""

    stopping: Callable[[], bool] = lambda: False
    too_slow: set[tuple[SourceId, str, Fingerprint]] = field(default_factory=set)
    """Files that took too long, as they were then: they are not tried again before they change."""


@dataclass(frozen=True, slots=True)
class FileTarget:
    """Where a file stands, and which note it was known as; None for a new one."""

    source: SourceId
    root: str
    path: str
    known: KnownFile | None = None
    moved: bool = False
    """Known from another path: its title may come from its name, so it is read anew."""


def change_of(
    found: FoundFile,
    place: FileTarget,
    recipe: Recipe,
    taken: Container[DocId],
    patience: Patience | None = None,
) -> Change | None:
    """What the file's present state means for the index; None when it means nothing.

    `taken`: ids that a new note may not get. Raises ReadingStopped.
    """
    patience = patience or Patience()
    stamp = place.source, place.path, found.fingerprint
    if stamp in patience.too_slow and place.known is not None and place.known.state == "failed":
        return None
    now_ns = time.time_ns()
    try:
        content = read_file(place.root, place.path, recipe.limits)
        known = place.known
        if known and not place.moved and _reads_the_same(known, content, recipe):
            fingerprint = content.fingerprint
            return TouchNote(known.doc_id, fingerprint, checked_ns(known, fingerprint, now_ns))
        note, passages = _understood(found, content, place, recipe, patience)
        document = _document(note, content, place, taken)
        return SaveNote(document, passages, note.trust, recipe.chunker, recipe.made_by, now_ns)
    except VanishedFileError:
        return None  # the next look at the folder sees it missing
    except UnreadableFileError as error:
        if isinstance(error, TookTooLongError):
            patience.too_slow.add(stamp)
        return _marked(error, found, place, recipe, taken)


def _reads_the_same(known: KnownFile, content: FileContent, recipe: Recipe) -> bool:
    return (known.content_hash, known.made_by, known.state) == (content.content_hash, recipe.made_by, "ok")


def _understood(
    found: FoundFile, content: FileContent, place: FileTarget, recipe: Recipe, patience: Patience
) -> tuple[ParsedNote, tuple[Passage, ...]]:
    checkpoint = Checkpoint(found.file_type.cpu_budget(len(content.data)), patience.stopping)
    try:
        note = found.file_type.parse(content.data, place.path, recipe.limits, checkpoint)
        return note, chunk(note, recipe.chunk_limits, checkpoint)
    except (UnreadableFileError, ReadingStopped):
        raise
    except Exception as error:
        # A note that trips the reader up must not keep all the others from being found.
        raise UnreadableFileError(
            f"could not be understood ({type(error).__name__}: {error})",
            "This is a defect; please report it.",
        ) from error


def _document(note: ParsedNote, content: FileContent, place: FileTarget, taken: Container[DocId]) -> Document:
    return Document(
        doc_id=_doc_id(place, content.content_hash, taken),
        source=place.source,
        path=rows.shown(place.path),
        raw_path=os.fsencode(place.path),
        title=note.title,
        type=note.type,
        lang=note.lang,
        trust=note.trust or Trust.PRIMARY,
        fingerprint=content.fingerprint,
        content_hash=content.content_hash,
        tags=note.tags,
        aliases=note.aliases,
        flags=note.flags,
    )


def _marked(
    error: UnreadableFileError, found: FoundFile, place: FileTarget, recipe: Recipe, taken: Container[DocId]
) -> MarkNote | None:
    skipped = isinstance(error, UnsuitableFileError)
    state, known = ("skipped" if skipped else "failed"), place.known
    # What failed keeps the stamp of its last good reading; only what was skipped has one to compare.
    same_stamp = known and (not skipped or known.fingerprint == found.fingerprint)
    if known and same_stamp and (known.state, known.reason) == (state, error.message):
        return None
    document = Document(
        doc_id=_doc_id(place, "", taken),
        source=place.source,
        path=rows.shown(place.path),
        raw_path=os.fsencode(place.path),
        title=os.path.basename(rows.shown(place.path)),
        type=found.file_type.type,
        lang="und",
        trust=Trust.PRIMARY,
        fingerprint=found.fingerprint,
        # The hash of text that is kept stays true of that text; without text there is nothing to know.
        content_hash=known.content_hash if known and not skipped else "",
        state="skipped" if skipped else "failed",
        reason=error.message,
    )
    return MarkNote(document, recipe.made_by, keep_text=not skipped)


def _doc_id(place: FileTarget, content_hash: str, taken: Container[DocId]) -> DocId:
    if place.known is not None:
        return place.known.doc_id
    generation = 0
    while True:
        name = document_id(place.source, rows.shown(place.path), content_hash, generation)
        if name not in taken:
            return name
        generation += 1


# Changes on their way to the writer: gathered, committed together, told once they are in the index.


@dataclass(frozen=True, slots=True)
class Noted:
    """What is told of a change; `saved_ns`: when its file was put in place."""

    source: SourceId
    file: FileOutcome
    saved_ns: int | None = None


@dataclass(slots=True)
class ChangeBatch:
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
