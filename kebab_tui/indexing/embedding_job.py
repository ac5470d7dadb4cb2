"""Makes vectors of passages: what was just saved first, then the latest changed notes.

The one embedding loop, for the watcher and for `kebab index --embed`. The whole index is asked
what has no vector; from then on the log of changes says what came, so a saved note costs what
its own passages cost. The model reads without the writer's lock where the writer takes it only
to save. A kill loses at most the round under way, and no text that has a vector is read again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from kebab_tui.domain.errors import StoreBusyError
from kebab_tui.domain.text import embedded_text
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.storage.sqlite.reader import PendingText, StoreReader, VectorSource

if TYPE_CHECKING:
    from kebab_tui.search.ports import Vector

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
