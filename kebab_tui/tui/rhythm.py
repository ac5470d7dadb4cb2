"""Whether somebody is typing just now: what is costly to paint then waits for a pause."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.message_pump import MessagePump
    from textual.timer import Timer

PAUSE_S = 0.22
"""Longer than a quick typist takes from one key to the next, shorter than a look to the other pane."""


class Rhythm:
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
