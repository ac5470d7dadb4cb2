"""The question that is open: its number, its text, and whether its answer takes its time.

Every question gets a number of its own; an answer to any but the latest is an answer to
nobody. Says that it is being searched only after a while, and asks through a function
that it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kebab_tui.domain.query import SearchMode, SearchQuery

if TYPE_CHECKING:
    from textual.message_pump import MessagePump
    from textual.timer import Timer

PAGE = 50
PATIENCE_S = 0.2
"""An answer that takes no longer is not said to take its time."""


def query_of(text: str, mode: SearchMode) -> SearchQuery:
    """What a text in the box asks: its last word may be unfinished."""
    return SearchQuery(text, mode, k=PAGE, typing=not text.endswith(" "))


class Ask(Protocol):
    def __call__(
        self, generation: int, query: SearchQuery | None, explain: bool, again: bool = False
    ) -> None: ...


class Questions:
    def __init__(self, ask: Ask, say_searching: Callable[[bool], None]) -> None:
        self._ask = ask
        self._say_searching = say_searching
        self._number = 0
        self._waiting = False
        self._clock: Timer | None = None
        self.text: str | None = None
        """What was asked last; None before the first question."""
        self.query: SearchQuery | None = None
        """The same for the engine; None where it is only asked what changed lately."""
        self.is_again = False
        """Whether the open question was asked before, and only its answer may have changed."""
        self.is_slow = False
        """Whether it is said that the answer takes its time."""

    def start_clock(self, owner: MessagePump) -> None:
        # One clock for all questions: a timer of its own for every key would cost more.
        self._clock = owner.set_interval(PATIENCE_S, self._say, pause=True)

    def ask(self, text: str, mode: SearchMode, *, explain: bool, again: bool = False) -> None:
        """Ask; `again`: the same question, because the notes may have another answer by now."""
        self.is_again = again
        self._number += 1
        self.text, self._waiting = text, True
        self.query = query_of(text, mode) if text.strip() else None
        if self._clock is not None:
            self._clock.reset()
            self._clock.resume()
        self._ask(self._number, self.query, explain, again)

    def is_open(self, number: int) -> bool:
        """Whether that is the question to be answered now."""
        return number == self._number

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._waiting

    def settle(self) -> None:
        """The answer is there, or there will be none."""
        self._waiting = False
        self._say()

    def drop(self) -> None:
        """No answer is wanted any more."""
        self._number += 1
        self.settle()

    def _say(self) -> None:
        if self._clock is not None:
            self._clock.pause()
        if self.is_slow != self._waiting:
            self.is_slow = self._waiting
            self._say_searching(self._waiting)
