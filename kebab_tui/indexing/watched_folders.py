"""Watches the folders of all sources, each with its ignore rules.

Filters events by the rules of the walk. Reads no note.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from kebab_tui.domain.checkpoint import Checkpoint, ReadingStopped
from kebab_tui.domain.document import Source
from kebab_tui.domain.ids import SourceId
from kebab_tui.domain.text import display_path
from kebab_tui.files.ignore import RULE_FILES
from kebab_tui.files.walk import PathScanner
from kebab_tui.indexing.path_queue import PathBatch, PathQueue
from kebab_tui.indexing.pipeline import Recipe
from kebab_tui.indexing.status import FolderState
from kebab_tui.indexing.watcher import FolderWatch, WatchState

_RULE_FILES = tuple(map(os.fsencode, RULE_FILES))


class WatchedFolders:
    """`without_events`: follow the sources, but watch nothing."""

    def __init__(
        self,
        queue: PathQueue,
        stopping: Callable[[], bool],
        recipe: Recipe | None = None,
        *,
        without_events: bool = False,
    ) -> None:
        self._recipe = recipe or Recipe()
        self._queue = None if without_events else queue
        self._checkpoint = Checkpoint(stopping=stopping)
        self._watched: dict[SourceId, WatchedSource] = {}
        self.by_root: dict[str, WatchedSource] = {}
        self.sources: list[Source] = []

    def follow(self, sources: Iterable[Source]) -> list[Source]:
        """Watch exactly these sources; returns the new ones."""
        # Counts and states change with the notes; the watch does not depend on them.
        wanted = {s.source_id: replace(s, state="new", documents=0, chunks=0) for s in sources}
        for name, watched in list(self._watched.items()):
            if wanted.get(name) != watched.source:
                self._watched.pop(name).stop()
        added = [source for name, source in wanted.items() if name not in self._watched]
        for source in added:
            self._watched[source.source_id] = WatchedSource(
                source, self._queue, self._recipe, self._checkpoint
            )
        self.by_root = {watched.source.root: watched for watched in self._watched.values()}
        self.sources = [watched.source for watched in self._watched.values()]
        for watched in self._watched.values():
            if watched.watch is not None:
                watched.watch.watched_together = len(self._watched)
        return added

    def stop(self) -> None:
        while self._watched:
            self._watched.popitem()[1].stop()
        self.by_root, self.sources = {}, []


class WatchedSource:
    """The watch of one source, and the one set of ignore rules for its events and its scans."""

    def __init__(
        self, source: Source, queue: PathQueue | None, recipe: Recipe, checkpoint: Checkpoint
    ) -> None:
        self.source = source
        self._rules = recipe.rules_of(source)
        self.rejected = ""
        """Why the last scan was rejected; empty if it was not."""
        self._checkpoint = checkpoint
        self._read_rules()
        self.watch = None if queue is None else FolderWatch(queue, source.root, self._is_interesting)
        if self.watch is not None:
            self.watch.start()

    def stop(self) -> None:
        if self.watch is not None:
            self.watch.stop()

    def scanner_for(self, batch: PathBatch) -> PathScanner:
        """The rules for the scan of a batch; read again if ignore files may have changed."""
        rules_changed = any(path.rpartition(b"/")[2] in _RULE_FILES for path in batch.paths)
        if batch.whole or batch.subtrees or rules_changed:  # a folder may contain ignore files
            self._read_rules()
        if rules_changed and self.watch is not None:
            self.watch.renew("the ignore rules changed")  # watch other folders and scan all notes
        return self._scanner

    def state(self, unreadable: Collection[bytes]) -> FolderState | None:
        """None if the folder is not watched and its last scan was accepted. `unreadable`: by the scans."""
        if self.watch is None and not self.rejected:
            return None
        state = WatchState("live") if self.watch is None else self.watch.state()
        kind, reason = state.kind, state.reason
        if kind != "paused" and self.rejected:
            kind, reason = "paused", self.rejected
        elif kind == "live" and unreadable:
            first, *others = (display_path(os.fsdecode(path)) or "." for path in unreadable)
            more = f" and {len(others)} more" if others else ""
            kind, reason = "partial", f"cannot be read: {first}{more}; retried periodically"
        return FolderState(self.source.source_id, self.source.root, kind, reason, state.directories)

    def _read_rules(self) -> None:
        self._scanner = PathScanner(self.source.root, self._rules, self._checkpoint)

    def _is_interesting(self, path: bytes, is_folder: bool) -> bool:
        try:
            return self._scanner.takes(os.fsdecode(path), is_folder=is_folder)
        except ReadingStopped:
            return False  # the next process will scan everything
