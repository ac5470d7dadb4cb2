"""Publishes indexing status: live.json, callbacks, final summary.

live.json in the data folder describes the indexing process to every screen. It is replaced as a whole,
only when something changed and a few times a second at most. It repeats nothing that the index itself
contains, and no decision depends on it.
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
from kebab_tui.domain.document import OtherFiles
from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.ids import SourceId
from kebab_tui.indexing.callbacks import WatchCallbacks
from kebab_tui.indexing.embed import EmbeddingProgress
from kebab_tui.indexing.report import NoteChange, Outcome
from kebab_tui.indexing.watcher import WatchKind
from kebab_tui.own_files import ChangeCheck
from kebab_tui.storage.ports import Index

_INTERVAL_S = 0.2
_PADDED = 4096
_MOST_BYTES = 16 << 20
_HIGHEST_PID = (1 << 31) - 1
"""Higher values overflow in system calls."""
_FRESH_S = 5.0
"""A process that yielded the lock touches the file every second."""

PhaseKind = Literal["idle", "reading", "embedding"]


@dataclass(frozen=True, slots=True)
class FolderState:
    """How the folder of a source is watched; `reason` is empty if every change has an event."""

    source: SourceId
    root: str
    kind: WatchKind
    reason: str
    directories: int


@dataclass(frozen=True, slots=True)
class Phase:
    """Current work: reading notes or embedding texts; `total` is 0 while unknown."""

    kind: PhaseKind = "idle"
    done: int = 0
    total: int = 0
    rate: float = 0.0
    seconds_left: float | None = None


IDLE = Phase()


@dataclass(frozen=True, slots=True)
class LastChange:
    """The latest committed note. `saved_ns` is None if its file was deleted."""

    path: str
    outcome: Outcome
    saved_ns: int | None
    committed_ns: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """A current error that stops indexing."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class LiveState:
    """`pending`: queued paths. `failed`: unreadable notes.

    `given_way_to`: the process that owns the lock meanwhile; empty while this one does. `once`: this
    process ends when everything is indexed.
    """

    pid: int
    folders: tuple[FolderState, ...] = ()
    pending: int = 0
    failed: int = 0
    phase: Phase = IDLE
    last: LastChange | None = None
    error: Trouble | None = None
    given_way_to: str = ""
    upgrading: tuple[int, int] | None = None
    """How many notes the present version has read, and of how many; None if all."""
    once: bool = False
    other_files: OtherFiles = OtherFiles()
    """As counted by the last scan of each folder."""


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """Totals of one run; counts changed notes only."""

    counts: dict[Outcome, int] = field(default_factory=dict)
    chunks_added: int = 0
    chunks_removed: int = 0
    seconds: float = 0.0
    failed: int = 0
    """Notes that could not be read."""


def live_path(folder: str) -> str:
    """The file with the status of the indexing process."""
    return os.path.join(folder, "live.json")


class StatusPublisher:
    """Called by the indexing thread only; changes nothing in the index."""

    def __init__(
        self,
        index: Index,
        callbacks: WatchCallbacks,
        folders: Callable[[], tuple[FolderState, ...]],
        pending: Callable[[], int],
        *,
        once: bool = False,
    ) -> None:
        self._callbacks = callbacks
        self._folders = folders
        self._pending = pending
        self._file = LiveFile(index.folder, callbacks.state)
        self._began = time.monotonic()
        self._counts: Counter[Outcome] = Counter()
        self._chunks_added = 0
        self._chunks_removed = 0
        self.state = LiveState(os.getpid(), once=once)
        """All but the folders and the number of queued paths."""

    def publish(self, *, at_once: bool = False) -> None:
        """Write the state if it changed. Does nothing shortly after the last write; call again then."""
        if at_once or time.monotonic() >= self._file.not_before:
            phase = self.state.phase
            reading = phase.total - phase.done if phase.kind == "reading" else 0
            self._file.write(replace(self.state, folders=self._folders(), pending=self._pending() + reading))

    def changed(self, change: NoteChange) -> None:
        self._counts[change.outcome] += 1
        upgrading = self.state.upgrading
        if upgrading is not None and change.outcome in ("changed", "failed", "skipped"):
            done, total = upgrading  # counted anew when the folder is done
            upgrading = min(done + 1, total), total
        self._chunks_added += change.chunks_added
        self._chunks_removed += change.chunks_removed
        last = LastChange(change.path, change.outcome, change.saved_ns, change.committed_ns)
        self.state = replace(self.state, last=last, upgrading=upgrading)
        self._callbacks.changed(change)

    def embedding(self, progress: EmbeddingProgress) -> None:
        left = None if progress.seconds_left is None else round(progress.seconds_left, 1)
        self.work(Phase("embedding", progress.done, progress.total, round(progress.rate, 1), left))

    def work(self, phase: Phase = IDLE, *, at_once: bool = False) -> None:
        """What the process does now."""
        self.state = replace(self.state, phase=phase)
        self.publish(at_once=at_once)

    def report_error(self, error: KebabError) -> None:
        self.state = replace(self.state, error=Trouble(error.code, error.message, error.hint))
        self.publish(at_once=True)

    def clear_error(self, *codes: str) -> None:
        """Clear the current error if it has one of these codes."""
        if self.state.error is not None and self.state.error.code in codes:
            self.state = replace(self.state, error=None)

    def yielded_to(self, process: str) -> None:
        """Another process owns the lock; empty: this process does."""
        self.state = replace(self.state, given_way_to=process, phase=IDLE)
        self.publish(at_once=True)
        self._file.touch()

    def remove(self) -> None:
        self._file.remove()

    def summary(self) -> WatchSummary:
        return WatchSummary(
            dict(self._counts),
            self._chunks_added,
            self._chunks_removed,
            time.monotonic() - self._began,
            self.state.failed,
        )


