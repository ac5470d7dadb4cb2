"""Computes the vectors of chunks: just saved notes first, then the latest changed.

One loop, `EmbeddingJob`, serves `kebab index --embed` and the indexing process. It scans the whole index
once and then follows the change log, so a saved note costs only its own chunks. `kebab index --embed`
takes the writer's lock only to commit. A kill loses at most the current round, and no text that has a
vector is embedded again. The vector file is a cache: without it, searches read the database.
"""

from __future__ import annotations

import contextlib
import gc
import json
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from kebab_tui import memory
from kebab_tui.domain.errors import ModelError, StoreBusyError, VectorError
from kebab_tui.domain.text import embedded_text
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.session import Session, data_folder_removed
from kebab_tui.storage.ports import Holder, Index, PendingText, Reader, Waiting, Writer
from kebab_tui.vector_search import RUN_KIND, VectorSearch

if TYPE_CHECKING:
    from kebab_tui.domain.ids import ChunkRow
    from kebab_tui.embedding.card import ModelCard
    from kebab_tui.search.ports import Vector

Sessions = Callable[[float, Waiting], contextlib.AbstractContextManager[Session]]
"""Opens a session; waits that many seconds for another writer, and reports it."""

_ROUND = 4_096
"""Texts per fetch, and the maximum per commit."""
_COMMIT_SECONDS = 1.0
_COMMIT_SHARE = 10
"""Embedding between two commits takes at least this many times as long as the last commit: a writer
that releases the lock computes the checksums of all changed pages."""
_SPARE = 1_000
"""Unused vectors that stay in the database, for an undo."""
_COMMAND = "index --embed"
_LOCK_WAIT_S = 1.0
"""While another process writes: interval of the checks for cancellation."""
_RETRY_S = 1.0
"""While another process embeds: interval of the checks whether it has finished."""
_RATE_SECONDS = 30.0
"""The rate is that of so many seconds: notes differ in length, and long passages take longer."""
_WORTH_A_RUN = 20
"""Runs over fewer texts say nothing about the speed and are not recorded."""


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """Counts distinct texts: equal chunks of several notes are embedded once. `rate`: texts per second."""

    done: int
    total: int
    rate: float

    @property
    def seconds_left(self) -> float | None:
        return (self.total - self.done) / self.rate if self.rate else None


@dataclass(frozen=True, slots=True)
class EmbeddingReport:
    """`embedded` and `pending` count distinct texts. `cancelled`: some are left."""

    embedded: int
    pending: int
    seconds: float
    cancelled: bool
    not_saved: str = ""
    """Why the vector file could not be written; the database has the vectors."""


def embed(
    semantics: VectorSearch,
    sessions: Sessions,
    index: Index,
    callbacks: Callbacks,
    timeout_s: float,
) -> EmbeddingReport:
    """Embed all chunks without a vector. Cancelling skips writing the vector file."""
    writer = _YieldingWriter(semantics, sessions, index, callbacks)
    embedded, began = 0, time.monotonic()
    try:
        writer.become_embedder(timeout_s)
        while True:
            card, started = semantics.card(), time.time_ns()
            writer.use(semantics.chosen())
            report = EmbeddingJob(index.reader, card.fingerprint).run(
                writer, semantics.encoder(), replace(callbacks, cancelled=writer.cancelled)
            )
            embedded += report.embedded
            not_saved = writer.finish(report, started, card)
            if not writer.model_changed or callbacks.cancelled():
                return replace(
                    report, embedded=embedded, seconds=time.monotonic() - began, not_saved=not_saved
                )
    finally:
        writer.end()


def use(semantics: VectorSearch, writer: Writer, model: str) -> None:
    """Switch to another model; its existing vectors become valid again."""
    semantics.choose(writer, model)
    semantics.discard_file()
    semantics.save()


def rebuild(semantics: VectorSearch, writer: Writer) -> int:
    """Rebuild the vector file; returns the number of vectors dropped because of damage in the database."""
    dropped = 0
    if semantics.damaged():  # the database can drop the vectors of a model only as a whole
        dropped = writer.delete_vectors(semantics.card().fingerprint)
    semantics.discard_file()
    if problem := semantics.save():
        raise VectorError(problem, "searches read the vectors from the database meanwhile")
    return dropped


def run_report(card: ModelCard, report: EmbeddingReport) -> str:
    """A recorded run; later estimates use it."""
    return json.dumps(
        {
            "model": card.fingerprint,
            "embedded": report.embedded,
            "pending": report.pending,
            "seconds": round(report.seconds, 3),
            "cancelled": report.cancelled,
        }
    )


class PassageEncoder(Protocol):
    def passages(
        self, texts: Iterable[str], cancelled: Callable[[], bool], beginnings: Mapping[str, bytes]
    ) -> Iterator[Vector]:
        """The vectors of each text, in order, row by row; ends early if cancelled.

        `beginnings`: stored vectors of the beginning of texts.
        """
        ...


