"""The list of hits: two lines per hit, a cursor, marks.

Draws only the lines in view and caches them. The list does not scroll under a cursor that
the user has moved (`keep`); marks survive a new query. Opens nothing: it posts `Moved`,
`Chosen` and `Marked`. Has no key bindings: the application calls its methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from kebab_tui.domain.citation import Located
from kebab_tui.domain.hit import SearchHit, SearchResponse, ambiguous_paths
from kebab_tui.domain.ids import ChunkId, ChunkRow
from kebab_tui.domain.text import is_korean
from kebab_tui.tui.hit_diff import HitDiff, Novelty, diff_hits, successor
from kebab_tui.tui.widgets.hit_rows import ROLES, HitStyle, Line, Role, hit_lines, share
from kebab_tui.tui.widgets.segments import LineView, cut, sanitize_line

LINES_PER_HIT = 2
NEAR = 20
"""This many hits before its end the list asks for more."""
FRESH_S = 3.0
"""How long a hit that the same query did not find before is marked."""
_ROWS_KEPT = 512
_SOURCE = 16
"""Cells for the name of a folder among the badges."""


class HitsList(LineView, can_focus=True):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"hits-list--row", *(f"hits-list--{role}" for role in ROLES)}
    """`hits-list--row` is the row under the cursor; the others are the roles of `hit_rows`."""

    DEFAULT_CSS = """
    HitsList {
        overflow-x: hidden;
        scrollbar-size-vertical: 1;
        & > .hits-list--row { background: $primary 12%; }
        & > .hits-list--cursor { color: $text-primary; }
        &:ansi > .hits-list--row { background: $block-cursor-blurred-background; text-style: bold; }
        &:focus > .hits-list--cursor { color: $text-accent; text-style: bold reverse; }
        & > .hits-list--mark { color: $text-success; text-style: bold; }
        & > .hits-list--path { color: $text-muted; }
        & > .hits-list--name { color: $text-primary; text-style: bold; }
        & > .hits-list--lines { color: $text-primary; }
        & > .hits-list--heading { color: $text-muted; }
        & > .hits-list--match { color: $text-accent; text-style: bold underline; }
        & > .hits-list--badge { color: $text-muted; text-style: italic; }
        & > .hits-list--warning { color: $text-warning; text-style: bold; }
        & > .hits-list--bar { color: $text-muted; }
        & > .hits-list--score { color: $text-muted; }
    }
    """

    @dataclass
    class Moved(Message):
        """The cursor is on another hit, or on the same one with new figures."""

        hit: SearchHit

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, HitsList.Moved)

    class Chosen(Message):
        """The user wants to open the selected hit."""

    class NearEnd(Message):
        """The cursor or the view is near the end, and there are more hits."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, HitsList.NearEnd)

    @dataclass
    class Marked(Message):
        """The number of marked hits has changed."""

        count: int

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  as Textual's widgets have it
        super().__init__(id=id)
        self._hits: tuple[SearchHit, ...] = ()
        self._has_more = False
        """Whether there are hits behind those in the list."""
        self._cursor = 0
        self._best = 0.0
        self._korean: bool | None = None
        self._marks: dict[ChunkId, SearchHit] = {}
        self.twins: frozenset[str] = frozenset()
        """Paths that occur in several folders among the hits."""
        self._changes: Mapping[ChunkRow, int] = {}
        self._fresh: Mapping[ChunkId, Novelty] = {}
        self._fresh_timer: Timer | None = None
        self._located: dict[tuple[ChunkId, int], Located] = {}
        self._rows: LRUCache[tuple[SearchHit, HitStyle], tuple[Strip, Strip]] = LRUCache(_ROWS_KEPT)
        self._styles: dict[tuple[Role, bool], Style] = {}

    @property
    def cursor(self) -> int:
        """Index of the selected hit, from 0."""
        return self._cursor

    @property
    def selected(self) -> SearchHit | None:
        return self._hits[self._cursor] if self._hits else None

    @property
    def is_at_end(self) -> bool:
        """Whether the selected hit is the last one."""
        return self._cursor >= len(self._hits) - 1

    @property
    def marked(self) -> tuple[SearchHit, ...]:
        """In the order of marking; they need not be in the list any more."""
        return tuple(self._marks.values())

    def show(self, response: SearchResponse, keep: ChunkId | None = None, *, again: bool = False) -> HitDiff:
        """Replace the hits; return the changes.

        `keep` stays under the cursor and on its line of the screen; without it the list starts
        at its top. `again`: the query is the same, and new hits are marked for a moment.
        """
        before, old = self.selected, self._cursor
        found_news = diff_hits(self._hits, response.hits) if again else HitDiff()
        # If everything is new, as during the first scan of a folder, no mark helps.
        self._fresh = found_news.fresh if len(found_news.fresh) < max(len(response.hits), 2) else {}
        if self._fresh_timer is not None:
            self._fresh_timer.stop()
        if self._fresh:
            self._fresh_timer = self.set_timer(FRESH_S, self._forget_fresh)
        self._hits, self._has_more = response.hits, response.next_offset is not None
        self.twins = ambiguous_paths(response.hits)
        self._best = max((hit.score for hit in self._hits if hit.has_comparable_score), default=0.0)
        self._korean = None if response.raw else is_korean(response.read)
        self._changes = {}
        for hit in self._hits if self._marks else ():
            if hit.chunk_id in self._marks:
                self._marks[hit.chunk_id] = hit
        self._cursor = 0 if keep is None else self._place_of(keep, before, found_news)
        self.virtual_size = Size(0, len(self._hits) * LINES_PER_HIT)
        moved_by = self._cursor - old
        self._scroll(0 if keep is None else self.scroll_offset.y + moved_by * LINES_PER_HIT)
        self.refresh()
        self._post_moved(before)
        self._post_near_end()
        return found_news

    def clear(self) -> None:
        """Show no hits; the marked ones stay marked."""
        self._hits, self._has_more, self._cursor = (), False, 0
        self.virtual_size = Size(0, 0)
        self.refresh()

    def append(self, response: SearchResponse) -> None:
        """Show a response that begins with the present hits; the view does not move."""
        self._hits, self._has_more = response.hits, response.next_offset is not None
        self.twins = ambiguous_paths(response.hits)
        self.virtual_size = Size(0, len(self._hits) * LINES_PER_HIT)
        self.refresh()
        self._post_near_end()

    def show_rank_changes(self, changes: Mapping[ChunkRow, int]) -> None:
        """Show how many ranks a what-if moves each hit, up positive, until the next response."""
        self._changes = dict(changes)
        self.refresh()

    def show_location(self, hit: SearchHit, located: Located) -> None:
        """Show where a passage is in its file now, until its note is indexed again."""
        key = hit.chunk_id, hit.indexed_ns
        before = self._located.get(key)
        self._located[key] = located
        if located != before and (before is not None or located.state != "same" or hit.stale or hit.gone):
            self.refresh()

    def clear_marks(self) -> None:
        self._marks.clear()
        self.refresh()
        self.post_message(self.Marked(0))

    def unmark(self, hits: Iterable[SearchHit]) -> None:
        for hit in hits:
            self._marks.pop(hit.chunk_id, None)
        self.refresh()
        self.post_message(self.Marked(len(self._marks)))

    def move_to(self, index: int) -> None:
        """Put the cursor on the hit with this index, or on the nearest one."""
        before, old = self.selected, self._cursor
        self._cursor = max(0, min(index, len(self._hits) - 1))
        self._reveal()
        for row in {old, self._cursor}:
            self.refresh_lines(row * LINES_PER_HIT, LINES_PER_HIT)
        self._post_moved(before)
        self._post_near_end()

    def move_by(self, hits: int) -> None:
        self.move_to(self._cursor + hits)

    def move_by_pages(self, pages: int) -> None:
        self.move_by(pages * max(1, self.scrollable_content_region.height // LINES_PER_HIT))

    def move_to_last(self) -> None:
        self.move_to(len(self._hits) - 1)

    def toggle_mark(self) -> None:
        """Mark or unmark the hit, and move to the next."""
        if (hit := self.selected) is None:
            return
        if self._marks.pop(hit.chunk_id, None) is None:
            self._marks[hit.chunk_id] = hit
        self.post_message(self.Marked(len(self._marks)))
        self.refresh()
        self.move_by(1)

    def choose(self) -> None:
        if self._hits:
            self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        index, line = divmod(self.scroll_offset.y + y, LINES_PER_HIT)
        width = self.scrollable_content_region.width
        if index >= len(self._hits):
            return Strip.blank(width, self.rich_style)
        hit = self._hits[index]
        style = HitStyle(
            width=width,
            share=share(hit.score, self._best),
            cursor=index == self._cursor,
            marked=hit.chunk_id in self._marks,
            korean=self._korean,
            located=self._located.get((hit.chunk_id, hit.indexed_ns)),
            change=self._changes.get(hit.row, 0),
            source=cut(sanitize_line(hit.source), _SOURCE) if hit.path in self.twins else "",
            fresh=self._fresh.get(hit.chunk_id),
        )
        row = self._rows.get((hit, style))
        if row is None:
            first, second = hit_lines(hit, style)
            row = self._rows[hit, style] = (self._strip(first, style), self._strip(second, style))
        return row[line]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()
        self._rows.clear()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._post_near_end()

    def on_resize(self) -> None:
        if self._hits:
            self._reveal()
            self._post_near_end()

    def on_click(self, event: Click) -> None:
        place = event.get_content_offset(self)
        if place is None:
            return
        index = (place.y + self.scroll_offset.y) // LINES_PER_HIT
        if index < len(self._hits):
            self.move_to(index)
            if event.chain == 2:
                self.choose()

    def _strip(self, line: Line, style: HitStyle) -> Strip:
        segments = []
        for text, role in line:
            key = role, style.cursor
            if key not in self._styles:
                row = ("hits-list--row",) if style.cursor else ()
                self._styles[key] = self.get_visual_style(*row, f"hits-list--{role}").rich_style
            segments.append(Segment(text, self._styles[key]))
        return Strip(segments, style.width)

    def _place_of(self, keep: ChunkId, before: SearchHit | None, found: HitDiff) -> int:
        """The index of `keep` or of its successor; else the present index."""
        for index, hit in enumerate(self._hits):
            if hit.chunk_id == keep:
                return index
        heir = successor(before, self._hits, found.fresh) if before is not None else None
        return max(0, min(self._cursor, len(self._hits) - 1)) if heir is None else heir

    def _forget_fresh(self) -> None:
        self._fresh = {}
        self.refresh()

    def _reveal(self) -> None:
        """Scroll as little as necessary to show the row under the cursor."""
        height = self.scrollable_content_region.height
        if not height:
            return
        top = self._cursor * LINES_PER_HIT
        lowest = top + LINES_PER_HIT - height
        # The view begins with the first line of a hit: a passage without its citation is of no use.
        lowest += lowest % LINES_PER_HIT
        self._scroll(min(max(self.scroll_offset.y, lowest), top))

    def _scroll(self, y: int) -> None:
        # Forced: the next layout decides whether there is a scrollbar.
        self.scroll_to(y=y, animate=False, force=True)

    def _post_moved(self, before: SearchHit | None) -> None:
        if (hit := self.selected) is not None and hit != before:
            self.post_message(self.Moved(hit))

    def _post_near_end(self) -> None:
        visible = self.scrollable_content_region.height // LINES_PER_HIT
        lowest = max(self._cursor, int(self.scroll_y) // LINES_PER_HIT + visible)
        if self._has_more and lowest + max(NEAR, visible) >= len(self._hits):
            self.post_message(self.NearEnd())
