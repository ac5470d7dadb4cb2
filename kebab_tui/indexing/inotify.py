"""Linux file events for one tree of folders, through watchdog's inotify layer.

watchdog's Observer is not used here: it watches ignored folders too, hides folders that the system
refuses to watch, delays everything by half a second when a file moves out, and its default events cause
a loop. This module watches only interesting folders and lists the unwatched ones. It opens no file,
follows no link below the root, and reports only paths, not kinds of events.

Only this module and `observer` import watchdog.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from watchdog.observers.inotify_c import CallbackId, InotifyEvent, InotifyFD, Mask, WatchDescriptor


IsInteresting = Callable[[bytes, bool], bool]
"""Called with a path relative to the root, and whether it is a folder."""
Report = Callable[[bytes, bool], None]

SILENCE = logging.NullHandler()


class NoEventsError(Exception):
    """The system provides no events; the message is the reason."""


class TreeEvents:
    """One inotify instance with a watch on every interesting folder of a tree.

    `report` gets each path with an event, and whether it is a folder. `lost` is called when events were
    lost and the watches must be replaced: after an overflow, or when the root was removed. The reading
    thread calls both.
    """

    def __init__(
        self, root: bytes, is_interesting: IsInteresting, report: Report, lost: Callable[[str], None]
    ) -> None:
        self._root = root
        self._is_interesting = is_interesting
        self._report = report
        self._lost = lost
        self._changing = threading.Lock()
        """Guards a new watch until its path is stored, so that the first event finds the path."""
        self._watches: dict[bytes, tuple[WatchDescriptor, CallbackId]] = {}
        self._paths: dict[WatchDescriptor, bytes] = {}
        self._unwatched: set[bytes] = set()
        self._closed = False
        self._numbers = itertools.count()
        self._inotify = _open_inotify()
        from watchdog.observers.inotify_c import InotifyConstants as Flag

        # Not of opening and reading: the scan itself would cause endless events.
        changes = Flag.IN_CREATE | Flag.IN_DELETE | Flag.IN_MOVE | Flag.IN_MODIFY | Flag.IN_CLOSE_WRITE
        both = changes | Flag.IN_ATTRIB | Flag.IN_ONLYDIR
        self._root_mask = cast("Mask", both | Flag.IN_DELETE_SELF | Flag.IN_MOVE_SELF)
        self._mask = cast("Mask", both | Flag.IN_DONT_FOLLOW)

    @property
    def directories(self) -> int:
        return len(self._watches)

    def unwatched(self) -> tuple[bytes, ...]:
        """Folders above the system's limit; they and everything below them have no events."""
        with self._changing:
            return tuple(sorted(self._unwatched))

    def start(self) -> None:
        self._inotify.start()
        self._watch_tree(b"")

    def retry(self) -> None:
        """Watch unwatched folders, as far as the limit now allows."""
        for path in self.unwatched():
            with self._changing:
                self._unwatched.discard(path)
            self._watch_tree(path)
            if path in self._unwatched:
                return
            self._report(path, True)

    def is_alive(self) -> bool:
        return self._inotify.is_alive()

    def close(self) -> None:
        """Sets no watch afterwards. An event in progress may still be reported."""
        with self._changing:
            self._closed = True
        self._inotify.stop()
        if self._inotify.is_alive():
            self._inotify.join(0.1)  # it may be inside `is_interesting`; the result is ignored then

    # The reading thread calls these three: watchdog's WatchCallback.

    def on_event(self, event: InotifyEvent) -> None:
        with self._changing:
            folder = self._paths.get(event.wd)
        if folder is None or self._closed:
            return
        if not event.name:
            if not folder and event.is_attrib:
                self._report(b"", True)
            elif not folder:
                self._lost("the folder was removed")
            return
        path = folder + b"/" + event.name if folder else event.name
        if not self._is_interesting(path, event.is_directory):
            return
        if event.is_directory:  # it was added or removed, or it may be readable now
            if event.is_moved_from or event.is_moved_to:
                below = path + b"/"
                with self._changing:
                    known = [*self._watches, *self._unwatched]
                for inner in known:
                    if inner == path or inner.startswith(below):
                        self._forget(inner)
            elif event.is_delete:
                self._forget(path)
            if not (event.is_moved_from or event.is_delete) and path not in self._watches:
                self._watch_tree(path)
        self._report(path, event.is_directory)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        if self._closed:  # `close` deletes all watches
            return
        with self._changing:
            path = self._paths.pop(wd, None)
            if path is not None:
                del self._watches[path]
        if path == b"":
            self._lost("the folder was removed")

    def on_queue_overflow(self) -> None:
        if not self._closed:
            self._lost("too many changes at once for the system")

    def _watch_tree(self, path: bytes) -> None:
        """Watch a folder before listing it: files created in between have an event, are listed, or both."""
        pending = [path]
        while pending:
            folder = pending.pop()
            if not self._watch(folder):
                continue
            prefix = folder + b"/" if folder else b""
            try:
                with os.scandir(self._full(folder)) as entries:
                    names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            except OSError:
                continue  # removed, which causes another event, or not readable
            pending += [prefix + name for name in names if self._is_interesting(prefix + name, True)]

    def _full(self, path: bytes) -> bytes:
        return self._root + b"/" + path if path else self._root

    def _watch(self, path: bytes) -> bool:
        """Watch one folder; returns False if that is impossible."""
        # A new number for each call: for a known one watchdog prints a warning with its whole table.
        number = cast("CallbackId", next(self._numbers))
        with self._changing:
            if self._closed:
                return False
            try:
                mask = self._mask if path else self._root_mask
                wd = self._inotify.add_callback(self._full(path), mask, self, number)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.ENOMEM):
                    self._unwatched.add(path)
                return False
            if wd == -1:  # permission denied: watchdog continues as if it had a watch
                self._inotify.remove_callbacks([(wd, number)])
                return False
            if (known := self._paths.get(wd)) is not None:  # the same folder, perhaps under its old name
                self._inotify.remove_callbacks([(wd, number)])
                _, number = self._watches.pop(known)
            if (other := self._watches.pop(path, None)) is not None:  # a removed folder that is still open
                del self._paths[other[0]]
                self._inotify.remove_callbacks([other])
            self._paths[wd] = path
            self._watches[path] = wd, number
            return True

    def _forget(self, path: bytes) -> None:
        with self._changing:
            self._unwatched.discard(path)
            if not self._closed and (watch := self._watches.pop(path, None)) is not None:
                del self._paths[watch[0]]
                self._inotify.remove_callbacks([watch])


