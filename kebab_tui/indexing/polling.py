"""Finds changed files by looking: for folders of which the system announces nothing.

Compares stamps with those of the last look and reports the paths that differ. Remembers
one number for each file, reads none, follows no link.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from kebab_tui.indexing.watch_events import IsInteresting


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
