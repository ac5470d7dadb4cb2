"""Vectors made, remade, their file written.

Reads nothing that a model has read before. The vectors' file is only a cache: where it is
not written, searches make its contents from the database.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kebab_tui.domain.errors import StoreBusyError, VectorError
from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.embedding_job import EmbeddingJob, EmbeddingReport
from kebab_tui.indexing.session import Session, Waiting, taken_away
from kebab_tui.semantics.half import RUN_KIND, SemanticHalf
from kebab_tui.storage.lock import Holder, WriterLock
from kebab_tui.storage.sqlite.reader import StoreReader
from kebab_tui.storage.sqlite.writer import Writer

if TYPE_CHECKING:
    from kebab_tui.embedding.card import ModelCard
    from kebab_tui.storage.lock import DataFolder

Sessions = Callable[[float, Waiting], contextlib.AbstractContextManager[Session]]
"""Opens a session; waits so many seconds for another writer, and tells of it."""

_COMMAND = "index --embed"
_TURN_S = 1.0
"""How often, while another process writes, it is asked whether to go on."""
_AGAIN_S = 1.0


def embed(
    semantics: SemanticHalf,
    sessions: Sessions,
    folder: DataFolder,
    reader: StoreReader,
    callbacks: Callbacks,
    timeout_s: float,
) -> EmbeddingReport:
    """Give every passage that has none its vector. Whoever cancels does not wait for the file.

    The writer's lock is taken only to save: meanwhile notes are indexed by whoever watches them.
    """
    turns = _Turns(semantics, sessions, folder, callbacks)
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


class _Turns:
    """Implements `indexing.embedding_job.VectorWriter`: each commit is a session of its own."""

    def __init__(
        self, semantics: SemanticHalf, sessions: Sessions, folder: DataFolder, callbacks: Callbacks
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
                session.writer.record_run(RUN_KIND, started, remembered(card, report))
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


def use(semantics: SemanticHalf, writer: Writer, model: str) -> None:
    """Answer with another model from now on; what it has read before counts again."""
    semantics.choose(writer, model)
    semantics.discard_file()
    semantics.save()


def rebuild(semantics: SemanticHalf, writer: Writer) -> int:
    """Make the file anew; gives how many vectors were dropped because some were damaged in the store."""
    dropped = 0
    if semantics.damaged():  # the store drops a model's vectors only as a whole
        dropped = writer.forget_vectors(semantics.card().fingerprint)
    semantics.discard_file()
    if trouble := semantics.save():
        raise VectorError(trouble, "searches take the vectors from the database meanwhile")
    return dropped


def remembered(card: ModelCard, report: EmbeddingReport) -> str:
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
