"""Keeps watch over one folder, whatever happens to it, and fills the queue with its paths.

Events where the system gives them, a look now and then where it does not, patience while
the folder is away; each said in `WatchState`. Reads no note, writes nothing into the
folder, decides nothing about what a change means.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kebab_tui.indexing.inotify import IsInteresting, NoEventsError, TreeEvents
from kebab_tui.indexing.observer import ObserverEvents
from kebab_tui.indexing.path_queue import PathQueue

# Finds changed files by looking: for folders of which the system announces nothing.
#
# Compares stamps with those of the last look and reports the paths that differ. Remembers
# one number for each file, reads none, follows no link.


class TreePoll:
    """The files below some folders of a root, as they were at the last look."""

    def __init__(self, root: bytes, is_interesting: IsInteresting, cancelled: Callable[[], bool]) -> None:
        self._root = root
        self._is_interesting = is_interesting
        self._cancelled = cancelled
        self._stamps: dict[bytes, int] = {}
        self.directories = 0
        """How many folders the last look went through."""

    def look(self, subtrees: Iterable[bytes]) -> list[bytes]:
        """Go through some folders; gives what came, went or changed since the look before."""
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
            for entry in self._entries(folder):
                path = folder + b"/" + entry.name if folder else entry.name
                is_dir = entry.is_dir(follow_symlinks=False)
                if not self._is_interesting(path, is_dir):
                    continue
                if is_dir:
                    pending.append(path)
                elif (stamp := _stamp(entry)) is not None:
                    yield path, stamp

    def _entries(self, folder: bytes) -> list[os.DirEntry[bytes]]:
        try:
            with os.scandir(self._root + b"/" + folder if folder else self._root) as entries:
                self.directories += 1
                return list(entries)
        except OSError:
            return []  # what was in it is reported as gone; who looks closer finds out


def _stamp(entry: os.DirEntry[bytes]) -> int | None:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return hash((found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino))


# What a root stands on: which folder it is, on which mount, and what is mounted within it.
#
# An unmounted disk leaves an empty folder under the same name; only by this does it
# differ from a folder whose notes were all deleted. Reads the mount table and the
# folder's own entry, nothing in it.

_MOUNTS = "/proc/self/mountinfo"
_OCTAL = re.compile(rb"\\([0-7]{3})")
_REMOTE = re.compile(
    r"nfs4?|cifs|smb3?|smbfs|9p|virtiofs|ceph|glusterfs|lustre|afs|coda|davfs|ncpfs|vboxsf|prl_fs|vmhgfs"
    r"|fuse\..*"  # not `fuseblk`: that is a local disk
)


@dataclass(frozen=True, slots=True)
class Mount:
    number: int
    point: bytes
    kind: str

    @property
    def is_remote(self) -> bool:
        """Whether others can change files on it that our system then does not announce."""
        return _REMOTE.fullmatch(self.kind) is not None


@dataclass(frozen=True, slots=True)
class RootPlace:
    device: int
    inode: int
    holder: Mount
    """The mount that the root lies on."""
    within: frozenset[Mount] = frozenset()

    def has_lost_its_disk(self, now: RootPlace) -> bool:
        """Whether `now`, under the same path, is only what a mount had covered."""
        return now.holder.point != self.holder.point and _holds(now.holder.point, self.holder.point)


_EVERYTHING = Mount(0, b"/", "")


def place_of(root: bytes) -> RootPlace:
    """Look at a root; OSError where it is no folder whose entries can be seen."""
    with os.scandir(root):
        here = os.stat(root)
    holder, within = _EVERYTHING, set()
    path = os.path.realpath(root)
    for mount in _mounts():
        if mount.point != path and _holds(path, mount.point):
            within.add(mount)
        elif _holds(mount.point, path) and len(mount.point) >= len(holder.point):
            holder = mount  # of several on one point the last one lies on top
    return RootPlace(here.st_dev, here.st_ino, holder, frozenset(within))


def _holds(folder: bytes, path: bytes) -> bool:
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def _mounts() -> list[Mount]:
    try:
        descriptor = os.open(_MOUNTS, os.O_RDONLY)  # read each second: a buffered file costs twice the calls
    except OSError:
        return []  # not Linux, or no /proc: one file system then
    try:
        table = b"".join(iter(lambda: os.read(descriptor, 1 << 16), b""))
    finally:
        os.close(descriptor)
    return [_mount(line) for line in table.split(b"\n") if line]


def _mount(line: bytes) -> Mount:
    """`36 35 98:0 /root /point options [optional…] - kind source options`."""
    fields = line.split()
    point = _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), fields[4])
    return Mount(int(fields[0]), point, fields[fields.index(b"-", 6) + 1].decode())


EVENTS: type[TreeEvents | ObserverEvents] = TreeEvents if sys.platform == "linux" else ObserverEvents
WatchKind = Literal["live", "partial", "polling", "paused"]


@dataclass(frozen=True, slots=True)
class WatchState:
    """How well a folder is watched, for people."""

    kind: WatchKind
    """`live`: every change is heard at once. `partial`: some folders are only looked at now
    and then. `polling`: all of them are. `paused`: the folder is not there."""
    reason: str = ""
    """Why it is not live; empty when it is."""
    directories: int = 0
    """Folders that are heard at once."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a watch does what costs something, in seconds."""

    beat: float = 1.0
    """Between two looks whether the root is still there: one `stat`."""
    poll: float = 5.0
    """Between two looks at unheard folders, at least."""
    poll_at_most: float = 60.0
    rest: float = 100.0
    """So many times as long as a look took is the pause after it: 1 % of a processor."""
    sleep: float = 5.0
    """A computer that slept for longer may find its disks changed."""


