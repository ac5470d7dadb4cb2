"""Makes vectors of passages: what was just saved first, then the latest changed notes.

The one embedding loop, for the watcher and for `kebab index --embed`. The whole index is asked
what has no vector; from then on the log of changes says what came, so a saved note costs what
its own passages cost. The model reads without the writer's lock where the writer takes it only
to save. A kill loses at most the round under way, and no text that has a vector is read again.
"""

from __future__ import annotations

import contextlib
import gc
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from kebab_tui import memory
from kebab_tui.domain.errors import ModelError, StoreBusyError, VectorError
from kebab_tui.domain.text import embedded_text
from kebab_tui.indexing.report import Callbacks
from kebab_tui.indexing.session import Session, Waiting, taken_away
from kebab_tui.storage.lock import Holder, WriterLock
from kebab_tui.storage.sqlite.reader import PendingText, StoreReader, VectorSource
from kebab_tui.storage.sqlite.writer import Writer
from kebab_tui.vector_search import RUN_KIND, VectorSearch

if TYPE_CHECKING:
    from kebab_tui.embedding.card import ModelCard
    from kebab_tui.search.ports import Vector
    from kebab_tui.storage.lock import DataFolder


_ROUND = 4_096
"""Texts that are fetched at a time, and committed at most."""
_COMMIT_SECONDS = 1.0
_COMMIT_SHARE = 10
"""Reading between two commits takes at least so many times as long as the last commit worked: one
that takes the writer's lock sums up all pages of the database in the end."""
_SPARE = 1_000


class PassageEncoder(Protocol):
    def passages(self, texts: Iterable[str], cancelled: Callable[[], bool]) -> Iterator[Vector]:
        """The vector of each text, in order; ends early when cancelled."""
        ...


class VectorWriter(Protocol):
    def save_vectors(self, model: str, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        """Commit (text hash, fp16 vector) pairs; gives the new revision."""
        ...

    def forget_vectors(self) -> int:
        """Drop vectors that no passage uses; gives how many."""
        ...


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """In different texts: a passage that stands in several notes is read once. `rate`: texts a second."""

    done: int
    total: int
    rate: float

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.done) / self.rate if self.rate else None


@dataclass(frozen=True, slots=True)
class EmbeddingReport:
    """`embedded` and `pending` count texts, as the progress does. `cancelled`: some are left."""

    embedded: int
    pending: int
    seconds: float
    cancelled: bool
    not_saved: str = ""
    """Why the vectors' file could not be written; the vectors themselves are in the database."""


