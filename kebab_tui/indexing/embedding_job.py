"""Gives every passage its vector, latest changed notes first.

Reads what has no vector yet, asks the model, commits in small steps: a cancel takes
effect within a fraction of a second, a kill loses at most the step under way, and the
next run goes on from there. A text that was ever read by this model is not read again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kebab_tui.domain.embedded import embedded_text
from kebab_tui.store.reader import StoreReader
from kebab_tui.store.vector_source import PendingText
from kebab_tui.store.writer import Writer

if TYPE_CHECKING:
    from kebab_tui.search.ports import Vector

_ROUND = 512
_COMMIT_VECTORS = 128
_COMMIT_SECONDS = 1.0
_SPARE = 1_000


class PassageEncoder(Protocol):
    def passages(self, texts: Sequence[str], cancelled: Callable[[], bool]) -> Iterator[Vector]:
        """The vector of each text, in order; ends early when cancelled."""
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
    """`embedded` and `pending` count texts, as the progress does."""

    embedded: int
    pending: int
    seconds: float
    cancelled: bool


class EmbeddingJob:
    """One run over everything that a model has not read."""

    def __init__(
        self,
        writer: Writer,
        reader: StoreReader,
        encoder: PassageEncoder,
        model: str,
        progress: Callable[[EmbeddingProgress], None],
        cancelled: Callable[[], bool],
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._encoder = encoder
        self._model = model
        self._progress = progress
        self._cancelled = cancelled
        self._started = time.monotonic()
        self._done = 0
        self._total = 0

    def run(self) -> EmbeddingReport:
        self._total = self._pending()
        self._tell()
        while not self._cancelled() and (texts := self._next()):
            self._embed(texts)
        pending = self._pending()
        if not pending:  # who cancels does not wait for it
            self._tidy()
        seconds = time.monotonic() - self._started
        return EmbeddingReport(self._done, pending, seconds, pending > 0 and self._cancelled())

    def _embed(self, texts: Sequence[PendingText]) -> None:
        waiting: list[tuple[bytes, bytes]] = []
        committed = time.monotonic()
        read = [embedded_text(text.title, text.heading_path, text.text) for text in texts]
        # Not strict: a cancelled model gives fewer vectors than there are texts.
        for text, vector in zip(texts, self._encoder.passages(read, self._cancelled), strict=False):
            waiting.append((text.text_hash, vector.astype("float16").tobytes()))
            if len(waiting) >= _COMMIT_VECTORS or time.monotonic() - committed >= _COMMIT_SECONDS:
                self._commit(waiting)
                waiting, committed = [], time.monotonic()
        self._commit(waiting)

    def _commit(self, vectors: Sequence[tuple[bytes, bytes]]) -> None:
        if vectors:
            self._writer.save_vectors(self._model, vectors)
            self._done += len(vectors)
            self._tell()

    def _tell(self) -> None:
        seconds = time.monotonic() - self._started
        self._progress(EmbeddingProgress(self._done, self._total, self._done / seconds if seconds else 0.0))

    def _next(self) -> list[PendingText]:
        with self._reader.vectors(self._model) as source:
            return source.pending(_ROUND)

    def _pending(self) -> int:
        with self._reader.vectors(self._model) as source:
            return source.pending_texts()

    def _tidy(self) -> None:
        tidy(self._writer, self._reader, self._model)


def tidy(writer: Writer, reader: StoreReader, model: str) -> None:
    """Vectors of texts that are gone are kept for an undo, but not for ever."""
    with reader.vectors(model) as source:
        kept, used = source.stored_count(), source.used_count()
    if kept - used > max(_SPARE, used // 4):
        writer.forget_vectors()
