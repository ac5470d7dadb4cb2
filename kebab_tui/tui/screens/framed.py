"""The common look of the pages above the screen: a frame, a text input, a list of one-line rows.

`Frame` has the title of a page in its upper border and the keys in its lower one. `FramedList`
paints rows (label on the left, detail on the right) with a cursor. `FramedScreen` is a page of
both with an input on top and maybe a preview; a subclass finds the rows for the typed text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment as RichSegment
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import ModalScreen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from kebab_tui.tui.actions import Actions, ScreenName, bind
from kebab_tui.tui.widgets.footer import footer_text
from kebab_tui.tui.widgets.query_text import LONGEST, one_plain_line
from kebab_tui.tui.widgets.segments import (
    CURSOR,
    DOT,
    ELLIPSIS,
    GAP,
    STEP,
    Row,
    Rows,
    RowsView,
    Segment,
    cut,
    cut_middle,
    one_line,
    row_width,
    sanitize_line,
    take,
)

GUTTER = 2
"""Cells for the cursor."""
_MORE_AT = 18
"""Cells of a label before `FramedRow.more`, at least."""
_MARGIN = 1
"""Cells between the rows and the scrollbar."""
_LEAST_MORE = 12
"""Cells of `FramedRow.more` below which it is left out."""
_BORDER = 6
"""Cells of a border that no text can use."""
_SMALL = (60, 16)
"""Pages fill the whole of smaller terminals."""
_BESIDE = 100
"""From this width on, a preview is beside the list."""
_STACKED = 18
"""From this height on, there is space for a preview below the list."""


class Frame(Vertical):
    """A round border with the title of a page and its keys: the last one, and as many as fit.

    Fills a small terminal.
    """

    DEFAULT_CSS = """
    Frame {
        border: round $border; border-title-color: $border; border-title-style: bold;
        border-subtitle-color: $text-muted;
        background: $surface; padding: 0 1;
        &.-small {
            width: 100% !important; height: 100% !important; max-height: 100% !important;
            & > FilterLine { height: 1; border-bottom: none; }
        }
    }
    """

    def __init__(self, *children: Widget, title: str, keys: str) -> None:
        """`keys`: see `footer_text`."""
        super().__init__(*children)
        self.border_title = Content(one_line(title))
        self._keys = keys

    def on_resize(self, event: events.Resize) -> None:
        terminal = self.app.size
        self.set_class(terminal.width < _SMALL[0] or terminal.height < _SMALL[1], "-small")
        between = f" {DOT} "
        keys = self._keys.split(between)
        while len(keys) > 1 and cell_len(between.join(keys)) > event.size.width - _BORDER:
            del keys[-2]
        self.border_subtitle = Content(between.join(keys))


class _FilterInput(Input):
    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    """Width of the text. In the base class, a change triggers a layout of the screen: at every key."""

    def validate_value(self, value: str) -> str:
        return one_plain_line(value)


class FilterLine(Horizontal):
    """A text input with a prompt, above a line."""

    DEFAULT_CSS = """
    FilterLine {
        height: 2; border-bottom: solid $border-blurred;
        &:focus-within { border-bottom: solid $border; }
        & > Static { width: 2; color: $primary; text-style: bold; }
        & > Input { width: 1fr; background: transparent; background-tint: transparent; }
        & .input--placeholder { color: $text-muted; }
    }
    """

    def __init__(self, placeholder: str) -> None:
        super().__init__()
        self.input = _FilterInput(
            placeholder=placeholder, max_length=LONGEST, select_on_focus=False, compact=True
        )
        self.input.cursor_blink = False  # an idle page paints nothing

    def compose(self) -> ComposeResult:
        yield Static(Content(f"{STEP} "))
        yield self.input


@dataclass(frozen=True, slots=True)
class FramedRow:
    """One line: a label of any roles, and a detail (a key, a folder, a count) right-aligned.

    The cursor skips a heading. Texts need not be sanitised.
    """

    label: Row
    detail: str = ""
    is_heading: bool = False
    more: str = ""
    """Muted text behind the label in a column, unless only a few cells are left for it."""


def framed_row(row: FramedRow, width: int, *, selected: bool = False) -> Row:
    """The row in exactly `width` cells; the detail gets at most half, or a third beside a long label."""
    space = max(width - GUTTER, 0)
    clean = [Segment(sanitize_line(text), role) for text, role in row.label]
    needed = row_width(tuple(clean))
    detail = cut_middle(sanitize_line(row.detail), min(space // 2, max(space - GAP - needed, space // 3)))
    left = space - cell_len(detail) - (GAP if detail else 0)
    gutter = Segment((CURSOR if selected else " ").ljust(GUTTER)[:width], "heading")
    label = []
    is_cut = needed > left
    for text, role in clean:
        fits = take(text, left - is_cut)
        left -= cell_len(fits)
        label.append(Segment(fits, "heading" if row.is_heading and role == "plain" else role))
        if fits != text:
            break
    if is_cut and left > 0:
        label.append(Segment(ELLIPSIS, label[-1].role))
        left -= 1
    used = sum(cell_len(text) for text, _ in label)
    gap = max(_MORE_AT - used, GAP)
    if row.more and left - gap >= min(_LEAST_MORE, cell_len(row.more)):
        more = cut(sanitize_line(row.more), left - gap)
        left -= gap + cell_len(more)
        label.append(Segment(" " * gap + more, "muted"))
    padding = Segment(" " * (left + (GAP if detail else 0)))
    return (gutter, *label, padding, Segment(detail, "muted"))


def highlighted(strip: Strip, style: Style) -> Strip:
    """The strip on the background of a style."""
    ground = Style(bgcolor=style.bgcolor, bold=style.bold or None)
    return Strip(RichSegment.apply_style(strip, post_style=ground), strip.cell_length)


class _PlacedRows:
    """Rows in `width` cells, each made on access."""

    def __init__(self, rows: Sequence[FramedRow], width: int, cursor: int) -> None:
        self._rows = rows
        self._width = width
        self._cursor = cursor

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int, /) -> Row:
        return framed_row(self._rows[place], self._width, selected=place == self._cursor)


class FramedList(RowsView, can_focus=False, inherit_bindings=False):
    """Rows with a cursor. Only the rows in view are made."""

    DEFAULT_CSS = """
    FramedList {
        height: 1fr;
        & > .framed-list--row { background: $primary 12%; }
        &:ansi > .framed-list--row { background: $block-cursor-blurred-background; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"framed-list--row"}

    class CursorMoved(Message):
        """Another row is selected, or none; see `cursor`."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, FramedList.CursorMoved)

    class RowClicked(Message):
        """The user wants the selected row."""

    def __init__(self) -> None:
        super().__init__()
        self._items: Sequence[FramedRow] = ()
        self._empty = ""
        self.cursor = -1
        """The place of the selected row; -1 without rows."""

    def rows_at(self, width: int) -> Rows:
        if not self._items:
            return [(Segment(cut(one_line(self._empty), width), "muted"),)]
        return _PlacedRows(self._items, width - _MARGIN, self.cursor)

    def show(
        self,
        rows: Sequence[FramedRow],
        cursor: int = 0,
        *,
        empty: str = "nothing found",
        stays: bool = False,
    ) -> None:
        """Replace the rows; `empty` is the text without any. The view starts at the top unless it `stays`."""
        self._items, self._empty, self.cursor = rows, empty, -1
        self.lay_out()
        if not stays:
            self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self.move_to(cursor)
        if self.cursor < 0:
            self.post_message(self.CursorMoved())

    def move_to(self, place: int) -> None:
        """Put the cursor on this row; on the next one in this direction if it is a heading."""
        last = len(self._items) - 1
        place = min(max(place, 0), last)
        down, up = range(max(place, 0), last + 1), range(place, -1, -1)
        for at in chain(up, down) if place < self.cursor else chain(down, up):
            if not self._items[at].is_heading:
                self._select(at)
                return

    def _select(self, place: int) -> None:
        if place == self.cursor:
            return
        self.cursor = place
        self.lay_out()
        self._reveal()
        self.post_message(self.CursorMoved())

    def _reveal(self) -> None:
        """Scroll as little as necessary to show the selected row, and a heading above it."""
        height, place = self.scrollable_content_region.height, self.cursor
        if height and place >= 0:
            top = place - 1 if place and height > 1 and self._items[place - 1].is_heading else place
            wanted = min(max(self.scroll_offset.y, place - height + 1), top)
            self.scroll_to(y=wanted, animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        self.lay_out()
        self._reveal()

    def on_click(self, event: events.Click) -> None:
        place = event.y + self.scroll_offset.y
        if place < len(self._items) and not self._items[place].is_heading:
            self._select(place)
            self.post_message(self.RowClicked())

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        if self.cursor >= 0 and y + self.scroll_offset.y == self.cursor:
            return highlighted(strip, self.get_component_rich_style("framed-list--row"))
        return strip


class FramedScreen(ModalScreen[ScreenResultType]):
    """A page with an input over a list. Keys that come early wait for the rows of the typed text.

    A subclass implements `find`, which calls `show` at once or later, and `choose`; for a preview
    it handles `FramedList.CursorMoved`. Its actions in the registry run `screen.move(1)`,
    `screen.page(1)`, `screen.choose` and `screen.dismiss`.
    """

    DEFAULT_CSS = """
    FramedScreen {
        align: center middle;
        & > Frame { width: 90%; max-width: 100; height: 80%; max-height: 30; }
        & > Frame.-previews { width: 94%; max-width: 180; height: 90%; max-height: 100%; }
        & .framed--panes { height: 1fr; }
        & .framed--preview {
            height: 2fr; width: 1fr;
            border-top: solid $border-blurred; border-title-color: $text-muted;
        }
        & .framed--panes.-previews > FramedList { height: 3fr; width: 1fr; }
        & .framed--panes.-alone > .framed--preview { display: none; }
        & .framed--panes.-beside { layout: horizontal; }
        & .framed--panes.-beside > FramedList { height: 1fr; width: 4fr; }
        & .framed--panes.-beside > .framed--preview {
            height: 1fr; width: 5fr; border-top: none; border-left: solid $border-blurred; padding-left: 1;
        }
    }
    """
    screen_name: ClassVar[ScreenName]

    def __init__(
        self, actions: Actions, title: str, *, placeholder: str = "", preview: Widget | None = None
    ) -> None:
        super().__init__()
        self._actions = actions
        self._preview = preview
        # Attributes, not lookups: a result may arrive after the page was closed.
        self._line = FilterLine(placeholder)
        self.rows = FramedList()
        self._panes = Container(self.rows, *([] if preview is None else [preview]), classes="framed--panes")
        self.frame = Frame(self._line, self._panes, title=title, keys=footer_text(actions, self.screen_name))
        self._asked_for: str | None = None
        """The text that `find` was last called with."""
        self._has_rows = False
        """Whether the rows for this text are there."""
        self._steps = 0
        self._chooses = False
        """What the user did before the rows arrived."""

    def compose(self) -> ComposeResult:
        if self._preview is not None:
            self._preview.add_class("framed--preview")
            for node in (self.frame, self._panes):
                node.add_class("-previews")
        yield self.frame

    def on_mount(self) -> None:
        for node in (self, self.typing_box):
            bind(node, self._actions, self.screen_name, "query")
        self.catch_up()

    def on_resize(self, event: events.Resize) -> None:
        is_beside = self._preview is not None and event.size.width >= _BESIDE
        self._panes.set_class(is_beside, "-beside")
        self._panes.set_class(not is_beside and event.size.height < _STACKED, "-alone")

    @property
    def typing_box(self) -> Input:
        """Receives the text typed anywhere on the page."""
        return self._line.input

    def find(self, text: str) -> None:
        """Call `show` with the rows for this text."""
        raise NotImplementedError

    def choose(self, place: int) -> None:
        """Perform the row at this place."""
        raise NotImplementedError

    def show(
        self,
        text: str,
        rows: Sequence[FramedRow],
        cursor: int = 0,
        *,
        empty: str = "nothing found",
        stays: bool = False,
    ) -> None:
        """Show the rows for a text, unless it has changed since."""
        if text != self.typing_box.value:
            return
        self._has_rows = True
        self.rows.show(rows, cursor, empty=empty, stays=stays)
        if self._steps:
            self.rows.move_to(self.rows.cursor + self._steps)
        chooses, self._steps, self._chooses = self._chooses, 0, False
        if chooses:
            self.action_choose()

    @on(Input.Changed)
    def _text_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()

    @on(FramedList.RowClicked)
    def _row_clicked(self, event: FramedList.RowClicked) -> None:
        event.stop()
        self.action_choose()

    def catch_up(self) -> None:
        """Ask for the rows of the typed text: a key may come before the message about the text."""
        if (text := self.typing_box.value) != self._asked_for:
            self._asked_for = text
            self._has_rows, self._steps, self._chooses = False, 0, False
            self.find(text)

    def action_move(self, step: int) -> None:
        self.catch_up()
        if self._has_rows:
            self.rows.move_to(self.rows.cursor + step)
        else:
            self._steps += step

    def action_page(self, step: int) -> None:
        self.action_move(step * max(self.rows.size.height - 1, 1))

    def action_choose(self) -> None:
        self.catch_up()
        if not self._has_rows:
            self._chooses = True
        elif self.rows.cursor >= 0:
            self.choose(self.rows.cursor)
