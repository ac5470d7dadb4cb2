"""The work of whoever holds the writer's lock for long: notes as they change, vectors in between.

One thread; the watches fill the queue from theirs. What cannot be done now goes back into
the queue, so giving way, a full disk or the end of the process lose nothing.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from kebab_tui.domain.document import Fingerprint, Source
from kebab_tui.domain.errors import TEMPORARY, ModelError, StoreDamagedError, VectorError
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.ignore import IGNORE_FILES
from kebab_tui.indexing.embed import BackgroundEmbedding, EmbeddingQueue
from kebab_tui.indexing.ingest import Ingest
from kebab_tui.indexing.path_queue import PathBatch, PathQueue
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.reconcile import DeletionGracePeriod
from kebab_tui.indexing.report import Callbacks, Outcome, Progress, SourceReport, WatchCallbacks
from kebab_tui.indexing.session import Session
from kebab_tui.indexing.status import FolderState, StatusPublisher
from kebab_tui.indexing.watched_folders import PeriodicRescan, Retries, WatchedFolders
from kebab_tui.storage.lock import DataFolder
from kebab_tui.storage.requests import RequestFolder, Rescan
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.rows import shown

# What a keeper does though no folder announced it: what others ask for, what is tried again, rounds.
#
# Says what is to be looked at, in the queue, and when to give way; looks at nothing itself.

LOOK_S = 0.1
"""How often requests are looked for."""

_MOST_PLACES = 100


class Maintenance:
    """`places`: roots and paths that could not be looked at. `disk`: an index that could not be written."""

    def __init__(self, requests: RequestFolder, queue: PathQueue, watched: WatchedFolders) -> None:
        self._requests = requests
        self._queue = queue
        self._watched = watched
        self._rounds = PeriodicRescan()
        self._looked_at = self._ran_at = 0.0
        self._asked: list[Rescan] = []
        self._paused: dict[str, str] = {}
        """Why nothing in a root was believed at the last look; empty: it was."""
        self.places: Retries[tuple[str, bytes]] = Retries()
        self.disk: Retries[str] = Retries()

    def is_way_wanted(self) -> bool:
        """Whether another process waits to write; cheap enough to be asked for every file."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_S:
            return False
        wanted, asked = self._requests.look()
        self._asked += asked
        if not wanted:  # who waits is still there at the next question
            self._looked_at = now
        return wanted

    def run(self) -> None:
        """Cheap, however often: it is done some times a second."""
        now = time.monotonic()
        if now - self._ran_at < LOOK_S:
            return
        self._ran_at = now
        self.is_way_wanted()
        asked, self._asked = self._asked, []
        for request in asked:
            if request.retry:
                self.places.all_now()
                self.disk.all_now()
            self._rescan(request)
        self._look_again()
        if why := self._rounds.due():
            for source in self._watched.sources():
                self._queue.reconcile(source.root, why)

    def remember_unseen(self, batch: PathBatch, report: SourceReport) -> None:
        """Nobody tells when a folder can be read again."""
        unseen = {path for path in report.unseen if os.fsdecode(path).rpartition("/")[2] not in IGNORE_FILES}
        unseen = {b""} if report.paused else _gathered(unseen)
        waiting = {path for root, path in self.places if root == batch.root}
        looked_at = waiting if batch.whole else waiting & {*batch.paths, *batch.subtrees}
        self._paused[batch.root] = report.paused
        for path in looked_at - unseen:
            self.places.succeeded((batch.root, path))
        for path in unseen:
            self.places.failed((batch.root, path))

    def states(self) -> tuple[FolderState, ...]:
        """How well the folders are watched; what cannot be looked at is not watched well."""
        return tuple(self._with_unseen(state) for state in self._watched.states())

    def _with_unseen(self, state: FolderState) -> FolderState:
        if state.kind != "paused" and (reason := self._paused.get(state.root)):
            return replace(state, kind="paused", reason=reason)
        unseen = [path for root, path in self.places.stuck() if root == state.root]
        if state.kind != "live" or not unseen:
            return state
        more = f" and {len(unseen) - 1} more" if unseen[1:] else ""
        reason = f"cannot be read: {shown(os.fsdecode(unseen[0])) or '.'}{more}; tried again now and then"
        return replace(state, kind="partial", reason=reason)

    def _rescan(self, request: Rescan) -> None:
        for source in self._watched.sources():
            if not request.paths:
                self._queue.reconcile(source.root, "asked for")
            for path in request.paths:
                if (place := _within(source.root, path)) is not None:
                    is_folder = os.path.isdir(path)
                    self._queue.add(source.root, os.fsencode(place), is_folder, settle_s=0)

    def _look_again(self) -> None:
        for root, path in self.places.due():
            if self._watched.source_at(root) is None:
                self.places.succeeded((root, path))
            elif path:
                self._queue.add(root, path, is_dir=True, settle_s=0)
            else:
                self._queue.reconcile(root, "trying again")


