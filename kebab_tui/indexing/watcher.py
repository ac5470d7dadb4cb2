"""Watches one folder and queues its changed paths.

Uses events if the system provides them, else polls, and waits while the folder is missing; `WatchState`
reports which. Reads no note, writes nothing into the folder, and does not interpret changes.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kebab_tui.files.root import RootIdentity
from kebab_tui.indexing.inotify import IsInteresting, NoEventsError, TreeEvents
from kebab_tui.indexing.observer import ObserverEvents
from kebab_tui.indexing.path_queue import PathQueue

EVENTS: type[TreeEvents | ObserverEvents] = TreeEvents if sys.platform == "linux" else ObserverEvents
WatchKind = Literal["live", "partial", "polling", "paused"]

_LIMIT = "the system's limit of watched folders is reached (fs.inotify.max_user_watches)"


@dataclass(frozen=True, slots=True)
class WatchState:
    kind: WatchKind
    """`live`: every change has an event. `partial`: some folders are polled. `polling`: all folders are
    polled. `paused`: the folder is missing."""
    reason: str = ""
    """Why the state is not `live`."""
    directories: int = 0
    """Number of folders with events."""


@dataclass(frozen=True, slots=True)
class WatchIntervals:
    """Intervals of a watch, in seconds."""

    beat: float = 1.0
    """Between two checks that the root is in place: one `stat`."""
    beat_at_most: float = 10.0
    poll: float = 5.0
    """Between two polls, at least."""
    poll_at_most: float = 60.0
    rest: float = 100.0
    """The pause after a poll, as a multiple of its duration: 1 % of a processor."""


class FolderWatch:
    """Watches one root from `start` to `stop`.

    Start it before the first scan, so that a file written in between is in the queue. Later it queues a
    subtree for an added or removed folder, and a reconcile after lost events or the return of the root.
    Every change of state wakes the queue.

    `is_interesting` is called for each path with an event, and for each folder before it is watched: with
    the raw path relative to the root, and whether it is a folder. The path may not exist any more, so it
    decides by names and rules; several threads call it, so it must be fast. It must accept ignore files.
    Paths below an uninteresting folder are never checked, watched or queued.
    """

    def __init__(
        self, queue: PathQueue, root: str, is_interesting: IsInteresting, pace: WatchIntervals | None = None
    ) -> None:
        self._queue = queue
        self._root = root
        self._is_interesting = is_interesting
        self._pace = pace or WatchIntervals()
        self._state = WatchState("paused", "not started")
        self._identity: RootIdentity | None = None
        """Identity of the root when the watches were set."""
        self._events: TreeEvents | ObserverEvents | None = None
        self._no_events = ""
        self._poll: TreePoll | None = None
        self._next_poll = 0.0
        self._renew_reason = ""
        self._next_renewal = 0.0
        self.watched_together = 1
        """How many folders the process watches: those with events share one check of a root a second."""
        self._stopping = False
        self._signal = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch {root}", daemon=True)

    def start(self) -> None:
        """Returns when the watches are set. Never raises: see `state`."""
        self._begin()
        self._thread.start()

    def stop(self) -> None:
        """Returns within a fraction of a second; nothing is queued afterwards."""
        self._stopping = True
        self._signal.set()
        if self._events is not None:
            self._events.close()
        if self._thread.is_alive():
            self._thread.join(0.1)  # takes longer only if a disk does not respond
        self._end_events()

    def state(self) -> WatchState:
        """The current state; does no I/O."""
        events = self._events
        return self._state if events is None else replace(self._state, directories=events.directories)

    def is_there(self) -> bool:
        """Check that the root is the watched folder at this moment.

        Call it before treating a file as deleted: an unmounted disk leaves an empty folder. If the
        result is False, drop the work: the return of the folder queues a reconcile.
        """
        try:
            return self._state.kind != "paused" and RootIdentity.of(self._root) == self._identity
        except OSError:
            return False

    def renew(self, why: str) -> None:
        """Replace all watches in the background, then queue a reconcile."""
        self._renew_reason = why
        self._signal.set()

    def _run(self) -> None:
        """Repair the watch, and poll the folders without events."""
        while True:
            shared = self.watched_together if self._state.kind == "live" else 1
            self._signal.wait(min(self._pace.beat * shared, self._pace.beat_at_most))
            self._signal.clear()
            if self._stopping:
                return
            try:
                now = RootIdentity.of(self._root)
            except OSError as error:
                self._pause(f"the folder cannot be read: {error.strerror}")
                continue
            if self._identity is not None and self._identity != now:
                if self._identity.has_lost_its_disk(now):
                    self._pause("the disk that the folder is on is not mounted")
                    continue
                self._renew_reason = self._renew_reason or "the folder was replaced"
            if self._state.kind == "paused":
                self._begin_again("the folder is back")
            elif self._events is not None and not self._events.is_alive():
                self._begin_again("the watch had ended")
            elif self._renew_reason and time.monotonic() >= self._next_renewal:
                self._begin_again(self._renew_reason)
            elif time.monotonic() >= self._next_poll and (self._poll is not None or self._unwatched()):
                self._poll_unwatched()

    def _pause(self, reason: str) -> None:
        self._end_events()
        self._poll = None
        self._set_state(WatchState("paused", reason))

    def _begin_again(self, why: str) -> None:
        self._renew_reason = ""
        self._end_events()
        started = time.monotonic()
        self._begin()
        now = time.monotonic()
        # An endless flood of events must not renew the watches all the time.
        self._next_renewal = now + max(self._pace.beat, 10 * (now - started))
        if self._state.kind != "paused" and not self._stopping:
            self._queue.reconcile(self._root, why)

    def _begin(self) -> None:
        """Set the watches; pause if the root is missing."""
        try:
            self._identity = RootIdentity.of(self._root)
        except OSError as error:
            self._pause(f"the folder cannot be read: {error.strerror}")
            return
        self._poll = None
        self._start_events()
        # Existing files are left to the scan that follows.
        self._scan(self._unwatched())

    def _start_events(self) -> bool:
        """Returns False if the system provides no events."""
        root = os.fsencode(self._root)
        try:
            events = EVENTS(root, self._is_interesting, self._report, self.renew)
            self._events = events  # it reports while it starts
            events.start()
        except NoEventsError as error:
            self._events, self._no_events = None, str(error)
            return False
        self._no_events = ""
        return True

    def _end_events(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            events.close()

    def _poll_unwatched(self) -> None:
        """Try again to get events for all folders; poll the rest."""
        if self._events is not None:
            self._events.retry()
        elif self._start_events():
            self._report(b"", True)
        unwatched, is_first = self._unwatched(), self._poll is None
        for path in self._scan(unwatched):
            self._report(path, False)
        if is_first:
            for folder in unwatched:
                self._report(folder, True)

    def _unwatched(self) -> tuple[bytes, ...]:
        if self._events is None or (self._identity is not None and self._identity.mount.is_remote):
            return (b"",)
        return self._events.unwatched()

    def _scan(self, unwatched: tuple[bytes, ...]) -> list[bytes]:
        """Scan folders and update the state. Returns changes since the last scan; none at the first."""
        if not unwatched:
            self._poll = None
            self._set_state(WatchState("live"))
            return []
        is_first = self._poll is None
        poll = self._poll or TreePoll(os.fsencode(self._root), self._is_interesting, lambda: self._stopping)
        started = time.monotonic()
        changed = poll.scan(unwatched)
        now = time.monotonic()
        pause = min(self._pace.poll_at_most, max(self._pace.poll, self._pace.rest * (now - started)))
        self._poll, self._next_poll = poll, now + pause
        if b"" not in unwatched:
            state = WatchState("partial", f"{_LIMIT}; the other {poll.directories} are polled")
        elif self._no_events:
            state = WatchState("polling", self._no_events)
        elif self._identity is not None and self._identity.mount.is_remote:
            kind = self._identity.mount.kind
            state = WatchState("polling", f"{kind} does not announce changes by other computers")
        else:
            state = WatchState("polling", _LIMIT)
        self._set_state(state)
        return [] if is_first else changed

    def _set_state(self, state: WatchState) -> None:
        if state != self._state:
            self._state = state
            self._queue.wake()

    def _report(self, path: bytes, is_dir: bool) -> None:
        if not self._stopping:
            self._queue.add(self._root, path, is_dir)


class TreePoll:
    """Finds changed files in folders without events, by comparing stamps with the previous scan.

    Stores one number per file, reads no file, follows no link.
    """

    def __init__(self, root: bytes, is_interesting: IsInteresting, cancelled: Callable[[], bool]) -> None:
        self._root = root
        self._is_interesting = is_interesting
        self._cancelled = cancelled
        self._stamps: dict[bytes, int] = {}
        self.directories = 0
        """Number of folders visited by the last scan."""

    def scan(self, subtrees: Iterable[bytes]) -> list[bytes]:
        """Paths added, removed or changed since the previous scan."""
        self.directories = 0
        now = dict(entry for subtree in subtrees for entry in self._files(subtree))
        if self._cancelled():
            return []
        was, self._stamps = self._stamps, now
        changed = [path for path, stamp in now.items() if was.get(path) != stamp]
        return changed + [path for path in was if path not in now]

    def _files(self, subtree: bytes) -> Iterator[tuple[bytes, int]]:
        pending = [subtree]
        while pending and not self._cancelled():
            folder = pending.pop()
            try:
                with os.scandir(self._root + b"/" + folder if folder else self._root) as found:
                    self.directories += 1
                    entries = list(found)
            except OSError:
                continue  # reports its files as removed; the indexer checks each of them
            for entry in entries:
                path = folder + b"/" + entry.name if folder else entry.name
                is_dir = entry.is_dir(follow_symlinks=False)
                if not self._is_interesting(path, is_dir):
                    continue
                if is_dir:
                    pending.append(path)
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                yield path, hash((status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
