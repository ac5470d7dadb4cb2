"""The preview: shows the file of the selected hit, opened at the cited lines.

Paints single rows. Lines are wrapped, or cut at the edge and scrolled sideways; either way
only lines in view are measured (see `wrapping`), so that long notes and long lines stay fast.
When lines above the view turn out higher or lower than estimated, the scroll position moves
with them, and the view stays. Threads read large files, and pages of documents. The text is the present
file, not the indexed one; the header reports the difference. The engine only decodes bytes, finds matches
and reads pages.

Of a document with pages one is open, first the cited one. Going on at its end leads to the next one. Until
a page is read, the former one stays, or the indexed passage where another hit was shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from time import monotonic
from typing import Any, ClassVar, Protocol

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.strip import Strip
from textual.style import Style as ContentStyle
from textual.worker import get_current_worker

from kebab_tui.domain.citation import Located, SourceSpan
from kebab_tui.domain.document import PageText
from kebab_tui.domain.errors import Failure, KebabError, defect, failure_of
from kebab_tui.domain.hit import Highlight, SearchHit
from kebab_tui.domain.ids import DocId
from kebab_tui.tui.current_query import SLOW_S
from kebab_tui.tui.page_thread import PageThread
from kebab_tui.tui.preview import painting
from kebab_tui.tui.preview.matches import MatchSpan
from kebab_tui.tui.preview.open_note import (
    Note,
    TargetLines,
    note_of_index,
    page_of_hit,
    passage_of_hit,
    read_at_once,
    read_in_thread,
    target_lines,
)
from kebab_tui.tui.preview.painting import Line, View, column_of, header, paint, paint_row
from kebab_tui.tui.preview.rendered import LONGEST, Rendered, Renderings
from kebab_tui.tui.preview.source_lines import FileIdentity, OpenFile, WholeText, identity
from kebab_tui.tui.preview.syntax import Lexers
from kebab_tui.tui.preview.wrapping import Anchor, Row, WrappedRows
from kebab_tui.tui.widgets.segments import LineView, cut, sanitize_line, wrapped

SIDEWAYS = 8
"""Columns per horizontal step."""
_NOWHERE = MatchSpan(0, -1)
_CONTEXT = 2
"""Rows above a passage that is longer than the pane."""
_LABEL_EDGES = 6
"""Cells of the upper border that its title cannot have."""
_FOOTER_FROM = 6
"""Rows of a pane that has a footer."""
_TURN_S = 0.01
"""After this time the search for a match lets other events run."""


class PreviewEngine(Protocol):
    """The part of the workspace that the preview needs."""

    def decode(self, data: bytes) -> Sequence[str]: ...

    def marks(self, text: str, query: str) -> Sequence[Highlight]: ...

    def page(self, hit: SearchHit, number: int) -> PageText: ...

    def indexed_text(self, hit: SearchHit, page: int | None) -> PageText: ...

    def file_of(self, root: str, raw_path: bytes) -> str: ...


@dataclass(frozen=True, slots=True)
class WantedPage:
    """A page of a file as it is now."""

    path: bytes
    identity: FileIdentity | None
    number: int


class Preview(LineView, can_focus=True):
    """A note, the rendered note, or a message; the header is in the frame, or a fixed row without one.

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
    class PageRead(Message):
        """The thread has read a page, or failed to."""

        wanted: WantedPage
        read: PageText | Failure

    @dataclass
    class IndexedRead(Message):
        """The thread has read a note from the index, or failed to."""

        doc: DocId
        read: Note | Failure

    class Made(Message):
        """A thread has rendered a note that took long."""

    class FooterClicked(Message):
        """The user clicked the line below the note."""

    def __init__(
        self,
        engine: PreviewEngine | None = None,
        *,
        has_footer: bool = False,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
    ) -> None:
        """`has_footer`: a line below the note is kept for `show_footer`."""
        super().__init__(id=id)
        self._has_footer = has_footer
        self._footer = ""
        self.engine = engine
        """Must be set before the first hit is shown."""
        self.is_shared = False
        """Whether the index is on servers, and a file need not be on this machine."""
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
        self._page: int | None = None
        """The page that the user has come to."""
        self._pages = 0
        """How many the document has; 0 while unknown."""
        self._asked: WantedPage | None = None
        """The page that is being read."""
        self._failed: tuple[WantedPage, Failure] | None = None
        """The last page that could not be read; it is not tried again."""
        self._indexed: tuple[DocId, Note] | None = None
        """The last note whose file is not on this machine."""
        self._turning: list[float] = []
        """Scrolls that wait for the next page; the first one led there."""
        self._page_thread = PageThread()
        self.is_rendering = False
        """Whether to show rendered Markdown instead of source lines, where possible."""
        self._rendered: Rendered | None = None
        self._renderings = Renderings(lambda: self.post_message(self.Made()))
        self._marked_query = ""
        """The query whose matches are marked in the open note."""
        self._match = MatchSpan(1, -1)
        """The current match; column -1 for none."""
        self._search: Iterator[MatchSpan | None] = iter(())
        self._wraps = True
        self._rows: WrappedRows | None = None
        """The rows of the open note, unless it is rendered."""
        self._left = 0
        self._target_row: float = 0
        self._lexers = Lexers(partial(self.call_later, self._repaint))
        self._styles: dict[str, Style] = {}
        self._strips: LRUCache[tuple[int, ...], Strip] = LRUCache(512)
        self._lines: LRUCache[tuple[int, int], Line] = LRUCache(128)
        """The lines in view, and the pieces of very long ones."""

    # Choosing and reading the note

    def show(self, hit: SearchHit, located: Located | None = None, query: str = "") -> None:
        """Show the file of a hit with the matches of `query`; a note that is open keeps its place."""
        is_other = self._hit is None or hit.chunk_id != self._hit.chunk_id
        page = (located or hit.citation).span.page
        if is_other or page != self._span.page:
            self._page, self._turning = page, []
        if self._hit is None or hit.doc_id != self._hit.doc_id:
            self._pages, self._asked = 0, None
        self._generation += 1
        self._hit, self._located, self._query = hit, located, query
        try:
            path = self._path_of(hit)
        except KebabError as error:
            if self._is_elsewhere(hit):
                self._show_indexed(hit, is_other)
            else:
                self._show_error(error)
            return
        note = self._note
        open_page = None if note is None or note.page is None else note.page.number
        is_open = note is not None and note.identity is not None and note.identity == identity(path)
        if note is None or not is_open or open_page != self._page:
            self._read(path, hit, is_other)
            return
        is_same_view = query == self._marked_query and target_lines(hit, located, note) == self._target
        if is_other or not is_same_view:
            self._open(note, is_other)

    def _path_of(self, hit: SearchHit) -> bytes:
        """The file to show; of a version, a copy that takes git some milliseconds."""
        if hit.version and self.engine is not None:
            return os.fsencode(self.engine.file_of(hit.root, hit.raw_path))
        return os.path.join(os.fsencode(hit.root), hit.raw_path)

    @property
    def is_certain(self) -> bool:
        """Whether the lines of the citation have the text of the passage."""
        if self._note is None or self._target.sure is not True:
            return False
        return self._note.identity is not None or self._note.is_indexed

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
        self._hit = self._note = self._asked = None
        self._turning = []
        self._show_words("", message.splitlines())

    def _read(self, path: bytes, hit: SearchHit, is_other: bool) -> None:
        assert self.engine is not None
        if self._page is not None:
            self._show_page(path, is_other)
            return
        try:
            file = OpenFile(path)
            note = read_at_once(file, hit.path, self.engine.decode)
        except KebabError as error:
            if self._is_elsewhere(hit):
                self._show_indexed(hit, is_other)
            else:
                self._show_error(error)
            return
        if note is not None:
            self._open(note, is_other)
            return
        self._show_words(f"reading {file.size / 1e6:,.0f} MB", ())
        line = (self._located or hit.citation).span.last
        work = partial(self._read_in_thread, self._generation, file, hit.path, line)
        self.run_worker(work, thread=True, exclusive=True, group="preview-read")

    def _is_elsewhere(self, hit: SearchHit) -> bool:
        """Whether the index is on servers, and has a file that is not on this machine."""
        return self.is_shared and not os.path.lexists(os.path.join(os.fsencode(hit.root), hit.raw_path))

    def _show_indexed(self, hit: SearchHit, is_other: bool) -> None:
        """Show the passage at its lines, and the others of the note once the servers have answered."""
        assert self.engine is not None
        if self._indexed is not None and self._indexed[0] == hit.doc_id and self._indexed[1].has(hit):
            self._open(self._indexed[1], is_other)
            return
        self._open(passage_of_hit(hit), is_other)
        engine = self.engine

        def run() -> None:
            try:
                read: Note | Failure = note_of_index(hit, engine.indexed_text(hit, None))
            except Exception as error:  # noqa: BLE001 - a defect is shown, too
                read = failure_of(error) or defect(error)
            self.post_message(self.IndexedRead(hit.doc_id, read))

        self._page_thread.run("indexed", run)

    def on_preview_indexed_read(self, message: Preview.IndexedRead) -> None:
        if self._hit is None or self._hit.doc_id != message.doc or self._page is not None:
            return
        if isinstance(message.read, Note):
            self._indexed = message.doc, message.read
            self._open(message.read, is_other=False)
        else:
            self._remark = message.read.message
            self._repaint()

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

    @property
    def _span(self) -> SourceSpan:
        """The cited lines; there must be a hit."""
        assert self._hit is not None
        return (self._located or self._hit.citation).span

    def _show_page(self, path: bytes, is_other: bool) -> None:
        """Read the page that the user has come to, unless that is being done or has failed."""
        assert self._hit is not None
        assert self._page is not None
        wanted = WantedPage(path, identity(path), self._page)
        if self._failed is not None and wanted == self._failed[0]:
            if is_other:
                self._show_error(self._failed[1])
            return
        if is_other or self._note is None:
            self._open(page_of_hit(self._hit, self._page), is_other=True)
        if wanted != self._asked:
            self._read_page(wanted)

    def _read_page(self, wanted: WantedPage) -> None:
        assert self.engine is not None
        assert self._hit is not None
        engine, hit = self.engine, self._hit
        self._asked = wanted

        def run() -> None:
            try:
                read: PageText | Failure = engine.page(hit, wanted.number)
            except Exception as error:  # noqa: BLE001 - a defect is shown, too
                read = failure_of(error) or defect(error)
            self.post_message(self.PageRead(wanted, read))

        self._page_thread.run("page", run)
        self.set_timer(SLOW_S, partial(self._show_reading, wanted))

    def _show_reading(self, wanted: WantedPage) -> None:
        if wanted == self._asked:
            self._remark = f"reading page {wanted.number:,}"
            self._repaint()

    def on_preview_page_read(self, message: Preview.PageRead) -> None:
        wanted, page = message.wanted, message.read
        if wanted != self._asked:
            return
        self._asked = None
        turning, self._turning = self._turning, []
        if isinstance(page, Failure):
            self._failed = wanted, page
            self._show_error(page)
            return
        is_read = self._note is not None and (self._note.identity is not None or self._note.is_indexed)
        before = self._note.page if self._note is not None and is_read else None
        self._page, self._pages = page.number, page.count
        note = Note(wanted.identity, "", WholeText(page.lines), page)
        self._open(note, is_other=before is None or before.number != page.number)
        if turning:
            (self.action_scroll_home if turning[0] > 0 else self.action_scroll_end)()
        for pages in turning[1:]:
            self.scroll_by_pages(pages)

    def _turn(self, pages: float) -> bool:
        """At an end of a page: read the next page there, if there is one."""
        if self._page is None or self._hit is None:
            return False
        rows = self.virtual_size.height - self._header_rows
        is_at_end = self.scroll_offset.y <= 0 if pages < 0 else self.scroll_offset.y + self.page_rows >= rows
        number = self._page + (1 if pages > 0 else -1)
        if not is_at_end or not 1 <= number <= self._pages:
            return False
        try:
            path = self._path_of(self._hit)
        except KebabError:  # what is shown stays
            return False
        self._page, self._turning = number, [pages]
        self._read_page(WantedPage(path, identity(path), number))
        return True

    def _open(self, note: Note, is_other: bool) -> None:
        assert self._hit is not None
        assert self.engine is not None
        engine, query, self._remark = self.engine, self._query, ""
        if note is not self._note or query != self._marked_query:
            note.mark(lambda text: engine.marks(text, query))
        self._note, self._words, self._marked_query = note, (), query
        before, self._target = self._target, target_lines(self._hit, self._located, note)
        self._search = iter(())
        top = self._top()
        self._take_rendering(note, keep=not is_other)
        self._measure()
        if top is None or is_other or before.first != self._target.first:
            self._reset_match()
            self._to_target()
        else:
            self._to_anchor(top)
        self._repaint()

    def _show_error(self, error: KebabError | Failure) -> None:
        """Report why the file cannot be shown, and show the indexed text instead."""
        kept = self._hit.text.split("\n") if self._hit and self._hit.text else []
        words = ["", "Indexed text:", "", *kept] if kept else []
        if self._page is None:
            self._show_words(error.message, [error.hint, *words])
            return
        reasons = (wrapped(sanitize_line(text), self.columns) for text in (error.message, error.hint))
        self._show_words(f"page {self._page:,} cannot be shown", [*chain.from_iterable(reasons), *words])

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
        if self._footer_rows and y == self.size.height - 1:
            footer = cut(self._footer, width)
            return Strip([Segment(footer, base + self._styles["gutter"])]).crop_extend(0, width, base)
        if y < self._header_rows:
            if self._hit is None:
                return Strip.blank(width, base)
            base = self._styles["header"]
            segments = [Segment(text, base + self._styles[name]) for text, name in self._header(width)]
            return Strip(segments).crop_extend(0, width, base)
        row = y - self._header_rows + self.scroll_offset.y
        if self._rendered is not None and row < len(self._rendered):
            strip = self._strips.get((row,))
            if strip is None:
                cited = self._rendered.rows_of(self._target.first, self._target.last)
                sign = self._target.sign(self._target.first) if row in cited else " "
                strip = self._rendered.paint(row + 1, sign, self._match, self._styles)
                self._strips[row,] = strip
            return strip
        if self._note is not None and self._rows is not None and row < self._rows.count:
            shown = self._rows.at(row)
            strip = self._strips.get(shown)
            if strip is None:
                strip = self._strips[shown] = self._paint(self._note, self._rows, shown)
            return strip
        words = sanitize_line(self._words[row]) if row < len(self._words) else ""
        return Strip([Segment(words, base)]).crop_extend(0, width, base)

    def _paint(self, note: Note, rows: WrappedRows, row: Row) -> Strip:
        view = self._view(note)
        if not rows.wraps:
            columns = range(view.left, view.left + view.columns)
            return paint(self._line(note, row.line, columns), view, self._styles)
        shown = rows.wrapped(row.line, row.piece)
        line = self._lines.get(row[:2])
        if line is None:
            columns = range(shown.begin, shown.begin + len(shown.places))
            line = self._lines[row[:2]] = self._line(note, row.line, columns)
        return paint_row(line, shown, row.part, view, self._styles)

    def _line(self, note: Note, number: int, columns: range) -> Line:
        lexers = None if self.app.no_color else self._lexers
        return note.line(number, self._target.sign(number), columns, self._match, lexers)

    def _view(self, note: Note) -> View:
        return View(self._left, self.columns, len(str(note.lines.count)) if note.page is None else 0)

    def _header(self, width: int) -> list[painting.Part]:
        if self._hit is None:
            return [("preview", "title")]
        state = ", ".join(word for word in (self._target.state, self._remark) if word)
        return header(self._hit, state, width, self._located)

    @property
    def _header_rows(self) -> int:
        """The rows of the header inside the pane: none if there is a frame."""
        return 0 if self.styles.border_top[0] else 1

    @property
    def _footer_rows(self) -> int:
        """The rows of the footer inside the pane: none if there is a frame, or little space."""
        has_row = self._has_footer and not self.styles.border_bottom[0]
        return 1 if has_row and self.size.height >= _FOOTER_FROM else 0

    def show_footer(self, text: str) -> None:
        """Show a text below the note; the note does not move."""
        if text != self._footer:
            self._footer = text
            self.border_subtitle = Content(text)
            if self._footer_rows:
                self.refresh(Region(0, self.size.height - 1, self.size.width, 1))

    def on_click(self, event: events.Click) -> None:
        if self._footer and event.screen_y == self.region.bottom - 1:
            self.post_message(self.FooterClicked())

    def _repaint(self) -> None:
        self._strips.clear()
        self._lines.clear()
        if not self._header_rows:
            styles = {"path": ContentStyle(bold=True), "state": ContentStyle(bold=True, underline=True)}
            parts = self._header(max(self.outer_size.width - _LABEL_EDGES, 1))
            self.border_title = Content.assemble(*((text, styles.get(name, "")) for text, name in parts))
        self.refresh()

    def _measure(self) -> None:
        """Set the number of rows; that of a note is set when it is scrolled."""
        self._rows = None
        rows = len(self._words)
        if self._rendered is not None:
            rows = len(self._rendered)
        elif self._note is not None:
            wraps = self._wraps and bool(self.size)
            self._rows = WrappedRows(self._note.lines, self._view(self._note).columns if wraps else None)
            return
        self.virtual_size = Size(self.columns, rows + self._fixed_rows)

    @property
    def wraps(self) -> bool:
        """Whether long lines are wrapped; the line at the top stays there."""
        return self._wraps

    @wraps.setter
    def wraps(self, wraps: bool) -> None:
        if wraps != self._wraps:
            self._wraps, self._left = wraps, 0
            self._arrange()

    def _arrange(self, *, keep: bool = False) -> None:
        """Count the rows again; the view stays at the passage, or at the line at its top.

        `keep` a former rendering until a new one is made.
        """
        was_at_target = self.scroll_offset.y == min(self._target_row, self.max_scroll_y)
        top = self._top()
        if self._note is not None:
            self._take_rendering(self._note, keep=keep)
        self._measure()
        if was_at_target:
            self._to_target()
        elif top is not None:
            self._to_anchor(top)
        self._repaint()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = {}
        self._strips.clear()
        self._lines.clear()

    def on_resize(self, _: events.Resize) -> None:
        # The library has already scrolled a note that fits better now.
        self._arrange()

    # Scrolling

    def on_focus(self) -> None:
        self._place_cursor()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._place_cursor()

    def _place_cursor(self) -> None:
        """Put the cursor of the terminal on the passage, or at the top, while the preview has the focus."""
        if not self.has_focus:
            return
        row = self._header_rows
        if self._rendered is not None:
            below = self._rendered.row_of(self._target.first) - self.scroll_offset.y
            row += below if 0 <= below < self.page_rows else 0
        elif self._rows is not None and self._is_in_view(passage := self._passage[0]):
            row += self._rows.row_of(passage) - self.scroll_offset.y
        self.app.cursor_position = self.content_region.offset + Offset(0, row)

    @property
    def columns(self) -> int:
        """The width without the scrollbar."""
        return self.scrollable_content_region.width

    @property
    def page_rows(self) -> int:
        """The visible rows of the note."""
        return max(self.size.height - self._fixed_rows, 1)

    @property
    def _fixed_rows(self) -> int:
        return self._header_rows + self._footer_rows

    def to_row(self, row: int) -> None:
        """Scroll a row to the top, as far as there are rows below it."""
        self.scroll_to(y=row, animate=False, force=True)

    def scroll_by(self, rows: int) -> None:
        self.to_row(self.scroll_offset.y + rows)

    def _scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> bool:
        """Count the rows that come into view first; keys, wheel and scrollbar all lead here."""
        if y is not None and self._rows is not None:
            top = self.scroll_offset.y
            is_near = abs(y - top) < 2 * self.page_rows
            y = self._settled(
                self._rows, self._rows.anchor(top if is_near else int(y)), y - top if is_near else 0
            )
        return super()._scroll_to(x, y, **options)

    def _settled(self, rows: WrappedRows, anchor: Anchor, offset: float) -> float:
        """So many rows below the row of a character, when all rows in view there are counted."""
        while True:
            row = rows.row_of(anchor) + offset
            if not rows.measure(min(int(row), rows.count - self.page_rows), self.page_rows + 1):
                self.virtual_size = Size(self.columns, rows.count + self._fixed_rows)
                return row

    def _top(self) -> Anchor | None:
        """The character at the top of an open note; of a rendered one, the beginning of its line."""
        if self._rendered is not None:
            return Anchor(self._rendered.line_of(self.scroll_offset.y), 0)
        return None if self._rows is None else self._rows.anchor(self.scroll_offset.y)

    def _is_in_view(self, anchor: Anchor) -> bool:
        """Whether a row shows this character. Counts no line above the view: the view would move."""
        if self._rows is None:
            return False
        bottom = self.scroll_offset.y + self.page_rows
        is_below = bottom < self._rows.count and self._rows.anchor(bottom) <= anchor
        return self._rows.anchor(self.scroll_offset.y) <= anchor and not is_below

    def _to_anchor(self, anchor: Anchor, above: int = 0) -> None:
        """Scroll a character to the top, or below so many rows."""
        if self._rendered is not None:
            self.to_row(self._rendered.row_of(anchor.line) - above)
            return
        assert self._rows is not None
        row = self._settled(self._rows, anchor, -above)
        super()._scroll_to(y=row, animate=False, force=True)

    def _to_target(self) -> None:
        """Scroll the passage a third down, or higher if more of it can be seen then."""
        if self._note is None:
            return
        third = self.page_rows // 3
        first, last = self._passage
        if self._rendered is not None:
            rows = len(self._rendered.rows_of(first.line, last.line))
        else:
            assert self._rows is not None
            is_cut = not self._rows.wraps and self._note.is_long(first.line)
            self._left = max(first.column - 1, 0) if is_cut else 0
            rows = self._rows.row_of(last) + 1 - self._rows.row_of(first)
        self._to_anchor(first, max(min(third, self.page_rows - rows), min(third, _CONTEXT)))
        self._place_cursor()
        self._target_row = self.scroll_offset.y

    @property
    def _passage(self) -> tuple[Anchor, Anchor]:
        """The first character of the passage, and its last one if that is near enough to be seen with it."""
        assert self._note is not None
        assert self._hit is not None
        first, last = self._target.first, min(self._target.last, self._target.first + self.page_rows)
        if not self._target.sure or not self._hit.text:
            return Anchor(first, 0), Anchor(last, len(self._note.text(last)) - 1)
        column = self._note.passage_column(first, self._hit.text)
        end = len(self._hit.text.rpartition("\n")[2]) - 1
        return Anchor(first, column), Anchor(last, end if last > first else column + end)

    def action_scroll_up(self) -> None:
        self.scroll_by(-1)

    def action_scroll_down(self) -> None:
        self.scroll_by(1)

    def scroll_by_pages(self, pages: float) -> None:
        """Scroll by views. At an end of a page of a document, go on to the next page."""
        if self._turning:
            self._turning.append(pages)
        elif not self._turn(pages):
            self.scroll_by(round(pages * max(self.page_rows - 1, 1)))

    def action_page_up(self) -> None:
        self.scroll_by_pages(-1)

    def action_page_down(self) -> None:
        self.scroll_by_pages(1)

    def action_scroll_home(self) -> None:
        if self._rows is not None:
            self._to_anchor(Anchor(1, 0))
        else:
            self.to_row(0)

    def action_scroll_end(self) -> None:
        if self._rows is not None and self._note is not None:
            last = self._note.lines.count
            self._to_anchor(Anchor(last, len(self._note.text(last))))
        else:
            self.to_row(self.virtual_size.height)

    def action_scroll_left(self) -> None:
        if self._rows is not None and not self._rows.wraps:
            self._left = max(self._left - SIDEWAYS, 0)
            self._repaint()

    def action_scroll_right(self) -> None:
        """Scroll right if lines are not wrapped and a visible one is longer than the view."""
        if self._note is None or self._rows is None or self._rows.wraps:
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
        """Search from the last match, or from the visible rows if that is out of view."""
        if self._note is None:
            return
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.page_rows
        if not self._is_match_in_view:
            if self._rendered is not None:
                self._match = MatchSpan((top if forward else bottom) + 1, -1)
            elif self._rows is None:
                return
            elif forward:
                line, column = self._rows.anchor(top)
                self._match = MatchSpan(line, column - 1)
            elif bottom < self._rows.count:
                self._match = MatchSpan(*self._rows.anchor(bottom))
            else:
                self._match = MatchSpan(self._note.lines.count + 1, -1)
        shown = self._note if self._rendered is None else self._rendered
        self._search = shown.search(self._match, forward)
        self._continue_search(self._search, forward)

    def _continue_search(self, search: Iterator[MatchSpan | None], forward: bool) -> None:
        turn_ends = monotonic() + _TURN_S
        while search is self._search:
            place = next(search, _NOWHERE)
            if place is not None:
                self._show_match(place, forward)
                return
            if monotonic() > turn_ends:
                self.call_later(self._continue_search, search, forward)
                return

    def _show_match(self, place: MatchSpan, forward: bool) -> None:
        """Make it the current match and scroll to it."""
        shown = self._note if self._rendered is None else self._rendered
        if shown is None:
            return
        if place is _NOWHERE:
            self._remark = "no match"
            self._repaint()
            return
        has_turned = place <= self._match if forward else place >= self._match
        turned = ("from the top" if forward else "from the end") if has_turned else ""
        self._remark = ", ".join(filter(None, (shown.number_of(place), turned)))
        self._match = place
        if not self._is_match_in_view:
            if self._rendered is not None:
                self.to_row(place.line - 1 - self.page_rows // 3)
            else:
                self._to_anchor(Anchor(*place), self.page_rows // 3)
        if self._note is not None and self._rows is not None and not self._rows.wraps:
            columns = self._view(self._note).columns
            column = column_of(self._note.text(place.line), place.column)
            if not self._left < column + 1 < self._left + columns - SIDEWAYS:
                self._left = max(column - columns // 3, 0) if column >= columns - SIDEWAYS else 0
        self._repaint()

    # Rendered Markdown

    def toggle_rendered(self) -> None:
        """Show notes as rendered Markdown, or as the lines of their files, until this is called again."""
        self.is_rendering = not self.is_rendering
        if self._note is not None:
            self._remark = ""
            self._arrange()

    def _take_rendering(self, note: Note, *, keep: bool) -> None:
        """Show the note rendered, if wanted and possible; `keep` the former rendering meanwhile."""
        assert self.engine is not None
        engine, query, before = self.engine, self._query, self._rendered
        lines = note.whole(LONGEST) if note.is_markdown else None
        self._rendered = None
        if not self.is_rendering or not self.size:
            self._renderings.cancel()
        elif lines is None or note.identity is None:
            self._renderings.cancel()
            source = "not Markdown: source" if note.page is None else "not Markdown"
            self._remark = "too long to render" if note.is_markdown else source
        else:
            self._rendered = self._renderings.of(note.identity, lines, self.columns)
            if self._rendered is None and keep and before is not None and before.width == self.columns:
                self._rendered = before
        if self._rendered is not None:
            self._rendered.mark(lambda text: engine.marks(text, query))
        if self._rendered is not before:
            self._search = iter(())
            self._reset_match()

    def on_preview_made(self) -> None:
        if self._note is not None and self.is_rendering:
            self._arrange(keep=True)  # it is known now, unless another was wanted meanwhile

    def _reset_match(self) -> None:
        """Search from the passage on."""
        first, _ = self._passage
        if self._rendered is not None:
            self._match = MatchSpan(self._rendered.row_of(first.line) + 1, -1)
        else:
            self._match = MatchSpan(first.line, first.column - 1)

    @property
    def _is_match_in_view(self) -> bool:
        if self._rendered is not None:
            return 0 <= self._match.line - 1 - self.scroll_offset.y < self.page_rows
        return self._is_in_view(Anchor(self._match.line, max(self._match.column, 0)))