class LiveFile:
    """Writes the state of one process; `on_change` gets the same states."""

    def __init__(
        self,
        folder: str,
        on_change: Callable[[LiveState], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = live_path(folder)
        self._on_change = on_change
        self._clock = clock
        self._written: LiveState | None = None
        self.not_before = 0.0
        """The next write should not be earlier."""

    def write(self, state: LiveState) -> None:
        """Write a state unless it equals the last one."""
        if state == self._written:
            return
        self._written, self.not_before = state, self._clock() + _INTERVAL_S
        data = json.dumps(asdict(state)).encode("ascii").ljust(_PADDED)
        try:
            own_files.replace(self._path, data, synced=False)
        except OSError:
            # A full disk has no space for another file, but this one can be overwritten.
            with contextlib.suppress(OSError):
                descriptor = os.open(self._path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                try:
                    os.write(descriptor, data)
                finally:
                    os.close(descriptor)
        self._on_change(state)

    def touch(self) -> None:
        """Mark this process as alive while it does not own the lock."""
        with contextlib.suppress(OSError):
            os.utime(self._path)

    def remove(self) -> None:
        """Remove the file, unless another process has replaced it."""
        current = self._written is not None and _read(self._path)
        self._written = None
        if current and current.pid == os.getpid():
            with contextlib.suppress(OSError):
                os.remove(self._path)


class LiveReader:
    """Polls the state; reads the file only after a write."""

    def __init__(self, index: Index, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = live_path(index.folder)
        self._file = ChangeCheck(self._path, clock=clock)
        self._lease = index.lease("write")
        self._last_read: LiveState | None = None

    def read(self) -> LiveState | None:
        """The state of the indexing process; None if none runs."""
        if self._file.may_have_changed():
            self._last_read = _read(self._path)
        state = self._last_read
        if state is None:
            return None
        if state.given_way_to:
            return state if _is_alive(state.pid) and _is_fresh(self._path) else None
        holder = self._lease.holder()  # none if the process was killed
        if holder is None or holder.pid != state.pid:
            return None
        try:
            with open(f"/proc/{state.pid}/stat", "rb", buffering=0) as handle:
                is_stopped = handle.read(4096).rpartition(b") ")[2][:1] in b"Tt"
        except OSError:
            is_stopped = False  # ended, or not Linux
        if not is_stopped:
            return state
        # Suspended, for example by Ctrl+Z: it owns the lock and does nothing.
        error = Trouble(
            "keeper_stopped",
            f"the indexing process is stopped: pid {state.pid}",
            f"resume it with `kill -CONT {state.pid}`, or end it with `kill -KILL {state.pid}`",
        )
        return replace(state, error=error)


def read_live(index: Index) -> LiveState | None:
    """Read the state once."""
    return LiveReader(index).read()


def will_resume(index: Index) -> bool:
    """Whether another process yielded the lock and will take it back in a moment."""
    path = live_path(index.folder)
    state = _read(path)
    if state is None or not state.given_way_to or state.pid == os.getpid():
        return False
    return _is_alive(state.pid) and _is_fresh(path)


def _read(path: str) -> LiveState | None:
    import msgspec  # slow to import; only readers need it

    try:
        state = msgspec.convert(own_files.read_json(path, _MOST_BYTES), LiveState)
    except (OSError, ValueError, msgspec.ValidationError):
        return None
    return state if 0 < state.pid <= _HIGHEST_PID else None


def _is_alive(pid: int) -> bool:
    if os.name == "nt":
        return True  # a signal would kill it; lock owner and freshness decide there
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _is_fresh(path: str) -> bool:
    try:
        return abs(time.time() - os.stat(path).st_mtime) < _FRESH_S  # the clock may be set back
    except OSError:
        return False
