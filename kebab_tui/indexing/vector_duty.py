"""When vectors are made, saved and let rest while an index is kept in step.

Knows no model: what `Vectors` does is somebody else's room.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from kebab_tui.indexing.callbacks import Callbacks
from kebab_tui.indexing.embedding_job import EmbeddingReport
from kebab_tui.storage.sqlite.writer import Writer

_SAVE_AFTER_S = 5.0
_SAVES_APART_S = 60.0
_REST_AFTER_S = 30.0
_AGAIN_S = 1.0
"""How often it is looked whether another process, `kebab index --embed` say, still makes them."""


class Vectors(Protocol):
    def make(self, writer: Writer, callbacks: Callbacks) -> EmbeddingReport | None:
        """Give every passage that has none its vector, until cancelled; None: another process does it."""
        ...

    def save(self) -> None:
        """Write what others open instead of the database; VectorError when that fails."""
        ...

    def rest(self) -> None:
        """Hold no memory until the next text."""
        ...


class VectorDuty:
    def __init__(self, vectors: Vectors | None, clock: Callable[[], float] = time.monotonic) -> None:
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
