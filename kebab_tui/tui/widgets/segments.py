"""Building blocks of every pane: glyphs, cleaned and cut text, rows of segments, scroll views.

Text from files, titles, queries and notices passes `sanitize_line` (or `one_line`) before a widget
shows it, and reaches the widget as `Content` or `Strip`: Textual parses a plain `str` as
markup. All widths are terminal cells, and a cut never splits a character. A segment names
a role; the widget that paints it chooses the colour.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple, Protocol, get_args

from rich.cells import cell_len, chop_cells
from rich.segment import Segment as RichSegment
from rich.style import Style
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kebab_tui.domain.text import sanitize
from kebab_tui.tui.glyphs import glyph

# The glyphs of all panes

CURSOR = glyph("▌", ">")
CITED = glyph("▌", "|")
NEAR = glyph("┆", ":")
"""Marks lines near a passage that is not there any more."""
CUT_LEFT, CUT_RIGHT = glyph("‹", "<"), glyph("›", ">")
"""The line continues beyond this edge of the pane."""
STEP = glyph("›", ">")
"""Between a title and its headings."""
DOT = glyph("·", "-")
"""Between facts of equal rank."""
LINE = glyph("─", "-")
CHECK, CROSS = glyph("✓", "+"), glyph("✗", "x")
UP, DOWN = glyph("▲", "^"), glyph("▼", "v")
RIGHT, ARROW = glyph("▶", ">"), glyph("→", ">")
TIMES = glyph("×", "x")
ELLIPSIS = glyph("…", "~")
"""One cell wide, as all of these."""
BLOCKS = glyph("▏▎▍▌▋▊▉█", "-------=")
"""Growing parts of a cell, the last one full."""

GAP = 2
"""Cells between two columns."""
NARROWEST = 16
"""Rows are made for at least this many cells."""

Role = Literal["plain", "heading", "muted", "number", "sum", "words", "meaning", "warning", "match"]
ROLES: tuple[Role, ...] = get_args(Role)

_ROW_BREAKERS = str.maketrans({"\n": "\u240a", "\t": "\u2409"})
MOST_PER_CELL = 24
"""Characters that may share a cell (marks, joiners); text beyond that is not measured."""
_JOINER = "\u200d"


# Clean and cut text


def sanitize_line(text: str) -> str:
    """Replace control characters, line breaks and tabs with visible ones; the length stays the same."""
    return sanitize(text).translate(_ROW_BREAKERS)


def one_line(text: str) -> str:
    """Clean the text and turn each run of white space into one space."""
    return sanitize_line(" ".join(text.split()))


def take(text: str, width: int) -> str:
    """The longest beginning that fits."""
    if width <= 0:
        return ""
    taken = next(iter(chop_cells(text[: width * MOST_PER_CELL], width)), "")
    while cell_len(taken) > width:  # Rich joins the characters around any joiner
        taken = taken[:-1]
    return taken


def take_end(text: str, width: int) -> str:
    """The longest end that fits."""
    if width <= 0:
        return ""
    if (start := len(text) - width * MOST_PER_CELL) > 0:
        text = text[border(text, start) :]
    over = cell_len(text) - width
    for dropped in (over, over + 1):  # a wide character may lie across the cut
        rest = text[len(take(text, dropped)) :]
        if cell_len(rest) <= width:
            return rest
    return ""


def cut(text: str, width: int) -> str:
    """The text, or its beginning with an ellipsis."""
    if _fits(text, width):
        return text
    return take(text, width - 1) + take(ELLIPSIS, width)


def cut_middle(text: str, width: int) -> str:
    """The text, or both of its ends around an ellipsis."""
    if _fits(text, width):
        return text
    end = take_end(text, (width - 1) // 2)
    return take(text, width - 1 - cell_len(end)) + take(ELLIPSIS, width) + end


def cut_path(path: str, width: int) -> str:
    """Cut the folders of a path first, then the middle of its file name."""
    if _fits(path, width):
        return path
    name = path.rpartition("/")[2]
    left = width - cell_len(name) - 2
    if left < 0 or name == path:
        return cut_middle(name, width)
    return f"{take(path, left)}{ELLIPSIS}/{name}"


def _fits(text: str, width: int) -> bool:
    return len(text) <= width * MOST_PER_CELL and cell_len(text) <= width


def border(text: str, at: int) -> int:
    """`at`, or the next index between two user-perceived characters."""
    while 0 < at < len(text) and (text[at - 1] == _JOINER or cell_len(text[at]) == 0):
        at += 1
    return at


# Rows of segments


class Segment(NamedTuple):
    """A tuple and not a dataclass: a panel makes hundreds at every move of the cursor."""

    text: str
    role: Role = "plain"


Row = tuple[Segment, ...]


def row_width(row: Row) -> int:
    return sum(cell_len(segment.text) for segment in row)


def row_text(row: Row) -> str:
    return "".join(segment.text for segment in row)


def widest(rows: Iterable[Row]) -> int:
    return max(map(row_width, rows), default=0)


def bar(share: float, width: int) -> str:
    """A share of 1 as a bar of at most `width` cells; a positive share is always visible."""
    filled = round(min(max(share, 0.0), 1.0) * width * len(BLOCKS))
    return blocks(max(filled, 1) if share > 0 else filled)


def blocks(eighths: int) -> str:
    """A bar of that many eighths of a cell."""
    whole, rest = divmod(eighths, len(BLOCKS))
    return BLOCKS[-1] * whole + (BLOCKS[rest - 1] if rest else "")


def moved(places: int) -> str:
    """`▲2` for two places up, `▼1` for one down, an empty text for none."""
    return f"{UP if places > 0 else DOWN}{abs(places)}" if places else ""


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken between words if possible."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        *full, line = chop_cells(word, max(width, 2)) or [word]  # marks alone fill no cell
        lines += full
    return [*lines, line] if line else lines


def paragraph(text: str, width: int, role: Role = "plain", indent: int = 0) -> Iterator[Row]:
    for line in wrapped(text, width - indent):
        yield (Segment(" " * indent + line, role),)


def flow(pieces: Iterable[Row], width: int, gap: int = GAP) -> Iterator[Row]:
    """Place pieces side by side as long as they fit, then continue on indented rows."""
    line: Row = ()
    for piece in pieces:
        if line and row_width(line) + gap + row_width(piece) <= width:
            line = (*line, Segment(" " * gap), *piece)
            continue
        if line:
            yield line
            piece = (Segment(" " * GAP), *piece)
        if row_width(piece) > width:  # several rows, in the role of its longest part
            role = max(piece, key=lambda segment: len(segment.text)).role
            *full, piece = list(paragraph(row_text(piece), width, role)) or [()]
            yield from full
        line = piece
    if line:
        yield line


def columns(rows: Sequence[Sequence[Segment]], right: Collection[int] = ()) -> list[Row]:
    """Align cells in columns; those in `right` are right-aligned, the last one is not padded."""
    widths = [max(cell_len(cell.text) for cell in column) for column in zip(*rows, strict=True)]
    lines: list[Row] = []
    for row in rows:
        line: list[Segment] = []
        for place, (cell, size) in enumerate(zip(row, widths, strict=True)):
            padding = Segment(" " * (size - cell_len(cell.text)))
            line += (padding, cell) if place in right else (cell, padding)
            line.append(Segment(" " * GAP))
        while line and not line[-1].text.strip():
            line.pop()
        lines.append(tuple(segment for segment in line if segment.text))
    return lines


# Scroll views


class LineView(ScrollView):
    """A scroll view whose content may change its size without a new layout of the screen.

    The library would lay out the whole screen and repaint every scrollbar at each move of
    the cursor.
    """

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    """Size of the whole content; a scrollbar that appears or disappears still triggers a layout."""

    def watch_virtual_size(self, size: Size) -> None:
        if self.is_attached and self.size:
            self._scroll_update(size)
        elif self.is_attached and size.height > self.app.size.height:
            self.show_vertical_scrollbar = True  # saves a second layout


class Rows(Protocol):
    """A list of rows, or an object that makes each row on access."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> Row: ...


class RowsView(LineView):
    """Paints rows line by line, each role in its style; scrolls vertically, has no selection.

    A subclass makes the rows for a width. They are made again on a resize or at `lay_out`,
    never on scrolling. Rows are not wrapped: what does not fit is cut.
    """

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
        & > .rows--warning { color: $text-warning; text-style: bold; }
        & > .rows--match { color: $text-accent; text-style: bold; }
        &:ansi > .rows--match, &:nocolor > .rows--match { text-style: bold underline; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"rows--{role}" for role in ROLES}

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name for it
        super().__init__(id=id)
        self._rows: Rows = []
        self._styles_of: dict[Role, Style] = {}

    def rows_at(self, width: int) -> Rows:
        """The rows for this many cells."""
        raise NotImplementedError

    @property
    def lines(self) -> list[str]:
        """All rows as plain text."""
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
        """Cached: Textual computes it again at each call, and every segment needs it."""
        style = self._styles_of.get(role)
        if style is None:
            style = self._styles_of[role] = self.get_component_rich_style(f"rows--{role}")
        return style
