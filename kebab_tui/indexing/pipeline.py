"""Turns one file into a change for the writer, and commits changes in batches.

Reads, parses and chunks; an unreadable file becomes a row with a reason, never an exception.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field

from kebab_tui.chunking.chunker import chunk
from kebab_tui.chunking.sections import ChunkLimits
from kebab_tui.domain import document
from kebab_tui.domain.change import Change, MarkNote, SaveNote, TouchNote
from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped, TookTooLongError
from kebab_tui.domain.document import Document, DocumentFlag, Fingerprint, Source, Trust
from kebab_tui.domain.errors import UnreadableFileError, UnsuitableFileError
from kebab_tui.domain.facets import NAME, WORD_KINDS, Facet, daily_name, values_of
from kebab_tui.domain.ids import DocId, SourceId, document_id
from kebab_tui.domain.names import distinct_names, name_of, stem_of
from kebab_tui.domain.text import display_path
from kebab_tui.files.read import VanishedFileError, read_file
from kebab_tui.files.walk import FoundFile, WalkRules
from kebab_tui.formats import registry
from kebab_tui.formats.decode import ReadLimits
from kebab_tui.formats.registry import Format
from kebab_tui.indexing.reconcile import checked_ns
from kebab_tui.indexing.report import FileOutcome, NoteChange
from kebab_tui.storage.ports import KnownFile, Writer


@dataclass(frozen=True, slots=True)
class Recipe:
    """All settings that determine the chunks of a file."""

    limits: ReadLimits = ReadLimits()
    chunk_limits: ChunkLimits = ChunkLimits()
    max_bytes: Mapping[str, int] = field(default_factory=dict)
    """Limits of single formats, by their ids, that the settings change."""
    off: frozenset[str] = registry.OPT_IN
    """The formats that the settings turn off."""

    chunker: str = field(init=False)
    made_by: Mapping[str, str] = field(init=False)
    """For each format: the mark of its documents."""
    all_made_by: str = field(init=False)
    """The mark of an index whose documents are all made by this recipe."""

    def __post_init__(self) -> None:
        chunker = document.chunker(self.chunk_limits.target, self.chunk_limits.cap)
        object.__setattr__(self, "chunker", chunker)
        object.__setattr__(self, "made_by", registry.made_by(chunker))
        object.__setattr__(self, "all_made_by", registry.all_made_by(chunker))

    def limits_of(self, kind: Format | None) -> ReadLimits:
        most = kind and (self.max_bytes.get(kind.id) or kind.max_bytes)
        return ReadLimits(most) if most else self.limits

    def rules_of(self, source: Source) -> WalkRules:
        """Which files of a source are notes."""
        return WalkRules(source.include, source.exclude, self.off - {"code"} if source.code else self.off)


@dataclass(frozen=True, slots=True)
class Patience:
    """When to give up on a file. Lives as long as the process."""

    stopping: Callable[[], bool] = lambda: False
    too_slow: set[tuple[SourceId, str, Fingerprint]] = field(default_factory=set)
    """Files that took too long; not retried until they change."""


@dataclass(frozen=True, slots=True)
class FileTarget:
    """A file and its known note; None for a new file."""

    source: SourceId
    root: str
    path: str
    known: KnownFile | None = None
    moved: bool = False
    """Known under another path: read it again, because the title may come from the file name."""


def change_of(
    found: FoundFile,
    target: FileTarget,
    recipe: Recipe,
    taken: Container[DocId],
    patience: Patience | None = None,
) -> Change | None:
    """The change that brings the index up to date with a file; None if there is none.

    `taken`: ids that a new note must not get. Raises ReadingStopped.
    """
    patience = patience or Patience()
    known, made_by = target.known, recipe.made_by[found.format.id]
    stamp = target.source, target.path, found.fingerprint
    if stamp in patience.too_slow and known is not None and known.state == "failed":
        return _marked(UnreadableFileError(known.reason), found, target, made_by, taken)
    now_ns = time.time_ns()
    try:
        content = read_file(target.root, target.path, recipe.limits_of(found.format))
        current = (content.content_hash, made_by, "ok")
        if known and not target.moved and (known.content_hash, known.made_by, known.state) == current:
            fingerprint, flags = content.fingerprint, _flags(known.flags, found)
            changed_flags = None if flags == known.flags else flags
            return TouchNote(known.doc_id, fingerprint, checked_ns(known, fingerprint, now_ns), changed_flags)
        kind = found.format
        checkpoint = Checkpoint(kind.seconds(len(content.data)), patience.stopping)
        try:
            note = kind.parse(content.data, target.path, checkpoint)
            passages = chunk(note, recipe.chunk_limits, checkpoint)
        except (UnreadableFileError, ReadingStopped):
            raise
        except Exception as error:
            # One note that breaks the parser must not stop the others from being indexed.
            raise UnreadableFileError(
                f"could not be parsed ({type(error).__name__}: {error})",
                "This is a defect; please report it.",
            ) from error
    except VanishedFileError:
        return None  # the next scan finds it missing
    except UnreadableFileError as error:
        if isinstance(error, TookTooLongError):
            patience.too_slow.add(stamp)
        return _marked(error, found, target, made_by, taken)
    path = display_path(target.path)
    name = name_of(path, display_path(target.root))
    indexed_title = note.indexed_title or note.title or name
    dated, dated_by = note.dated, note.dated_by
    if not dated and (day := daily_name(stem_of(path))):
        dated, dated_by = day, "name"
    saved = Document(
        doc_id=_doc_id(target, content.content_hash, taken),
        source=target.source,
        path=path,
        raw_path=os.fsencode(target.path),
        title=note.title or name,
        type=note.type,
        lang=note.lang,
        trust=note.trust or Trust.PRIMARY,
        fingerprint=content.fingerprint,
        content_hash=content.content_hash,
        facets=(*note.facets, Facet(NAME.id, name)),
        flags=_flags(note.flags, found),
        dated=dated,
        dated_by=dated_by,
    )
    words = (value for kind in WORD_KINDS for value in values_of(note.facets, kind))
    titles = distinct_names((indexed_title, name, stem_of(path), *words))
    return SaveNote(saved, passages, note.trust, recipe.chunker, made_by, now_ns, titles)


def _marked(
    error: UnreadableFileError, found: FoundFile, target: FileTarget, made_by: str, taken: Container[DocId]
) -> MarkNote | None:
    skipped = isinstance(error, UnsuitableFileError)
    state, known = ("skipped" if skipped else "failed"), target.known
    # A failed note keeps stamp and version of its last successful read; only skipped ones have current ones.
    is_current = known and (not skipped or (known.fingerprint, known.made_by) == (found.fingerprint, made_by))
    flags = _flags(known.flags if known and not skipped else (), found)
    if known and is_current and (known.state, known.reason, known.flags) == (state, error.message, flags):
        return None
    marked = Document(
        doc_id=_doc_id(target, "", taken),
        source=target.source,
        path=display_path(target.path),
        raw_path=os.fsencode(target.path),
        title=os.path.basename(display_path(target.path)),
        type=found.format.id,
        lang="und",
        trust=Trust.PRIMARY,
        fingerprint=found.fingerprint,
        # A failed note keeps its text, and so the hash of that text.
        content_hash=known.content_hash if known and not skipped else "",
        state="skipped" if skipped else "failed",
        reason=error.message,
        flags=flags,
    )
    return MarkNote(marked, made_by, keep_text=not skipped)


def _flags(of_text: Iterable[DocumentFlag], found: FoundFile) -> tuple[DocumentFlag, ...]:
    """The flags of a text, with that of the rules for its file."""
    own = tuple(flag for flag in of_text if flag != "private_by_rule")
    return (*own, "private_by_rule") if found.private else own


def _doc_id(target: FileTarget, content_hash: str, taken: Container[DocId]) -> DocId:
    if target.known is not None:
        return target.known.doc_id
    generation = 0
    while True:
        name = document_id(target.source, display_path(target.path), content_hash, generation)
        if name not in taken:
            return name
        generation += 1


@dataclass(frozen=True, slots=True)
class FileChange:
    """How to report a change; `saved_ns`: when the file was saved or moved."""

    source: SourceId
    file: FileOutcome
    saved_ns: int | None = None


_COMMIT_SHARE = 1 / 5
"""Of the time since the load began, as long as a commit waits."""


@dataclass(slots=True)
class ChangeBatch:
    """Commits `most_chunks` chunks at a time, or after `most_seconds`; reports committed changes.

    Commits rarely while a large load goes on: each writes much of the index again.
    """

    writer: Writer
    report: Callable[[NoteChange], None]
    most_chunks: int
    most_seconds: float
    changes: list[tuple[Change, tuple[FileChange, ...]]] = field(default_factory=list)
    chunks: int = 0
    began: float = field(default_factory=time.monotonic)
    since: float = field(default_factory=time.monotonic)
    added: int = 0
    removed: int = 0
    kept: int = 0
    failed: list[tuple[FileOutcome, str]] = field(default_factory=list)
    """Files that could not be stored, with the expected outcome and the reason."""

    def add(self, change: Change, *files: FileChange) -> None:
        """Add a change that belongs in one transaction with the next one."""
        self.changes.append((change, files))

    def add_and_maybe_commit(self, change: Change, *files: FileChange) -> None:
        self.add(change, *files)
        if isinstance(change, SaveNote):
            self.chunks += len(change.passages)
        now = time.monotonic()
        wait = max(self.most_seconds, _COMMIT_SHARE * (now - self.began))
        if self.chunks >= self.most_chunks or now - self.since >= wait:
            self.commit()

    def commit(self) -> None:
        if self.changes:
            applied = self.writer.apply([change for change, _ in self.changes])
            self.added += applied.chunks_added
            self.removed += applied.chunks_removed
            self.kept += applied.chunks_kept
            committed, self.changes = self.changes, []
            now = time.time_ns()
            for place, ((_, files), counts) in enumerate(zip(committed, applied.each, strict=True)):
                reason = applied.failed.get(place)
                for change in files:
                    file = change.file
                    if reason is not None:
                        self.failed.append((file, reason))
                        file = FileOutcome(file.path, "failed", reason)
                    self.report(
                        NoteChange(
                            source=change.source,
                            path=file.path,
                            outcome=file.outcome,
                            detail=file.detail,
                            chunks_added=counts.added,
                            chunks_removed=counts.removed,
                            chunks_kept=counts.kept,
                            saved_ns=change.saved_ns,
                            committed_ns=now,
                            revision=applied.revision,
                        )
                    )
        self.chunks = 0
        self.since = time.monotonic()
