"""Brings the index in step with folders: walk, compare, read what changed, commit.

Commits as it goes, so that what is done stays done: a cancel takes effect between two
files, a stop also within one, a kill loses at most the files since the last commit, and the next run goes on
from there. A folder that is missing is paused, and everything known of it stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.document import Fingerprint, Source
from kebab_tui.domain.errors import SourceError
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.files.walk import FoundFile, WalkProblem, WalkRules, check_root, walk
from kebab_tui.indexing.basket import Basket, Noted
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.due import Taken, look, widest
from kebab_tui.indexing.grace import Grace
from kebab_tui.indexing.pipeline import Patience, Place, Recipe, change_of
from kebab_tui.indexing.reconcile import Plan, compare, recognise_moves
from kebab_tui.indexing.report import FileOutcome, Progress, SourceReport, Tally
from kebab_tui.indexing.source_names import refuse_overlap
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
        grace: Grace | None = None,
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
        self._basket = Basket(writer, callbacks.changed, _COMMIT_CHUNKS, _COMMIT_SECONDS)

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
        places = widest((*paths, *waiting))
        with self._reader.catalogue() as catalogue:
            known = catalogue.known_files_at(source.source_id, places)
            last_root = catalogue.root_id(source.source_id)
        try:
            found = self._until_stopped(look(source, places, self._checkpoint))
            plan = compare(found, known, self._recipe.made_by)
            # After the look: what seemed to be missing may have been a disk that just went.
            refuse_overlap(source, self._known)
            _insist_on_root(source.root, last_root)
        except SourceError as error:
            return self._paused(source, error)
        except ReadingStopped:
            return SourceReport(source.source_id, source.root, {}, (), ())
        return self._carry_out(source, plan, known, Taken(self._reader))

    def _until_stopped(self, found: Iterable[FoundFile | WalkProblem]) -> Iterator[FoundFile | WalkProblem]:
        for item in found:
            if self._callbacks.stopping():
                raise ReadingStopped
            yield item

    def _paused(self, source: Source, error: SourceError) -> SourceReport:
        self._writer.set_source_state(source.source_id, "paused")
        return SourceReport(source.source_id, source.root, {}, (), (), paused=error.message)

    def _carry_out(
        self, source: Source, plan: Plan, known: dict[bytes, KnownFile], taken: set[DocId] | Taken
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
        taken: set[DocId] | Taken,
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
            place = Place(source.source_id, source.root, found.path, was, moved)
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


def _given_up(plan: Plan, grace: Grace, source: Source) -> dict[bytes, KnownFile]:
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