class EmbeddingJob:
    """Remembers between two runs how far it has come with one model."""

    def __init__(self, reader: StoreReader, model: str) -> None:
        self.model = model
        self._reader = reader
        self._texts: deque[PendingText] = deque()
        self._revision: int | None = None
        """Up to here the log has been read; None: the whole index is to be asked."""
        self._all_fetched = False
        self._may_need_tidying = True
        self._commit_seconds = 0.0
        self._done = 0
        self._total = 0
        self._seconds = 0.0

    def run(self, writer: VectorWriter, encoder: PassageEncoder, callbacks: Callbacks) -> EmbeddingReport:
        """Make vectors until every passage has one, or until cancelled."""
        began, before = time.monotonic(), self._done
        self._fetch()
        self._tell(callbacks, 0.0)
        while self._texts and not callbacks.cancelled():
            vectors = self._encode(encoder, callbacks)
            if not vectors:
                break  # cancelled before the first
            self._commit(writer, vectors, callbacks)
            self._fetch()
            self._tell(callbacks, time.monotonic() - began)
        seconds = time.monotonic() - began
        report = EmbeddingReport(self._done - before, self._left(), seconds, cancelled=bool(self._texts))
        self._seconds += seconds
        if not self._texts:
            self._done, self._total, self._seconds = 0, 0, 0.0
            self._tidy(writer)
        return report

    def _fetch(self) -> None:
        """Bring the queue in step with the index: others may have added, removed or embedded texts."""
        with self._reader.vectors(self.model) as source:
            if source.revision() != self._revision:
                self._follow_log(source)
            if not self._texts and not self._all_fetched:
                self._texts.extend(source.pending(_ROUND))
                self._all_fetched = len(self._texts) < _ROUND
                self._total = self._done + (len(self._texts) if self._all_fetched else source.pending_texts())

    def _follow_log(self, source: VectorSource) -> None:
        news = None if self._revision is None else source.pending_since(self._revision)
        self._revision = source.revision()
        if news is None:
            self._texts.clear()
            self._all_fetched, self._may_need_tidying = False, True
            return
        known = [text.text_hash for text in self._texts]
        pending = source.still_pending(known)
        fresh = [text for text in news if text.text_hash not in pending]
        self._total += len(fresh) + len(pending) - len(known)
        self._texts = deque([*fresh, *(text for text in self._texts if text.text_hash in pending)])

    def _encode(self, encoder: PassageEncoder, callbacks: Callbacks) -> list[tuple[bytes, bytes]]:
        """Read texts until it is time to commit; they stay in the queue until that is done."""
        commit_at = time.monotonic() + max(_COMMIT_SECONDS, _COMMIT_SHARE * self._commit_seconds)
        texts = list(islice(self._texts, _ROUND))

        def until_then() -> Iterator[str]:
            for number, text in enumerate(texts):
                if number and time.monotonic() >= commit_at:
                    return
                yield embedded_text(text.title, text.heading_path, text.text)

        # Not strict: when it is time to commit, there are fewer vectors than texts.
        return [
            (text.text_hash, vector.astype("float16").tobytes())
            for text, vector in zip(texts, encoder.passages(until_then(), callbacks.cancelled), strict=False)
        ]

    def _commit(
        self, writer: VectorWriter, vectors: Sequence[tuple[bytes, bytes]], callbacks: Callbacks
    ) -> None:
        began = time.thread_time()  # waiting for another process does not count
        try:
            revision = writer.save_vectors(self.model, vectors)
        except StoreBusyError:
            if not callbacks.cancelled():
                raise
            return  # whoever cancels does not wait for another process
        self._commit_seconds = time.thread_time() - began
        if self._revision == revision - 1:  # nobody else wrote meanwhile
            self._revision = revision
        for _ in vectors:
            self._texts.popleft()
        self._done += len(vectors)

    def _left(self) -> int:
        return max(self._total - self._done, len(self._texts))

    def _tell(self, callbacks: Callbacks, seconds: float) -> None:
        spent = self._seconds + seconds
        rate = self._done / spent if spent else 0.0
        callbacks.embedding(EmbeddingProgress(self._done, self._done + self._left(), rate))

    def _tidy(self, writer: VectorWriter) -> None:
        """Vectors of texts that are gone are kept for an undo, but not for ever."""
        if not self._may_need_tidying:
            return
        self._may_need_tidying = False
        with self._reader.vectors(self.model) as source:
            kept, used = source.stored_count(), source.used_count()
        if kept - used > max(_SPARE, used // 4):
            writer.forget_vectors()


# When vectors are made, saved and let rest while an index is kept in step.
#
# Knows no model: what `Vectors` does is somebody else's room.

_SAVE_AFTER_S = 5.0
_SAVES_APART_S = 60.0
_REST_AFTER_S = 30.0
_AGAIN_S = 1.0
"""How often it is looked whether another process, `kebab index --embed` say, still makes them."""


class BackgroundEmbedding(Protocol):
    def make(self, writer: Writer, callbacks: Callbacks) -> EmbeddingReport | None:
        """Give every passage that has none its vector, until cancelled; None: another process does it."""
        ...

    def save(self) -> None:
        """Write what others open instead of the database; VectorError when that fails."""
        ...

    def rest(self) -> None:
        """Hold no memory until the next text."""
        ...


class EmbeddingQueue:
    def __init__(
        self, vectors: BackgroundEmbedding | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._vectors = vectors
        self._clock = clock
        self._wanted = vectors is not None
        self._not_before = clock()
        self._unsaved = False
        self._awake = False
        self._quiet_since = clock()
        self._saved_at = clock() - _SAVES_APART_S

    @property
    def wanted(self) -> bool:
        return self._wanted and self._clock() >= self._not_before

    def notes_changed(self) -> None:
        self._wanted = self._vectors is not None

    def work(self, writer: Writer, callbacks: Callbacks) -> None:
        """Go on making vectors; whoever cancels comes back later."""
        assert self._vectors is not None
        self._wanted = False  # also when this fails: until notes change, it would fail again
        self._awake = True
        quiet_since = self._quiet_since
        try:
            report = self._vectors.make(writer, callbacks)
        finally:
            self._quiet_since = self._clock()
        if report is None:
            self._wanted, self._not_before, self._quiet_since = True, self._clock() + _AGAIN_S, quiet_since
            return
        self._wanted = report.cancelled
        self._unsaved |= report.embedded > 0

    def at_rest(self) -> bool:
        """Called when there is nothing to do, again and again; whether something was saved."""
        now = self._clock()
        quiet = now - self._quiet_since
        if self._unsaved and quiet >= _SAVE_AFTER_S and now - self._saved_at >= _SAVES_APART_S:
            self._save()
            return True
        if self._awake and quiet >= _REST_AFTER_S:
            self.let_go()
        return False

    def save_now(self) -> None:
        """The last moment before somebody else may write."""
        if self._unsaved:
            self._save()

    def let_go(self) -> None:
        """Hold nothing any more."""
        self._awake = False
        if self._vectors is not None:
            self._vectors.rest()

    def _save(self) -> None:
        assert self._vectors is not None
        self._saved_at = self._clock()
        self._vectors.save()
        self._unsaved = False


# Vectors made, remade, their file written.
#
# Reads nothing that a model has read before. The vectors' file is only a cache: where it is
# not written, searches make its contents from the database.

Sessions = Callable[[float, Waiting], contextlib.AbstractContextManager[Session]]
"""Opens a session; waits so many seconds for another writer, and tells of it."""

_COMMAND = "index --embed"
_TURN_S = 1.0
"""How often, while another process writes, it is asked whether to go on."""


def embed(
    semantics: VectorSearch,
    sessions: Sessions,
    folder: DataFolder,
    reader: StoreReader,
    callbacks: Callbacks,
    timeout_s: float,
) -> EmbeddingReport:
    """Give every passage that has none its vector. Whoever cancels does not wait for the file.

    The writer's lock is taken only to save: meanwhile notes are indexed by whoever watches them.
    """
    turns = _YieldingWriter(semantics, sessions, folder, callbacks)
    embedded, began = 0, time.monotonic()
    try:
        turns.become_embedder(timeout_s)
        while True:
            card, started = semantics.card(), time.time_ns()
            turns.use(semantics.chosen())
            report = EmbeddingJob(reader, card.fingerprint).run(
                turns, semantics.encoder(), replace(callbacks, cancelled=turns.cancelled)
            )
            embedded += report.embedded
            not_saved = turns.finish(report, started, card)
            if not turns.model_changed or callbacks.cancelled():
                return replace(
                    report, embedded=embedded, seconds=time.monotonic() - began, not_saved=not_saved
                )
    finally:
        turns.end()


class _YieldingWriter:
    """Implements `indexing.embedding_job.VectorWriter`: each commit is a session of its own."""

    def __init__(
        self, semantics: VectorSearch, sessions: Sessions, folder: DataFolder, callbacks: Callbacks
    ) -> None:
        self._semantics = semantics
        self._sessions = sessions
        self._folder = folder
        self._callbacks = callbacks
        self._lock = WriterLock(folder.embedding_lock)
        self._model = ""
        self._told = False
        self.model_changed = False

    def become_embedder(self, timeout_s: float) -> None:
        """Become the one process that makes vectors; one that watches stops doing so to let others write."""
        deadline = time.monotonic() + timeout_s
        while True:
            with self._sessions(timeout_s, self._callbacks.waiting) as session:
                self._semantics.restore_choice(session.writer)
                with contextlib.suppress(StoreBusyError):
                    self._lock.acquire(_COMMAND, 0, lambda _: None)
                    return
            if time.monotonic() >= deadline:
                raise StoreBusyError(
                    f"vectors are being made by {self._lock.holder() or 'another process'}",
                    "wait for it to end, or stop it; searching works meanwhile",
                )
            self._tell(self._lock.holder())
            time.sleep(_AGAIN_S)

    def end(self) -> None:
        self._lock.release()

    def use(self, model: str) -> None:
        self._model, self.model_changed = model, False

    def cancelled(self) -> bool:
        return self.model_changed or self._callbacks.cancelled()

    def save_vectors(self, model: str, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        with contextlib.ExitStack() as stack:
            session = self._session(stack)
            revision = session.writer.save_vectors(model, vectors)
            self.model_changed = self._semantics.chosen() != self._model
            return revision

    def forget_vectors(self) -> int:
        with contextlib.ExitStack() as stack:
            return self._session(stack).writer.forget_vectors()

    def finish(self, report: EmbeddingReport, started: int, card: ModelCard) -> str:
        """Remember the run, and write the vectors' file unless some are missing; why not, if that fails."""
        if report.cancelled and not report.embedded:
            return ""
        with contextlib.ExitStack() as stack:
            try:
                session = self._session(stack)
            except StoreBusyError:
                return ""  # cancelled
            if report.embedded:
                session.writer.record_run(RUN_KIND, started, run_report(card, report))
            return "" if report.cancelled else self._semantics.save()

    def _session(self, stack: contextlib.ExitStack) -> Session:
        """Wait as long as another process writes, however long that is; StoreBusyError when cancelled."""
        if not self._lock.is_in_place():
            raise taken_away(self._folder)
        self._told = False
        while True:
            try:
                return stack.enter_context(self._sessions(_TURN_S, self._tell))
            except StoreBusyError:
                if self._callbacks.cancelled():
                    raise

    def _tell(self, holder: Holder | None) -> None:
        if not self._told:
            self._told = True
            self._callbacks.waiting(holder)


def use(semantics: VectorSearch, writer: Writer, model: str) -> None:
    """Answer with another model from now on; what it has read before counts again."""
    semantics.choose(writer, model)
    semantics.discard_file()
    semantics.save()


def rebuild(semantics: VectorSearch, writer: Writer) -> int:
    """Make the file anew; gives how many vectors were dropped because some were damaged in the store."""
    dropped = 0
    if semantics.damaged():  # the store drops a model's vectors only as a whole
        dropped = writer.forget_vectors(semantics.card().fingerprint)
    semantics.discard_file()
    if trouble := semantics.save():
        raise VectorError(trouble, "searches take the vectors from the database meanwhile")
    return dropped


def run_report(card: ModelCard, report: EmbeddingReport) -> str:
    """The next estimate is made of it."""
    return json.dumps(
        {
            "model": card.fingerprint,
            "embedded": report.embedded,
            "pending": report.pending,
            "seconds": round(report.seconds, 3),
            "cancelled": report.cancelled,
        }
    )


# The meaning half of whoever keeps an index in step for hours: vectors made note by note.
#
# Loads the model when there is something to read and lets it go at rest. The vectors' file
# is written at rest too, not after every note: until then others replay the log.

_WORTH_A_RUN = 20
"""Fewer texts say nothing of the speed, and would crowd out the runs that do."""


class ModelEmbedding:
    """Implements `indexing.vector_duty.Vectors`."""

    def __init__(self, new_half: Callable[[], VectorSearch], reader: StoreReader, lock: WriterLock) -> None:
        self._new_half = new_half
        self._reader = reader
        self._lock = lock
        self._half: VectorSearch | None = None
        self._job: EmbeddingJob | None = None

    def make(self, writer: Writer, callbacks: Callbacks) -> EmbeddingReport | None:
        """Give every passage that has none its vector, until cancelled; None: another process does it."""
        try:
            self._lock.acquire("watch", 0, lambda _: None)
        except StoreBusyError:
            return None
        try:
            return self._make(writer, callbacks)
        finally:
            self._lock.release()

    def _make(self, writer: Writer, callbacks: Callbacks) -> EmbeddingReport:
        if self._half is None:
            self._half = self._new_half()
            self._half.restore_choice(writer)
        card, started = self._half.card(), time.time_ns()
        if self._job is None or self._job.model != card.fingerprint:
            self._job = EmbeddingJob(self._reader, card.fingerprint)
        report = self._job.run(writer, self._half.encoder(), callbacks)
        if report.embedded >= _WORTH_A_RUN:
            writer.record_run(RUN_KIND, started, run_report(card, report))
        return report

    def save(self) -> None:
        """Write the vectors' file where enough is new; VectorError when the disk will not have it."""
        trouble = ""
        with contextlib.suppress(ModelError, VectorError):
            trouble = (self._half or self._new_half()).save()
        if trouble:
            raise VectorError(
                trouble, "it is tried again; searches take the vectors from the database meanwhile"
            )

    def rest(self) -> None:
        """Let the model go."""
        if self._half is not None:
            self._half.close()
            self._half = self._job = None
            gc.collect()
            memory.give_back()
