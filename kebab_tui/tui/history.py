"""The query history of a data folder, the rules for adding to it, and the typing debounce.

Stores 200 queries, each once, newest last. The file is replaced atomically and readable
by its owner only. A damaged or unreadable file counts as empty; if it cannot be written,
the history lasts for the session.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from time import monotonic
from typing import TYPE_CHECKING

from kebab_tui import own_files

if TYPE_CHECKING:
    from textual.message_pump import MessagePump
    from textual.timer import Timer

MOST = 200
FILE = "queries.txt"
_LARGEST = 4 << 20

READ_S = 2.0
"""Hits on the screen for this long count as read."""
PAUSE_S = 0.22
"""Longer than the gap between two keys of a quick typist, shorter than a pause to read."""


class History:
    """The queries of one data folder, and the user's position among them."""

    def __init__(self, data_folder: str) -> None:
        self._path = os.path.join(data_folder, FILE)
        self.queries = tuple(_read(self._path))
        """The queries, newest last."""
        self._at = len(self.queries)
        self._draft = ""

    def add(self, query: str) -> None:
        """Add a query as the newest one, and move behind it."""
        query = " ".join(query.split())
        if query:
            known = set(self.queries)
            # Another window may have added some.
            others = [other for other in _read(self._path) if other not in known]
            self.queries = tuple(deduplicated([*self.queries, *others, query]))
            data = "".join(f"{query}\n" for query in self.queries).encode("utf-8", "replace")
            with contextlib.suppress(OSError):  # a search is more important than its history
                own_files.replace(self._path, data, synced=False)
        self._at = len(self.queries)

    def older(self, present: str) -> str:
        """The query before the one in the box; the oldest one stays."""
        if self._at == len(self.queries):
            self._draft = present
        while self._at > 0:
            self._at -= 1
            if self.queries[self._at] != present:
                return self.queries[self._at]
        return present

    def newer(self, present: str) -> str:
        """The query after the one in the box; after the newest, the draft."""
        if self._at == len(self.queries):
            return present
        self._at += 1
        return self._draft if self._at == len(self.queries) else self.queries[self._at]


def deduplicated(queries: Iterable[str]) -> list[str]:
    """The newest queries, each at its last position."""
    newest_first = dict.fromkeys(reversed(list(queries)))
    return list(newest_first)[:MOST][::-1]


def _read(path: str) -> list[str]:
    try:
        text = own_files.read(path, _LARGEST).decode("utf-8")
    except (OSError, ValueError):
        return []
    lines = (line.strip() for line in text.split("\n"))
    return deduplicated(line for line in lines if line and line.isprintable())


class HistoryRecorder:
    """Adds queries whose hits stayed on the screen for a while."""

    def __init__(self, history: History, clock: Callable[[], float] = monotonic) -> None:
        self._history = history
        self._clock = clock
        self._shown = ""
        self._since = 0.0

    def shown(self, query: str) -> None:
        """The hits of a query are on the screen."""
        if query != self._shown:
            self._shown, self._since = query, self._clock()

    def left(self) -> None:
        """Another query replaces it."""
        shown, self._shown = self._shown, ""
        # A known one keeps its position: the user may be walking through the history.
        if shown and self._clock() - self._since >= READ_S and shown not in self._history.queries:
            self._history.add(shown)


class TypingDebounce:
    """Debounces expensive repaints while the user types: calls `paused` after a while without keys."""

    def __init__(self, paused: Callable[[], None], seconds: float = PAUSE_S) -> None:
        self._paused = paused
        self._seconds = seconds
        self._timer: Timer | None = None
        self.is_typing = False

    def start_clock(self, owner: MessagePump) -> None:
        # One timer for all keys: a new one for each would cost more.
        self._timer = owner.set_interval(self._seconds, self._pause, pause=True)

    def key_pressed(self) -> None:
        """A key changed the query."""
        if self._timer is not None:
            self.is_typing = True
            self._timer.reset()
            self._timer.resume()

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.pause()
        self.is_typing = False
        self._paused()
