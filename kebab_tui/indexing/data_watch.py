"""Hears of changes in the data folder: commits, requests, a new status of the indexing process.

What changed is not told; the listener looks. File events save it from looking ten times a second, but it
should look now and then all the same: a system may have no events to give, and those of other machines
never arrive.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable

from kebab_tui.indexing.inotify import FolderEvents, NoEventsError, TreeEvents
from kebab_tui.indexing.observer import ObserverEvents
from kebab_tui.indexing.watcher import EVENTS

AGAIN_S = 10.0
"""Pause before the watch is tried again that the system refused, or that has ended."""


class DataFolderWatch:
    """Calls `changed` in a thread of its own, ten times a second at most.

    `contents`: also when a file in the folder changes, not only when one is added or removed.
    """

    def __init__(
        self, folders: tuple[str, ...], changed: Callable[[], None], *, contents: bool = False
    ) -> None:
        self._folders = folders
        self._changed = changed
        self._contents = contents
        self._events: list[FolderEvents | ObserverEvents] = []
        self._again_at = 0.0

    def keep(self) -> bool:
        """Start the watch, or start it again; cheap while it runs. Whether it runs."""
        if self._runs():
            return True
        if time.monotonic() >= self._again_at:
            self._again_at = time.monotonic() + AGAIN_S
            self.close()
            with contextlib.suppress(NoEventsError):
                self._start()
        return self._runs()

    def _runs(self) -> bool:
        return bool(self._events) and all(events.is_alive() for events in self._events)

    def close(self) -> None:
        while self._events:
            self._events.pop().close()

    def _start(self) -> None:
        folders = [os.fsencode(folder) for folder in self._folders if os.path.isdir(folder)]
        if not folders:
            raise NoEventsError("there is no folder yet")
        if EVENTS is TreeEvents:
            self._begin(FolderEvents(folders, self._changed, contents=self._contents))
            return
        for folder in folders:
            self._begin(
                ObserverEvents(
                    folder,
                    lambda _, is_dir: not is_dir,
                    lambda *_: self._changed(),
                    lambda _: self._changed(),
                )
            )

    def _begin(self, events: FolderEvents | ObserverEvents) -> None:
        events.start()
        self._events.append(events)
