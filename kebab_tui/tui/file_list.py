"""The list of the health page: a table of files, a cursor, and nothing that jumps.

Files come in above the cursor while the user looks: what is chosen stays on its line of
the screen. Brings no keys along; whoever has them calls the methods here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.message import Message
from textual.strip import Strip

from kebab_tui.tui.health_rows import HealthRows
from kebab_tui.tui.health_table import Entry, Folder, Heading, HealthTable, Spot
from kebab_tui.tui.rows_view import Rows, RowsView
from kebab_tui.tui.segments import signs_for
from kebab_tui.tui.text import Glyphs

if TYPE_CHECKING:
    from kebab_tui.indexing.lookup import ListedFile


class FileList(RowsView, can_focus=True, inherit_bindings=False):
    """The table, and a cursor on one of its rows. The library's own keys would scroll without it."""

    DEFAULT_CSS = """
    FileList {
        height: 1fr; scrollbar-size-vertical: 1;
        & > .file-list--row { background: $primary 12%; }
        &:ansi > .file-list--row { background: $block-cursor-blurred-background; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"file-list--row"}

    class Moved(Message):
        """The cursor stands on something else."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="files")
        self.table = HealthTable()
        self._signs = signs_for(glyphs)
        self._spot: Spot | None = None
        """None: on the first row there is, until the user moves."""

    @property
    def cursor(self) -> int:
        """The row that is chosen."""
        return len(self.table.folders) if self._spot is None else self.table.row_of(self._spot)

    @property
    def selected(self) -> Entry | None:
        return self.table.entry(self.cursor)

    def rows_at(self, width: int) -> Rows:
        return HealthRows(self.table, width, self._signs, self.cursor)

    def add(self, files: Iterable[ListedFile]) -> None:
        """Take in more files; what the user looks at stays where it is on the screen."""
        before = self.cursor
        self.table.add(files)
        self._settle(before)

    def show(self, table: HealthTable) -> None:
        """Another table in the place of this one; the cursor goes to the same file."""
        before, selected = self.cursor, self.selected
        table.look_like(self.table)
        if self._spot is not None and not isinstance(selected, Heading | Folder | None):
            self._spot = table.find(selected) or self._spot
        self.table = table
        self._settle(before)

    def filter(self, text: str) -> None:
        self.table.filter(text)
        self._spot = None
        self.lay_out()
        self.scroll_home(animate=False)
        self.post_message(self.Moved())

    def fold(self) -> None:
        """Close or open the group that the cursor is in; its heading takes the cursor."""
        spot = self.table.spot(self.cursor)
        if spot is not None and not self.table.is_filtered:
            self.table.fold(spot.state)
            self._spot = Spot(spot.state)
            self._settle(self.cursor)

    def move_to(self, row: int) -> None:
        spot = self.table.spot(min(max(row, len(self.table.folders)), len(self.table) - 1))
        if spot is not None:
            self._spot = spot
            self._settle(self.cursor)

    def on_click(self, event: events.Click) -> None:
        self.move_to(event.y + self.scroll_offset.y)

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if y + self.scroll_offset.y == self.cursor and self.table.spot(self.cursor) is not None:
            return strip.apply_style(self.get_component_rich_style("file-list--row"))
        return strip

    def _settle(self, before: int) -> None:
        """Draw anew: the cursor on the line of the screen where it was, or else in sight."""
        offset = self.scroll_offset.y
        self.lay_out()
        height = self.scrollable_content_region.height
        if self._spot is not None and height:
            wanted = offset + self.cursor - before
            wanted = min(max(wanted, self.cursor - height + 1), self.cursor)
            if wanted != offset:
                self.scroll_to(y=wanted, animate=False, force=True, immediate=True)
        self.post_message(self.Moved())
