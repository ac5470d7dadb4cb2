"""Main loop of the indexing process: re-index changed notes, embed when idle.

One thread; the watchers fill the queue from theirs. Interrupted work returns to the queue, so
yielding the lock, a full disk or the end of the process lose nothing.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kebab_tui import own_files
from kebab_tui.domain.document import Fingerprint, Source
from kebab_tui.domain.errors import TEMPORARY, ModelError, StoreDamagedError, VectorError
from kebab_tui.domain.ids import SourceId
from kebab_tui.formats.registry import upgrade_of
from kebab_tui.indexing.callbacks import Callbacks, WatchCallbacks
from kebab_tui.indexing.data_watch import DataFolderWatch
from kebab_tui.indexing.embed import BackgroundEmbedding
from kebab_tui.indexing.ingest import Ingest
from kebab_tui.indexing.path_queue import PathBatch, PathQueue
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.reconcile import DeletionGracePeriod
from kebab_tui.indexing.report import Outcome, Progress
from kebab_tui.indexing.schedule import DISK, Schedule
from kebab_tui.indexing.session import Session
from kebab_tui.indexing.status import FolderState, Phase, StatusPublisher
from kebab_tui.indexing.watched_folders import WatchedFolders
from kebab_tui.storage.ports import Index, Rescan

POLL_S = 0.1
"""Interval between two checks for requests during work."""
IDLE_S = 1.0
"""The same while idle: a watch reports requests and what else the queue has, but it may fail."""

_REST_S = 0.5
"""The longest rest of a process that waits for the lock without a look."""
_MIN_SCAN_S = 1.0
"""The scan of a whole folder yields to saved notes, but not before it has run this long."""
_FOLDER_CHECK_S = 1.0
"""Interval between two checks of the data folder when idle; other work starts with a check."""
_REMOVED_S = 5.0
"""Interval between two checks for removed sources that can be deleted."""
_TEMPORARY_CODES = tuple(kind.code for kind in TEMPORARY)
_NEW_TEXT: tuple[Outcome, ...] = ("added", "changed", "moved")


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    index: Index
    recipe: Recipe
    declared: Sequence[Source] = ()
    vectors: BackgroundEmbedding | None = None
    command: str = "kebab watch"
    once: bool = False
    """End when everything is indexed and embedded; watch nothing."""


class IndexWorker:
    """Outlives the write sessions: a change between two sessions waits in the queue."""

    def __init__(self, config: WorkerConfig, callbacks: WatchCallbacks) -> None:
        self._config = config
        self._callbacks = callbacks
        self._queue = PathQueue()
        self._schedule = Schedule(self._queue, config.vectors is not None)
        self._watched = WatchedFolders(
            self._queue, callbacks.stopping, config.recipe, without_events=config.once
        )
        self._requests = config.index.requests()
        self._has_heard = False
        """Whether the data folder has changed since requests were read."""
        requests = os.path.join(config.index.folder, own_files.REQUESTS)
        self._data_watch = DataFolderWatch((config.index.folder, requests), self._hear)
        self._resting = threading.Condition()  # reentrant: a signal handler may notify
        self._poll_s = POLL_S if callbacks.on_stop is None else IDLE_S
        if callbacks.on_stop is not None:
            callbacks.on_stop(self._wake)
        self._is_lock_wanted = False
        self._rescans: list[Rescan] = []
        self._grace = DeletionGracePeriod()
        self._too_slow: set[tuple[SourceId, str, Fingerprint]] = set()
        self._complete: set[SourceId] = set()
        self.is_done = False
        """Whether everything is indexed and embedded, and that was to be done once."""
        self.status = StatusPublisher(
            config.index, callbacks, self._folder_states, self._queue.pending, once=config.once
        )

    def serve(self, session: Session) -> None:
        """Work until asked to stop or to yield the lock. The sources may have changed since the last call."""
        added = self._watched.follow(source for source in session.sources() if source.use == "watched")
        rescan_all = session.begun_anew or bool(session.healed)
        for source in self._watched.sources if rescan_all else added:
            self._complete.discard(source.source_id)
            self._queue.reconcile(source.root, "first scan")
        with contextlib.suppress(OSError):
            own_files.make_folder(os.path.join(self._config.index.folder, own_files.REQUESTS))
        self._schedule.want_embedding()
        self._is_lock_wanted = False
        self._count_notes()
        self.status.yielded_to("")
        while not self._must_stop() and not self.is_done:
            self._step(session)

    def wait(self, seconds: float) -> None:
        """Sleep, regardless of events."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not self._callbacks.stopping():
            with self._resting:
                self._resting.wait(min(left, self._poll_s, _REST_S))

    def suspend(self) -> None:
        """Stop watching: another process took over."""
        self._watched.stop()
        self._unload_model()
        self._complete.clear()

    def finish(self) -> None:
        """Save pending vectors while the lock is still owned."""
        with contextlib.suppress(VectorError):  # other processes read them from the database
            self._save_vectors()

    def close(self) -> None:
        self._data_watch.close()
        self._watched.stop()
        self._unload_model()
        self.status.remove()

    def _hear(self) -> None:
        self._has_heard = True
        self._queue.wake()

    def _wake(self) -> None:
        self._queue.wake()
        with self._resting:
            self._resting.notify_all()

    def _must_stop(self) -> bool:
        """Whether to end, or to let another process write; cheap enough to call for every file."""
        if self._has_heard or self._schedule.is_time("requests", POLL_S):
            self._has_heard = False
            self._is_lock_wanted, requests = self._requests.look()
            for request in requests:
                if isinstance(request, Rescan):
                    self._rescans.append(request)
                elif self._config.vectors is not None:
                    self._config.vectors.prefer(request.rows)
        return self._is_lock_wanted or self._callbacks.stopping()

    def _step(self, session: Session) -> None:
        self._queue_scans()
        task = self._schedule.next()
        if self._schedule.is_time("data folder", _FOLDER_CHECK_S) or task in ("index", "embed"):
            session.check_data_folder()
        self.status.publish()
        match task:
            case "pause":
                self.wait(POLL_S)
            case "index":
                left = list(self._queue.take())
                try:
                    while left and not self._must_stop():
                        self._index(session, left[0])
                        left.pop(0)
                except TEMPORARY as error:
                    self._schedule.failed(DISK)
                    self.status.report_error(error)
                finally:
                    for batch in left:
                        self._put_back(batch)
                    self.status.work()
            case "embed":
                self._embed(session)
            case "save_vectors":
                try:
                    self._save_vectors()
                    self.status.clear_error(VectorError.code)
                except VectorError as error:
                    self.status.report_error(error)
            case "unload_model":
                self._unload_model()
            case _:
                self.status.work()
                is_done = self._config.once and not self._queue.pending()
                if self._schedule.is_time("removed", _REMOVED_S):
                    session.delete_removed()
                if task == "tidy" or is_done:
                    if session.check_deferred:
                        session.run_deferred_check()
                    session.writer.merge_full_text(lambda: self._must_stop() or self._queue.has_due())
                self.is_done = is_done
                if not is_done:
                    self._data_watch.keep()
                    self._queue.wait(self._poll_s)

    def _queue_scans(self) -> None:
        """Queue what other processes ask for, retries and periodic scans; cheap at any rate."""
        if not (self._has_heard or self._rescans or self._schedule.is_time("scans", POLL_S)):
            return
        self._must_stop()  # it reads the requests
        rescans, self._rescans = self._rescans, []
        for request in rescans:
            if request.retry:
                self._schedule.retry_now()
            for root in self._watched.by_root:
                if not request.paths:
                    self._queue.reconcile(root, "requested")
                for path in request.paths:
                    if (inner := _relative_path(root, path)) is not None:
                        self._queue.add(root, os.fsencode(inner), os.path.isdir(path), settle_s=0)
        self._schedule.queue_scans(self._watched.by_root)

    def _index(self, session: Session, batch: PathBatch) -> None:
        watched = self._watched.by_root.get(batch.root)
        if watched is None:
            return
        source = watched.source
        if watched.watch is not None and not watched.watch.is_there():
            # An unmounted disk leaves an empty folder. Its return queues a scan of the whole folder.
            session.writer.set_source_state(source.source_id, "paused")
            self._grace.forget(source.source_id)
            self._schedule.scanned(batch, (), is_rejected=True)
            return
        reading_since: float | None = None
        interrupted = False

        def progress(at: Progress) -> None:
            nonlocal reading_since
            begins = reading_since is None and at.total > 0
            if begins:
                reading_since = time.monotonic()
            self.status.work(Phase("reading", at.done, at.total), at_once=begins and bool(batch.whole))

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
            self._watched.sources,
        )
        scanner = watched.scanner_for(batch)
        if batch.whole:
            began = time.monotonic()
            report = ingest.source(source, scanner)
            self._schedule.scan_took(batch.root, (reading_since or time.monotonic()) - began)
        else:
            report = ingest.paths(source, scanner, (*batch.paths, *batch.subtrees))
        watched.rejected = report.paused
        self._schedule.scanned(batch, report.unseen, bool(report.paused))
        if report.paused and not batch.whole:
            self._queue.reconcile(source.root, "the folder was replaced")
        if interrupted or self._callbacks.stopping():  # a stop also ends the walk
            self._put_back(batch)
        elif batch.whole and not report.paused:
            self._complete.add(source.source_id)
            if self._complete.issuperset(known.source_id for known in self._watched.sources):
                session.writer.set_made_by(self._config.recipe.all_made_by)
                self.status.clear_error(StoreDamagedError.code)
        if waiting := self._grace.waiting(source.source_id):
            left = self._grace.left(source.source_id)
            for path in waiting:
                self._queue.add(source.root, path, settle_s=left)
        state = self.status.state
        if batch.whole or state.failed or state.upgrading or report.counts.get("failed"):
            self._count_notes()  # milliseconds in a large index
        self.status.clear_error(*_TEMPORARY_CODES)
        if any(report.counts.get(outcome) for outcome in _NEW_TEXT):
            self._schedule.want_embedding()

    def _put_back(self, batch: PathBatch) -> None:
        if batch.whole:
            self._queue.reconcile(batch.root, batch.whole)
        for path in batch.paths:
            self._queue.add(batch.root, path, settle_s=0)
        for path in batch.subtrees:
            self._queue.add(batch.root, path, is_dir=True, settle_s=0)

    def _count_notes(self) -> None:
        with self._config.index.reader.catalogue() as catalogue:
            failed, makers, others = catalogue.failed(), catalogue.makers(), catalogue.other_files()
        upgrading = upgrade_of(makers, self._config.recipe.chunker)
        self.status.state = replace(self.status.state, failed=failed, upgrading=upgrading, other_files=others)

    def _embed(self, session: Session) -> None:
        assert self._config.vectors is not None

        def cancelled() -> bool:
            self._queue_scans()  # embedding can take hours
            return self._must_stop() or self._queue.has_due()

        self.status.publish(at_once=True)  # opening a model takes a while
        self._schedule.embedding_began()
        try:
            callbacks = Callbacks(cancelled=cancelled, embedding=self.status.embedding)
            report = self._config.vectors.make(session.writer, callbacks)
        except (ModelError, VectorError) as error:
            self._schedule.embedding_ended()
            self.status.report_error(error)
        except TEMPORARY as error:
            self._schedule.embedding_ended(is_complete=False)
            self._schedule.failed(DISK)
            self.status.report_error(error)
        else:
            if report is None:
                self._schedule.embed_later()
            else:
                self._schedule.embedding_ended(report.embedded, is_complete=not report.cancelled)
            self.status.clear_error(ModelError.code, *_TEMPORARY_CODES)

    def _save_vectors(self) -> None:
        if self._config.vectors is not None and self._schedule.unsaved:
            self._schedule.saving_vectors()
            self._config.vectors.save()
            self._schedule.unsaved = False

    def _unload_model(self) -> None:
        self._schedule.unloaded()
        if self._config.vectors is not None:
            self._config.vectors.unload()

    def _folder_states(self) -> tuple[FolderState, ...]:
        states = (
            watched.state(self._schedule.unreadable(root)) for root, watched in self._watched.by_root.items()
        )
        return tuple(state for state in states if state is not None)


def _relative_path(root: str, path: str) -> str | None:
    """A path relative to the root, symbolic links resolved if needed; None outside the root."""
    for outer, inner in ((root, os.path.abspath(path)), (os.path.realpath(root), os.path.realpath(path))):
        if inner == outer:
            return ""
        if inner.startswith(outer.rstrip("/") + "/"):
            return inner[len(outer.rstrip("/")) + 1 :]
    return None
