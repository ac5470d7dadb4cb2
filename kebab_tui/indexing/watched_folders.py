"""The watches of all sources: begun and ended as sources come and go.

Knows which paths are worth an event, by the rules of the walk. Reads no note.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace

from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.document import Source
from kebab_tui.domain.ids import SourceId
from kebab_tui.files.exclusion import PathScanner
from kebab_tui.files.walk import WalkRules
from kebab_tui.indexing.live_state import FolderState
from kebab_tui.indexing.path_queue import PathQueue
from kebab_tui.indexing.watching import FolderWatch


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
