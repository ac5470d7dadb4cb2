"""Which queries are worth remembering: those that were used, and those whose hits were read.

A query is used when a hit of it is opened, picked or copied. It was read when its hits
stood on the screen for a while before another query took their place.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from kebab_tui.tui.history import History

READ_S = 2.0


class Remembering:
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
