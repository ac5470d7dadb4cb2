"""Main loop of the indexing process: re-index changed notes, embed when idle.

One thread; the watchers fill the queue from theirs. Interrupted work returns to the queue, so
yielding the lock, a full disk or the end of the process lose nothing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kebab_tui.domain.document import Fingerprint, Source
from kebab_tui.domain.errors import TEMPORARY, ModelError, StoreDamagedError, VectorError
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.text import display_path
from kebab_tui.files.ignore import IGNORE_FILES
from kebab_tui.formats.registry import upgrade_of
from kebab_tui.indexing.callbacks import Callbacks, WatchCallbacks
from kebab_tui.indexing.embed import BackgroundEmbedding, EmbeddingQueue
from kebab_tui.indexing.ingest import Ingest
from kebab_tui.indexing.path_queue import PathBatch, PathQueue
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.reconcile import DeletionGracePeriod
from kebab_tui.indexing.report import Outcome, Progress, SourceReport
from kebab_tui.indexing.session import Session
from kebab_tui.indexing.status import FolderState, StatusPublisher
from kebab_tui.indexing.watched_folders import PeriodicRescan, Retries, WatchedFolders
from kebab_tui.storage.ports import Index, Requests, Rescan

POLL_S = 0.1
"""Interval between two checks for requests."""

_MOST_UNREADABLE = 100
_MIN_SCAN_S = 1.0
"""The scan of a whole folder yields to saved notes, but not before it has run this long."""
_QUIET_S = 5.0
"""The full check and merges start only after this long without changes: they delay saved notes."""
_FOLDER_CHECK_S = 1.0
"""Interval between two checks of the data folder when idle; other work starts with a check."""
_DISK = "disk"
_TEMPORARY_CODES = tuple(kind.code for kind in TEMPORARY)
_NEW_TEXT: tuple[Outcome, ...] = ("added", "changed", "moved")


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    index: Index
    recipe: Recipe
    declared: Sequence[Source] = ()
    vectors: BackgroundEmbedding | None = None
    command: str = "kebab watch"


class IndexWorker:
    """Outlives the write sessions: a change between two sessions waits in the queue."""

    def __init__(self, config: WorkerConfig, callbacks: WatchCallbacks) -> None:
        self._config = config
        self._callbacks = callbacks
        self._queue = PathQueue()
        self._watched = WatchedFolders(self._queue, callbacks.stopping)
        self._grace = DeletionGracePeriod()
        self._too_slow: set[tuple[SourceId, str, Fingerprint]] = set()
        self._maintenance = Maintenance(config.index.requests(), self._queue, self._watched)
        self._embedding = EmbeddingQueue(config.vectors)
        self._busy_at = time.monotonic()
        self._next_folder_check = 0.0
        self._complete: set[SourceId] = set()
        self.status = StatusPublisher(config.index, callbacks, self._maintenance.states, self._queue.pending)

    def serve(self, session: Session) -> None:
        """Work until asked to stop or to yield the lock. The sources may have changed since the last call."""
        added = self._watched.follow(session.sources())
        rescan_all = session.begun_anew or bool(session.healed)
        for source in self._watched.sources() if rescan_all else added:
            self._complete.discard(source.source_id)
            self._queue.reconcile(source.root, "first scan")
        self._embedding.notes_changed()
        self._count_failed()
        self.status.yielded_to("")
        while not self._must_stop():
            self._step(session)

    def wait(self, seconds: float) -> None:
        """Sleep, regardless of events."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not self._callbacks.stopping():
            time.sleep(min(left, POLL_S))

    def suspend(self) -> None:
        """Stop watching: another process took over."""
        self._watched.stop()
        self._embedding.unload()
        self._complete.clear()

    def finish(self) -> None:
        """Save pending vectors while the lock is still owned."""
        with contextlib.suppress(VectorError):  # other processes read them from the database
            self._embedding.save_now()

    def close(self) -> None:
        self._watched.stop()
        self._embedding.unload()
        self.status.remove()

    def _must_stop(self) -> bool:
        return self._callbacks.stopping() or self._maintenance.is_lock_wanted()

    def _step(self, session: Session) -> None:
        now = time.monotonic()
        if self._queue.has_due() or self._embedding.wanted or now >= self._next_folder_check:
            self._next_folder_check = now + _FOLDER_CHECK_S
            session.check_data_folder()
        self._maintenance.run()
        self.status.publish()
        if self._maintenance.disk.is_waiting(_DISK):
            self.wait(POLL_S)
        elif batches := self._queue.take(time.monotonic()):
            self._index_all(session, batches)
        elif self._embedding.wanted:
            self._embed(session)
        else:
            try:
                if self._embedding.idle():
                    self.status.clear_error(VectorError.code)
            except VectorError as error:
                self.status.report_error(error)
            self.status.idle()
            if time.monotonic() - self._busy_at >= _QUIET_S:
                if session.check_deferred:
                    session.run_deferred_check()
                session.writer.merge_full_text(lambda: self._must_stop() or self._queue.has_due())
            self._queue.wait(POLL_S)

    def _index_all(self, session: Session, batches: Sequence[PathBatch]) -> None:
        left = list(batches)
        try:
            while left and not self._must_stop():
                self._index(session, left[0])
                left.pop(0)
                self._maintenance.disk.succeeded(_DISK)
        except TEMPORARY as error:
            self._maintenance.disk.failed(_DISK)
            self.status.report_error(error)
        finally:
            for batch in left:
                self._put_back(batch)
            self._busy_at = time.monotonic()
            self.status.idle()

    def _index(self, session: Session, batch: PathBatch) -> None:
        source = self._watched.source_at(batch.root)
        if source is None:
            return
        if not self._watched.is_there(source):
            # An unmounted disk leaves an empty folder. Its return queues a scan of the whole folder.
            session.writer.set_source_state(source.source_id, "paused")
            self._grace.forget(source.source_id)
            return
        reading_since: float | None = None
        interrupted = False

        def progress(at: Progress) -> None:
            nonlocal reading_since
            if reading_since is None and at.total:
                reading_since = time.monotonic()
            self.status.reading(at)

        def cancelled() -> bool:
            """Stays true. A saved note interrupts the scan of a whole folder, which may take hours."""
            nonlocal interrupted
            interrupted = interrupted or self._must_stop()
            if not interrupted and batch.whole and reading_since is not None:
                interrupted = time.monotonic() - reading_since > _MIN_SCAN_S and self._queue.has_due()
            return interrupted

        callbacks = Callbacks(
            progress=progress,
            cancelled=cancelled,
            changed=self.status.changed,
            stopping=lambda: self._callbacks.stopping() and cancelled(),
        )
        ingest = Ingest(
            session.writer,
            session.reader,
            self._config.recipe,
            callbacks,
            self._grace,
            self._too_slow,
            self._watched.sources(),
        )
        if batch.whole:
            report = ingest.source(source)
        else:
            if any(os.fsdecode(path).rpartition("/")[2] in IGNORE_FILES for path in batch.paths):
                self._watched.rules_changed(source)
            elif batch.subtrees:
                self._watched.folders_changed(source)
            report = ingest.paths(source, (*batch.paths, *batch.subtrees))
        self._record(session, source, batch, report, interrupted=interrupted)

    def _record(
        self, session: Session, source: Source, batch: PathBatch, report: SourceReport, *, interrupted: bool
    ) -> None:
        self._maintenance.record_unreadable(batch, report)
        if report.paused and not batch.whole:
            self._queue.reconcile(source.root, "the folder was replaced")
        if interrupted:
            self._put_back(batch)
        elif batch.whole and not report.paused:
            self._complete.add(source.source_id)
            if self._complete.issuperset(known.source_id for known in self._watched.sources()):
                session.writer.set_made_by(self._config.recipe.all_made_by)
                self.status.clear_error(StoreDamagedError.code)
        left = self._grace.left(source.source_id)
        for path in self._grace.waiting(source.source_id):
            self._queue.add(source.root, path, settle_s=left)
        self._count_failed()
        self.status.clear_error(*_TEMPORARY_CODES)
        if any(report.counts.get(outcome) for outcome in _NEW_TEXT):
            self._embedding.notes_changed()

    def _put_back(self, batch: PathBatch) -> None:
        if batch.whole:
            self._queue.reconcile(batch.root, batch.whole)
        for path in batch.paths:
            self._queue.add(batch.root, path, settle_s=0)
        for path in batch.subtrees:
            self._queue.add(batch.root, path, is_dir=True, settle_s=0)

    def _count_failed(self) -> None:
        with self._config.index.reader.catalogue() as catalogue:
            self.status.failed = catalogue.failed()
            self.status.upgrading = upgrade_of(catalogue.makers(), self._config.recipe.chunker)

    def _embed(self, session: Session) -> None:
        def cancelled() -> bool:
            if self._must_stop():
                return True
            self._maintenance.run()  # embedding can take hours
            return self._queue.has_due()

        self.status.publish(at_once=True)  # opening a model takes a while
        try:
            self._embedding.work(
                session.writer, Callbacks(cancelled=cancelled, embedding=self.status.embedding)
            )
            self.status.clear_error(ModelError.code, *_TEMPORARY_CODES)
        except (ModelError, VectorError) as error:
            self.status.report_error(error)
        except TEMPORARY as error:
            self._embedding.notes_changed()
            self._maintenance.disk.failed(_DISK)
            self.status.report_error(error)


