"""Watches the folders of all sources, and schedules periodic scans and retries.

Filters events by the rules of the walk. Reads no note.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.document import Source
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.ignore import IGNORE_FILES
from kebab_tui.files.walk import PathScanner, WalkRules
from kebab_tui.indexing.path_queue import PathBatch, PathQueue
from kebab_tui.indexing.status import FolderState
from kebab_tui.indexing.watcher import FolderWatch

EVERY_S = 600.0
FIRST_S, LONGEST_S = 1.0, 30.0
_ASLEEP_S = 1.0
_IGNORE_FILES = tuple(map(os.fsencode, IGNORE_FILES))

Key = TypeVar("Key", bound=Hashable)


class WatchedFolders:
    def __init__(self, queue: PathQueue, stopping: Callable[[], bool]) -> None:
        self._queue = queue
        self._checkpoint = Checkpoint(stopping=stopping)
        self._watched: dict[SourceId, _Watched] = {}

    def follow(self, sources: Iterable[Source]) -> list[Source]:
        """Watch exactly these sources; returns the new ones."""
        # Counts and states change with the notes; the watch does not depend on them.
        wanted = {s.source_id: replace(s, state="new", documents=0, chunks=0) for s in sources}
        for name, watched in list(self._watched.items()):
            if wanted.get(name) != watched.source:
                self._watched.pop(name).watch.stop()
        added = [source for name, source in wanted.items() if name not in self._watched]
        for source in added:
            self._watched[source.source_id] = _Watched(source, self._queue, self._checkpoint)
        return added

    def source_at(self, root: str) -> Source | None:
        return next((source for source in self.sources() if source.root == root), None)

    def sources(self) -> list[Source]:
        return [watched.source for watched in self._watched.values()]

    def is_there(self, source: Source) -> bool:
        """Whether the watched folder is still in place; check before treating notes as deleted."""
        return self._watched[source.source_id].watch.is_there()

    def states(self) -> tuple[FolderState, ...]:
        return tuple(watched.state() for watched in self._watched.values())

    def scanner(self, source: Source, batch: PathBatch) -> PathScanner:
        """The rules of a source, for its watch and for the scan of a batch; read again if they may differ."""
        watched = self._watched[source.source_id]
        ignore_files_changed = any(path.rpartition(b"/")[2] in _IGNORE_FILES for path in batch.paths)
        if batch.whole or batch.subtrees or ignore_files_changed:  # a folder may contain ignore files
            watched.read_rules()
        if ignore_files_changed:
            watched.watch.renew("the ignore rules changed")  # watch other folders and scan all notes
        return watched.scanner

    def stop(self) -> None:
        while self._watched:
            self._watched.popitem()[1].watch.stop()


class _Watched:
    """One watched source."""

    def __init__(self, source: Source, queue: PathQueue, checkpoint: Checkpoint) -> None:
        self.source = source
        self._checkpoint = checkpoint
        self.watch = FolderWatch(queue, source.root, self._is_interesting)
        self.read_rules()
        self.watch.start()

    def read_rules(self) -> None:
        rules = WalkRules(self.source.include, self.source.exclude)
        self.scanner = PathScanner(self.source.root, rules, self._checkpoint)

    def state(self) -> FolderState:
        state = self.watch.state()
        return FolderState(
            self.source.source_id, self.source.root, state.kind, state.reason, state.directories
        )

    def _is_interesting(self, path: bytes, is_folder: bool) -> bool:
        try:
            return self.scanner.takes(os.fsdecode(path), is_folder=is_folder)
        except ReadingStopped:
            return False  # the next process will scan everything


def _seconds_asleep() -> float:
    """Total sleep of the machine since boot; 0 if the system does not report it."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return 0.0 if clock is None else time.clock_gettime(clock) - time.monotonic()


class PeriodicRescan:
    """When to scan all folders without an event.

    After the machine slept, because other machines may have written to its disks; and periodically,
    because no event source is perfect.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        seconds_asleep: Callable[[], float] = _seconds_asleep,
    ) -> None:
        self._clock = clock
        self._seconds_asleep = seconds_asleep
        self._slept = seconds_asleep()
        self._last = clock()

    def due(self) -> str:
        """The reason to scan now; empty if there is none."""
        now, slept = self._clock(), self._seconds_asleep()
        if slept - self._slept > _ASLEEP_S:
            self._slept, self._last = slept, now
            return "the computer was asleep"
        if now - self._last >= EVERY_S:
            self._last = now
            return "periodic scan"
        return ""


class Retries(Generic[Key]):
    """Retry times with exponential backoff."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[Key, tuple[float, float]] = {}

    def failed(self, key: Key) -> None:
        """Schedule a retry. A failure before the scheduled time does not delay it."""
        now = self._clock()
        when, pause = self._next.get(key, (0.0, FIRST_S / 2))
        if when <= now:
            pause = min(2 * pause, LONGEST_S)
            self._next[key] = now + pause, pause

    def succeeded(self, key: Key) -> None:
        self._next.pop(key, None)

    def due(self) -> list[Key]:
        """Keys to retry now; report each result with `failed` or `succeeded`."""
        now = self._clock()
        return [key for key, (when, _) in self._next.items() if when <= now]

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._next))

    def stuck(self) -> list[Key]:
        """Keys whose retry failed, too."""
        return [key for key, (_, pause) in self._next.items() if pause > FIRST_S]

    def is_waiting(self, key: Key) -> bool:
        """Whether a retry is scheduled and not yet due."""
        return key in self._next and self._next[key][0] > self._clock()

    def all_now(self) -> None:
        """Make all retries due."""
        self._next = dict.fromkeys(self._next, (0.0, FIRST_S / 2))
