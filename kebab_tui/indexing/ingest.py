"""Brings the index in step with folders: walk, compare, read what changed, commit.

Commits as it goes, so that what is done stays done: a cancel takes effect between two
files, a kill loses at most the files since the last commit, and the next run goes on
from there. A folder that is missing is paused, and everything known of it stays.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from kebab_tui.domain.errors import SourceError
from kebab_tui.domain.identity import DocId
from kebab_tui.domain.source import Source
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.pipeline import Place, Recipe, change_of
from kebab_tui.indexing.reconcile import Plan, compare, recognise_moves
from kebab_tui.indexing.report import Outcome, Progress, SourceReport, Tally
from kebab_tui.reading.walk import WalkRules, walk
from kebab_tui.store import rows
from kebab_tui.store.catalogue import KnownFile
from kebab_tui.store.changes import Applied, Change, MarkNote, Move, MoveNotes, RemoveNote, SaveNote
from kebab_tui.store.reader import StoreReader
from kebab_tui.store.writer import Writer

_COMMIT_CHUNKS = 8_000
_COMMIT_SECONDS = 1.0


@dataclass(slots=True)
class _Basket:
    """Changes on their way to the writer."""

    writer: Writer
    changes: list[Change] = field(default_factory=list)
    chunks: int = 0
    since: float = field(default_factory=time.monotonic)
    added: int = 0
    removed: int = 0
    kept: int = 0

    def put(self, change: Change) -> None:
        self.changes.append(change)
        if isinstance(change, SaveNote):
            self.chunks += len(change.passages)
        if self.chunks >= _COMMIT_CHUNKS or time.monotonic() - self.since >= _COMMIT_SECONDS:
            self.commit()

    def commit(self) -> None:
        if self.changes:
            applied: Applied = self.writer.apply(self.changes)
            self.added += applied.chunks_added
            self.removed += applied.chunks_removed
            self.kept += applied.chunks_kept
            self.changes = []
        self.chunks = 0
        self.since = time.monotonic()


@dataclass(frozen=True, slots=True)
class Totals:
    """What happened to chunks, over all sources of a run."""

    added: int = 0
    removed: int = 0
    kept: int = 0


class Ingest:
    """One run over some sources. Call `source` for each, then read `totals`."""

    def __init__(self, writer: Writer, reader: StoreReader, recipe: Recipe, callbacks: Callbacks) -> None:
        self._writer = writer
        self._reader = reader
        self._recipe = recipe
        self._callbacks = callbacks
        self._basket = _Basket(writer)

    @property
    def cancelled(self) -> bool:
        return self._callbacks.cancelled()

    @property
    def totals(self) -> Totals:
        return Totals(self._basket.added, self._basket.removed, self._basket.kept)

    def source(self, source: Source) -> SourceReport:
        """Bring one folder up to date."""
        tally = Tally()
        with self._reader.catalogue() as catalogue:
            known = catalogue.known_files(source.source_id)
            last_root = catalogue.root_id(source.source_id)
        self._callbacks.progress(Progress(source.source_id, 0, 0, 0))
        try:
            found = walk(source.root, WalkRules(source.include, source.exclude))
            _refuse_stranger(source.root, last_root)
            plan = compare(found, known, self._recipe.made_by)
        except SourceError as error:
            self._writer.set_source_state(source.source_id, "paused")
            return SourceReport(source.source_id, source.root, {}, (), (), paused=error.message)
        tally.counts["unchanged"] = plan.unchanged
        tally.problems += [f"{rows.shown(p.path) or '.'}: {p.reason}" for p in plan.problems]
        if known:
            recognise_moves(plan, known, source.root, self._recipe.limits)
        self._work(source, plan, known, tally)
        self._basket.commit()
        if not self.cancelled:
            self._writer.set_source_state(source.source_id, "indexed", _root_id(source.root))
        return SourceReport(
            source.source_id, source.root, dict(tally.counts), tuple(tally.files), tuple(tally.problems)
        )

    def _work(self, source: Source, plan: Plan, known: dict[bytes, KnownFile], tally: Tally) -> None:
        self._leave(plan, tally)
        given_away = {path for path, _ in plan.moved.values()}
        taken: set[DocId] = {file.doc_id for file in known.values()}
        for done, found in enumerate(plan.to_read):
            if self.cancelled:
                return
            path = os.fsencode(found.path)
            moved = found.path in plan.moved
            was = plan.moved[found.path][1] if moved else None
            if not moved and path not in given_away:
                was = known.get(path)
            place = Place(source.source_id, source.root, found.path, was, moved)
            change = change_of(found, place, self._recipe, taken)
            if change is not None:
                if isinstance(change, SaveNote | MarkNote):
                    taken.add(change.document.doc_id)
                self._basket.put(change)
            if not moved:
                tally.note(rows.shown(found.path), *_outcome(change, was))
            self._callbacks.progress(
                Progress(source.source_id, done + 1, len(plan.to_read), self._basket.added, found.path)
            )

    def _leave(self, plan: Plan, tally: Tally) -> None:
        """First of all free the old paths: removed notes go, moved ones take their new place."""
        for path, file in plan.missing.items():
            self._basket.changes.append(RemoveNote(file.doc_id))
            tally.note(rows.shown(os.fsdecode(path)), "removed")
        if plan.moved:
            moves = []
            for new, (old, file) in plan.moved.items():
                moves.append(Move(file.doc_id, rows.shown(new), os.fsencode(new)))
                tally.note(rows.shown(new), "moved", f"from {rows.shown(os.fsdecode(old))}")
            self._basket.changes.append(MoveNotes(tuple(moves)))


def _root_id(root: str) -> str:
    """Names the folder itself, whatever stands under its path later."""
    status = os.stat(root)
    return f"{status.st_dev}:{status.st_ino}"


def _refuse_stranger(root: str, last: str) -> None:
    """An empty folder that is not the one that was read: the place where something was mounted."""
    if last in ("", _root_id(root)):
        return
    with os.scandir(root) as entries:
        if next(entries, None) is None:
            raise SourceError(
                f"another folder, an empty one, stands in its place: {root}",
                "mount it again; if the notes are gone for good, remove the source",
            )


def _outcome(change: Change | None, was: KnownFile | None) -> tuple[Outcome, str]:
    match change:
        case SaveNote():
            return ("added" if was is None else "changed"), ""
        case MarkNote(document) if document.state != "ok":
            return document.state, document.reason
    if was is not None and was.state != "ok":
        return was.state, was.reason
    return "unchanged", ""
