"""Decides what the indexing process does next: all its due times, on one clock.

Settled paths come first, then embedding, then idle work. Retries, periodic scans and scans after sleep
join the queue of paths when they are due. Does no I/O.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection
from typing import Literal

from kebab_tui.files.ignore import RULE_FILES
from kebab_tui.indexing.path_queue import PathBatch, PathQueue

Task = Literal["pause", "index", "embed", "save_vectors", "unload_model", "tidy", "wait"]
Place = tuple[str, bytes]
"""A root and a path in it."""

DISK: Place = ("", b"")
"""The index itself: writing to it failed."""
FIRST_S, LONGEST_S = 1.0, 30.0
"""Pauses before the first and between the last retries."""
SCAN_EVERY_S = 600.0
SCAN_SHARE = 250
"""A scan that takes long comes less often: scans take at most one part of so many of the time."""
QUIET_S = 5.0
"""The full check and merges start only after this long without changes: they delay saved notes."""
EMBED_AGAIN_S = 1.0
"""While another process embeds: interval of the checks whether it has finished."""
SAVE_AFTER_S, SAVES_APART_S = 5.0, 60.0
UNLOAD_AFTER_S = 30.0
_ASLEEP_S = 1.0
_MOST_UNREADABLE = 100
_RULE_FILES = tuple(map(os.fsencode, RULE_FILES))


def _seconds_asleep() -> float:
    """Total sleep of the machine since boot; 0 if the system does not report it."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return 0.0 if clock is None else time.clock_gettime(clock) - time.monotonic()


class Schedule:
    """Uses the clock of the queue. `embeds`: whether notes get vectors."""

    def __init__(
        self, queue: PathQueue, embeds: bool = False, seconds_asleep: Callable[[], float] = _seconds_asleep
    ) -> None:
        self.queue = queue
        self._clock = queue.clock
        self._seconds_asleep = seconds_asleep
        self._embeds = embeds
        now = self._clock()
        self._asleep = seconds_asleep()
        self._scan_s: dict[str, float] = {}
        """What the last scan of each root took."""
        self._scanned_at = self._busy_at = self._embedded_at = now
        self._embed_at = now if embeds else math.inf
        self._saved_at = now - SAVES_APART_S
        self.unsaved = False
        """Whether the vector file lacks vectors."""
        self._is_loaded = False
        self._retries: dict[Place, tuple[float, float]] = {}
        """When each failed place is due, and the pause before that."""
        self._next: dict[str, float] = {}

    def next(self) -> Task:
        now = self._clock()
        if self._retries.get(DISK, (now, 0.0))[0] > now:
            return "pause"
        if self.queue.has_due():
            return "index"
        if self._embed_at <= now:
            return "embed"
        idle_s = now - self._embedded_at
        if self.unsaved and idle_s >= SAVE_AFTER_S and now - self._saved_at >= SAVES_APART_S:
            return "save_vectors"
        if self._is_loaded and idle_s >= UNLOAD_AFTER_S:
            return "unload_model"
        return "tidy" if now - self._busy_at >= QUIET_S else "wait"

    def is_time(self, check: str, every_s: float) -> bool:
        """Whether a periodic check is due; it is then due again `every_s` later."""
        now = self._clock()
        if now < self._next.get(check, 0.0):
            return False
        self._next[check] = now + every_s
        return True

    def queue_scans(self, roots: Collection[str]) -> None:
        """Queue the retries that are due, and scans of all roots: periodic and after sleep.

        While the machine slept, other machines may have written to its disks; and no source of events is
        perfect.
        """
        now, asleep = self._clock(), self._seconds_asleep()
        for root, path in [place for place, (due, _) in self._retries.items() if due <= now]:
            if root in roots and path:
                self.queue.add(root, path, is_dir=True, settle_s=0)
            elif root in roots:
                self.queue.reconcile(root, "retry")
            elif (root, path) != DISK:
                del self._retries[root, path]
        has_slept = asleep - self._asleep > _ASLEEP_S
        if has_slept or now - self._scanned_at >= max(SCAN_EVERY_S, SCAN_SHARE * sum(self._scan_s.values())):
            self._asleep, self._scanned_at = asleep, now
            for root in roots:
                self.queue.reconcile(root, "the computer was asleep" if has_slept else "periodic scan")

    # What happened

    def scan_took(self, root: str, seconds: float) -> None:
        """How long the scan of a whole root took, reading left out."""
        self._scan_s[root] = seconds

    def scanned(self, batch: PathBatch, unseen: Collection[bytes], is_rejected: bool) -> None:
        """A batch is in the index. No event announces that its unreadable paths are readable: retry them."""
        self._busy_at = self._clock()
        self._retries.pop(DISK, None)
        places = {path for path in unseen if path.rpartition(b"/")[2] not in _RULE_FILES}
        if len(places) > _MOST_UNREADABLE:  # the folders of many files
            places = {path.rpartition(b"/")[0] for path in places}
        if is_rejected or len(places) > _MOST_UNREADABLE:  # the root of many folders
            places = {b""}
        for path in {path for root, path in self._retries if root == batch.root} - places:
            if batch.whole or path in batch.paths or path in batch.subtrees:
                del self._retries[batch.root, path]
        for path in places:
            self.failed((batch.root, path))

    def failed(self, place: Place) -> None:
        """Retry after a pause, twice as long each time. A failure before the retry does not delay it."""
        now = self._clock()
        due, pause = self._retries.get(place, (0.0, FIRST_S / 2))
        if due <= now:
            pause = min(2 * pause, LONGEST_S)
            self._retries[place] = now + pause, pause

    def retry_now(self) -> None:
        """Make all retries due."""
        self._retries = dict.fromkeys(self._retries, (0.0, FIRST_S / 2))

    def unreadable(self, root: str) -> list[bytes]:
        """Paths whose retry failed, too."""
        return [path for (at, path), (_, pause) in self._retries.items() if at == root and pause > FIRST_S]

    # Embedding

    def want_embedding(self) -> None:
        self._embed_at = -math.inf if self._embeds else math.inf

    def embedding_began(self) -> None:
        self._embed_at = math.inf  # also after an error: it would recur until notes change
        self._is_loaded = True

    def embedding_ended(self, made: int = 0, *, is_complete: bool = True) -> None:
        self._embedded_at = self._clock()
        self.unsaved |= made > 0
        if is_complete:
            self._retries.pop(DISK, None)
        else:
            self.want_embedding()

    def embed_later(self) -> None:
        """Another process embeds."""
        self._embed_at = self._clock() + EMBED_AGAIN_S

    def saving_vectors(self) -> None:
        self._saved_at = self._clock()

    def unloaded(self) -> None:
        self._is_loaded = False
