"""Vectors for whoever keeps at it: a few at a time, what was just saved first.

Beside `EmbeddingJob`, which asks the whole index what is left and does all of it. Here
that is asked once; from then on the log of changes says what came, so that a saved note
costs what its own passages cost, however large the index is. Being cut short costs nothing.
"""

from __future__ import annotations

import time
from collections import deque
from itertools import islice

from kebab_tui.domain.embedded import embedded_text
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.embedding_job import EmbeddingProgress, EmbeddingReport, PassageEncoder, tidy
from kebab_tui.store.reader import StoreReader
from kebab_tui.store.vector_source import PendingText
from kebab_tui.store.writer import Writer

_ROUND = 512
_COMMIT_VECTORS = 64


class EmbeddingFlow:
    """Remembers between two calls how far it has come with one model."""

    def __init__(self, reader: StoreReader, model: str) -> None:
        self.model = model
        self._reader = reader
        self._texts: deque[PendingText] = deque()
        self._revision: int | None = None
        """Up to here the log has been read; None: everything is to be asked."""
        self._all_seen = False
        self._done = 0
        self._total = 0
        self._seconds = 0.0

    def run(self, writer: Writer, encoder: PassageEncoder, callbacks: Callbacks) -> EmbeddingReport:
        """Go on until nothing is left or somebody cancels; `cancelled` then says that there is more."""
        began, before = time.monotonic(), self._done
        self._hear_of_news()
        everything = not self._all_seen
        self._tell(callbacks, 0.0)
        while not callbacks.cancelled() and self._fetch():
            self._embed(writer, encoder, callbacks)
            self._tell(callbacks, time.monotonic() - began)
        seconds = time.monotonic() - began
        embedded, self._seconds = self._done - before, self._seconds + seconds
        is_over = self._all_seen and not self._texts
        if is_over and everything:
            tidy(writer, self._reader, self.model)
        if is_over:
            self._done, self._total, self._seconds = 0, 0, 0.0
        return EmbeddingReport(embedded, len(self._texts), seconds, cancelled=not is_over)

    def _hear_of_news(self) -> None:
        with self._reader.vectors(self.model) as source:
            news = None if self._revision is None else source.pending_since(self._revision)
            self._revision = source.revision()
            if news is None:
                self._all_seen = False
                self._texts.clear()
                self._done, self._total = 0, source.pending_texts()
        if news:
            known = {text.text_hash for text in self._texts}
            fresh = [text for text in news if text.text_hash not in known]
            self._texts.extendleft(reversed(fresh))
            self._total += len(fresh)

    def _fetch(self) -> bool:
        """Whether there is something to read."""
        if not self._texts and not self._all_seen:
            with self._reader.vectors(self.model) as source:
                self._texts.extend(source.pending(_ROUND))
            self._all_seen = not self._texts
        return bool(self._texts)

    def _embed(self, writer: Writer, encoder: PassageEncoder, callbacks: Callbacks) -> None:
        texts = list(islice(self._texts, _COMMIT_VECTORS))
        read = [embedded_text(text.title, text.heading_path, text.text) for text in texts]
        # Not strict: a cancelled model gives fewer vectors than there are texts.
        made = [
            (text.text_hash, vector.astype("float16").tobytes())
            for text, vector in zip(texts, encoder.passages(read, callbacks.cancelled), strict=False)
        ]
        if made:
            writer.save_vectors(self.model, made)
        for _ in made:
            self._texts.popleft()
        self._done += len(made)

    def _tell(self, callbacks: Callbacks, seconds: float) -> None:
        spent = self._seconds + seconds
        total = max(self._total, self._done)
        callbacks.embedding(EmbeddingProgress(self._done, total, self._done / spent if spent else 0.0))
