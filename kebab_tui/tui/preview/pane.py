"""The preview: shows the file of the selected hit, opened at the cited lines.

Paints single lines, and of each line only the visible columns, so that long notes and long
lines stay fast. A thread reads large files. The text is the present file, not the indexed
one; the first row reports the difference. The engine only decodes bytes and finds matches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import ClassVar, Protocol

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.worker import get_current_worker

from kebab_tui.domain.citation import Located
from kebab_tui.domain.errors import KebabError
from kebab_tui.domain.hit import Highlight, SearchHit
from kebab_tui.tui.preview import painting
from kebab_tui.tui.preview.matches import MatchSpan
from kebab_tui.tui.preview.open_note import Note, TargetLines, read_at_once, read_in_thread, target_lines
from kebab_tui.tui.preview.painting import View, column_of, header, paint
from kebab_tui.tui.preview.rendered import LONGEST, Rendered, RenderStyles, rendered
from kebab_tui.tui.preview.source_lines import OpenFile, WholeText, identity
from kebab_tui.tui.preview.syntax import Lexers
from kebab_tui.tui.widgets.segments import LineView, sanitize_line

SIDEWAYS = 8
"""Columns per horizontal step."""
_NOWHERE = MatchSpan(0, -1)
_TURN_S = 0.01
"""After this time the search for a match lets other events run."""


class PreviewEngine(Protocol):
    """The part of the workspace that the preview needs."""

    def decode(self, data: bytes) -> Sequence[str]: ...

    def marks(self, text: str, query: str) -> Sequence[Highlight]: ...


class Preview(LineView, can_focus=True):
    """A fixed header row, and below it a note, the rendered note, or a message.

    Row 0 is the first one below the header. Scrolling is never animated. The application
    binds the keys.
    """

    DEFAULT_CSS = painting.CSS
    COMPONENT_CLASSES: ClassVar[set[str]] = painting.COMPONENT_CLASSES

    @dataclass
    class Read(Message):
        """A thread has read a note, or more of it, or failed to."""

        generation: int
        read: Note | KebabError

    @dataclass
    class MadeMarkdown(Message):
        """A thread has rendered a note."""

        note: Note
        made: Rendered

    def __init__(self, engine: PreviewEngine | None = None, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self.engine = engine
        """Must be set before the first hit is shown."""
        self.wraps = True
        """Whether long lines are wrapped."""
        self._generation = 0
        self._hit: SearchHit | None = None
        self._located: Located | None = None
        self._query = ""
        self._note: Note | None = None
        self._target = TargetLines(1, 1, None, "")
        self._remark = ""
        """Shown in the header after the state of the passage."""
        self._words: Sequence[str] = ()
        """The lines of a message instead of a note."""
        self._rendered: Rendered | None = None
        self._marked_query = ""
        """The query whose matches are marked in the open note."""
        self._match = MatchSpan(1, -1)
        """The current match; column -1 for none."""
        self._search: Iterator[MatchSpan | None] = iter(())
        self._left = 0
        self._target_row: float = 0
        self._lexers = Lexers(partial(self.call_later, self._repaint))
        self._styles: dict[str, Style] = {}
        self._strips: LRUCache[tuple[int, int], Strip] = LRUCache(512)

    # Choosing and reading the note

    def show(self, hit: SearchHit, located: Located | None = None, query: str = "") -> None:
        """Show the file of a hit with the matches of `query`; an open note stays where it is."""
        is_other = self._hit is None or hit.chunk_id != self._hit.chunk_id
        self._generation += 1
        was_remarked = bool(self._remark)
        self._hit, self._located, self._query, self._remark = hit, located, query, ""
        if is_other:
            self._rendered = None
        path = os.path.join(os.fsencode(hit.root), hit.raw_path)
        note = self._note
        if note is None or note.identity is None or note.identity != identity(path):
            self._rendered = None
            self._read(path, hit, is_other)
            return
        is_same_view = query == self._marked_query and target_lines(hit, located, note.lines) == self._target
        if is_other or was_remarked or not is_same_view:
            self._open(note, is_other)

    @property
    def is_certain(self) -> bool:
        """Whether the lines of the citation have the text of the passage."""
        return self._target.sure is True

    def is_showing(self, hit: SearchHit, located: Located) -> bool:
        """Whether the passage is shown at these lines."""
        known = self._located
        is_same = located == known or (known is None and located.state == "same" and self.is_certain)
        return hit == self._hit and is_same

    def reread(self, hit: SearchHit) -> None:
        """Show the present file again, at the same place, after a possible change."""
        if self._hit is not None and self._hit.chunk_id == hit.chunk_id:
            self.show(hit, self._located if hit == self._hit else None, self._query)

    def clear(self, message: str = "") -> None:
        """Show no note, but a message if given."""
        self._generation += 1
        self._hit = self._note = None
        self._show_words("", message.splitlines())

    def _read(self, path: bytes, hit: SearchHit, is_other: bool) -> None:
        assert self.engine is not None
        if hit.citation.span.page is not None:
            self._open(Note(None, "", WholeText(hit.text.split("\n"))), is_other)
            return
        try:
            file = OpenFile(path)
            note = read_at_once(file, hit.path, self.engine.decode)
        except KebabError as error:
            self._show_error(error)
            return
        if note is not None:
            self._open(note, is_other)
            return
        self._show_words(f"reading {file.size / 1e6:,.0f} MB", ())
        line = (self._located or hit.citation).span.last
        work = partial(self._read_in_thread, self._generation, file, hit.path, line)
        self.run_worker(work, thread=True, exclusive=True, group="preview-read")

    def _read_in_thread(self, generation: int, file: OpenFile, name: str, line: int) -> None:
        assert self.engine is not None
        worker = get_current_worker()
        try:
            for note in read_in_thread(file, name, self.engine.decode, line, lambda: worker.is_cancelled):
                self.post_message(self.Read(generation, note))
        except KebabError as error:
            self.post_message(self.Read(generation, error))

    def on_preview_read(self, message: Preview.Read) -> None:
        if message.generation != self._generation:
            return
        if isinstance(message.read, KebabError):
            self._show_error(message.read)
        else:
            self._open(message.read, message.read is not self._note)

    def _open(self, note: Note, is_other: bool) -> None:
        assert self._hit is not None
        assert self.engine is not None
        engine, query = self.engine, self._query
        if note is not self._note or query != self._marked_query:
            note.mark(lambda text: engine.marks(text, query))
        self._note, self._words, self._marked_query = note, (), query
        before, self._target = self._target, target_lines(self._hit, self._located, note.lines)
        self._search = iter(())
        self._measure()
        if is_other or before.first != self._target.first:
            self._match = MatchSpan(self._target.first, -1)
            self._left = max(note.passage_column(self._target.first, self._hit.text) - 1, 0)
            self._to_target()
        self._repaint()

    def _show_error(self, error: KebabError) -> None:
        """Report why the file cannot be shown, and show the indexed text instead."""
        kept = self._hit.text.split("\n") if self._hit else []
        self._show_words(error.message, [error.hint, "", "Indexed text:", "", *kept])

    def _show_words(self, state: str, words: Sequence[str]) -> None:
        self._remark, self._words = state, words
        self._note = self._rendered = None
        self._target = TargetLines(1, 1, None, "")
        self._measure()
        self.to_row(0)
        self._repaint()

    # Painting

    def render_line(self, y: int) -> Strip:
        if not self._styles:
            self._styles = painting.styles_of(self)
        width, base = self.columns, self._styles["text"]
        if y == 0:
            if self._hit is None:
                return Strip.blank(width, base)
            base = self._styles["header"]
            state = ", ".join(word for word in (self._target.state, self._remark) if word)
            parts = header(self._hit, self._located, state, width)
            segments = [Segment(text, base + self._styles[name]) for text, name in parts]
            return Strip(segments).crop_extend(0, width, base)
        row = y - 1 + self.scroll_offset.y
        if self._rendered is not None and row < len(self._rendered.strips):
            return self._rendered.strips[row]
        if self._note is not None and self._rendered is None and row < self._note.lines.count:
            strip = self._strips.get((row, width))
            if strip is None:
                view = self._view(self._note)
                columns = range(view.left, view.left + view.columns)
                lexers = None if self.app.no_color else self._lexers
                mark = self._target.sign(row + 1)
                line = self._note.line(row + 1, mark, columns, self._match, lexers)
                strip = self._strips[row, width] = paint(line, view, self._styles)
            return strip
        words = sanitize_line(self._words[row]) if row < len(self._words) else ""
        return Strip([Segment(words, base)]).crop_extend(0, width, base)

    def _view(self, note: Note) -> View:
        return View(self._left, self.columns, len(str(note.lines.count)))

    def _repaint(self) -> None:
        self._strips.clear()
        self.refresh()

    def _measure(self) -> None:
        rows = len(self._words)
        if self._rendered is not None:
            rows = len(self._rendered.strips)
        elif self._note is not None:
            rows = self._note.lines.count
        self.virtual_size = Size(self.columns, rows + 1)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = {}
        self._strips.clear()

    def on_resize(self, _: events.Resize) -> None:
        # The library has already scrolled a note that fits better now.
        was_at_target = self.scroll_offset.y == min(self._target_row, self.max_scroll_y)
        if self._rendered is not None and self._note is not None:
            self._start_rendering(self._note)
        self._measure()
        if was_at_target:
            self._to_target()
        self._repaint()

    # Scrolling

    @property
    def columns(self) -> int:
        """The width without the scrollbar."""
        return self.scrollable_content_region.width

    @property
    def page_rows(self) -> int:
        """The visible rows below the header."""
        return max(self.size.height - 1, 1)

    def to_row(self, row: int) -> None:
        """Scroll a row to the top, as far as there are rows below it."""
        self.scroll_to(y=row, animate=False, force=True)

    def scroll_by(self, rows: int) -> None:
        self.to_row(self.scroll_offset.y + rows)

    def _to_target(self) -> None:
        row = self._target.first - 1
        if self._rendered is not None and self._note is not None:
            row = self._rendered.row_of(row, self._note.lines.count)
        self.to_row(row - self.page_rows // 3)
        self._target_row = self.scroll_offset.y

    def action_scroll_up(self) -> None:
        self.scroll_by(-1)

    def action_scroll_down(self) -> None:
        self.scroll_by(1)

    def action_page_up(self) -> None:
        self.scroll_by(-max(self.page_rows - 1, 1))

    def action_page_down(self) -> None:
        self.scroll_by(max(self.page_rows - 1, 1))

    def action_scroll_home(self) -> None:
        self.to_row(0)

    def action_scroll_end(self) -> None:
        self.to_row(self.virtual_size.height)

    def action_scroll_left(self) -> None:
        if self._note is not None and self._rendered is None:
            self._left = max(self._left - SIDEWAYS, 0)
            self._repaint()

    def action_scroll_right(self) -> None:
        """Scroll right if a visible line is longer than the view."""
        if self._note is None or self._rendered is not None:
            return
        top = self.scroll_offset.y + 1
        edge = self._left + self._view(self._note).columns
        lines = self._note.lines.slice(top, top + self.page_rows - 1)
        if any(column_of(text, len(text)) > edge for text in lines):
            self._left += SIDEWAYS
            self._repaint()

    # Matches

    def next_match(self) -> None:
        self._start_search(forward=True)

    def previous_match(self) -> None:
        self._start_search(forward=False)

    def _start_search(self, forward: bool) -> None:
        """Search from the last match, or from the visible lines if that is out of view."""
        if self._note is None or self._rendered is not None:
            return
        top = self.scroll_offset.y + 1
        if not top <= self._match.line < top + self.page_rows:
            line = top if forward else min(top + self.page_rows, self._note.lines.count + 1)
            self._match = MatchSpan(line, -1)
        self._search = self._note.search(self._match, forward)
        self._continue_search(self._search)

    def _continue_search(self, search: Iterator[MatchSpan | None]) -> None:
        turn_ends = monotonic() + _TURN_S
        while search is self._search:
            place = next(search, _NOWHERE)
            if place is not None:
                self._show_match(place)
                return
            if monotonic() > turn_ends:
                self.call_later(self._continue_search, search)
                return

    def _show_match(self, place: MatchSpan) -> None:
        """Make it the current match and scroll to it."""
        if place is _NOWHERE or self._note is None:
            self._remark = "no match"
            self._repaint()
            return
        self._remark, self._match = "", place
        top = self.scroll_offset.y + 1
        if not top <= place.line < top + self.page_rows:
            self.to_row(place.line - 1 - self.page_rows // 3)
        columns = self._view(self._note).columns
        column = column_of(self._note.text(place.line), place.column)
        if not self._left < column + 1 < self._left + columns - SIDEWAYS:
            self._left = max(column - columns // 3, 0) if column >= columns - SIDEWAYS else 0
        self._repaint()

    # Rendered Markdown

    def toggle_rendered(self) -> None:
        """Switch between rendered Markdown and the lines of the file."""
        if self._rendered is not None:
            self._show_rendered(None)
        elif self._note is not None:
            self._start_rendering(self._note)

    def _start_rendering(self, note: Note) -> None:
        lines = note.whole(LONGEST)
        if lines is None:
            self._remark = "too long to render"
            self.refresh()
            return
        target = self._target
        first, last = (1, 0) if target.sure is None else (target.first, target.last)
        style = RenderStyles(
            self.columns, target.sign(target.first), self.app.current_theme.dark, painting.styles_of(self)
        )
        work = partial(self._render_in_thread, note, partial(rendered, lines, first, last, style))
        self.run_worker(work, thread=True, exclusive=True, group="preview-markdown")

    def _render_in_thread(self, note: Note, make: Callable[[Callable[[], bool]], Rendered | None]) -> None:
        worker = get_current_worker()
        made = make(lambda: worker.is_cancelled)
        if made is not None:
            self.post_message(self.MadeMarkdown(note, made))

    def on_preview_made_markdown(self, message: Preview.MadeMarkdown) -> None:
        if message.note is self._note and message.made.width == self.columns:
            self._show_rendered(message.made)

    def _show_rendered(self, made: Rendered | None) -> None:
        self._rendered = made
        self._measure()
        self._to_target()
        self._repaint()
