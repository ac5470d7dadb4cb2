"""The notes opened lately, kept in the data folder.

Stores the ids of 100 notes, each once, newest first; a note keeps its id when its file is
renamed. The file is replaced atomically and readable by its owner only. A damaged or unreadable
file counts as empty; if it cannot be written, the list lasts for the session.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable

from kebab_tui import own_files
from kebab_tui.domain.ids import DocId

MOST = 100
FILE = "recent.txt"
_LARGEST = 1 << 16
_ID = re.compile(r"[0-9a-f]{32}")


class RecentNotes:
    """The notes opened lately, newest first. `last`: the last one of this session."""

    def __init__(self, data_folder: str) -> None:
        self._path = os.path.join(data_folder, FILE)
        self.notes: tuple[DocId, ...] = _read(self._path)
        self.last: DocId | None = None

    def add(self, opened: Iterable[DocId]) -> None:
        """Put notes opened together in front."""
        opened = tuple(opened)
        if not opened:
            return
        self.last = opened[0]
        # Another window may have added some.
        self.notes = _distinct([*opened, *_read(self._path), *self.notes])
        with contextlib.suppress(OSError):  # opening a note is more important
            own_files.replace(self._path, "".join(f"{note}\n" for note in self.notes).encode(), synced=False)

    def offered(self, selected: DocId | None) -> tuple[DocId, ...]:
        """Newest first; but the first is neither the last one of this session nor the selected one."""
        other = next((note for note in self.notes if note not in (self.last, selected)), None)
        return self.notes if other is None else _distinct([other, *self.notes])


def _distinct(notes: Iterable[DocId]) -> tuple[DocId, ...]:
    return tuple(dict.fromkeys(notes))[:MOST]


def _read(path: str) -> tuple[DocId, ...]:
    try:
        lines = own_files.read(path, _LARGEST).decode("ascii").split("\n")
    except (OSError, ValueError):
        return ()
    return _distinct(DocId(line) for line in lines if _ID.fullmatch(line))
