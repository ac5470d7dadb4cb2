"""What keeping watch is at, gathered for people: the live file, the callbacks, the sums at the end.

Told by the one thread that keeps watch; changes nothing in the index.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from kebab_tui import own_files
from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.ids import SourceId
from kebab_tui.indexing.embed import EmbeddingProgress
from kebab_tui.indexing.report import NoteChange, Outcome, Progress, WatchCallbacks
from kebab_tui.indexing.watcher import WatchKind
from kebab_tui.storage.lock import DataFolder, WriterLock
from kebab_tui.storage.requests import ChangeCheck

# What the process that keeps the index in step tells of itself, in one small file of the data folder.
#
# For people: every screen shows it, its own and those of other processes. Decides nothing,
# and says nothing that the index itself says. The file is replaced as a whole, a few times
# a second at most and only when something is different.

_APART_S = 0.2
_PADDED = 4096
_MOST_BYTES = 16 << 20
_HIGHEST_PID = (1 << 31) - 1
"""The system is not asked about a higher one: it does not fit."""
_FRESH_S = 5.0
"""Who has given way says every second that it is still there."""

PhaseKind = Literal["idle", "reading", "embedding"]


@dataclass(frozen=True, slots=True)
class FolderState:
    """How well the folder of a source is watched, and why not better."""

    source: SourceId
    root: str
    kind: WatchKind
    reason: str
    directories: int


@dataclass(frozen=True, slots=True)
class Phase:
    """What is being done now: notes read, or texts given their vectors; `total` is 0 while unknown."""

    kind: PhaseKind = "idle"
    done: int = 0
    total: int = 0
    rate: float = 0.0
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class LastChange:
    """The note that was committed last. `saved_ns` is None when its file is gone."""

    path: str
    outcome: Outcome
    saved_ns: int | None
    committed_ns: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """What keeps the index from being written, as long as it does."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class LiveState:
    """`pending`: paths that wait to be looked at. `failed`: notes that could not be read.

    `given_way_to`: the process that writes meanwhile; empty while this one does.
    """

    pid: int
    folders: tuple[FolderState, ...] = ()
    pending: int = 0
    failed: int = 0
    phase: Phase = Phase()
    last: LastChange | None = None
    error: Trouble | None = None
    given_way_to: str = ""


class LiveFile:
    """Where one process writes its state; `tell` is told of the same."""

    def __init__(
        self,
        folder: DataFolder,
        tell: Callable[[LiveState], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = folder.live
        self._tell = tell
        self._clock = clock
        self._shown: LiveState | None = None
        self._next = 0.0

    @property
    def is_due(self) -> bool:
        """Whether the last state has stood for long enough to be replaced."""
        return self._clock() >= self._next

    def show(self, state: LiveState) -> None:
        """Write a state if it says something new."""
        if state == self._shown:
            return
        self._shown, self._next = state, self._clock() + _APART_S
        _write(self._path, state)
        self._tell(state)

    def touch(self) -> None:
        """Say that this process is still there though it does not hold the lock."""
        with contextlib.suppress(OSError):
            os.utime(self._path)

    def remove(self) -> None:
        """Say nothing any more; what another process says by now in its place stays."""
        said = self._shown is not None and _read(self._path)
        self._shown = None
        if said and said.pid == os.getpid():
            with contextlib.suppress(OSError):
                os.remove(self._path)


class LiveReader:
    """Reads the state again and again; the file only when it was written since."""

    def __init__(self, folder: DataFolder, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._file = ChangeCheck(folder.live, clock=clock)
        self._lock = WriterLock(folder.lock)
        self._said: LiveState | None = None

    def read(self) -> LiveState | None:
        """The state of the process that keeps the index in step; None when none does."""
        if self._file.may_have_changed():
            self._said = _read(self._folder.live)
        state = self._said
        if state is None or not _lives(state.pid):
            return None
        if state.given_way_to:
            return state if _is_fresh(self._folder.live) else None
        holder = self._lock.holder()
        if holder is None or holder.pid != state.pid:
            return None
        return replace(state, error=_asleep(state.pid)) if _is_stopped(state.pid) else state


def read_live(folder: DataFolder) -> LiveState | None:
    """The same, once."""
    return LiveReader(folder).read()


def expected_back(folder: DataFolder) -> bool:
    """Whether another process has only given way, and takes the lock again in a moment."""
    state = _read(folder.live)
    if state is None or not state.given_way_to or state.pid == os.getpid():
        return False
    return _lives(state.pid) and _is_fresh(folder.live)


def _write(path: str, state: LiveState) -> None:
    data = json.dumps(asdict(state)).encode("ascii").ljust(_PADDED)
    try:
        own_files.replace(path, data, synced=False)
    except OSError:
        # On a full disk there is no room for another file, but there is within this one.
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)


def _read(path: str) -> LiveState | None:
    import msgspec

    try:
        state = msgspec.convert(own_files.read_json(path, _MOST_BYTES), LiveState)
    except (OSError, ValueError, msgspec.ValidationError):
        return None
    return state if 0 < state.pid <= _HIGHEST_PID else None


def _lives(pid: int) -> bool:
    if os.name == "nt":
        return True  # a signal would end it there; whether it holds the lock or is fresh says as much
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _is_stopped(pid: int) -> bool:
    """Whether somebody has stopped a process, by ctrl+z for one: it holds the lock and does nothing."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as handle:
            return handle.read(4096).rpartition(b") ")[2][:1] in b"Tt"
    except OSError:
        return False  # gone by now, or no Linux


def _asleep(pid: int) -> Trouble:
    return Trouble(
        "keeper_stopped",
        f"the process that keeps watch is stopped: pid {pid}",
        f"let it go on with `kill -CONT {pid}`, or end it with `kill -KILL {pid}`",
    )


def _is_fresh(path: str) -> bool:
    try:
        return abs(time.time() - os.stat(path).st_mtime) < _FRESH_S  # a clock may be set back
    except OSError:
        return False


_IDLE = Phase()


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """What a time of watching came to; only notes that changed are counted."""

    counts: dict[Outcome, int] = field(default_factory=dict)
    chunks_added: int = 0
    chunks_removed: int = 0
    seconds: float = 0.0


class StatusPublisher:
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
