"""Rows of segments on the screen: drawn line by line, each role in its own style.

Whoever derives from it makes the rows for a width; they are made anew when the width
changes or `lay_out` is called, never at a scroll. Rows are not wrapped here: what is
wider than the view is cut.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from rich.segment import Segment as RichSegment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from kebab_tui.tui.line_view import LineView
from kebab_tui.tui.segments import ROLES, Role, Row, row_text, row_width

NARROWEST = 16
"""Rows are made for no less than this many cells."""


class Rows(Protocol):
    """A list of rows, or something that makes each when it is looked at."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> Row: ...


class RowsView(LineView):
    """Scrolls up and down; has no selection of its own."""

    DEFAULT_CSS = """
    RowsView {
        overflow-x: hidden;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
        & > .rows--heading { text-style: bold; }
        & > .rows--muted { color: $text-muted; }
        & > .rows--number { text-style: bold; }
        & > .rows--sum { color: $text-primary; text-style: bold; }
        & > .rows--words { color: $text-accent; }
        & > .rows--meaning { color: $text-secondary; }
        & > .rows--quote { text-style: italic; }
        & > .rows--warning { color: $text-warning; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"rows--{role}" for role in ROLES}

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._rows: Rows = []
        self._styles_of: dict[Role, Style] = {}

    def rows_at(self, width: int) -> Rows:
        """What to show in this many cells."""
        raise NotImplementedError

    @property
    def lines(self) -> list[str]:
        """What it shows, as plain text."""
        return [row_text(self._rows[place]) for place in range(len(self._rows))]

    def lay_out(self) -> None:
        width = max(self.scrollable_content_region.width, NARROWEST)
        self._rows = self.rows_at(width)
        self.virtual_size = Size(width, len(self._rows))
        self.refresh()

    def on_resize(self) -> None:
        self.lay_out()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles_of.clear()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        place = y + self.scroll_offset.y
        if not 0 <= place < len(self._rows):
            return Strip.blank(width, self.rich_style)
        row = self._rows[place]
        parts = [RichSegment(text, self._style_of(role)) for text, role in row if text]
        return Strip(parts, row_width(row)).adjust_cell_length(width, self.rich_style)

    def _style_of(self, role: Role) -> Style:
        """Asked for every segment of every line: Textual would work it out each time."""
        style = self._styles_of.get(role)
        if style is None:
            style = self._styles_of[role] = self.get_component_rich_style(f"rows--{role}")
        return style