class Maintenance:
    """Work not triggered by file events: rescan requests, retries, periodic scans.

    Fills the queue and reports who wants the lock; reads no file. `unreadable`: roots and paths that
    a scan could not read. `disk`: pauses after failed writes to the index.
    """

    def __init__(self, requests: Requests, queue: PathQueue, watched: WatchedFolders) -> None:
        self._requests = requests
        self._queue = queue
        self._watched = watched
        self._periodic = PeriodicRescan()
        self._polled_at = self._ran_at = 0.0
        self._rescans: list[Rescan] = []
        self._paused: dict[str, str] = {}
        """Why the last scan of a root was rejected; empty if it was not."""
        self.unreadable: Retries[tuple[str, bytes]] = Retries()
        self.disk: Retries[str] = Retries()

    def is_lock_wanted(self) -> bool:
        """Whether another process waits to write; cheap enough to call for every file."""
        now = time.monotonic()
        if now - self._polled_at < POLL_S:
            return False
        wanted, rescans = self._requests.look()
        self._rescans += rescans
        if not wanted:  # a waiting process must be seen by the next call, too
            self._polled_at = now
        return wanted

    def run(self) -> None:
        """Queue everything that is due; cheap, may be called at any rate."""
        now = time.monotonic()
        if now - self._ran_at < POLL_S:
            return
        self._ran_at = now
        self.is_lock_wanted()
        rescans, self._rescans = self._rescans, []
        for request in rescans:
            if request.retry:
                self.unreadable.all_now()
                self.disk.all_now()
            for source in self._watched.sources():
                if not request.paths:
                    self._queue.reconcile(source.root, "requested")
                for path in request.paths:
                    if (inner := _relative_path(source.root, path)) is not None:
                        self._queue.add(source.root, os.fsencode(inner), os.path.isdir(path), settle_s=0)
        for root, raw_path in self.unreadable.due():
            if self._watched.source_at(root) is None:
                self.unreadable.succeeded((root, raw_path))
            elif raw_path:
                self._queue.add(root, raw_path, is_dir=True, settle_s=0)
            else:
                self._queue.reconcile(root, "retry")
        if why := self._periodic.due():
            for source in self._watched.sources():
                self._queue.reconcile(source.root, why)

    def record_unreadable(self, batch: PathBatch, report: SourceReport) -> None:
        """Schedule retries: no event announces that a folder became readable."""
        unseen = {path for path in report.unseen if os.fsdecode(path).rpartition("/")[2] not in IGNORE_FILES}
        if len(unseen) > _MOST_UNREADABLE:  # the folders of many files
            unseen = {path.rpartition(b"/")[0] for path in unseen}
        if report.paused or len(unseen) > _MOST_UNREADABLE:  # the root of many folders
            unseen = {b""}
        known = {path for root, path in self.unreadable if root == batch.root}
        scanned = known if batch.whole else known & {*batch.paths, *batch.subtrees}
        self._paused[batch.root] = report.paused
        for path in scanned - unseen:
            self.unreadable.succeeded((batch.root, path))
        for path in unseen:
            self.unreadable.failed((batch.root, path))

    def states(self) -> tuple[FolderState, ...]:
        """The state of each watched folder, unreadable paths included."""
        states = []
        for state in self._watched.states():
            unread = [path for root, path in self.unreadable.stuck() if root == state.root]
            if state.kind != "paused" and (reason := self._paused.get(state.root)):
                state = replace(state, kind="paused", reason=reason)
            elif state.kind == "live" and unread:
                more = f" and {len(unread) - 1} more" if unread[1:] else ""
                first = display_path(os.fsdecode(unread[0])) or "."
                state = replace(
                    state, kind="partial", reason=f"cannot be read: {first}{more}; retried periodically"
                )
            states.append(state)
        return tuple(states)


def _relative_path(root: str, path: str) -> str | None:
    """A path relative to the root, symbolic links resolved if needed; None outside the root."""
    for outer, inner in ((root, os.path.abspath(path)), (os.path.realpath(root), os.path.realpath(path))):
        if inner == outer:
            return ""
        if inner.startswith(outer.rstrip("/") + "/"):
            return inner[len(outer.rstrip("/")) + 1 :]
    return None
