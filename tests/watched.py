"""A folder under watch, and what its queue gives until something is seen. Nothing sleeps."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kebab_tui.indexing.inotify import IsInteresting
from kebab_tui.indexing.path_queue import PathQueue
from kebab_tui.indexing.watcher import FolderWatch, WatchIntervals, WatchState

QUICK = WatchIntervals(beat=0.05, poll=0.05)
_PATIENCE_S = 60.0


def visible_notes(path: bytes, is_dir: bool) -> bool:
    """Folders and Markdown notes, as long as nothing about them is hidden."""
    hidden = any(step.startswith(b".") for step in path.split(b"/"))
    return not hidden and (is_dir or path.endswith(b".md"))


class Watched:
    """Collects what is taken: `paths`, `subtrees` and `whole` (the reasons) so far."""

    def __init__(self, root: str, is_interesting: IsInteresting, pace: WatchIntervals) -> None:
        self.queue = PathQueue()
        self.watch = FolderWatch(self.queue, root, is_interesting, pace)
        self.forget()

    def forget(self) -> None:
        self.paths: list[bytes] = []
        self.subtrees: list[bytes] = []
        self.whole: list[str] = []

    def until(self, seen: Callable[[], object]) -> None:
        """Take what is due until the wanted has come."""
        end = time.monotonic() + _PATIENCE_S
        while not seen():
            assert time.monotonic() < end, (self.paths, self.subtrees, self.whole, self.watch.state())
            self.queue.wait(0.2)
            self.take()

    def until_path(self, path: bytes) -> None:
        self.until(lambda: path in self.paths)

    def until_subtree(self, path: bytes) -> None:
        self.until(lambda: path in self.subtrees)

    def until_state(self, kind: str) -> WatchState:
        self.until(lambda: self.watch.state().kind == kind)
        return self.watch.state()

    def knows(self, path: bytes) -> bool:
        """Whether a path was taken, or something that holds it."""
        above = (path[:place] for place, byte in enumerate(path) if byte == ord("/"))
        return bool(self.whole) or path in self.paths or not set(self.subtrees).isdisjoint(above)

    def take(self) -> None:
        for batch in self.queue.take():
            self.paths += batch.paths
            self.subtrees += batch.subtrees
            self.whole += [batch.whole] if batch.whole else []


@contextmanager
def watched(
    root: Path | bytes | str, is_interesting: IsInteresting = visible_notes, pace: WatchIntervals = QUICK
) -> Iterator[Watched]:
    folder = Watched(os.fsdecode(root), is_interesting, pace)
    folder.watch.start()
    try:
        yield folder
    finally:
        folder.watch.stop()