class FolderWatch:
    """Keeps watch over one root from `start` to `stop`.

    Start it before the first scan: a file that is written in between is then in the
    queue. Later it asks for what it needs by itself: a subtree for a folder that came or
    went, a reconcile after events were lost or the root was away. Every change of state
    wakes the queue.

    `is_interesting` is asked for each path that has an event, and for each folder
    before it is watched: relative to the root, raw bytes, and whether it is a folder. It
    judges by names and rules, for the path may be gone; it is called from several threads, must be
    quick, and says yes to the ignore files too. What lies below an uninteresting folder
    is never asked for, watched or queued.
    """

    def __init__(
        self, queue: PathQueue, root: str, is_interesting: IsInteresting, pace: Pace | None = None
    ) -> None:
        self._queue = queue
        self._root = root
        self._is_interesting = is_interesting
        self._pace = pace or Pace()
        self._state = WatchState("paused", "not started")
        self._place: RootPlace | None = None
        """Where the root was when its watches were set."""
        self._events: TreeEvents | ObserverEvents | None = None
        self._no_events = ""
        self._poll: TreePoll | None = None
        self._next_poll = 0.0
        self._to_renew = ""
        self._next_renewal = 0.0
        self._slept = _slept_s()
        self._stopping = False
        self._signal = threading.Event()
        self._thread = threading.Thread(target=self._attend, name=f"watch {root}", daemon=True)

    def start(self) -> None:
        """Begin; returns when the watches stand. Never raises: see `state`."""
        self._begin()
        self._thread.start()

    def stop(self) -> None:
        """End, within a fraction of a second; nothing is queued afterwards."""
        self._stopping = True
        self._signal.set()
        if self._events is not None:
            self._events.close()
        if self._thread.is_alive():
            self._thread.join(0.1)  # longer only while a disk does not answer
        self._end_events()

    def state(self) -> WatchState:
        """The present state, from memory."""
        events = self._events
        return self._state if events is None else replace(self._state, directories=events.directories)

    def is_there(self) -> bool:
        """Look whether the root is the folder that is watched, at this moment.

        Ask before anything in it is taken for gone: an unmounted disk leaves an empty
        folder. After a no, what was to be done may be dropped: a reconcile is queued when the
        folder is back.
        """
        try:
            return self._state.kind != "paused" and place_of(os.fsencode(self._root)) == self._place
        except OSError:
            return False

    def renew(self, why: str) -> None:
        """Set all watches anew, in the background, then ask for a reconcile: the ignore rules changed."""
        self._to_renew = why
        self._signal.set()

    def _attend(self) -> None:
        while not self._stopping:
            self._signal.wait(self._pace.beat)
            self._signal.clear()
            if not self._stopping:
                self._look_after()

    def _look_after(self) -> None:
        """Set right what is wrong with the watch, and look where nothing is heard."""
        if trouble := self._trouble_with_root():
            self._pause(trouble)
            return
        self._mind_sleep()
        if self._state.kind == "paused":
            self._begin_again("the folder is back")
        elif self._events is not None and not self._events.is_alive():
            self._begin_again("the watch had ended")
        elif self._to_renew and time.monotonic() >= self._next_renewal:
            self._begin_again(self._to_renew)
        elif time.monotonic() >= self._next_poll and (self._poll is not None or self._unheard()):
            self._look_around()

    def _trouble_with_root(self) -> str:
        try:
            now = place_of(os.fsencode(self._root))
        except OSError as error:
            return f"the folder cannot be read: {error.strerror}"
        if self._place is not None and self._place.has_lost_its_disk(now):
            return "the disk that the folder is on is not mounted"
        if self._place is not None and self._place != now:
            self._to_renew = self._to_renew or "another folder took its place"
        return ""

    def _mind_sleep(self) -> None:
        """While the computer sleeps others may write to its disks, and nobody announces that."""
        slept = _slept_s()
        if slept - self._slept > self._pace.sleep:
            self._queue.reconcile(self._root, "the computer was asleep")
        self._slept = slept

    def _pause(self, reason: str) -> None:
        self._end_events()
        self._poll = None
        self._set_state(WatchState("paused", reason))

    def _begin_again(self, why: str) -> None:
        self._to_renew = ""
        self._end_events()
        started = time.monotonic()
        self._begin()
        now = time.monotonic()
        # A flood that never ends must not have all watches set again and again.
        self._next_renewal = now + max(self._pace.beat, 10 * (now - started))
        if self._state.kind != "paused" and not self._stopping:
            self._queue.reconcile(self._root, why)

    def _begin(self) -> None:
        """Set watches on what is there; paused where nothing is."""
        try:
            self._place = place_of(os.fsencode(self._root))
        except OSError as error:
            self._pause(f"the folder cannot be read: {error.strerror}")
            return
        self._poll = None
        self._listen()
        # What is there now is for the scan that follows.
        self._look(self._unheard())

    def _listen(self) -> bool:
        """Set the watches; False where this system gives no events."""
        root = os.fsencode(self._root)
        try:
            events = EVENTS(root, self._is_interesting, self._report, self.renew)
            self._events = events  # reports while it starts
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

    def _look_around(self) -> None:
        """Look at the folders of which nothing is heard, after another try to hear them."""
        if self._events is not None:
            self._events.retry()
        elif self._listen():
            self._report(b"", True)
        unheard, first_look = self._unheard(), self._poll is None
        for path in self._look(unheard):
            self._report(path, False)
        if first_look:
            for folder in unheard:
                self._report(folder, True)

    def _unheard(self) -> tuple[bytes, ...]:
        if self._events is None or (self._place is not None and self._place.holder.is_remote):
            return (b"",)
        return self._events.unwatched()

    def _look(self, unheard: tuple[bytes, ...]) -> list[bytes]:
        """Look at some folders and say so; gives what changed since the last look, nothing at the first."""
        if not unheard:
            self._poll = None
            self._set_state(WatchState("live"))
            return []
        first_look = self._poll is None
        poll = self._poll or TreePoll(os.fsencode(self._root), self._is_interesting, lambda: self._stopping)
        started = time.monotonic()
        changed = poll.look(unheard)
        now = time.monotonic()
        pause = min(self._pace.poll_at_most, max(self._pace.poll, self._pace.rest * (now - started)))
        self._poll, self._next_poll = poll, now + pause
        self._set_state(self._state_of(unheard, poll.directories))
        return [] if first_look else changed

    def _state_of(self, unheard: tuple[bytes, ...], directories: int) -> WatchState:
        limit = "the system's limit of watched folders is reached (fs.inotify.max_user_watches)"
        if b"" not in unheard:
            return WatchState("partial", f"{limit}; the rest, {directories}, is only looked at now and then")
        if self._no_events:
            return WatchState("polling", self._no_events)
        if self._place is not None and self._place.holder.is_remote:
            kind = self._place.holder.kind
            return WatchState("polling", f"changes that others make on {kind} are not announced")
        return WatchState("polling", limit)

    def _set_state(self, state: WatchState) -> None:
        if state != self._state:
            self._state = state
            self._queue.wake()

    def _report(self, path: bytes, is_dir: bool) -> None:
        if not self._stopping:
            self._queue.add(self._root, path, is_dir)


def _slept_s() -> float:
    """How long the computer has been asleep in all; 0 where it does not tell."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return 0.0 if boot is None else time.clock_gettime(boot) - time.monotonic()
