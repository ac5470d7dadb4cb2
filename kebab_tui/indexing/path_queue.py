"""Which paths are to be looked at, and when: the one set that watchers, scans and requests fill.

Says that something happened to a path, never what: whoever takes it decides from the
file's present state. A path is due when it has been quiet for a while, at the latest
some time after its first event. Many paths of one root become one look at the whole
root, so that a flood costs no memory. Touches no file and knows no watcher.

Paths are raw bytes, relative to their root, with `/` (`b"a/b.md"`); `b""` is the root
itself. Times are seconds of the injected clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SETTLE_S = 0.15
"""A path is due when nothing has happened to it for this long: an editor has finished."""
LATEST_S = 2.0
"""A path that never falls quiet is due this long after its first event."""
MOST_PATHS = 500
"""With more than this many entries of one root, looking at all of it is cheaper."""
_COMPANY_S = 0.05
"""What is due this soon may be taken along, so that both ends of a rename are seen at once."""


@dataclass(frozen=True, slots=True)
class PathBatch:
    """What is to be looked at in one root. Each path is named once, by the widest entry that holds it."""

    root: str
    paths: tuple[bytes, ...] = ()
    """Files as far as anybody knows, earliest first; what stands there now may be anything or nothing."""
    subtrees: tuple[bytes, ...] = ()
    """Folders that came, went or changed as a whole: the path itself and everything below it."""
    whole: str = ""
    """Why all of the root is to be reconciled; empty: it is not. Then there are no paths and no subtrees."""


@dataclass(slots=True)
class _Entry:
    """Something waiting: when it was first and when it is due."""

    first: float
    due: float

    def touch(self, now: float, settle_s: float) -> None:
        self.due = min(now + settle_s, self.first + max(LATEST_S, settle_s))


class _Root:
    """What waits in one root: entries for paths and subtrees, or one for all of it."""

    __slots__ = ("paths", "subtrees", "whole", "why")

    def __init__(self) -> None:
        self.paths: dict[bytes, _Entry] = {}
        self.subtrees: dict[bytes, _Entry] = {}
        self.whole: _Entry | None = None
        self.why = ""

    def entries(self) -> Iterator[_Entry]:
        if self.whole is not None:
            yield self.whole
        yield from self.paths.values()
        yield from self.subtrees.values()

    def add(self, path: bytes, is_dir: bool, now: float, settle_s: float) -> float:
        """Note an event; gives the time at which its entry is due."""
        if self.whole is not None and self.whole.due <= now:
            return self.whole.due  # asked for: events do not put it off
        entry = self.whole or self._around(path)
        if entry is None:
            kind = self.subtrees if is_dir else self.paths
            first = self._absorb(path, now) if is_dir else now
            entry = kind.setdefault(path, _Entry(first, now))
        entry.touch(now, settle_s)
        if len(self.paths) + len(self.subtrees) > MOST_PATHS:
            self.collapse(entry.due, "")
        return entry.due

    def collapse(self, due: float, why: str) -> None:
        """Forget the single entries: all of the root is to be looked at."""
        first = min((entry.first for entry in self.entries()), default=due)
        self.why = self.why or why  # more than a flood's, which any reconcile ends
        self.whole = _Entry(first, due if self.whole is None else min(due, self.whole.due))
        self.paths.clear()
        self.subtrees.clear()

    def _around(self, path: bytes) -> _Entry | None:
        """The subtree that holds a path, if one waits."""
        while path and self.subtrees:
            if (entry := self.subtrees.get(path)) is not None:
                return entry
            path = path.rpartition(b"/")[0]
        return None

    def _absorb(self, folder: bytes, now: float) -> float:
        """Take out what waits at or below a folder; gives the first time of all."""
        first = now
        below = folder + b"/"
        for kind in (self.paths, self.subtrees):
            for path in [path for path in kind if path == folder or path.startswith(below)]:
                first = min(first, kind.pop(path).first)
        return first

    def take(self, until: float) -> tuple[tuple[bytes, ...], tuple[bytes, ...], str]:
        if self.whole is not None:
            if self.whole.due > until:
                return (), (), ""
            why, self.whole, self.why = self.why or "many changes at once", None, ""
            return (), (), why
        return _take(self.paths, until), _take(self.subtrees, until), ""


def _take(kind: dict[bytes, _Entry], until: float) -> tuple[bytes, ...]:
    due = [path for path, entry in kind.items() if entry.due <= until]
    for path in due:
        del kind[path]
    return tuple(due)


class PathQueue:
    """Filled by any thread; taken from and waited on by one."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._roots: dict[str, _Root] = {}
        self._woken = False
        self._sleeps_until = 0.0

    def add(self, root: str, path: bytes, is_dir: bool = False, settle_s: float = SETTLE_S) -> None:
        """Something happened to a path: it is due `settle_s` from now, whatever was said of it before.

        `is_dir`: to everything at or below it. A path below a waiting subtree only keeps
        that one waiting. `settle_s=0` for what was asked for; a longer one to come back to
        a path that is missing.
        """
        if is_dir and not path:
            self.reconcile(root, "the folder itself changed")
            return
        with self._changed:
            now = self._clock()
            self._tell(self._roots.setdefault(root, _Root()).add(path, is_dir, now, settle_s))

    def reconcile(self, root: str, why: str) -> None:
        """All of a root is to be looked at, now; the first reason of several is kept."""
        with self._changed:
            now = self._clock()
            self._roots.setdefault(root, _Root()).collapse(now, why)
            self._tell(now)

    def take(self, now: float) -> tuple[PathBatch, ...]:
        """Take out what is due, a batch for each root that has something; nothing due: none.

        Also what is due a moment later, up to the widest gap: a rename is two paths a few
        microseconds apart, and only who sees both knows it for one.
        """
        batches = []
        with self._changed:
            until = _end_of_batch([entry.due for entry in self._entries()], now)
            if until is None:
                return ()
            for name in list(self._roots):
                paths, subtrees, why = self._roots[name].take(until)
                if paths or subtrees or why:
                    batches.append(PathBatch(name, paths, subtrees, why))
                if next(self._roots[name].entries(), None) is None:
                    del self._roots[name]
        return tuple(batches)

    def next_due(self, now: float) -> float | None:
        """Seconds until something is due, 0 if something is, None if nothing waits."""
        with self._changed:
            due = self._next()
        return None if due is None else max(0.0, due - now)

    def has_due(self) -> bool:
        with self._changed:
            due = self._next()
            return due is not None and due <= self._clock()

    def pending(self) -> int:
        """How many entries wait; a whole root counts as one."""
        with self._changed:
            return sum(1 for _ in self._entries())

    def wait(self, timeout: float) -> bool:
        """Sleep until something is due, `wake` is called or the time is over; whether something is due."""
        with self._changed:
            end = self._clock() + timeout
            while True:
                now, due = self._clock(), self._next()
                if due is not None and due <= now:
                    break
                if self._woken or now >= end:
                    break
                self._sleeps_until = end if due is None else min(end, due)
                self._changed.wait(self._sleeps_until - now)
            self._woken, self._sleeps_until = False, 0.0
            return due is not None and due <= now

    def wake(self) -> None:
        """End a `wait`, the present one or the next."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def _entries(self) -> Iterator[_Entry]:
        for root in self._roots.values():
            yield from root.entries()

    def _next(self) -> float | None:
        return min((entry.due for entry in self._entries()), default=None)

    def _tell(self, due: float) -> None:
        """Only what is due before the sleeper's time disturbs it: events come by the thousand."""
        if due < self._sleeps_until:
            self._changed.notify_all()


def _end_of_batch(dues: list[float], now: float) -> float | None:
    due = [time for time in dues if time <= now]
    if not due:
        return None
    near = sorted(time for time in dues if now < time <= now + _COMPANY_S)
    places = [max(due), *near]
    gaps = [after - before for before, after in zip(places, [*near, now + _COMPANY_S], strict=True)]
    return max(now, places[gaps.index(max(gaps))])
