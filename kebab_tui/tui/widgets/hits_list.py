"""The list of hits: the best passage of each note, two lines per hit, a cursor, marks.

The further passages of a note are folded into its row until `fold` shows them. Thin rules
separate the kinds of matches. Draws only the lines in view and caches them. The list does not
scroll under a cursor that the user has moved (`keep`); marks survive a new query. Opens nothing:
it posts `Moved`, `Chosen` and `Marked`. Has no key bindings: the application calls its methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.events import Click
from textual.geometry import Offset, Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from kebab_tui.domain.citation import Located
from kebab_tui.domain.hit import SearchHit, SearchResponse, ambiguous_paths
from kebab_tui.domain.ids import ChunkId, ChunkRow, DocId
from kebab_tui.tui.hit_diff import HitDiff, Novelty, diff_hits, successor
from kebab_tui.tui.widgets.hit_rows import (
    ROLES,
    HitStyle,
    Line,
    MatchKind,
    Piece,
    Role,
    hit_lines,
    more_cells,
    places,
    rule_line,
    share,
    shown_title,
)
from kebab_tui.tui.widgets.segments import LineView

NEAR = 20
"""This many notes before its end the list asks for more."""
FRESH_S = 3.0
"""How long a hit that the same query did not find before is marked."""
_LINES_PER_HIT = 2
_MARGIN = 1
"""Cells between the rows and the scrollbar or the frame."""
_ROWS_KEPT = 512
_UNASKED = 200
"""As long as it has fewer passages, the list asks for more to fill the pane with notes."""


class HitRow(NamedTuple):
    """A hit in the list."""

    hit: SearchHit
    top: int
    """Its first line in the list, which is the rule above it if it has one."""
    kind: MatchKind
    """The rule that it is below."""
    first: int
    """Its first line below the rule."""
    others: tuple[SearchHit, ...] = ()
    """The further passages of its note, whether folded or not."""
    unfolded: bool = False
    is_further: bool = False
    share: int | None = None

    @property
    def end(self) -> int:
        return self.first + _LINES_PER_HIT


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
        & > .hits-list--title { text-style: bold; }
        & > .hits-list--heading { color: $text-muted; }
        & > .hits-list--path { color: $text-muted; }
        & > .hits-list--text { color: $foreground; }
        & > .hits-list--match { color: $text-accent; text-style: bold; }
        &:ansi > .hits-list--match, &:nocolor > .hits-list--match { text-style: bold underline; }
        & > .hits-list--warning { color: $text-warning; }
        & > .hits-list--bar { color: $scrollbar; }
        & > .hits-list--score { color: $text-muted; }
        & > .hits-list--more { color: $text-primary; }
        & > .hits-list--rule { color: $text-muted; }
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
        """All loaded passages, also the folded ones, in their order."""
        self._has_more = False
        """Whether there are hits behind those in the list."""
        self._rows: list[HitRow] = []
        self._row_at: list[int] = []
        """Which row each line of the list belongs to."""
        self._cursor = 0
        self._query = ""
        self._kinds: dict[DocId, MatchKind] = {}
        """The rule that each note is below; another page changes none."""
        self._unfolded: set[DocId] = set()
        self._lead: SearchHit | None = None
        """The passage that its folded note shows in place of the best one, so that the cursor stays on it."""
        self._scores = (0.0, 0.0)
        """The least and the best score of the first page."""
        self._places: Mapping[str, str] = {}
        """What to show beside a title that several notes have, by path."""
        self._marks: dict[ChunkId, SearchHit] = {}
        self.twins: frozenset[str] = frozenset()
        """Paths that occur in several folders among the hits."""
        self._changes: Mapping[ChunkRow, int] = {}
        self._fresh: Mapping[ChunkId, Novelty] = {}
        self._fresh_timer: Timer | None = None
        self._located: dict[tuple[ChunkId, int], Located] = {}
        self._strips: LRUCache[tuple[SearchHit, HitStyle], tuple[Strip, Strip]] = LRUCache(_ROWS_KEPT)
        self._styles: dict[tuple[Role, bool], Style] = {}

    @property
    def cursor(self) -> int:
        """Index of the selected row, from 0."""
        return self._cursor

    @property
    def selected(self) -> SearchHit | None:
        return self._rows[self._cursor].hit if self._rows else None

    @property
    def is_at_end(self) -> bool:
        """Whether the selected row is the last one."""
        return self._cursor >= len(self._rows) - 1

    @property
    def notes(self) -> int:
        """How many notes the loaded passages are of."""
        return len(self._kinds)

    @property
    def notes_per_page(self) -> int:
        """How many notes the pane shows at once."""
        return self.content_size.height // _LINES_PER_HIT

    @property
    def marked(self) -> tuple[SearchHit, ...]:
        """In the order of marking; they need not be in the list any more."""
        return tuple(self._marks.values())

    def show(self, response: SearchResponse, keep: ChunkId | None = None, *, again: bool = False) -> HitDiff:
        """Replace the hits; return the changes.

        `keep` stays under the cursor and on its line of the screen, even if another passage of its note
        is better now; without it the list starts at its top. `again`: the query is the same, and new
        hits are marked for a moment.
        """
        before, old = self.selected, self._rows[self._cursor].first if self._rows else 0
        found_news = diff_hits(self._hits, response.hits) if again else HitDiff()
        # If everything is new, as during the first scan of a folder, no mark helps.
        self._fresh = found_news.fresh if len(found_news.fresh) < max(len(response.hits), 2) else {}
        if self._fresh_timer is not None:
            self._fresh_timer.stop()
        if self._fresh:
            self._fresh_timer = self.set_timer(FRESH_S, self._forget_fresh)
        if response.query != self._query:
            self._query = response.query
            self._unfolded.clear()
        self._hits, self._has_more = response.hits, response.next_offset is not None
        scores = [hit.score for hit in self._hits if hit.score and hit.has_comparable_score]
        self._scores = (min(scores), max(scores)) if scores else (0.0, 0.0)
        self._changes = {}
        for hit in self._hits if self._marks else ():
            if hit.chunk_id in self._marks:
                self._marks[hit.chunk_id] = hit
        kept = None if keep is None else self._kept(keep, before, found_news)
        self._kinds.clear()
        self._lead = kept
        self._lay_out()
        place = None if kept is None else self._row_of(kept.chunk_id)
        if keep is None:
            self._cursor = 0
        else:
            self._cursor = max(0, min(self._cursor, len(self._rows) - 1)) if place is None else place
        new = self._rows[self._cursor].first if self._rows else 0
        self._scroll(0 if keep is None else self.scroll_offset.y + new - old)
        self.refresh()
        self._post_moved(before)
        self.fill()
        return found_news

    def clear(self) -> None:
        """Show no hits; the marked ones stay marked."""
        self._hits, self._has_more, self._cursor = (), False, 0
        self._kinds.clear()
        self._lay_out()
        self.refresh()

    def append(self, response: SearchResponse) -> None:
        """Show a response that begins with the present hits; the cursor stays on its line of the screen."""
        selected = self.selected
        self._hits, self._has_more = response.hits, response.next_offset is not None
        self._lay_out_around(selected)
        self.fill()

    def fold(self, index: int | None = None) -> None:
        """Show or fold the other passages of the selected note, or of the one in this row."""
        if not self._rows:
            return
        before, row = self.selected, self._rows[self._cursor if index is None else index]
        note = row.hit.doc_id
        if note in self._unfolded:
            self._unfolded.remove(note)
        elif row.others:
            self._unfolded.add(note)
            if self._lead is not None and self._lead.doc_id == note:
                self._lead = None  # each passage is in its own row now
        else:
            return
        self._lay_out_around(before)
        rows = [row for row in self._rows if row.hit.doc_id == note]
        self._reveal(rows[0].top, rows[-1].end)
        self._reveal()
        self._post_moved(before)

    def select(self, chunk: ChunkId) -> bool:
        """Put the cursor on a loaded passage, unfolding its note if necessary; whether it is loaded."""
        hit = next((hit for hit in self._hits if hit.chunk_id == chunk), None)
        if hit is None:
            return False
        place = self._row_of(chunk)
        if place is None:
            self._unfolded.add(hit.doc_id)
            self._lead = None
            self._lay_out_around(self.selected)
            place = self._row_of(chunk)
            assert place is not None
        self.move_to(place)
        return True

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
        """Put the cursor on the row with this index, or on the nearest one."""
        before, old = self.selected, self._cursor
        self._cursor = max(0, min(index, len(self._rows) - 1))
        self._reveal()
        for row in {old, self._cursor} if self._rows else ():
            self.refresh_lines(self._rows[row].first, _LINES_PER_HIT)
        self._post_moved(before)
        self._post_near_end()

    def move_by(self, rows: int) -> None:
        self.move_to(self._cursor + rows)

    def move_by_pages(self, pages: float) -> None:
        """Move as many lines as the pane has, at least one row."""
        if self._rows:
            line = self._rows[self._cursor].top + round(pages * self.scrollable_content_region.height)
            row = self._row_at[max(0, min(line, len(self._row_at) - 1))]
            self.move_to(row if row != self._cursor else self._cursor + (1 if pages > 0 else -1))

    def move_to_last(self) -> None:
        self.move_to(len(self._rows) - 1)

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
        if self._rows:
            self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        y += self.scroll_offset.y
        width = self.scrollable_content_region.width
        if y >= len(self._row_at):
            return Strip.blank(width, self.rich_style)
        index = self._row_at[y]
        row = self._rows[index]
        line = y - row.first
        if line < 0:
            return self._strip(rule_line(row.kind, width), width, cursor=False)
        if line == 0 and index == self._cursor and self.has_focus:
            # The terminal's own cursor stands on the row, for screen readers and input methods.
            self.app.cursor_position = self.content_region.offset + Offset(0, y - self.scroll_offset.y)
        style = self.style_of(row, max(width - _MARGIN, 0))
        strips = self._strips.get((row.hit, style))
        if strips is None:
            first, second = hit_lines(row.hit, style)
            edge: Piece = (" " * (width - style.width), "text")
            strips = self._strips[row.hit, style] = (
                self._strip((*first, edge), width, cursor=style.cursor),
                self._strip((*second, edge), width, cursor=style.cursor),
            )
        return strips[line]

    def style_of(self, row: HitRow, width: int) -> HitStyle:
        hit = row.hit
        folded = () if row.unfolded else row.others
        fresh = self._fresh.get(hit.chunk_id)
        if self._fresh and folded:
            fresh = fresh or next(
                (self._fresh[one.chunk_id] for one in folded if one.chunk_id in self._fresh), None
            )
        return HitStyle(
            width=width,
            share=row.share,
            cursor=row is self._rows[self._cursor],
            marked=bool(self._marks) and any(one.chunk_id in self._marks for one in (hit, *folded)),
            below=row.kind,
            located=self._located.get((hit.chunk_id, hit.indexed_ns)),
            change=self._changes.get(hit.row, 0),
            place=f"in {hit.source}" if hit.path in self.twins else self._places.get(hit.path, ""),
            folded=len(folded),
            unfolded=row.unfolded,
            is_further=row.is_further,
            fresh=fresh,
        )

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._post_near_end()

    def on_resize(self) -> None:
        if self._rows:
            self._reveal()
            self.fill()

    def on_click(self, event: Click) -> None:
        place = event.get_content_offset(self)
        if place is None:
            return
        line = place.y + self.scroll_offset.y
        if line >= len(self._row_at):
            return
        index = self._row_at[line]
        row, width = self._rows[index], self.scrollable_content_region.width - _MARGIN
        more = more_cells(self.style_of(row, width)) if line == row.end - 1 else 0
        if place.x >= width - more:
            self.fold(index)
        elif line >= row.first:
            self.move_to(index)
            if event.chain == 2:
                self.choose()

    def _lay_out(self) -> None:
        """Make the rows: the notes in the order of their best passages."""
        notes: dict[DocId, list[SearchHit]] = {}
        for hit in self._hits:
            notes.setdefault(hit.doc_id, []).append(hit)
        self.twins = ambiguous_paths(self._hits)
        self._find_places(passages[0] for passages in notes.values())
        self._find_kinds(notes)
        self._rows, self._row_at = [], []
        least, most = self._scores
        above, lowest = MatchKind.FULL, most
        for note, passages in notes.items():
            kind, best, unfolded = self._kinds[note], passages[0], note in self._unfolded
            lead = best
            if self._lead is not None and self._lead.doc_id == note and not unfolded:
                lead = self._lead
            orders = best.has_comparable_score and 0 < best.score <= lowest and least < most
            if orders:
                lowest = best.score
            self._add_row(
                lead,
                kind,
                has_rule=kind != above,
                others=tuple(hit for hit in passages if hit is not lead),
                unfolded=unfolded and len(passages) > 1,
                share=share(best.score, least, most) if orders else None,
            )
            above = kind
            for hit in passages[1:] if unfolded else ():
                self._add_row(hit, kind, is_further=True)
        self.virtual_size = Size(0, len(self._row_at))

    def _add_row(self, hit: SearchHit, kind: MatchKind, *, has_rule: bool = False, **facts: Any) -> None:
        top = len(self._row_at)
        self._rows.append(HitRow(hit, top, kind, top + has_rule, **facts))
        self._row_at += [len(self._rows) - 1] * (_LINES_PER_HIT + has_rule)

    def _find_kinds(self, notes: Mapping[DocId, Sequence[SearchHit]]) -> None:
        """The rule above each new note: of the best kind from there on, so that each rule comes once."""
        new = [note for note in notes if note not in self._kinds]
        above = max(self._kinds.values(), default=MatchKind.NAMED)
        best = MatchKind.FURTHER
        kinds: list[MatchKind] = []
        for note in reversed(new):
            best = min(best, MatchKind.of(notes[note][0]))
            kinds.append(max(above, best))
        self._kinds.update(zip(new, reversed(kinds), strict=True))

    def _find_places(self, best: Iterable[SearchHit]) -> None:
        """Find what tells notes with the same title from each other."""
        by_title: dict[str, list[SearchHit]] = {}
        for hit in best:
            by_title.setdefault(shown_title(hit), []).append(hit)
        self._places = {
            path: place for hits in by_title.values() if len(hits) > 1 for path, place in places(hits).items()
        }

    def _lay_out_around(self, kept: SearchHit | None) -> None:
        """Make the rows anew; this hit, or the one that its note shows, stays on its line of the screen."""
        if kept is None or not self._rows:
            self._lay_out()
        else:
            old = self._rows[self._cursor].first
            self._lay_out()
            place = self._row_of(kept.chunk_id)
            if place is None:
                place = next((at for at, row in enumerate(self._rows) if row.hit.doc_id == kept.doc_id), 0)
            self._cursor = place
            if moved_by := self._rows[place].first - old:
                self._scroll(self.scroll_offset.y + moved_by)
        self.refresh()

    def _row_of(self, chunk: ChunkId) -> int | None:
        return next((at for at, row in enumerate(self._rows) if row.hit.chunk_id == chunk), None)

    def _kept(self, keep: ChunkId, before: SearchHit | None, found: HitDiff) -> SearchHit | None:
        """The hit `keep`, or its successor."""
        for hit in self._hits:
            if hit.chunk_id == keep:
                return hit
        heir = successor(before, self._hits, found.fresh) if before is not None else None
        return None if heir is None else self._hits[heir]

    def _strip(self, line: Line, width: int, *, cursor: bool) -> Strip:
        segments = []
        for text, role in line:
            key = role, cursor
            if key not in self._styles:
                row = ("hits-list--row",) if cursor else ()
                self._styles[key] = self.get_visual_style(*row, f"hits-list--{role}").rich_style
            segments.append(Segment(text, self._styles[key]))
        return Strip(segments, width)

    def _forget_fresh(self) -> None:
        self._fresh = {}
        self.refresh()

    def _reveal(self, top: int | None = None, end: int | None = None) -> None:
        """Scroll as little as necessary to show these lines, else the row under the cursor."""
        height = self.scrollable_content_region.height
        if not height or not self._rows:
            return
        row = self._rows[self._cursor]
        top, end = row.top if top is None else top, row.end if end is None else end
        lowest = max(0, end - height)
        # The view begins with the first line of a hit: a passage without its title is of no use.
        if lowest and self._rows[self._row_at[lowest]].top < lowest:
            lowest = self._rows[self._row_at[lowest]].end
        self._scroll(min(max(self.scroll_offset.y, lowest), top))

    def _scroll(self, y: int) -> None:
        # Forced: the next layout decides whether there is a scrollbar.
        self.scroll_to(y=y, animate=False, force=True)

    def _post_moved(self, before: SearchHit | None) -> None:
        if (hit := self.selected) is not None and hit != before:
            self.post_message(self.Moved(hit))

    def fill(self) -> None:
        """Ask for more hits than fit the pane, unless they are all of a few notes."""
        if self._cursor or len(self._hits) < _UNASKED:
            self._post_near_end(NEAR if self._cursor else 1)

    def _post_near_end(self, near: int = NEAR) -> None:
        height = self.scrollable_content_region.height
        last = min(int(self.scroll_y) + height, len(self._row_at)) - 1
        lowest = max(self._cursor, self._row_at[last] if last >= 0 else 0)
        if self._has_more and lowest + near >= len(self._rows):
            self.post_message(self.NearEnd())
