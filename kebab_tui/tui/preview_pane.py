"""The pane of the preview: one fixed row, and below it a note, line by line.

Paints what it is given and knows where it is scrolled to; which note that is, and why, is
not its business. Row 0 is the first below the fixed one. Scrolls without animation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.geometry import Size
from textual.strip import Strip

from kebab_tui.tui import preview_lines, preview_look
from kebab_tui.tui.line_view import LineView
from kebab_tui.tui.preview_header import header
from kebab_tui.tui.preview_lexers import Lexers
from kebab_tui.tui.preview_lines import View, column_of, paint
from kebab_tui.tui.preview_marks import Place
from kebab_tui.tui.preview_note import Aim, Note
from kebab_tui.tui.preview_rendered import Rendered
from kebab_tui.tui.text import ASCII, UNICODE, Glyphs, clean

if TYPE_CHECKING:
    from kebab_tui.domain.citation import Located
    from kebab_tui.domain.hit import SearchHit

SIDEWAYS = 8
"""Columns that a key goes to the side."""


class PreviewPane(LineView):
    """Shows a note, or the same rendered, or some words in its place."""

    DEFAULT_CSS = preview_look.CSS
    COMPONENT_CLASSES: ClassVar[set[str]] = preview_look.COMPONENT_CLASSES

    def __init__(self, *, id: str | None = None, glyphs: Glyphs = UNICODE) -> None:  # noqa: A002
        super().__init__(id=id)
        self._glyphs = glyphs
        self._signs = preview_lines.ASCII if glyphs == ASCII else preview_lines.UNICODE
        self._hit: SearchHit | None = None
        self._located: Located | None = None
        self._note: Note | None = None
        self._aim = Aim(1, 1, None, "")
        self._remark = ""
        self._words: Sequence[str] = ()
        """What stands in the place of a note."""
        self._rendered: Rendered | None = None
        self._lexers = Lexers(partial(self.call_later, self._repaint))
        self._left = 0
        self._aimed_row: float = 0
        self._place = Place(1, -1)
        """The match that was jumped to; column -1 for none."""
        self._styles: dict[str, Style] = {}
        self._strips: LRUCache[tuple[int, int], Strip] = LRUCache(512)

    # Painting

    def render_line(self, y: int) -> Strip:
        width, base = self.columns, self._look()["text"]
        if y == 0:
            return self._header_row(width)
        row = y - 1 + self.scroll_offset.y
        if self._rendered is not None and row < len(self._rendered.strips):
            return self._rendered.strips[row]
        if self._note is not None and self._rendered is None and row < self._note.lines.count:
            return self._line(self._note, row + 1)
        words = clean(self._words[row]) if row < len(self._words) else ""
        return Strip([Segment(words, base)]).crop_extend(0, width, base)

    def _look(self) -> Mapping[str, Style]:
        if not self._styles:
            self._styles = preview_look.look_of(self)
        return self._styles

    def _header_row(self, width: int) -> Strip:
        if self._hit is None:
            return Strip.blank(width, self._styles["text"])
        base = self._styles["header"]
        state = ", ".join(word for word in (self._aim.state, self._remark) if word)
        parts = header(self._hit, self._located, state, width, self._glyphs)
        segments = [Segment(text, base + self._styles[name]) for text, name in parts]
        return Strip(segments).crop_extend(0, width, base)

    def _line(self, note: Note, number: int) -> Strip:
        key = number, self.columns
        strip = self._strips.get(key)
        if strip is None:
            view = self._view(note)
            columns = range(view.left, view.left + view.columns)
            mark = self._aim.sign(number, self._signs)
            lexers = None if self.app.no_color else self._lexers
            line = note.line(number, mark, columns, self._place, lexers)
            strip = self._strips[key] = paint(line, view, self._styles)
        return strip

    def _view(self, note: Note) -> View:
        return View(self._left, self.columns, len(str(note.lines.count)), self._signs)

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

    # Moving about

    @property
    def columns(self) -> int:
        """How wide it is beside its scrollbar."""
        return self.scrollable_content_region.width

    @property
    def page_rows(self) -> int:
        """How many rows are in view below the fixed one."""
        return max(self.size.height - 1, 1)

    def to_row(self, row: int) -> None:
        """Put a row at the top, as far as there are enough below it."""
        self.scroll_to(y=row, animate=False, force=True)

    def scroll_by(self, rows: int) -> None:
        self.to_row(self.scroll_offset.y + rows)

    def half_page(self, direction: int) -> None:
        self.scroll_by(direction * max(self.page_rows // 2, 1))

    def page(self, direction: int) -> None:
        self.scroll_by(direction * max(self.page_rows - 1, 1))

    def to_top(self) -> None:
        self.to_row(0)

    def to_end(self) -> None:
        self.to_row(self.virtual_size.height)

    def sideways(self, columns: int) -> None:
        """Show columns further to the right, as long as a line in view goes on there, or to the left."""
        if self._note is None or self._rendered is not None:
            return
        if columns > 0 and not self._goes_on(self._note):
            return
        self._left = max(self._left + columns, 0)
        self._repaint()

    def _goes_on(self, note: Note) -> bool:
        top = self.scroll_offset.y + 1
        edge = self._left + self._view(note).columns
        return any(
            column_of(text, len(text)) > edge for text in note.lines.slice(top, top + self.page_rows - 1)
        )

    def _to_aim(self) -> None:
        row = self._aim.first - 1
        if self._rendered is not None and self._note is not None:
            row = self._rendered.row_of(row, self._note.lines.count)
        self.to_row(row - self.page_rows // 3)
        self._aimed_row = self.scroll_offset.y

    def action_scroll_up(self) -> None:
        self.scroll_by(-1)

    def action_scroll_down(self) -> None:
        self.scroll_by(1)

    def action_page_up(self) -> None:
        self.page(-1)

    def action_page_down(self) -> None:
        self.page(1)

    def action_scroll_home(self) -> None:
        self.to_top()

    def action_scroll_end(self) -> None:
        self.to_end()

    def action_scroll_left(self) -> None:
        self.sideways(-SIDEWAYS)

    def action_scroll_right(self) -> None:
        self.sideways(SIDEWAYS)