def _open_inotify(wrap: Callable[[type[InotifyFD]], InotifyFD] = lambda kind: kind()) -> InotifyFD:
    # `on_queue_overflow` reports an overflow; watchdog also logs it, and without a handler Python would
    # print that onto the screen.
    logging.getLogger("watchdog").addHandler(SILENCE)
    try:
        from watchdog.observers.inotify_c import InotifyFD  # slow; only the indexing process needs it
    except Exception as error:  # without inotify, libc and ctypes raise various errors
        raise NoEventsError(f"inotify is not available: {error}") from error
    try:
        return wrap(InotifyFD)
    except OSError as error:
        if error.errno == errno.EMFILE:
            reason = "the system's limit of inotify instances is reached (fs.inotify.max_user_instances)"
            raise NoEventsError(reason) from error
        raise NoEventsError(f"inotify: {error.strerror}") from error


_SETTLE_S, _APART_S = 0.02, 0.08
"""Before a report, so that what was begun is done, and after it."""


def _at_intervals(report: Callable[[Sequence[InotifyEvent]], None]) -> Callable[[type[InotifyFD]], InotifyFD]:
    """Opens an inotify instance whose thread reports what it read and then rests."""

    def opened(kind: type[InotifyFD]) -> InotifyFD:
        class AtIntervals(kind):  # type: ignore[misc,valid-type]  # watchdog is imported late
            def run(self) -> None:
                while self.should_keep_running():
                    if events := self.read_events():
                        self.stopped_event.wait(_SETTLE_S)
                        report(events)
                        self.stopped_event.wait(_APART_S)

        return cast("InotifyFD", AtIntervals())

    return opened


class FolderEvents:
    """Linux file events of a few folders, without those below them; at most ten calls of `changed` a second.

    While it rests the system merges the events of one file: a bulk load writes thousands of times a second.
    """

    def __init__(self, folders: Sequence[bytes], changed: Callable[[], None], *, contents: bool) -> None:
        self._folders = folders
        self._changed = changed
        self._ended = not folders
        self._inotify = _open_inotify(_at_intervals(self._report))
        from watchdog.observers.inotify_c import InotifyConstants as Flag

        mask = Flag.IN_CREATE | Flag.IN_DELETE | Flag.IN_MOVED_TO | Flag.IN_DELETE_SELF | Flag.IN_MOVE_SELF
        self._mask = cast("Mask", mask | Flag.IN_MODIFY if contents else mask)

    def start(self) -> None:
        self._inotify.start()  # first: an instance whose thread never ran stays open
        try:
            for number, folder in enumerate(self._folders):
                wd = self._inotify.add_callback(folder, self._mask, self, cast("CallbackId", number))
                self._ended |= wd == -1  # permission denied
        except OSError as error:
            self.close()
            raise NoEventsError(f"inotify: {error.strerror}") from error

    def is_alive(self) -> bool:
        return not self._ended and self._inotify.is_alive()

    def close(self) -> None:
        self._inotify.stop()
        if self._inotify.is_alive():
            self._inotify.join(0.1)

    def _report(self, events: Sequence[InotifyEvent]) -> None:
        self._ended |= any(event.is_ignored or event.is_delete_self or event.is_move_self for event in events)
        self._changed()

    # watchdog's WatchCallback, which is not used: events are reported together.

    def on_event(self, event: InotifyEvent) -> None: ...

    def on_watch_deleted(self, wd: WatchDescriptor) -> None: ...

    def on_queue_overflow(self) -> None: ...
