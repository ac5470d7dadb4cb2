"""Brings the index in step with folders: walk, compare, read what changed, commit.

Commits as it goes, so that what is done stays done: a cancel takes effect between two
files, a stop also within one, a kill loses at most the files since the last commit, and the next run goes on
from there. A folder that is missing is paused, and everything known of it stays.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kebab_tui.chunking.sections import ChunkLimits
from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.document import Fingerprint, Source, Trust
from kebab_tui.domain.errors import SourceError, UsageError
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.files.walk import FoundFile, WalkProblem, WalkRules, check_root, walk
from kebab_tui.formats.decode import MEGABYTE, ReadLimits
from kebab_tui.indexing.pipeline import ChangeBatch, FileTarget, Noted, Patience, Recipe, change_of
from kebab_tui.indexing.reconcile import DeletionGracePeriod, Plan, compare, recognise_moves
from kebab_tui.indexing.report import (
    OUTCOMES,
    Callbacks,
    FileOutcome,
    IngestReport,
    Progress,
    SourceReport,
    Tally,
)
from kebab_tui.indexing.session import Session, refuse_overlap, source_id_for
from kebab_tui.indexing.watched_folders import UsedIds, scan_paths, topmost
from kebab_tui.settings.settings import Settings, SourceSettings
from kebab_tui.storage.sqlite import rows
from kebab_tui.storage.sqlite.batch import Change, MarkNote, Move, MoveNotes, RemoveNote, SaveNote
from kebab_tui.storage.sqlite.catalogue import KnownFile
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import Writer

_COMMIT_CHUNKS = 8_000
_COMMIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Totals:
    """What happened to chunks, over all sources of a run."""

    added: int = 0
    removed: int = 0
    kept: int = 0


class Ingest:
    """One run over some sources. Call `source` or `paths` as often as needed, then read `totals`.

    With a `grace`, a file that is missing is given up only after a while: for whoever looks again.
    """

    def __init__(
        self,
        writer: Writer,
        reader: StoreReader,
        recipe: Recipe,
        callbacks: Callbacks,
        grace: DeletionGracePeriod | None = None,
        too_slow: set[tuple[SourceId, str, Fingerprint]] | None = None,
        known: Sequence[Source] = (),
    ) -> None:
        """`known`: all sources, of which none may have come to lie within another."""
        self._writer = writer
        self._reader = reader
        self._recipe = recipe
        self._callbacks = callbacks
        self._grace = grace
        self._known = known
        self._checkpoint = Checkpoint(stopping=callbacks.stopping)
        self._patience = Patience(callbacks.stopping, set() if too_slow is None else too_slow)
        self._basket = ChangeBatch(writer, callbacks.changed, _COMMIT_CHUNKS, _COMMIT_SECONDS)

    @property
    def cancelled(self) -> bool:
        return self._callbacks.stopping() or self._callbacks.cancelled()

    @property
    def totals(self) -> Totals:
        return Totals(self._basket.added, self._basket.removed, self._basket.kept)

    def source(self, source: Source) -> SourceReport:
        """Bring one folder up to date."""
        with self._reader.catalogue() as catalogue:
            known = catalogue.known_files(source.source_id)
            last_root = catalogue.root_id(source.source_id)
        self._callbacks.progress(Progress(source.source_id, 0, 0, 0))
        try:
            rules = WalkRules(source.include, source.exclude)
            found = self._until_stopped(walk(source.root, rules, self._checkpoint))
            root_id = _root_id(source.root)
            _refuse_stranger(source.root, root_id, last_root)
            refuse_overlap(source, self._known)
            plan = compare(found, known, self._recipe.made_by)
        except SourceError as error:
            return self._paused(source, error)
        except ReadingStopped:
            return SourceReport(source.source_id, source.root, {}, (), ())
        report = self._carry_out(source, plan, known, {file.doc_id for file in known.values()})
        if not self.cancelled:
            self._writer.set_source_state(source.source_id, "indexed", root_id)
        return report

    def paths(self, source: Source, paths: Iterable[bytes]) -> SourceReport:
        """Bring single files and folders of one source up to date, whatever stands there now."""
        waiting = self._grace.waiting(source.source_id) if self._grace else ()
        places = topmost((*paths, *waiting))
        with self._reader.catalogue() as catalogue:
            known = catalogue.known_files_at(source.source_id, places)
            last_root = catalogue.root_id(source.source_id)
        try:
            found = self._until_stopped(scan_paths(source, places, self._checkpoint))
            plan = compare(found, known, self._recipe.made_by)
            # After the look: what seemed to be missing may have been a disk that just went.
            refuse_overlap(source, self._known)
            _insist_on_root(source.root, last_root)
        except SourceError as error:
            return self._paused(source, error)
        except ReadingStopped:
            return SourceReport(source.source_id, source.root, {}, (), ())
        return self._carry_out(source, plan, known, UsedIds(self._reader))

    def _until_stopped(self, found: Iterable[FoundFile | WalkProblem]) -> Iterator[FoundFile | WalkProblem]:
        for item in found:
            if self._callbacks.stopping():
                raise ReadingStopped
            yield item

    def _paused(self, source: Source, error: SourceError) -> SourceReport:
        self._writer.set_source_state(source.source_id, "paused")
        return SourceReport(source.source_id, source.root, {}, (), (), paused=error.message)

    def _carry_out(
        self, source: Source, plan: Plan, known: dict[bytes, KnownFile], taken: set[DocId] | UsedIds
    ) -> SourceReport:
        tally = Tally()
        tally.counts["unchanged"] = plan.unchanged
        tally.problems += [f"{rows.shown(p.path) or '.'}: {p.reason}" for p in plan.problems]
        if known:
            recognise_moves(plan, known, source.root, self._recipe.limits)
        if self._grace is not None:
            plan.missing = _given_up(plan, self._grace, source)
        self._work(source, plan, known, taken, tally)
        self._basket.commit()
        tally.correct(self._basket.failed)
        return SourceReport(
            source.source_id,
            source.root,
            dict(tally.counts),
            tuple(tally.files),
            tuple(tally.problems),
            unseen=tuple(os.fsencode(problem.path) for problem in plan.problems),
        )

    def _work(
        self,
        source: Source,
        plan: Plan,
        known: dict[bytes, KnownFile],
        taken: set[DocId] | UsedIds,
        tally: Tally,
    ) -> None:
        self._leave(source, plan, tally)
        given_away = {path for path, _ in plan.moved.values()}
        for done, found in enumerate(plan.to_read):
            if self.cancelled:
                return
            path = os.fsencode(found.path)
            moved = found.path in plan.moved
            was = plan.moved[found.path][1] if moved else None
            if not moved and path not in given_away:
                was = known.get(path)
            place = FileTarget(source.source_id, source.root, found.path, was, moved)
            try:
                change = change_of(found, place, self._recipe, taken, self._patience)
            except ReadingStopped:
                return
            file = _moved(plan, found.path) if moved else _outcome(found.path, change, was)
            if change is not None:
                if isinstance(change, SaveNote | MarkNote):
                    taken.add(change.document.doc_id)
                self._basket.put(change, *_noted(source, file, change))
            if not moved:
                tally.note(file.path, file.outcome, file.detail)
            self._callbacks.progress(
                Progress(source.source_id, done + 1, len(plan.to_read), self._basket.added, found.path)
            )

    def _leave(self, source: Source, plan: Plan, tally: Tally) -> None:
        """First of all free the old paths: removed notes go, moved ones take their new place."""
        for path, known in plan.missing.items():
            gone = FileOutcome(rows.shown(os.fsdecode(path)), "removed")
            self._basket.lay(RemoveNote(known.doc_id), Noted(source.source_id, gone))
            tally.note(gone.path, gone.outcome)
        if plan.moved:
            moves = []
            for new, (_, known) in plan.moved.items():
                file = _moved(plan, new)
                moves.append(Move(known.doc_id, file.path, os.fsencode(new)))
                tally.note(file.path, file.outcome, file.detail)
            self._basket.lay(MoveNotes(tuple(moves)))


def _root_id(root: str) -> str:
    """Names the folder itself, whatever stands under its path later."""
    try:
        status = os.stat(root)
    except OSError as error:
        raise _gone(root, error) from error
    return f"{status.st_dev}:{status.st_ino}"


def _refuse_stranger(root: str, root_id: str, last: str) -> None:
    """An empty folder that is not the one that was read: the place where something was mounted."""
    if last in ("", root_id):
        return
    try:
        is_empty = not os.listdir(root)
    except OSError as error:
        raise _gone(root, error) from error
    if is_empty:
        raise SourceError(
            f"another folder, an empty one, stands in its place: {root}",
            "mount it again; if the notes are gone for good, remove the source",
        )


def _gone(root: str, error: OSError) -> SourceError:
    """It was there a moment ago."""
    return SourceError(f"the folder has gone while it was looked at: {root}", str(error.strerror))


def _insist_on_root(root: str, last: str) -> None:
    """The very folder that was read, or none: a look at single paths decides nothing about another one."""
    check_root(root)
    if last not in ("", _root_id(root)):
        raise SourceError(f"another folder stands in its place: {root}", "it is looked at as a whole")


def _given_up(plan: Plan, grace: DeletionGracePeriod, source: Source) -> dict[bytes, KnownFile]:
    """What goes now: what has been missing for long enough, and what stands in the way of a moved note."""
    replaced = set(map(os.fsencode, plan.moved))
    missing = {path: file for path, file in plan.missing.items() if path not in replaced}
    in_the_way = {path: file for path, file in plan.missing.items() if path in replaced}
    return in_the_way | grace.given_up(source.source_id, missing)


def _moved(plan: Plan, path: str) -> FileOutcome:
    old = rows.shown(os.fsdecode(plan.moved[path][0]))
    return FileOutcome(rows.shown(path), "moved", f"from {old}")


def _outcome(path: str, change: Change | None, was: KnownFile | None) -> FileOutcome:
    shown = rows.shown(path)
    match change:
        case SaveNote():
            return FileOutcome(shown, "added" if was is None else "changed")
        case MarkNote(document) if document.state != "ok":
            return FileOutcome(shown, document.state, document.reason)
    if was is not None and was.state != "ok":
        return FileOutcome(shown, was.state, was.reason)
    return FileOutcome(shown, "unchanged")


def _noted(source: Source, file: FileOutcome, change: Change) -> tuple[Noted, ...]:
    """A new stamp alone is no news."""
    if not isinstance(change, SaveNote | MarkNote):
        return ()
    return (Noted(source.source_id, file, change.document.fingerprint.ctime_ns),)


# One ingest from the first folder to the report.


def run_ingest(
    session: Session,
    recipe: Recipe,
    callbacks: Callbacks,
    folders: Sequence[str] = (),
    healed: str = "",
    read_error: bool = False,
) -> IngestReport:
    """Bring the sources that hold `folders` up to date; all of them when none is named or all was lost."""
    started_ns, started = time.time_ns(), time.monotonic()
    healed = healed or session.healed
    sources = _chosen(session, folders, everything=bool(healed) or session.begun_anew or not folders)
    ingest = Ingest(session.writer, session.reader, recipe, callbacks, known=session.sources())
    reports = [ingest.source(source) for source in sources if not ingest.cancelled]
    totals = ingest.totals
    if not ingest.cancelled and len(sources) == len(session.sources()):
        session.writer.set_made_by(recipe.made_by)
    report = IngestReport(
        sources=tuple(reports),
        chunks_added=totals.added,
        chunks_removed=totals.removed,
        chunks_kept=totals.kept,
        corpus_revision=session.revision(),
        seconds=time.monotonic() - started,
        cancelled=ingest.cancelled,
        healed=healed,
        read_error=read_error or session.read_error,
    )
    session.writer.record_run("ingest", started_ns, _summary(report))
    session.writer.merge_full_text(callbacks.cancelled)
    return report


def _chosen(session: Session, folders: Sequence[str], everything: bool) -> list[Source]:
    for folder in folders:
        session.check(folder)  # all of them before the first becomes a source
    named = {source.source_id: source for source in map(session.source_for, folders)}
    sources = session.sources() if everything else list(named.values())
    if not sources:
        raise UsageError(
            "there is no folder to index yet", "run `kebab ingest FOLDER` with the folder of your notes"
        )
    return sources


def _summary(report: IngestReport) -> str:
    counts: dict[str, int | float | bool] = {outcome: report.count(outcome) for outcome in OUTCOMES}
    return json.dumps(counts | {"seconds": round(report.seconds, 3), "cancelled": report.cancelled})


# What the settings say to indexing: which folders are declared, how their notes are read and cut.
#
# Looks at no folder.


def recipe_of(settings: Settings) -> Recipe:
    return Recipe(
        ReadLimits(settings.reading.max_file_mb * MEGABYTE),
        ChunkLimits(target=settings.chunking.target, cap=settings.chunking.cap),
    )


def declared_sources(entries: Sequence[SourceSettings]) -> list[Source]:
    declared: list[Source] = []
    for entry in entries:
        taken = {source.source_id for source in declared}
        declared.append(
            Source(
                source_id=SourceId(entry.id) if entry.id else source_id_for(entry.path, taken),
                title=entry.title or os.path.basename(entry.path),
                root=entry.path,
                description=entry.description,
                include=entry.include,
                exclude=entry.exclude,
                trust=Trust.parse(entry.trust) or Trust.PRIMARY,
                rules=entry.rules,
            )
        )
    return declared
