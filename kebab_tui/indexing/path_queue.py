"""Debounced queue of changed paths, filled by watchers, scans and requests.

An entry does not record what happened to a path: the consumer decides from the present state of the file.
A path is due after a quiet period, at the latest some time after its first event. Many paths of one root
merge into a scan of the whole root, so that a flood of events costs no memory. Accesses no file.

Paths are raw bytes, relative to their root, with `/` (`b"a/b.md"`); `b""` is the root. Times are seconds
of the injected clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

SETTLE_S = 0.15
"""A path is due this long after its last event: an editor has finished by then."""
LATEST_S = 2.0
"""A path with constant events is due this long after its first event."""
MOST_PATHS = 500
"""Above this number of entries, a scan of the whole root is cheaper."""
_LOOKAHEAD_S = 0.05
"""A batch includes entries due this soon, so that it contains both paths of a rename."""


@dataclass(frozen=True, slots=True)
class PathBatch:
    """Due entries of one root. An entry includes all paths below it, which do not occur again."""

    root: str
    paths: tuple[bytes, ...] = ()
    """Probably files, earliest first; each may be anything by the time of the scan, or missing."""
    subtrees: tuple[bytes, ...] = ()
    """Added, removed or changed folders: the path itself and everything below it."""
    whole: str = ""
    """Why to scan the whole root; `paths` and `subtrees` are empty then."""


@dataclass(slots=True)
class _QueuedPath:
    first: float
    due: float


@dataclass(slots=True)
class _Root:
    """The entries of one root: paths and subtrees, or a single one for the whole root."""

    paths: dict[bytes, _QueuedPath] = field(default_factory=dict)
    subtrees: dict[bytes, _QueuedPath] = field(default_factory=dict)
    whole: _QueuedPath | None = None
    why: str = ""

    def add(self, path: bytes, is_dir: bool, now: float, settle_s: float) -> float:
        """Add an event; returns the time at which its entry is due."""
        if self.whole is not None and self.whole.due <= now:
            return self.whole.due  # events do not delay a request
        entry, folder = self.whole, path
        while entry is None and folder and self.subtrees:
            entry = self.subtrees.get(folder)
            folder = folder.rpartition(b"/")[0]
        if entry is None:
            kind, first = (self.subtrees, now) if is_dir else (self.paths, now)
            if is_dir:  # it replaces the entries at and below it
                below = path + b"/"
                for entries in (self.paths, self.subtrees):
                    for inner in [inner for inner in entries if inner == path or inner.startswith(below)]:
                        first = min(first, entries.pop(inner).first)
            entry = kind.setdefault(path, _QueuedPath(first, now))
        entry.due = min(now + settle_s, entry.first + max(LATEST_S, settle_s))
        if len(self.paths) + len(self.subtrees) > MOST_PATHS:
            self.collapse(entry.due, "")
        return entry.due

    def collapse(self, due: float, why: str) -> None:
        """Replace all entries by one for the whole root."""
        entries = [self.whole] if self.whole else [*self.paths.values(), *self.subtrees.values()]
        first = min((entry.first for entry in entries), default=due)
        self.why = self.why or why  # the first reason; a flood has none
        self.whole = _QueuedPath(first, due if self.whole is None else min(due, self.whole.due))
        self.paths.clear()
        self.subtrees.clear()


class PathQueue:
    """Any thread may add; one thread takes and waits."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._changed = threading.Condition()
        self._roots: dict[str, _Root] = {}
        self._woken = False
        self._sleeps_until = 0.0

    def add(self, root: str, path: bytes, is_dir: bool = False, settle_s: float = SETTLE_S) -> None:
        """Add a changed path, due `settle_s` from now; an earlier entry of the path is delayed.

        `is_dir`: everything at or below the path changed. A path below a queued subtree only delays that
        subtree. Use `settle_s=0` for requests, and a longer delay to check a missing path again.
        """
        if is_dir and not path:
            self.reconcile(root, "the folder itself changed")
            return
        with self._changed:
            now = self.clock()
            self._notify(self._roots.setdefault(root, _Root()).add(path, is_dir, now, settle_s))

    def reconcile(self, root: str, why: str) -> None:
        """Queue a scan of the whole root, due now; the first of several reasons stays."""
        with self._changed:
            now = self.clock()
            self._roots.setdefault(root, _Root()).collapse(now, why)
            self._notify(now)

    def take(self) -> tuple[PathBatch, ...]:
        """Remove the due entries: one batch per root.

        Includes entries due a moment later, up to the widest gap: a rename is two events a few
        microseconds apart, and a batch must contain both to recognise it.
        """
        batches = []
        with self._changed:
            until = _end_of_batch([entry.due for entry in self._entries()], self.clock())
            if until is None:
                return ()
            for name, root in list(self._roots.items()):
                if root.whole is None:
                    paths = tuple(path for path, entry in root.paths.items() if entry.due <= until)
                    subtrees = tuple(path for path, entry in root.subtrees.items() if entry.due <= until)
                    for path in paths:
                        del root.paths[path]
                    for path in subtrees:
                        del root.subtrees[path]
                    if paths or subtrees:
                        batches.append(PathBatch(name, paths, subtrees))
                elif root.whole.due <= until:
                    batches.append(PathBatch(name, whole=root.why or "many changes at once"))
                    root.whole = None
                if not (root.whole or root.paths or root.subtrees):
                    del self._roots[name]
        return tuple(batches)

    def has_due(self) -> bool:
        with self._changed:
            due = self._next()
            return due is not None and due <= self.clock()

    def pending(self) -> int:
        """Number of entries; a whole root counts as one."""
        with self._changed:
            return sum(1 for _ in self._entries())

    def wait(self, timeout: float) -> bool:
        """Sleep until an entry is due, `wake` is called or the time is over; whether an entry is due."""
        with self._changed:
            end = self.clock() + timeout
            while True:
                now, due = self.clock(), self._next()
                if due is not None and due <= now:
                    break
                if self._woken or now >= end:
                    break
                self._sleeps_until = end if due is None else min(end, due)
                self._changed.wait(self._sleeps_until - now)
            self._woken, self._sleeps_until = False, 0.0
            return due is not None and due <= now

    def wake(self) -> None:
        """End the current `wait`, or the next one."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def _entries(self) -> Iterator[_QueuedPath]:
        for root in self._roots.values():
            if root.whole is not None:
                yield root.whole
            yield from root.paths.values()
            yield from root.subtrees.values()

    def _next(self) -> float | None:
        return min((entry.due for entry in self._entries()), default=None)

    def _notify(self, due: float) -> None:
        """Wake the consumer only for entries due before its timeout: events come by the thousand."""
        if due < self._sleeps_until:
            self._changed.notify_all()


def _end_of_batch(dues: list[float], now: float) -> float | None:
    """The latest due time of a batch; None if no entry is due. Lies before the widest gap."""
    due = [time for time in dues if time <= now]
    if not due:
        return None
    near = sorted(time for time in dues if now < time <= now + _LOOKAHEAD_S)
    times = [max(due), *near]
    gaps = [after - before for before, after in zip(times, [*near, now + _LOOKAHEAD_S], strict=True)]
    return max(now, times[gaps.index(max(gaps))])
