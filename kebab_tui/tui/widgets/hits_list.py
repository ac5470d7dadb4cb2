"""The list of hits: two lines each, a cursor, marks.

A line-API widget: a hit costs nothing until one of its lines is on the screen, and a
line that was drawn once is kept. The list stays where it is under a cursor that the user
has moved (`keep`), and marks outlive the question that found them. Holds no opinion on
what a hit leads to: it posts `Moved`, `Chosen` and `Marked`. Brings no keys along: those
are in the registry of actions, and whoever binds them calls the methods here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from kebab_tui.domain.hit import twins
from kebab_tui.domain.text import is_hangul
from kebab_tui.tui.hit_diff import HitDiff, diff_hits, successor
from kebab_tui.tui.widgets.hit_rows import ROLES, HitStyle, Line, Role, hit_lines, share
from kebab_tui.tui.widgets.segments import LineView, clean, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.style import Style
    from textual.events import Click
    from textual.timer import Timer

    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import SearchHit, SearchResponse
    from kebab_tui.domain.ids import ChunkId, ChunkRow
    from kebab_tui.tui.hit_diff import Novelty


LINES_PER_HIT = 2
NEAR = 20
"""So many hits before its end the list asks for more."""
FRESH_S = 3.0
"""How long a hit is marked that the same question did not find before."""
_ROWS_KEPT = 512
_SOURCE = 16
"""Cells for the name of a folder beside other badges."""


class HitsList(LineView, can_focus=True):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"hits-list--row", *(f"hits-list--{role}" for role in ROLES)}
    """`hits-list--row` is the row under the cursor, the others are the roles of `hit_rows`."""

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
        & > .hits-list--bar { color: $primary 55%; }
        & > .hits-list--score { color: $text-muted; }
    }
    """

    class Moved(Message):
        """The cursor stands on another hit, or on the same one found anew."""

        def __init__(self, hit: SearchHit) -> None:
            super().__init__()
            self.hit = hit

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, HitsList.Moved)

    class Chosen(Message):
        """The hit is to be opened."""

        def __init__(self, hit: SearchHit) -> None:
            super().__init__()
            self.hit = hit

    class NearEnd(Message):
        """The cursor or the view comes near the end: more hits will be wanted."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, HitsList.NearEnd)

    class Marked(Message):
        """So many hits are marked now."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  as Textual's widgets have it
        super().__init__(id=id)
        self._hits: tuple[SearchHit, ...] = ()
        self._cursor = 0
        self._best = 0.0
        self._korean: bool | None = None
        self._marks: dict[ChunkId, SearchHit] = {}
        self.twins: frozenset[str] = frozenset()
        """Paths among the hits that notes of several folders have."""
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
        """In the order of marking, whether or not they are in the list now."""
        return tuple(self._marks.values())

    def show(self, response: SearchResponse, keep: ChunkId | None = None, *, again: bool = False) -> HitDiff:
        """Replace the hits. `keep` stays under the cursor and on its line of the screen; without it
        the list starts at its top. `again`: it is the same question, and what is new is marked for
        a moment; gives what that is."""
        before, old = self.selected, self._cursor
        found_news = diff_hits(self._hits, response.hits) if again else HitDiff()
        self._mark_fresh(found_news)
        self._hits = response.hits
        self.twins = twins(response.hits)
        self._best = max((hit.score for hit in self._hits if not hit.further), default=0.0)
        self._korean = None if response.raw else is_hangul(response.read)
        self._changes = {}
        self._renew_marks()
        self._cursor = self._place_of(keep, before, found_news)
        self.virtual_size = Size(0, len(self._hits) * LINES_PER_HIT)
        moved_by = self._cursor - old
        self._scroll(0 if keep is None else self.scroll_offset.y + moved_by * LINES_PER_HIT)
        self.refresh()
        self._tell(before)
        self._tell_near_end()
        return found_news

    def append(self, response: SearchResponse) -> None:
        """Show an answer that begins with the hits that are shown; nothing that is in view moves."""
        self._hits = response.hits
        self.twins = twins(response.hits)
        self.virtual_size = Size(0, len(self._hits) * LINES_PER_HIT)
        self.refresh()
        self._tell_near_end()

    def badge_ranks(self, changes: Mapping[ChunkRow, int]) -> None:
        """Show how many ranks a what-if moves each hit, up positive; the next answer forgets it."""
        self._changes = dict(changes)
        self.refresh()

    def badge_located(self, hit: SearchHit, located: Located) -> None:
        """Show where a passage stands in its file now, until its note is indexed again."""
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
        """Take the marks off these hits."""
        for hit in hits:
            self._marks.pop(hit.chunk_id, None)
        self.refresh()
        self.post_message(self.Marked(len(self._marks)))

    def move_to(self, index: int) -> None:
        """Put the cursor on a hit, the nearest one if there is none of that index."""
        before, old = self.selected, self._cursor
        self._cursor = max(0, min(index, len(self._hits) - 1))
        self._reveal()
        for row in {old, self._cursor}:
            self.refresh_lines(row * LINES_PER_HIT, LINES_PER_HIT)
        self._tell(before)
        self._tell_near_end()

    def move_by(self, hits: int) -> None:
        self.move_to(self._cursor + hits)

    def move_by_pages(self, pages: int) -> None:
        self.move_by(pages * max(1, self.scrollable_content_region.height // LINES_PER_HIT))

    def move_to_last(self) -> None:
        self.move_to(len(self._hits) - 1)

    def toggle_mark(self) -> None:
        """Mark the hit or take its mark away, and go on to the next."""
        if (hit := self.selected) is None:
            return
        if self._marks.pop(hit.chunk_id, None) is None:
            self._marks[hit.chunk_id] = hit
        self.post_message(self.Marked(len(self._marks)))
        self.refresh()
        self.move_by(1)

    def choose(self) -> None:
        """What a double click does."""
        if (hit := self.selected) is not None:
            self.post_message(self.Chosen(hit))

    def render_line(self, y: int) -> Strip:
        index, line = divmod(self.scroll_offset.y + y, LINES_PER_HIT)
        width = self.scrollable_content_region.width
        if index >= len(self._hits):
            return Strip.blank(width, self.rich_style)
        return self._row(self._hits[index], self._look(index, width))[line]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()
        self._rows.clear()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._tell_near_end()

    def on_resize(self) -> None:
        if self._hits:
            self._reveal()
            self._tell_near_end()

    def on_click(self, event: Click) -> None:
        place = event.get_content_offset(self)
        if place is None:
            return
        index = (place.y + self.scroll_offset.y) // LINES_PER_HIT
        if index < len(self._hits):
            self.move_to(index)
            if event.chain == 2:
                self.choose()

    def _row(self, hit: SearchHit, look: HitStyle) -> tuple[Strip, Strip]:
        key = (hit, look)
        row = self._rows.get(key)
        if row is None:
            first, second = hit_lines(hit, look)
            row = (self._strip(first, look), self._strip(second, look))
            self._rows[key] = row
        return row

    def _look(self, index: int, width: int) -> HitStyle:
        hit = self._hits[index]
        return HitStyle(
            width=width,
            share=share(hit.score, self._best),
            cursor=index == self._cursor,
            marked=hit.chunk_id in self._marks,
            korean=self._korean,
            located=self._located.get((hit.chunk_id, hit.indexed_ns)),
            change=self._changes.get(hit.row, 0),
            source=self._source(hit) if hit.path in self.twins else "",
            fresh=self._fresh.get(hit.chunk_id),
        )

    def _source(self, hit: SearchHit) -> str:
        return cut(clean(hit.source), _SOURCE)

    def _strip(self, line: Line, look: HitStyle) -> Strip:
        return Strip([Segment(text, self._style(role, look.cursor)) for text, role in line], look.width)

    def _style(self, role: Role, cursor: bool) -> Style:
        style = self._styles.get((role, cursor))
        if style is None:
            row = ("hits-list--row",) if cursor else ()
            style = self.get_visual_style(*row, f"hits-list--{role}").rich_style
            self._styles[role, cursor] = style
        return style

    def _place_of(self, keep: ChunkId | None, before: SearchHit | None, found: HitDiff) -> int:
        """The cursor goes with its passage or what became of it; else it stays, or goes to the top."""
        if keep is None:
            return 0
        for index, hit in enumerate(self._hits):
            if hit.chunk_id == keep:
                return index
        heir = successor(before, self._hits, found.fresh) if before is not None else None
        return max(0, min(self._cursor, len(self._hits) - 1)) if heir is None else heir

    def _mark_fresh(self, found: HitDiff) -> None:
        # Where everything is new, as while a folder is read for the first time, no mark helps.
        self._fresh = found.fresh if len(found.fresh) < max(len(self._hits), 2) else {}
        if self._fresh_timer is not None:
            self._fresh_timer.stop()
        if self._fresh:
            self._fresh_timer = self.set_timer(FRESH_S, self._forget_fresh)

    def _forget_fresh(self) -> None:
        self._fresh = {}
        self.refresh()

    def _renew_marks(self) -> None:
        if not self._marks:
            return
        for hit in self._hits:
            if hit.chunk_id in self._marks:
                self._marks[hit.chunk_id] = hit

    def _reveal(self) -> None:
        """Scroll no further than it takes to show the row under the cursor."""
        height = self.scrollable_content_region.height
        if not height:
            return
        top = self._cursor * LINES_PER_HIT
        lowest = top + LINES_PER_HIT - height
        # A row begins at the top of the view: a passage without its citation says too little.
        lowest += lowest % LINES_PER_HIT
        self._scroll(min(max(self.scroll_offset.y, lowest), top))

    def _scroll(self, y: int) -> None:
        # Forced: whether there is a scrollbar is only found out at the next layout.
        self.scroll_to(y=y, animate=False, force=True)

    def _tell(self, before: SearchHit | None) -> None:
        if (hit := self.selected) is not None and hit != before:
            self.post_message(self.Moved(hit))

    def _tell_near_end(self) -> None:
        visible = self.scrollable_content_region.height // LINES_PER_HIT
        lowest = max(self._cursor, int(self.scroll_y) // LINES_PER_HIT + visible)
        if self._hits and lowest + max(NEAR, visible) >= len(self._hits):
            self.post_message(self.NearEnd())
