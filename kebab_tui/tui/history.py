"""The queries asked before, newest last: one file in each data folder.

Remembers 200, each once. The file is replaced as a whole or not at all and is readable
by its owner only; one that is damaged or cannot be read counts as empty, and where it
cannot be written the queries live until the end of the session.
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


class History:
    """The queries of one data folder, and where the user stands among them."""

    def __init__(self, data_folder: str) -> None:
        self._path = os.path.join(data_folder, FILE)
        self._queries = list(_read(self._path))
        self._at = len(self._queries)
        self._draft = ""

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries, newest last."""
        return tuple(self._queries)

    def add(self, query: str) -> None:
        """Remember a query that was asked, as the newest one, and stand behind it."""
        query = " ".join(query.split())
        if query:
            # Another window may have added some meanwhile.
            self._queries = remembered([*self._queries, *_missing(_read(self._path), self._queries), query])
            _write(self._path, self._queries)
        self._at = len(self._queries)

    def older(self, present: str) -> str:
        """The query before the one that stands in the box; the oldest one stays."""
        if self._at == len(self._queries):
            self._draft = present
        while self._at > 0:
            self._at -= 1
            if self._queries[self._at] != present:
                return self._queries[self._at]
        return present

    def newer(self, present: str) -> str:
        """The query after the one that stands in the box; behind the newest, what was typed before."""
        if self._at == len(self._queries):
            return present
        self._at += 1
        return self._draft if self._at == len(self._queries) else self._queries[self._at]


def remembered(queries: Iterable[str]) -> list[str]:
    """Each query where it was asked last, and only the newest."""
    newest_first = dict.fromkeys(reversed(list(queries)))
    return list(newest_first)[:MOST][::-1]


def _missing(others: Iterable[str], ours: Iterable[str]) -> list[str]:
    known = set(ours)
    return [query for query in others if query not in known]


def _read(path: str) -> list[str]:
    try:
        text = own_files.read(path, _LARGEST).decode("utf-8")
    except (OSError, ValueError):
        return []
    lines = (line.strip() for line in text.split("\n"))
    return remembered(line for line in lines if line and line.isprintable())


def _write(path: str, queries: Iterable[str]) -> None:
    data = "".join(f"{query}\n" for query in queries).encode("utf-8", "replace")
    # A history that cannot be kept is no reason to interrupt a search.
    with contextlib.suppress(OSError):
        own_files.replace(path, data, synced=False)


# Which queries are worth remembering: those that were used, and those whose hits were read.
#
# A query is used when a hit of it is opened, picked or copied. It was read when its hits
# stood on the screen for a while before another query took their place.

READ_S = 2.0


class HistoryRecorder:
    def __init__(self, history: History, clock: Callable[[], float] = monotonic) -> None:
        self._history = history
        self._clock = clock
        self._shown = ""
        self._since = 0.0

    def shown(self, query: str) -> None:
        """The hits of a query are on the screen; none of them is a query to forget."""
        if query != self._shown:
            self._shown, self._since = query, self._clock()

    def left(self) -> None:
        """Another query takes its place."""
        shown, self._shown = self._shown, ""
        # One that is known keeps its place: the user may be on the way through the older ones.
        if shown and self._clock() - self._since >= READ_S and shown not in self._history.queries:
            self._history.add(shown)

    def used(self, query: str) -> None:
        self._history.add(query)


# Whether somebody is typing just now: what is costly to paint then waits for a pause.

PAUSE_S = 0.22
"""Longer than a quick typist takes from one key to the next, shorter than a look to the other pane."""


class TypingDebounce:
    """`paused` is called when no key has come for a while."""

    def __init__(self, paused: Callable[[], None]) -> None:
        self._paused = paused
        self._timer: Timer | None = None
        self.is_typing = False

    def start_clock(self, owner: MessagePump) -> None:
        # One timer for all keys: one of its own for each would cost more.
        self._timer = owner.set_interval(PAUSE_S, self._rest, pause=True)

    def key(self) -> None:
        """A key has changed the query."""
        if self._timer is not None:
            self.is_typing = True
            self._timer.reset()
            self._timer.resume()

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.pause()
        self.is_typing = False
        self._paused()
