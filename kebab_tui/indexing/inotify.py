"""What the system announces of one tree of folders: watches, and events made into paths.

Stands on watchdog's inotify layer, not on its Observer. That one watches ignored folders
too, keeps silent about folders the system refuses to watch, holds everything back
for half a second when a file moves out, and walks into a loop with its default events.
Here a folder is watched only where somebody is interested, and who could not be
watched is known. Never opens a file, follows no link below the root, and does not say
what an event was: only which path, and whether all below it is meant.

With `watch_observer` the only module that imports watchdog.
"""

from __future__ import annotations

import errno
import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from watchdog.observers.inotify_c import CallbackId, InotifyEvent, InotifyFD, Mask, WatchDescriptor


IsInteresting = Callable[[bytes, bool], bool]
"""Of a path relative to the root, and whether it is a folder."""
Report = Callable[[bytes, bool], None]

SILENCE = logging.NullHandler()


class NoEventsError(Exception):
    """This system announces nothing to us; the message says why."""


class TreeEvents:
    """One inotify instance with a watch on every interesting folder of a tree.

    `report` gets each path that has an event, and whether it is a folder; `lost` is
    called when the announcements are no longer complete and the watches must be set
    anew: a full queue, or the root's own end. Both from the reading thread.
    """

    def __init__(
        self, root: bytes, is_interesting: IsInteresting, report: Report, lost: Callable[[str], None]
    ) -> None:
        self._root = root
        self._is_interesting = is_interesting
        self._report = report
        self._lost = lost
        self._changing = threading.Lock()
        """Held while a watch is set and its path noted, so that its first event finds the path."""
        self._watches: dict[bytes, tuple[WatchDescriptor, CallbackId]] = {}
        self._paths: dict[WatchDescriptor, bytes] = {}
        self._unwatched: set[bytes] = set()
        self._closed = False
        self._numbers = itertools.count()
        self._inotify = _open_inotify()
        self._root_mask, self._mask = _masks()

    @property
    def directories(self) -> int:
        return len(self._watches)

    def unwatched(self) -> tuple[bytes, ...]:
        """Folders that the system's limit leaves unheard, with all below them."""
        with self._changing:
            return tuple(sorted(self._unwatched))

    def start(self) -> None:
        """Read events, and watch every folder there is."""
        self._inotify.start()
        self._watch_tree(b"")

    def retry(self) -> None:
        """Watch what could not be watched, as far as the limit now allows."""
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
        """End; sets no watch afterwards. What is being read at this moment may still be reported."""
        with self._changing:
            self._closed = True
        self._inotify.stop()
        if self._inotify.is_alive():
            self._inotify.join(0.1)  # it may be inside `is_interesting`, and is of no consequence then

    # The reading thread calls these three: watchdog's WatchCallback.

    def on_event(self, event: InotifyEvent) -> None:
        with self._changing:
            folder = self._paths.get(event.wd)
        if folder is None or self._closed:
            return
        if not event.name:
            if not folder:
                self._on_root(event)
            return
        path = folder + b"/" + event.name if folder else event.name
        if self._is_interesting(path, event.is_directory):
            if event.is_directory:
                self._follow(event, path)
            self._report(path, event.is_directory)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        if self._closed:  # all of them are, one by one
            return
        with self._changing:
            path = self._paths.pop(wd, None)
            if path is not None:
                del self._watches[path]
        if path == b"":
            self._lost("the folder was taken away")

    def on_queue_overflow(self) -> None:
        if not self._closed:
            self._lost("more changes at once than the system could announce")

    def _on_root(self, event: InotifyEvent) -> None:
        if event.is_attrib:
            self._report(b"", True)
        else:
            self._lost("the folder was taken away")

    def _follow(self, event: InotifyEvent, path: bytes) -> None:
        """Let the watches go with a folder: it came, went, or may be readable by now."""
        if event.is_moved_from or event.is_moved_to:
            self._forget_tree(path)
        elif event.is_delete:
            self._forget(path)
        if not (event.is_moved_from or event.is_delete) and path not in self._watches:
            self._watch_tree(path)

    def _watch_tree(self, path: bytes) -> None:
        """Watch a folder first, list it then: what comes in between has an event, or is found, or both."""
        pending = [path]
        while pending:
            folder = pending.pop()
            if self._watch(folder):
                pending += self._folders_in(folder)

    def _folders_in(self, folder: bytes) -> Iterator[bytes]:
        prefix = folder + b"/" if folder else b""
        try:
            with os.scandir(self._full(folder)) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return  # gone, which has an event of its own, or not for us to read
        for name in names:
            if self._is_interesting(prefix + name, True):
                yield prefix + name

    def _full(self, path: bytes) -> bytes:
        return self._root + b"/" + path if path else self._root

    def _watch(self, path: bytes) -> bool:
        """Watch one folder; False where that cannot be."""
        # A number of its own for each call: watchdog prints a warning with its whole table for a known one.
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
            if wd == -1:  # permission denied: watchdog goes on as if it had a watch
                self._inotify.remove_callbacks([(wd, number)])
                return False
            self._note(path, wd, number)
            return True

    def _note(self, path: bytes, wd: WatchDescriptor, number: CallbackId) -> None:
        """Remember a new watch: one for each path, one path for each."""
        if (known := self._paths.get(wd)) is not None:  # the same folder, perhaps by the name it had
            self._inotify.remove_callbacks([(wd, number)])
            _, number = self._watches.pop(known)
        if (other := self._watches.pop(path, None)) is not None:  # a folder that is gone, still held open
            del self._paths[other[0]]
            self._inotify.remove_callbacks([other])
        self._paths[wd] = path
        self._watches[path] = wd, number

    def _forget(self, path: bytes) -> None:
        with self._changing:
            self._unwatched.discard(path)
            if not self._closed and (watch := self._watches.pop(path, None)) is not None:
                del self._paths[watch[0]]
                self._inotify.remove_callbacks([watch])

    def _forget_tree(self, folder: bytes) -> None:
        below = folder + b"/"
        with self._changing:
            known = [*self._watches, *self._unwatched]
        for path in known:
            if path == folder or path.startswith(below):
                self._forget(path)


def _open_inotify() -> InotifyFD:
    # Local: only who watches pays for it. The message of a full queue comes by `on_queue_overflow`
    # too; without a handler Python would print it on a screen that belongs to somebody else.
    logging.getLogger("watchdog").addHandler(SILENCE)
    try:
        from watchdog.observers.inotify_c import InotifyFD
    except Exception as error:  # without inotify, libc and ctypes fail each in their own way
        raise NoEventsError(f"there is no inotify: {error}") from error
    try:
        return InotifyFD()
    except OSError as error:
        if error.errno == errno.EMFILE:
            reason = "the system's limit of inotify instances is reached (fs.inotify.max_user_instances)"
            raise NoEventsError(reason) from error
        raise NoEventsError(f"inotify: {error.strerror}") from error


def _masks() -> tuple[Mask, Mask]:
    """What is wanted to be known of the root, and of folders below it.

    Nothing about opening and reading: our own scan would cause events without end.
    """
    from watchdog.observers.inotify_c import InotifyConstants as Flag

    changes = Flag.IN_CREATE | Flag.IN_DELETE | Flag.IN_MOVE | Flag.IN_MODIFY | Flag.IN_CLOSE_WRITE
    both = changes | Flag.IN_ATTRIB | Flag.IN_ONLYDIR
    root = both | Flag.IN_DELETE_SELF | Flag.IN_MOVE_SELF
    return cast("Mask", root), cast("Mask", both | Flag.IN_DONT_FOLLOW)