def _gathered(unseen: set[bytes]) -> set[bytes]:
    """What is remembered of them is little: the folders of many files, the root of many folders."""
    if len(unseen) > _MOST_PLACES:
        unseen = {path.rpartition(b"/")[0] for path in unseen}
    return unseen if len(unseen) <= _MOST_PLACES else {b""}


def _within(root: str, path: str) -> str | None:
    """A path relative to the root that holds it, however either is spelled."""
    for outer, inner in ((root, os.path.abspath(path)), (os.path.realpath(root), os.path.realpath(path))):
        if inner == outer:
            return ""
        if inner.startswith(outer.rstrip("/") + "/"):
            return inner[len(outer.rstrip("/")) + 1 :]
    return None


_READ_AT_LEAST_S = 1.0
"""Reading a whole folder steps back behind saved notes, but gets on in between."""
_QUIET_S = 5.0
"""A look at all pages holds up what is saved meanwhile: nobody should be at it."""
_PLACE_CHECK_S = 1.0
"""Between two looks at rest whether the index was taken away; each work begins with one anyway."""
_DISK = "disk"
_TEMPORARY_CODES = tuple(kind.code for kind in TEMPORARY)
_NEWS: tuple[Outcome, ...] = ("added", "changed", "moved")


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Which index is kept, and how its notes are read."""

    folder: DataFolder
    reader: StoreReader
    recipe: Recipe
    declared: Sequence[Source] = ()
    vectors: BackgroundEmbedding | None = None
    bulk_chunks: int = 2000
    command: str = "kebab watch"


@dataclass(slots=True)
class _Turn:
    """Whether one piece of work is to be cut short; once cut it stays so."""

    ask: Callable[[], bool]
    reading_since: float | None = None
    cut: bool = field(default=False)

    def cancelled(self) -> bool:
        self.cut = self.cut or self.ask()
        return self.cut


class IndexWorker:
    """Outlives the sessions: what is heard meanwhile is done in the next one."""

    def __init__(self, charge: WorkerConfig, callbacks: WatchCallbacks) -> None:
        self._charge = charge
        self._callbacks = callbacks
        self._queue = PathQueue()
        self._watched = WatchedFolders(self._queue, callbacks.stopping)
        self._grace = DeletionGracePeriod()
        self._too_slow: set[tuple[SourceId, str, Fingerprint]] = set()
        self._errands = Maintenance(RequestFolder(charge.folder.root), self._queue, self._watched)
        self._vectors = EmbeddingQueue(charge.vectors)
        self._busy_at = time.monotonic()
        self._next_place_check = 0.0
        self._complete: set[SourceId] = set()
        self.board = StatusPublisher(charge.folder, callbacks, self._errands.states, self._queue.pending)

    def serve(self, session: Session) -> None:
        """Work until asked to stop or to give way."""
        self._take_up(session)
        while not self._is_over():
            self._step(session)

    def wait(self, seconds: float) -> None:
        """Sleep, however much is heard."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and not self._callbacks.stopping():
            time.sleep(min(left, LOOK_S))

    def let_go(self) -> None:
        """Another process keeps watch from now on."""
        self._watched.stop()
        self._vectors.let_go()
        self._complete.clear()

    def _take_up(self, session: Session) -> None:
        """The sources may be others by now."""
        news = self._watched.follow(session.sources())
        everything = session.begun_anew or bool(session.healed)
        for source in self._watched.sources() if everything else news:
            self._complete.discard(source.source_id)
            self._queue.reconcile(source.root, "a first look")
        self._vectors.notes_changed()
        self._count_failed()
        self.board.gave_way("")

    def _step(self, session: Session) -> None:
        now = time.monotonic()
        if self._queue.has_due() or self._vectors.wanted or now >= self._next_place_check:
            self._next_place_check = now + _PLACE_CHECK_S
            session.insist_on_place()
        self._errands.run()
        self.board.show()
        if self._errands.disk.holds(_DISK):
            self.wait(LOOK_S)
        elif batches := self._queue.take(time.monotonic()):
            self._work_on(session, batches)
        elif self._vectors.wanted:
            self._make_vectors(session)
        else:
            self._rest(session)

    def _rest(self, session: Session) -> None:
        self._save_vectors()
        self.board.at_rest()
        if time.monotonic() - self._busy_at >= _QUIET_S:
            if session.unchecked:
                session.look_closely()
            session.writer.merge_full_text(lambda: self._is_over() or self._queue.has_due())
        self._queue.wait(LOOK_S)

    # Notes

    def _work_on(self, session: Session, batches: Sequence[PathBatch]) -> None:
        left = list(batches)
        try:
            while left and not self._is_over():
                self._work(session, left[0])
                left.pop(0)
                self._errands.disk.succeeded(_DISK)
        except TEMPORARY as error:
            self._errands.disk.failed(_DISK)
            self.board.trouble(error)
        finally:
            for batch in left:
                self._put_back(batch)
            self._busy_at = time.monotonic()
            self.board.at_rest()

    def _work(self, session: Session, batch: PathBatch) -> None:
        source = self._watched.source_at(batch.root)
        if source is None:
            return
        if not self._watched.is_there(source):
            # An unmounted disk leaves an empty folder. When the notes are back, all are looked at.
            session.writer.set_source_state(source.source_id, "paused")
            self._grace.forget(source.source_id)
            return
        turn = _Turn(self._is_over)
        if batch.whole:
            turn.ask = lambda: self._is_over() or self._is_overtaken(turn)
        ingest = Ingest(
            session.writer,
            session.reader,
            self._charge.recipe,
            self._callbacks_of(turn),
            self._grace,
            self._too_slow,
            self._watched.sources(),
        )
        if batch.whole:
            report = ingest.source(source)
        else:
            self._mind_rules(source, batch)
            report = ingest.paths(source, (*batch.paths, *batch.subtrees))
        self._take_note(session, source, batch, report, cut=turn.cut)

    def _callbacks_of(self, turn: _Turn) -> Callbacks:
        def reading(progress: Progress) -> None:
            if turn.reading_since is None and progress.total:
                turn.reading_since = time.monotonic()
            self.board.reading(progress)

        def stopping() -> bool:
            return self._callbacks.stopping() and turn.cancelled()

        return Callbacks(
            progress=reading, cancelled=turn.cancelled, changed=self.board.changed, stopping=stopping
        )

    def _is_overtaken(self, turn: _Turn) -> bool:
        """A note that is saved now comes before a folder that has waited all night."""
        since = turn.reading_since
        return since is not None and time.monotonic() - since > _READ_AT_LEAST_S and self._queue.has_due()

    def _mind_rules(self, source: Source, batch: PathBatch) -> None:
        if any(os.fsdecode(path).rpartition("/")[2] in IGNORE_FILES for path in batch.paths):
            self._watched.rules_changed(source)
        elif batch.subtrees:
            self._watched.folders_changed(source)

    def _take_note(
        self, session: Session, source: Source, batch: PathBatch, report: SourceReport, *, cut: bool
    ) -> None:
        self._errands.remember_unseen(batch, report)
        if report.paused and not batch.whole:
            self._queue.reconcile(source.root, "the folder is another one")
        if cut:
            self._put_back(batch)
        elif batch.whole and not report.paused:
            self._complete.add(source.source_id)
            if self._complete.issuperset(known.source_id for known in self._watched.sources()):
                session.writer.set_made_by(self._charge.recipe.made_by)
                self.board.went_well(StoreDamagedError.code)
        left = self._grace.left(source.source_id)
        for path in self._grace.waiting(source.source_id):
            self._queue.add(source.root, path, settle_s=left)
        self._count_failed()
        self.board.went_well(*_TEMPORARY_CODES)
        if any(report.counts.get(outcome) for outcome in _NEWS):
            self._vectors.notes_changed()

    def _put_back(self, batch: PathBatch) -> None:
        if batch.whole:
            self._queue.reconcile(batch.root, batch.whole)
        for path in batch.paths:
            self._queue.add(batch.root, path, settle_s=0)
        for path in batch.subtrees:
            self._queue.add(batch.root, path, is_dir=True, settle_s=0)

    def _count_failed(self) -> None:
        with self._charge.reader.catalogue() as catalogue:
            self.board.failed = catalogue.failed()

    # Vectors

    def _make_vectors(self, session: Session) -> None:
        callbacks = Callbacks(
            cancelled=lambda: self._is_over() or self._is_called(), embedding=self.board.embedding
        )
        self.board.show(at_once=True)  # opening a model takes a while
        try:
            self._vectors.work(session.writer, callbacks)
            self.board.went_well(ModelError.code, *_TEMPORARY_CODES)
        except (ModelError, VectorError) as error:
            self.board.trouble(error)
        except TEMPORARY as error:
            self._vectors.notes_changed()
            self._errands.disk.failed(_DISK)
            self.board.trouble(error)

    def _save_vectors(self) -> None:
        try:
            if self._vectors.at_rest():
                self.board.went_well(VectorError.code)
        except VectorError as error:
            self.board.trouble(error)

    def _is_called(self) -> bool:
        self._errands.run()  # vectors can take hours
        return self._queue.has_due()

    def _is_over(self) -> bool:
        return self._callbacks.stopping() or self._errands.is_way_wanted()

    # The end

    def finish(self) -> None:
        """What is still to be written, while the lock is held."""
        with contextlib.suppress(VectorError):  # others take them from the database
            self._vectors.save_now()

    def end(self) -> None:
        """Leave nothing behind."""
        self._watched.stop()
        self._vectors.let_go()
        self.board.take_down()
