"""The question that is open: its number, its text, its pages, and whether its answer takes its time.

Every question gets a number of its own; an answer to any but the latest is an answer to
nobody. The same holds for the next page of its hits, of which one is asked for at a time, and
for the figures behind a page. Says that it is being searched only after a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from kebab_tui.domain.query import SearchMode, SearchQuery

if TYPE_CHECKING:
    from textual.message_pump import MessagePump
    from textual.timer import Timer

    from kebab_tui.domain.hit import SearchResponse


PAGE = 50
_LARGEST_PAGE = 400
"""Each page is as long as the list before it, up to this: a long list is there after few questions."""
PATIENCE_S = 0.2
"""An answer that takes no longer is not said to take its time."""


def query_of(text: str, mode: SearchMode, k: int = PAGE) -> SearchQuery:
    """What a text in the box asks: its last word may be unfinished. A blank one: what changed lately?"""
    return SearchQuery(text, mode, k=k, typing=not text.endswith(" "))


class Engine(Protocol):
    def ask(self, generation: int, query: SearchQuery, explain: bool, again: bool = False) -> None: ...

    def ask_more(self, generation: int, query: SearchQuery) -> None: ...

    def explain(self, generation: int, query: SearchQuery) -> None: ...


class CurrentQuery:
    def __init__(self, engine: Engine, say_searching: Callable[[bool], None], page: int = PAGE) -> None:
        self._engine = engine
        self._say_searching = say_searching
        self._page = page
        self._number = 0
        self._answered = 0
        self._waiting = self._is_loading = False
        self._explaining: int | None = None
        """The page whose figures were asked for last; None where they are there."""
        self._clock: Timer | None = None
        self.text: str | None = None
        """What was asked last; None before the first question."""
        self.query = SearchQuery("")
        """The same for the engine."""
        self.is_again = False
        """Whether the open question was asked before, and only its answer may have changed."""
        self.is_slow = False
        """Whether it is said that the answer takes its time."""

    def start_clock(self, owner: MessagePump) -> None:
        # One clock for all questions: a timer of its own for every key would cost more.
        self._clock = owner.set_interval(PATIENCE_S, self._say, pause=True)

    def ask(
        self,
        text: str,
        mode: SearchMode,
        *,
        explain: bool,
        again: bool = False,
        shown: SearchResponse | None = None,
    ) -> None:
        """Ask; `again`: the same question, because the notes may have another answer by now.

        `shown`: the last answer. Where it is one to the same text, as many hits are asked for, and it
        stays until all of them are there.
        """
        if shown is not None and not (shown.complete and shown.query == text):
            shown = None
        self.is_again = again
        self._number += 1
        self.text, self._waiting, self._is_loading = text, True, False
        pages = 1
        if shown is not None:
            # A list that is whole has room for a hit that comes to it.
            pages = max(1, -(-(len(shown.hits) + (shown.next_offset is None)) // self._page))
        self.query = query_of(text, mode, pages * self._page)
        # What explains one page only is asked for later: with every hit of many it takes long.
        explain = explain and pages == 1 and bool(text.strip())
        self._explaining = 0 if explain else None
        if self._clock is not None:
            self._clock.reset()
            self._clock.resume()
        self._engine.ask(self._number, self.query, explain, again or shown is not None)

    def load_more(self, shown: SearchResponse) -> None:
        """Ask for the hits behind those that are shown, unless they are on their way or there are none."""
        if self._is_loading or not self.is_answered or shown.next_offset is None:
            return
        self._is_loading = True
        k = max(self._page, min(len(shown.hits), _LARGEST_PAGE))
        self._engine.ask_more(self._number, replace(self.query, k=k, offset=shown.next_offset))

    def explain(self, rank: int) -> None:
        """Ask for the figures behind the page of the hit of that rank, unless they are on their way."""
        page = (rank - 1) // self._page
        if self.is_answered and page != self._explaining and self.query.text.strip():
            self._explaining = page
            query = replace(self.query, k=self._page, offset=page * self._page)
            self._engine.explain(self._number, query)

    def loaded(self) -> None:
        """The next page is there."""
        self._is_loading = False

    def explained(self) -> None:
        """The figures that were asked for are there."""
        self._explaining = None

    def is_open(self, number: int) -> bool:
        """Whether that is the question to be answered now."""
        return number == self._number

    @property
    def is_waiting(self) -> bool:
        """Whether an answer is still to come."""
        return self._waiting

    @property
    def is_answered(self) -> bool:
        """Whether the hits that are shown are those of the open question."""
        return self._answered == self._number

    def settle(self, *, answered: bool = False) -> None:
        """The answer is there, or there will be none."""
        self._waiting = self._is_loading = False
        if answered:
            self._answered = self._number
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


# What is pressed before the hits of the query are there: done when they are.
#
# Keys can come faster than an answer: from a macro, over a slow line, or out of a quick
# hand. Enter then means the hit of what was typed, and not of what stood there before. A
# move waits only while the query has not even been asked: later it moves in the hits that
# are seen. Who goes on typing wants nothing of it any more.

MOVES = frozenset({"next_hit", "previous_hit", "next_page", "previous_page", "first_hit", "last_hit"})
_ACTS = frozenset({"open", "copy", "copy_text", "mark"})


class PendingActions:
    def __init__(self) -> None:
        self._text = ""
        self._actions: list[str] = []

    def take(self, action_id: str, text: str, *, asked: bool, shown: bool) -> bool:
        """Keep an action for the hits of `text`, unless they are `shown` or it does not concern them."""
        if shown or action_id not in (_ACTS if asked and not self._holds(text) else _ACTS | MOVES):
            return False
        if not self._holds(text):
            self._text, self._actions = text, []
        self._actions.append(action_id)
        return True

    def give(self, text: str) -> list[str]:
        """What is to be done now that the hits of `text` are there, in its order."""
        actions = self._actions if self._holds(text) else []
        self._actions = []
        return actions

    def _holds(self, text: str) -> bool:
        return bool(self._actions) and self._text == text
