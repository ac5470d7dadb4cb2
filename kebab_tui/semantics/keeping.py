"""The meaning half of whoever keeps an index in step for hours: vectors made note by note.

Loads the model when there is something to read and lets it go at rest. The vectors' file
is written at rest too, not after every note: until then others replay the log.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable

from kebab_tui import memory
from kebab_tui.domain.errors import ModelError, StoreBusyError, VectorError
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.embedding_job import EmbeddingJob, EmbeddingReport
from kebab_tui.semantics.half import RUN_KIND, SemanticHalf
from kebab_tui.semantics.work import remembered
from kebab_tui.storage.lock import WriterLock
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import Writer

_WORTH_A_RUN = 20
"""Fewer texts say nothing of the speed, and would crowd out the runs that do."""


class VectorsKept:
    """Implements `indexing.vector_duty.Vectors`."""

    def __init__(self, new_half: Callable[[], SemanticHalf], reader: StoreReader, lock: WriterLock) -> None:
        self._new_half = new_half
        self._reader = reader
        self._lock = lock
        self._half: SemanticHalf | None = None
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
            writer.record_run(RUN_KIND, started, remembered(card, report))
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
