"""What keeping watch is at, gathered for people: the live file, the callbacks, the sums at the end.

Told by the one thread that keeps watch; changes nothing in the index.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kebab_tui.domain.errors import KebabError
from kebab_tui.indexing.callbacks import WatchCallbacks
from kebab_tui.indexing.embedding_job import EmbeddingProgress
from kebab_tui.indexing.live_state import FolderState, LastChange, LiveFile, LiveState, Phase, Trouble
from kebab_tui.indexing.report import NoteChange, Outcome, Progress
from kebab_tui.storage.lock import DataFolder

_IDLE = Phase()


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """What a time of watching came to; only notes that changed are counted."""

    counts: dict[Outcome, int] = field(default_factory=dict)
    chunks_added: int = 0
    chunks_removed: int = 0
    seconds: float = 0.0


class Board:
    def __init__(
        self,
        folder: DataFolder,
        callbacks: WatchCallbacks,
        folders: Callable[[], tuple[FolderState, ...]],
        pending: Callable[[], int],
    ) -> None:
        self._callbacks = callbacks
        self._folders = folders
        self._pending = pending
        self._file = LiveFile(folder, callbacks.state)
        self._pid = os.getpid()
        self._began = time.monotonic()
        self._counts: Counter[Outcome] = Counter()
        self._chunks_added = 0
        self._chunks_removed = 0
        self._phase = _IDLE
        self._in_hand = 0
        self._last: LastChange | None = None
        self._error: Trouble | None = None
        self._given_way_to = ""
        self.failed = 0

    def show(self, *, at_once: bool = False) -> None:
        """Write what is new, unless something was written a moment ago: then call again."""
        if not at_once and not self._file.is_due:
            return
        state = LiveState(
            pid=self._pid,
            folders=self._folders(),
            pending=self._pending() + self._in_hand,
            failed=self.failed,
            phase=self._phase,
            last=self._last,
            error=self._error,
            given_way_to=self._given_way_to,
        )
        self._file.show(state)

    def changed(self, change: NoteChange) -> None:
        self._counts[change.outcome] += 1
        self._chunks_added += change.chunks_added
        self._chunks_removed += change.chunks_removed
        self._last = LastChange(change.path, change.outcome, change.saved_ns, change.committed_ns)
        self._callbacks.changed(change)

    def reading(self, progress: Progress) -> None:
        self._phase = Phase("reading", progress.done, progress.total)
        self._in_hand = progress.total - progress.done
        self.show()

    def embedding(self, progress: EmbeddingProgress) -> None:
        left = progress.seconds_left
        self._phase = Phase(
            "embedding",
            progress.done,
            progress.total,
            round(progress.rate, 1),
            None if left is None else round(left, 1),
        )
        self.show()

    def at_rest(self) -> None:
        self._phase, self._in_hand = _IDLE, 0
        self.show()

    def trouble(self, error: KebabError) -> None:
        self._error = Trouble(error.code, error.message, error.hint)
        self.show(at_once=True)

    def went_well(self, *codes: str) -> None:
        """Forget a trouble of one of these kinds; of any kind when none is named."""
        if self._error is not None and (not codes or self._error.code in codes):
            self._error = None

    def gave_way(self, to: str) -> None:
        """Somebody else writes; the empty text: nobody any more."""
        self._given_way_to = to
        self._phase, self._in_hand = _IDLE, 0
        self.show(at_once=True)
        self._file.touch()

    def take_down(self) -> None:
        self._file.remove()

    def summary(self) -> WatchSummary:
        return WatchSummary(
            dict(self._counts), self._chunks_added, self._chunks_removed, time.monotonic() - self._began
        )
