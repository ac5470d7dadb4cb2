"""The watches of all sources: begun and ended as sources come and go.

Knows which paths are worth an event, by the rules of the walk. Reads no note.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import Generic, TypeVar

from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.document import Source
from kebab_tui.domain.ids import DocId, SourceId
from kebab_tui.files.walk import FoundFile, PathScanner, WalkProblem, WalkRules
from kebab_tui.indexing.path_queue import PathQueue
from kebab_tui.indexing.status import FolderState
from kebab_tui.indexing.watcher import FolderWatch
from kebab_tui.storage.sqlite.reader import StoreReader


class _Watched:
    """One source under watch."""

    def __init__(self, source: Source, queue: PathQueue, checkpoint: Checkpoint) -> None:
        self.source = source
        self._checkpoint = checkpoint
        self.watch = FolderWatch(queue, source.root, self._is_interesting)
        self.forget_rules()
        self.watch.start()

    def forget_rules(self) -> None:
        """Read the ignore files again from here on."""
        rules = WalkRules(self.source.include, self.source.exclude)
        self._looker = PathScanner(self.source.root, rules, self._checkpoint)

    def state(self) -> FolderState:
        state = self.watch.state()
        return FolderState(
            self.source.source_id, self.source.root, state.kind, state.reason, state.directories
        )

    def _is_interesting(self, path: bytes, is_folder: bool) -> bool:
        try:
            return self._looker.takes(os.fsdecode(path), is_folder=is_folder)
        except ReadingStopped:
            return False  # whatever is heard now is for the next process to find


class WatchedFolders:
    def __init__(self, queue: PathQueue, stopping: Callable[[], bool]) -> None:
        self._queue = queue
        self._checkpoint = Checkpoint(stopping=stopping)
        self._watched: dict[SourceId, _Watched] = {}

    def follow(self, sources: Iterable[Source]) -> list[Source]:
        """Watch these sources and no others; gives those of which nothing was heard so far."""
        wanted = {source.source_id: _declared(source) for source in sources}
        for name, watched in list(self._watched.items()):
            if wanted.get(name) != watched.source:
                self._watched.pop(name).watch.stop()
        news = [source for name, source in wanted.items() if name not in self._watched]
        for source in news:
            self._watched[source.source_id] = _Watched(source, self._queue, self._checkpoint)
        return news

    def source_at(self, root: str) -> Source | None:
        found = (watched.source for watched in self._watched.values())
        return next((source for source in found if source.root == root), None)

    def sources(self) -> list[Source]:
        return [watched.source for watched in self._watched.values()]

    def is_there(self, source: Source) -> bool:
        """Whether the watched folder stands in its place: to be asked before a note is taken for gone."""
        return self._watched[source.source_id].watch.is_there()

    def states(self) -> tuple[FolderState, ...]:
        return tuple(watched.state() for watched in self._watched.values())

    def rules_changed(self, source: Source) -> None:
        """An ignore file did: other folders may be worth a watch, and all notes another look."""
        watched = self._watched[source.source_id]
        watched.forget_rules()
        watched.watch.renew("the rules of what is ignored changed")

    def folders_changed(self, source: Source) -> None:
        """Folders came or went, with ignore files of their own perhaps."""
        self._watched[source.source_id].forget_rules()

    def stop(self) -> None:
        while self._watched:
            self._watched.popitem()[1].watch.stop()


def _declared(source: Source) -> Source:
    """Without what the notes tell of it."""
    return replace(source, state="new", documents=0, chunks=0)


# When all folders are to be looked at though nothing was heard of them.
#
# After the machine has slept, because nobody told what happened meanwhile; and now and
# then, because no way of hearing is perfect.

EVERY_S = 600.0
_ASLEEP_S = 1.0


def _asleep() -> float:
    """Seconds that the machine has slept since it was started, as far as it tells."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return 0.0 if clock is None else time.clock_gettime(clock) - time.monotonic()


class PeriodicRescan:
    def __init__(
        self, clock: Callable[[], float] = time.monotonic, asleep: Callable[[], float] = _asleep
    ) -> None:
        self._clock = clock
        self._asleep = asleep
        self._slept = asleep()
        self._last = clock()

    def due(self) -> str:
        """Why everything is to be looked at now; empty: it is not."""
        now, slept = self._clock(), self._asleep()
        if slept - self._slept > _ASLEEP_S:
            self._slept, self._last = slept, now
            return "the machine was asleep"
        if now - self._last >= EVERY_S:
            self._last = now
            return "a look now and then"
        return ""


# What went wrong and is tried again: soon at first, then with longer and longer pauses.
#
# A folder that cannot be read or is not there stays in the index as it was; nobody tells
# when it is readable again.

FIRST_S, LONGEST_S = 1.0, 30.0

Key = TypeVar("Key", bound=Hashable)


class Retries(Generic[Key]):
    """Times at which things are due again; forgetting one is having succeeded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[Key, tuple[float, float]] = {}

    def failed(self, key: Key) -> None:
        """A failure before its time, for other reasons, does not put off the next try."""
        now = self._clock()
        when, pause = self._next.get(key, (0.0, FIRST_S / 2))
        if when <= now:
            pause = min(2 * pause, LONGEST_S)
            self._next[key] = now + pause, pause

    def succeeded(self, key: Key) -> None:
        self._next.pop(key, None)

    def due(self) -> list[Key]:
        """What is to be tried now; it has to be said how each went."""
        now = self._clock()
        return [key for key, (when, _) in self._next.items() if when <= now]

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._next))

    def stuck(self) -> list[Key]:
        """What went wrong again when it was tried again."""
        return [key for key, (_, pause) in self._next.items() if pause > FIRST_S]

    def holds(self, key: Key) -> bool:
        """Whether something is set aside and not yet due."""
        return key in self._next and self._next[key][0] > self._clock()

    def all_now(self) -> None:
        """Somebody says that it is worth trying."""
        self._next = dict.fromkeys(self._next, (0.0, FIRST_S / 2))


# What single paths need that a look at the whole folder does not: few questions, the same answers.
#
# Finds what stands at the paths by the rules of the walk and knows ids without listing all
# of them. Decides nothing; `reconcile` compares, as it does for a whole folder.


def scan_paths(
    source: Source, places: Iterable[bytes], checkpoint: Checkpoint
) -> Iterator[FoundFile | WalkProblem]:
    """The notes that stand at these paths now, or below those that are folders."""
    looker = PathScanner(source.root, WalkRules(source.include, source.exclude), checkpoint)
    for place in places:
        yield from looker.look(os.fsdecode(place))


def topmost(paths: Iterable[bytes]) -> tuple[bytes, ...]:
    """The paths without those that lie below another one, in their order."""
    every = dict.fromkeys(paths)
    return tuple(path for path in every if not any(folder in every for folder in above(path)))


def above(path: bytes) -> Iterator[bytes]:
    """The folders that hold a path, the root last."""
    while path:
        path = path.rpartition(b"/")[0]
        yield path


class UsedIds:
    """The ids that a new note may not get: those of the index, and those given out since."""

    def __init__(self, reader: StoreReader) -> None:
        self._reader = reader
        self._given: set[DocId] = set()

    def __contains__(self, doc_id: object) -> bool:
        if doc_id in self._given:
            return True
        with self._reader.catalogue() as catalogue:
            return isinstance(doc_id, str) and catalogue.has_document(DocId(doc_id))

    def add(self, doc_id: DocId) -> None:
        self._given.add(doc_id)
