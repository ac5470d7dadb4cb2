"""Indexes folders: walk, compare, read changed files, commit.

Commits on the way. A cancel takes effect between two files, a stop also within one; a kill loses at most
the files since the last commit, and the next run continues from there. A missing folder is paused, and
its notes stay in the index.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter

from kebab_tui.chunking.sections import ChunkLimits
from kebab_tui.domain.change import Change, MarkNote, Move, MoveNotes, RemoveNote, SaveNote, TouchNote
from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.document import Fingerprint, Source, Trust
from kebab_tui.domain.errors import SourceError, UsageError
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.domain.text import display_path
from kebab_tui.files.root import check_root, is_empty
from kebab_tui.files.walk import FoundFile, PathScanner, WalkProblem
from kebab_tui.formats.decode import MEGABYTE, ReadLimits
from kebab_tui.formats.registry import FORMATS
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.pipeline import ChangeBatch, FileChange, FileTarget, Patience, Recipe, change_of
from kebab_tui.indexing.reconcile import DeletionGracePeriod, Plan, compare, parents, recognise_moves
from kebab_tui.indexing.report import OUTCOMES, FileOutcome, IngestReport, Progress, SourceReport, Tally
from kebab_tui.indexing.session import Session, check_overlap, source_id_for
from kebab_tui.settings.settings import Settings, SourceSettings
from kebab_tui.storage.ports import KnownFile, Reader, Writer

_COMMIT_CHUNKS = 24_000
_COMMIT_SECONDS = 1.0
_KNOWN_AT_ONCE = 4_096


def recipe_of(settings: Settings) -> Recipe:
    return Recipe(
        ReadLimits(settings.reading.max_file_mb * MEGABYTE),
        ChunkLimits(target=settings.chunking.target, cap=settings.chunking.cap),
        {"pdf": settings.reading.max_pdf_mb * MEGABYTE},
        frozenset(name for name in FORMATS if not getattr(settings.reading, name, True)),
    )


def declared_sources(entries: Sequence[SourceSettings]) -> list[Source]:
    """The sources of the configuration file. Accesses no folder."""
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
                stars=entry.stars,
                code=entry.code,
            )
        )
    return declared


def run_ingest(
    session: Session,
    recipe: Recipe,
    callbacks: Callbacks,
    folders: Sequence[str] = (),
    healed: str = "",
    read_error: bool = False,
) -> IngestReport:
    """Index the sources that contain `folders`; all sources if none is named or the index was lost."""
    started_ns, started = time.time_ns(), time.monotonic()
    healed = healed or session.healed
    for folder in folders:
        session.check(folder)  # all of them before the first becomes a source
    named = {source.source_id: source for source in map(session.source_for, folders)}
    everything = bool(healed) or session.begun_anew or not folders
    watched = [source for source in session.sources() if source.use == "watched"]
    sources = watched if everything else list(named.values())
    if not sources and session.sources():
        raise UsageError("all folders are paused", "run `kebab source resume ID`")
    if not sources:
        raise UsageError(
            "there is no folder to index yet", "run `kebab ingest FOLDER` with your notes folder"
        )
    ingest = Ingest(session.writer, session.reader, recipe, callbacks, known=session.sources())
    reports = []
    for source in sources:
        if not ingest.cancelled:
            checkpoint = Checkpoint(stopping=callbacks.stopping)
            scanner = PathScanner(source.root, recipe.rules_of(source), checkpoint)
            reports.append(ingest.source(source, scanner))
    if not ingest.cancelled and len(sources) == len(session.sources()):
        session.writer.set_made_by(recipe.all_made_by)
    report = IngestReport(
        sources=tuple(reports),
        chunks_added=ingest.batch.added,
        chunks_removed=ingest.batch.removed,
        chunks_kept=ingest.batch.kept,
        corpus_revision=session.revision(),
        seconds=time.monotonic() - started,
        cancelled=ingest.cancelled,
        healed=healed,
        read_error=read_error or session.read_error,
    )
    summary: dict[str, int | float | bool] = {outcome: report.count(outcome) for outcome in OUTCOMES}
    summary |= {"seconds": round(report.seconds, 3), "cancelled": report.cancelled}
    session.writer.record_run("ingest", started_ns, json.dumps(summary))
    session.writer.merge_full_text(callbacks.cancelled)
    return report


class Ingest:
    """One run over some sources. Call `source` or `paths` as often as needed; `batch` has the totals.

    With a `grace` period, missing files are not removed at once; the caller rescans them later. `known`:
    all sources; none may have moved into another.
    """

    def __init__(
        self,
        writer: Writer,
        reader: Reader,
        recipe: Recipe,
        callbacks: Callbacks,
        grace: DeletionGracePeriod | None = None,
        too_slow: set[tuple[SourceId, str, Fingerprint]] | None = None,
        known: Sequence[Source] = (),
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._recipe = recipe
        self._callbacks = callbacks
        self._grace = grace
        self._known = known
        self._patience = Patience(callbacks.stopping, set() if too_slow is None else too_slow)
        self.batch = ChangeBatch(writer, callbacks.changed, _COMMIT_CHUNKS, _COMMIT_SECONDS)

    @property
    def cancelled(self) -> bool:
        return self._callbacks.stopping() or self._callbacks.cancelled()

    def source(self, source: Source, scanner: PathScanner) -> SourceReport:
        """Index one folder."""
        with self._reader.catalogue() as catalogue:
            last_root = catalogue.root_id(source.source_id)
        self._callbacks.progress(Progress(source.source_id, 0, 0, 0))
        try:
            found = self._until_stopped(scanner.walk())
            root = check_root(source.root)
            if last_root not in ("", root.stored) and is_empty(source.root):  # probably a mount point
                raise SourceError(
                    f"the folder was replaced by an empty one: {source.root}",
                    "mount the disk again; if the notes were deleted, remove the source",
                )
            check_overlap(source, self._known)
            plan = compare(found, self._known_files(source.source_id), self._recipe.made_by)
        except SourceError as error:
            return self._paused(source, error)
        except ReadingStopped:
            return SourceReport(source.source_id, source.root, {}, (), ())
        self._writer.begin_load(len(plan.to_read))
        is_new = not (plan.unchanged or plan.known or plan.missing)
        report = self._apply(source, plan, set() if is_new else UsedIds(self._reader))
        if not self.cancelled:
            self._writer.end_load()
            self._writer.set_source_state(source.source_id, "indexed", root.stored, scanner.other_files)
        return replace(report, other_files=scanner.other_files)

    def paths(self, source: Source, scanner: PathScanner, paths: Iterable[bytes]) -> SourceReport:
        """Index single files and folders of one source in their present state."""
        waiting = self._grace.waiting(source.source_id) if self._grace else ()
        every = dict.fromkeys((*paths, *waiting))
        topmost = [path for path in every if not any(folder in every for folder in parents(path))]
        with self._reader.catalogue() as catalogue:
            known = sorted(catalogue.known_files_at(source.source_id, topmost).items(), key=itemgetter(0))
            last_root = catalogue.root_id(source.source_id)
        try:
            found = list(self._until_stopped(scanner.look(map(os.fsdecode, topmost))))
            found.sort(key=lambda item: os.fsencode(item.path))
            plan = compare(found, known, self._recipe.made_by)
            # After the scan: files may seem missing because the disk was just unmounted.
            check_overlap(source, self._known)
            if last_root not in ("", check_root(source.root).stored):
                raise SourceError(f"the folder was replaced by another one: {source.root}", "it is rescanned")
        except SourceError as error:
            return self._paused(source, error)
        except ReadingStopped:
            return SourceReport(source.source_id, source.root, {}, (), ())
        return self._apply(source, plan, UsedIds(self._reader))

    def _known_files(self, source: SourceId) -> Iterator[tuple[bytes, KnownFile]]:
        """In the order of a walk. Holds few of them, and no read transaction while the walk goes on."""
        last = b""
        while True:
            with self._reader.catalogue() as catalogue:
                part = catalogue.known_files(source, last, _KNOWN_AT_ONCE)
            yield from part.items()
            if len(part) < _KNOWN_AT_ONCE:
                return
            last = next(reversed(part))

    def _until_stopped(self, found: Iterable[FoundFile | WalkProblem]) -> Iterator[FoundFile | WalkProblem]:
        for item in found:
            if self._callbacks.stopping():
                raise ReadingStopped
            yield item

    def _paused(self, source: Source, error: SourceError) -> SourceReport:
        self._writer.set_source_state(source.source_id, "paused")
        return SourceReport(source.source_id, source.root, {}, (), (), paused=error.message)

    def _apply(self, source: Source, plan: Plan, taken: set[DocId] | UsedIds) -> SourceReport:
        tally = Tally()
        tally.counts["unchanged"] = plan.unchanged
        tally.problems += [f"{display_path(p.path) or '.'}: {p.reason}" for p in plan.problems]
        recognise_moves(plan, source.root, self._recipe.limits_of)
        if self._grace is not None:
            # A note whose path was taken by a moved one goes at once, the others after the grace period.
            replaced = set(map(os.fsencode, plan.moved))
            missing = {path: file for path, file in plan.missing.items() if path not in replaced}
            in_the_way = {path: file for path, file in plan.missing.items() if path in replaced}
            plan.missing = in_the_way | self._grace.expired(source.source_id, missing)
        # Old paths become free first: for moved notes, and for new ones in the place of others.
        for path, gone in plan.missing.items():
            removed = FileOutcome(display_path(os.fsdecode(path)), "removed")
            self.batch.add(RemoveNote(gone.doc_id), FileChange(source.source_id, removed))
            tally.note(removed.path, removed.outcome)
        if plan.moved:
            moves = []
            for new, (_, was) in plan.moved.items():
                file = _moved(plan, new)
                moves.append(Move(was.doc_id, file.path, os.fsencode(new)))
                tally.note(file.path, file.outcome, file.detail)
            self.batch.add(MoveNotes(tuple(moves)))
        self._read_files(source, plan, taken, tally)
        self.batch.commit()
        if self.batch.failed:
            tally.correct(self.batch.failed)
        return SourceReport(
            source.source_id,
            source.root,
            dict(tally.counts),
            tuple(tally.files),
            tuple(tally.problems),
            unseen=tuple(os.fsencode(problem.path) for problem in plan.problems),
        )

    def _read_files(self, source: Source, plan: Plan, taken: set[DocId] | UsedIds, tally: Tally) -> None:
        old_paths = {path for path, _ in plan.moved.values()}
        for done, found in enumerate(plan.to_read):
            if self.cancelled:
                return
            path = os.fsencode(found.path)
            moved = found.path in plan.moved
            was = plan.moved[found.path][1] if moved else None
            if not moved and path not in old_paths:
                was = plan.known.get(path)
            target = FileTarget(source.source_id, source.root, found.path, was, moved)
            try:
                change = change_of(found, target, self._recipe, taken, self._patience)
            except ReadingStopped:
                return
            file = _moved(plan, found.path) if moved else _outcome(found.path, change, was)
            if isinstance(change, SaveNote | MarkNote):
                taken.add(change.document.doc_id)
                saved_ns = change.document.fingerprint.ctime_ns
                self.batch.add_and_maybe_commit(change, FileChange(source.source_id, file, saved_ns))
            elif file.outcome == "changed" and change is not None:
                self.batch.add_and_maybe_commit(change, FileChange(source.source_id, file))
            elif change is not None:  # only the stamp changed: nothing to report
                self.batch.add_and_maybe_commit(change)
            if not moved:
                tally.note(file.path, file.outcome, file.detail)
            self._callbacks.progress(
                Progress(source.source_id, done + 1, len(plan.to_read), self.batch.added, found.path)
            )


@dataclass
class UsedIds:
    """Ids that a new note must not get: those of the index and those assigned since.

    Queries the index for each id: few paths do not justify a list of all ids.
    """

    reader: Reader
    assigned: set[DocId] = field(default_factory=set)

    def __contains__(self, doc_id: object) -> bool:
        if doc_id in self.assigned:
            return True
        with self.reader.catalogue() as catalogue:
            return isinstance(doc_id, str) and catalogue.document(DocId(doc_id)) is not None

    def add(self, doc_id: DocId) -> None:
        self.assigned.add(doc_id)


def _moved(plan: Plan, path: str) -> FileOutcome:
    old = display_path(os.fsdecode(plan.moved[path][0]))
    return FileOutcome(display_path(path), "moved", f"from {old}")


def _outcome(path: str, change: Change | None, was: KnownFile | None) -> FileOutcome:
    shown = display_path(path)
    match change:
        case SaveNote():
            return FileOutcome(shown, "added" if was is None else "changed")
        case TouchNote(flags=flags) if flags is not None:
            return FileOutcome(
                shown, "changed", "private now" if "private_by_rule" in flags else "no longer private"
            )
        case MarkNote(document) if document.state != "ok":
            return FileOutcome(shown, document.state, document.reason)
    if was is not None and was.state != "ok":
        return FileOutcome(shown, was.state, was.reason)
    return FileOutcome(shown, "unchanged")