class EmbeddingJob:
    """The embedding loop for one model; keeps its position in the change log between runs."""

    def __init__(self, reader: Reader, model: str) -> None:
        self.model = model
        self._reader = reader
        self._texts: deque[PendingText] = deque()
        self._first: tuple[ChunkRow, ...] = ()
        """Chunks to embed before all others."""
        self._revision: int | None = None
        """Position in the change log; None: scan the whole index."""
        self._all_fetched = False
        self._may_have_unused = True
        self._commit_seconds = 0.0
        self._embedded = 0
        """Texts of this run that got new vectors."""
        self._done = 0
        self._total = 0
        self._seconds = 0.0
        """Of all runs since there was nothing left."""
        self._marks: deque[tuple[float, int]] = deque()
        """At how many of these seconds how many texts were done."""

    def run(
        self, writer: Writer | _YieldingWriter, encoder: PassageEncoder, callbacks: Callbacks
    ) -> EmbeddingReport:
        """Embed until every chunk has a vector, or until cancelled."""
        began, self._embedded = time.monotonic(), 0
        self._fetch()
        self._report_progress(callbacks, 0.0)
        while self._texts and not callbacks.cancelled():
            vectors = self._encode(encoder, callbacks)
            if not vectors:
                break  # cancelled before the first
            commit_began = time.thread_time()  # excludes waiting for another process
            try:
                revision = writer.save_vectors(self.model, vectors)
            except StoreBusyError:
                if not callbacks.cancelled():
                    raise
                break  # cancelled while waiting for another process
            self._commit_seconds = time.thread_time() - commit_began
            if self._revision == revision - 1:  # no other process has written since
                self._revision = revision
            for _, vector in vectors:
                self._embedded += self._texts.popleft().vector != vector
            self._done += len(vectors)
            self._fetch()
            self._report_progress(callbacks, time.monotonic() - began)
        seconds = time.monotonic() - began
        left = max(self._total - self._done, len(self._texts))
        report = EmbeddingReport(self._embedded, left, seconds, cancelled=bool(self._texts))
        self._seconds += seconds
        if not self._texts:
            self._done, self._total, self._seconds = 0, 0, 0.0
            self._marks.clear()
            if not report.cancelled:
                writer.note_complete(self.model)
            self._forget_unused(writer)
        return report

    def prefer(self, rows: tuple[ChunkRow, ...]) -> None:
        """Embed these chunks first, as soon as the texts in progress are done."""
        self._first = rows

    def _fetch(self) -> None:
        """Synchronize the queue with the index: other processes may have added or removed texts."""
        with self._reader.vectors(self.model) as source:
            if source.revision() != self._revision:
                added = None if self._revision is None else source.pending_since(self._revision)
                self._revision = source.revision()
                if added is None:
                    self._texts.clear()
                    self._all_fetched, self._may_have_unused = False, True
                else:
                    queued = [text.text_hash for text in self._texts]
                    pending = source.still_pending(queued)
                    added = [text for text in added if text.text_hash not in pending]
                    self._total += len(added) + len(pending) - len(queued)
                    self._texts = deque([*added, *(t for t in self._texts if t.text_hash in pending)])
            if self._first:
                known = {text.text_hash for text in self._texts}
                first = [
                    text
                    for text in source.pending_of(self._first)
                    if not self._all_fetched or text.text_hash in known
                ]
                moved = {text.text_hash for text in first}
                self._texts = deque([*first, *(text for text in self._texts if text.text_hash not in moved)])
                self._first = ()
            if not self._texts and not self._all_fetched:
                self._texts.extend(source.pending(_ROUND))
                self._all_fetched = len(self._texts) < _ROUND
                left = len(self._texts)
                if not self._all_fetched:
                    count = source.pending_count(fully=True)
                    left = count.texts + count.outdated
                self._total = self._done + left

    def _encode(self, encoder: PassageEncoder, callbacks: Callbacks) -> list[tuple[bytes, bytes]]:
        """Embed texts until the next commit is due; they stay in the queue until then."""
        commit_at = time.monotonic() + max(_COMMIT_SECONDS, _COMMIT_SHARE * self._commit_seconds)
        pending = list(islice(self._texts, _ROUND))
        texts = [embedded_text(one.title, one.heading_path, one.text) for one in pending]
        known = {text: one.vector for text, one in zip(texts, pending, strict=True) if one.vector}

        def until_commit() -> Iterator[str]:
            for number, text in enumerate(texts):
                if number and (time.monotonic() >= commit_at or self._first):
                    return
                yield text

        # Not strict: when the commit is due, there are fewer vectors than texts.
        return [
            (one.text_hash, vectors.astype("float16").tobytes())
            for one, vectors in zip(
                pending, encoder.passages(until_commit(), callbacks.cancelled, known), strict=False
            )
        ]

    def _report_progress(self, callbacks: Callbacks, seconds: float) -> None:
        spent = self._seconds + seconds
        self._marks.append((spent, self._done))
        while self._marks[-1][0] - self._marks[1 % len(self._marks)][0] >= _RATE_SECONDS:
            self._marks.popleft()
        since, done = self._marks[0]
        rate = (self._done - done) / (spent - since) if spent > since else 0.0
        total = max(self._total, self._done + len(self._texts))
        callbacks.embedding(EmbeddingProgress(self._done, total, rate))

    def _forget_unused(self, writer: Writer | _YieldingWriter) -> None:
        """Vectors of deleted texts are useful after an undo; drop them when there are too many."""
        if not self._may_have_unused:
            return
        self._may_have_unused = False
        with self._reader.vectors(self.model) as source:
            stored, used = source.count()
        if stored - used > max(_SPARE, used // 4):
            writer.delete_vectors()


class _YieldingWriter:
    """The writer of `kebab index --embed`: each commit opens a session."""

    def __init__(
        self, semantics: VectorSearch, sessions: Sessions, index: Index, callbacks: Callbacks
    ) -> None:
        self._semantics = semantics
        self._sessions = sessions
        self._index = index
        self._callbacks = callbacks
        self._lease = index.lease("embed")
        self._model = ""
        self._reported = False
        self.model_changed = False

    def become_embedder(self, timeout_s: float) -> None:
        """Acquire the embedding lock. The indexing process stops embedding to let others write."""
        deadline = time.monotonic() + timeout_s
        while True:
            with self._sessions(timeout_s, self._callbacks.waiting) as session:
                self._semantics.restore_choice(session.writer)
                with contextlib.suppress(StoreBusyError):
                    self._lease.acquire(_COMMAND, 0, lambda _: None)
                    return
            if time.monotonic() >= deadline:
                raise StoreBusyError(
                    f"vectors are being made by {self._lease.holder() or 'another process'}",
                    "wait for it to end, or stop it; searching works meanwhile",
                )
            self._report_waiting(self._lease.holder())
            time.sleep(_RETRY_S)

    def end(self) -> None:
        self._lease.release()

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

    def delete_vectors(self) -> int:
        with contextlib.ExitStack() as stack:
            return self._session(stack).writer.delete_vectors()

    def note_complete(self, model: str) -> None:
        with contextlib.ExitStack() as stack:
            self._session(stack).writer.note_complete(model)

    def finish(self, report: EmbeddingReport, started: int, card: ModelCard) -> str:
        """Record the run; write the vector file if all vectors exist. Returns why the write failed."""
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
        """Wait for the writer's lock without a time limit; raises StoreBusyError if cancelled."""
        if not self._lease.is_in_place():
            raise data_folder_removed(self._index)
        self._reported = False
        while True:
            try:
                return stack.enter_context(self._sessions(_LOCK_WAIT_S, self._report_waiting))
            except StoreBusyError:
                if self._callbacks.cancelled():
                    raise

    def _report_waiting(self, holder: Holder | None) -> None:
        if not self._reported:
            self._reported = True
            self._callbacks.waiting(holder)


class BackgroundEmbedding(Protocol):
    def make(self, writer: Writer, callbacks: Callbacks) -> EmbeddingReport | None:
        """Embed all chunks without a vector, until cancelled; None: another process is embedding."""
        ...

    def save(self) -> None:
        """Write the vector file; raises VectorError."""
        ...

    def prefer(self, rows: tuple[ChunkRow, ...]) -> None:
        """Embed these chunks before all others."""
        ...

    def unload(self) -> None:
        """Free the memory of the model."""
        ...


class ModelEmbedding:
    """Embedding in the indexing process. Loads the model when needed, until `unload`.

    It saves the vector file only when idle; until then other processes replay the change log.
    """

    def __init__(self, new_semantics: Callable[[], VectorSearch], index: Index) -> None:
        self._new_semantics = new_semantics
        self._reader = index.reader
        self._lease = index.lease("embed")
        self._semantics: VectorSearch | None = None
        self._job: EmbeddingJob | None = None

    def make(self, writer: Writer, callbacks: Callbacks) -> EmbeddingReport | None:
        try:
            self._lease.acquire("watch", 0, lambda _: None)
        except StoreBusyError:
            return None
        try:
            if self._semantics is None:
                self._semantics = self._new_semantics()
                self._semantics.restore_choice(writer)
            card, started = self._semantics.card(), time.time_ns()
            if self._job is None or self._job.model != card.fingerprint:
                self._job = EmbeddingJob(self._reader, card.fingerprint)
            report = self._job.run(writer, self._semantics.encoder(), callbacks)
            if report.embedded >= _WORTH_A_RUN:
                writer.record_run(RUN_KIND, started, run_report(card, report))
            return report
        finally:
            self._lease.release()

    def prefer(self, rows: tuple[ChunkRow, ...]) -> None:
        if self._job is not None:
            self._job.prefer(rows)

    def save(self) -> None:
        problem = ""
        with contextlib.suppress(ModelError, VectorError):
            problem = (self._semantics or self._new_semantics()).save()
        if problem:
            raise VectorError(problem, "retried later; searches read the vectors from the database meanwhile")

    def unload(self) -> None:
        if self._semantics is not None:
            self._semantics.close()
            self._semantics = self._job = None
            gc.collect()
            memory.give_back()
