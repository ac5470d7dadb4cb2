"""The current query: generation, text, pages, and whether it is slow; and the actions that wait for it.

Every query gets a new generation; only results of the latest one count. The same holds
for its pages, of which one loads at a time, and for the scores of a page. A query
counts as slow only after a while.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from textual.message_pump import MessagePump
from textual.timer import Timer

from kebab_tui.domain.hit import SearchResponse
from kebab_tui.domain.query import SearchMode, SearchQuery

PAGE = 50
_LARGEST_PAGE = 400
"""A page is as long as the list before it, up to this: a long list needs few queries."""
_LONGEST_WAY = 2_000
"""Hits that are loaded at once on the way to a distant one."""
SLOW_S = 0.2
"""A query that takes longer counts as slow."""

MOVES = frozenset({
    "next_hit", "previous_hit", "next_page", "previous_page", "half_page_down", "half_page_up",
    "first_hit", "last_hit",
})  # fmt: skip
_CONCERN_A_HIT = frozenset({"open", "copy", "copy_text", "expand", "mark", "links", "follow"})


class QueryEngine(Protocol):
    def ask(self, generation: int, query: SearchQuery, explain: bool, again: bool = False) -> None: ...

    def load_page(self, generation: int, query: SearchQuery) -> None: ...

    def explain(self, generation: int, query: SearchQuery) -> None: ...


class CurrentQuery:
    def __init__(self, engine: QueryEngine, mode: SearchMode = "hybrid", page: int = PAGE) -> None:
        self.mode = mode
        """The mode of the next query; without a model, its response has another."""
        self._engine = engine
        self._page = page
        self._generation = 0
        self._answered = 0
        self._is_loading = False
        self._explaining: int | None = None
        """The page whose scores were requested last; None once they are loaded."""
        self._clock: Timer | None = None
        self._show_searching: Callable[[bool], None] | None = None
        self.query = SearchQuery("")
        """The last query sent."""
        self.is_waiting = True
        """Whether the final response is still to come; true also before the first query."""
        self.is_again = False
        """Whether the query repeats the one before, to see changed notes."""
        self.is_slow = False
        self._exact = ""
        """The text whose words are searched as typed."""

    def query_for(self, text: str, k: int = PAGE) -> SearchQuery:
        """The query for a text in the box; its last word may be unfinished."""
        is_exact = bool(text) and text == self._exact
        return SearchQuery(text, self.mode, k=k, typing=not text.endswith(" "), exact=is_exact)

    def toggle_exact(self) -> None:
        """Search the words of the present text as typed, or corrected again."""
        self._exact = "" if self.query.exact else self.query.text

    def start_clock(self, owner: MessagePump, show_searching: Callable[[bool], None]) -> None:
        """Report from now on when the query gets slow, and when it no longer is."""
        self._show_searching = show_searching
        # One timer for all queries: a new one for each key would cost more.
        self._clock = owner.set_interval(SLOW_S, self._update_slow, pause=True)

    def ask(
        self,
        text: str,
        *,
        explain: bool,
        again: bool = False,
        shown: SearchResponse | None = None,
    ) -> None:
        """Send a query; `again` repeats it because notes changed.

        If `shown`, the last response, is to the same text, as many hits are requested, and it stays
        on the screen until all of them arrive.
        """
        if shown is not None and not (shown.complete and shown.query == text):
            shown = None
        self.is_again = again
        self._generation += 1
        self.is_waiting, self._is_loading = True, False
        pages = 1
        if shown is not None:
            # After a complete list, leave space for one new hit.
            pages = max(1, -(-(len(shown.hits) + (shown.next_offset is None)) // self._page))
        self.query = self.query_for(text, pages * self._page)
        # Scores of many hits take long: those of a longer list are requested by page.
        explain = explain and pages == 1 and bool(text.strip())
        self._explaining = 0 if explain else None
        if self._clock is not None:
            self._clock.reset()
            self._clock.resume()
        self._engine.ask(self._generation, self.query, explain, again or shown is not None)

    def load_more(self, shown: SearchResponse, up_to: int = 0) -> None:
        """Request the next page, unless it is loading or there is none; a longer one, up to a rank."""
        if self._is_loading or not self.is_answered or shown.next_offset is None:
            return
        self._is_loading = True
        k = max(self._page, min(len(shown.hits), _LARGEST_PAGE), min(up_to - shown.next_offset, _LONGEST_WAY))
        self._engine.load_page(self._generation, replace(self.query, k=k, offset=shown.next_offset))

    def explain(self, rank: int) -> None:
        """Request the scores of the page of the hit with this rank, unless they are loading."""
        page = (rank - 1) // self._page
        if self.is_answered and page != self._explaining and self.query.text.strip():
            self._explaining = page
            query = replace(self.query, k=self._page, offset=page * self._page)
            self._engine.explain(self._generation, query)

    def loaded(self) -> None:
        """The next page arrived."""
        self._is_loading = False

    def explained(self) -> None:
        """The requested scores arrived."""
        self._explaining = None

    def is_current(self, generation: int) -> bool:
        return generation == self._generation

    @property
    def is_answered(self) -> bool:
        """Whether the hits on the screen are the final ones of this query."""
        return self._answered == self._generation

    def finish(self, *, answered: bool = False) -> None:
        """The final response arrived, or none will."""
        self.is_waiting = self._is_loading = False
        if answered:
            self._answered = self._generation
        else:
            self._explaining = None
        self._update_slow()

    def cancel(self) -> None:
        self._generation += 1
        self.finish()

    def _update_slow(self) -> None:
        if self._clock is not None:
            self._clock.pause()
        if self.is_slow != self.is_waiting and self._show_searching is not None:
            self.is_slow = self.is_waiting
            self._show_searching(self.is_waiting)


class PendingActions:
    """Queues actions pressed before the hits of the current query arrive.

    Keys can be faster than a response: from a macro, over a slow line, or from a quick
    typist. Enter then means the hit of the new text, not of the old one. A move waits only
    until the query is sent: afterwards it moves in the visible hits. More typing discards
    the queue.
    """

    def __init__(self) -> None:
        self._text = ""
        self._actions: list[str] = []

    def defer(self, action_id: str, text: str, *, asked: bool, shown: bool) -> bool:
        """Queue an action for the hits of `text`, unless they are `shown` or it does not concern them."""
        follows = bool(self._actions) and self._text == text
        concerned = _CONCERN_A_HIT if asked and not follows else _CONCERN_A_HIT | MOVES
        if shown or action_id not in concerned:
            return False
        if not follows:
            self._text, self._actions = text, []
        self._actions.append(action_id)
        return True

    def release(self, text: str) -> list[str]:
        """The actions to perform when the hits of `text` arrive, in order."""
        actions = self._actions if self._text == text else []
        self._actions = []
        return actions

    def clear(self) -> None:
        self._actions = []
