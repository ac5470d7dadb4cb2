"""Rows of text in roles: how a panel is laid out before it is painted.

A row is a tuple of segments, each a text and the role it plays; which colour a role has
is for the widget to say. Widths are terminal cells. Knows no widget and no engine.
Cleans only what passes `one_line`, and everything that others wrote must.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

from rich.cells import cell_len, chop_cells
from rich.segment import Segment as RichSegment
from rich.style import Style
from textual.content import Content
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kebab_tui.domain.text import visible

# Text from disk on its way to the screen: made safe, and cut to cells.
#
# `clean` is the one door: whatever was written by somebody else (paths, titles, snippets,
# notices, queries) passes it before a widget sees it, and reaches the widget as `Content`
# or `Strip`, never as a `str`, which Textual would read as markup. Widths are terminal
# cells, not characters; a cut never takes a character apart. Refuses to know about colour.

_ROW_BREAKERS = str.maketrans({"\n": "\u240a", "\t": "\u2409"})
_MOST_PER_CELL = 24
"""Characters that may share a cell (marks, joiners); what lies beyond is not measured."""
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs of our own that stand between the texts."""

    cursor: str
    mark: str
    ellipsis: str
    step: str
    """Between a title and its headings."""
    dot: str
    """Between facts of equal standing."""
    up: str
    down: str
    bar: str
    """Growing parts of a cell, the last one full."""
    track: str
    """A cell of a bar that holds nothing."""


UNICODE = Glyphs("▌", "✓", "…", "›", "·", "▲", "▼", "▏▎▍▌▋▊▉█", " ")
# The mark stands right before a file's name, and a variation selector in that would make an emoji of `*`.
ASCII = Glyphs(">", "x", "~", ">", "|", "^", "v", "#", ".")


def glyphs_for(encoding: str | None) -> Glyphs:
    """The signs that a terminal of this encoding can show."""
    try:
        "".join((UNICODE.cursor, UNICODE.mark, UNICODE.step, UNICODE.bar)).encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return UNICODE


def clean(text: str) -> str:
    """The text with nothing left that a terminal would obey, on one line, as long as before."""
    return visible(text).translate(_ROW_BREAKERS)


def content(text: str) -> Content:
    """The text as a widget takes it: shown to the letter, no part of it markup."""
    return Content(clean(text))


def take(text: str, width: int) -> str:
    """As much of the beginning as fits."""
    if width <= 0:
        return ""
    taken = next(iter(chop_cells(text[: width * _MOST_PER_CELL], width)), "")
    while cell_len(taken) > width:  # Rich joins what stands around a joiner, whatever that is
        taken = taken[:-1]
    return taken


def take_end(text: str, width: int) -> str:
    """As much of the end as fits."""
    if width <= 0:
        return ""
    text = _end_of(text, width)
    over = cell_len(text) - width
    for dropped in (over, over + 1):  # a wide character may lie across the cut
        rest = text[len(take(text, dropped)) :]
        if cell_len(rest) <= width:
            return rest
    return ""


def cut(text: str, width: int, ellipsis: str = UNICODE.ellipsis) -> str:
    """The text, or its beginning with an ellipsis."""
    if _fits(text, width):
        return text
    return take(text, width - 1) + take(ellipsis, width)


def cut_middle(text: str, width: int, ellipsis: str = UNICODE.ellipsis) -> str:
    """The text, or both of its ends around an ellipsis."""
    if _fits(text, width):
        return text
    end = take_end(text, (width - 1) // 2)
    return take(text, width - 1 - cell_len(end)) + take(ellipsis, width) + end


def cut_path(path: str, width: int, ellipsis: str = UNICODE.ellipsis) -> str:
    """The path, with folders and then the inside of the name left out; the name is the last to go."""
    if _fits(path, width):
        return path
    name = path.rpartition("/")[2]
    room = width - cell_len(name) - 2
    if room < 0 or name == path:
        return cut_middle(name, width, ellipsis)
    return f"{take(path, room)}{ellipsis}/{name}"


def border(text: str, at: int) -> int:
    """`at`, or the next place that lies between two characters as a reader sees them."""
    while 0 < at < len(text) and (text[at - 1] == _JOINER or cell_len(text[at]) == 0):
        at += 1
    return at


def _fits(text: str, width: int) -> bool:
    return len(text) <= width * _MOST_PER_CELL and cell_len(text) <= width


def _end_of(text: str, width: int) -> str:
    """The end of a long text, long enough for `width` cells."""
    start = len(text) - width * _MOST_PER_CELL
    return text[border(text, start) :] if start > 0 else text


Role = Literal["plain", "heading", "muted", "number", "sum", "words", "meaning", "quote", "warning"]
ROLES: tuple[Role, ...] = (
    "plain", "heading", "muted", "number", "sum", "words", "meaning", "quote", "warning",
)  # fmt: skip


class Segment(NamedTuple):
    """A tuple and not a dataclass: a panel is made of hundreds at every move of the cursor."""

    text: str
    role: Role = "plain"


Row = tuple[Segment, ...]
GAP = 2


@dataclass(frozen=True, slots=True)
class Signs:
    """The screen's glyphs, and those of arithmetic and judgement."""

    glyphs: Glyphs
    times: str
    arrow: str
    yes: str
    no: str

    @property
    def dot(self) -> str:
        return self.glyphs.dot


PLAIN = Signs(UNICODE, "×", "→", "✓", "✗")
ASCII_ONLY = Signs(ASCII, "*", "->", "+", "x")


def signs_for(glyphs: Glyphs) -> Signs:
    """Those that go with what the terminal can show."""
    return ASCII_ONLY if glyphs == ASCII else PLAIN


def one_line(text: str) -> str:
    """What others wrote, made safe; their line breaks are spaces here."""
    return clean(" ".join(text.split()))


def row_width(row: Row) -> int:
    return sum(cell_len(segment.text) for segment in row)


def row_text(row: Row) -> str:
    return "".join(segment.text for segment in row)


def bar(share: float, width: int, signs: Signs) -> str:
    """A part of a whole as a bar of at most `width` cells; a part that is there is never invisible."""
    blocks = signs.glyphs.bar
    steps = len(blocks)
    filled = round(min(max(share, 0.0), 1.0) * width * steps)
    if share > 0:
        filled = max(filled, 1)
    whole, rest = divmod(filled, steps)
    return blocks[-1] * whole + (blocks[rest - 1] if rest else "")


def moved(places: int, signs: Signs) -> str:
    """`▲2` for two places up, `▼1` for one down, nothing for none."""
    return f"{signs.glyphs.up if places > 0 else signs.glyphs.down}{abs(places)}" if places else ""


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells, broken between words where that can be."""
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
    """Pieces side by side for as long as they fit, then on indented rows below."""
    line: Row = ()
    for piece in pieces:
        if line and row_width(line) + gap + row_width(piece) <= width:
            line = (*line, Segment(" " * gap), *piece)
            continue
        if line:
            yield line
            piece = (Segment(" " * GAP), *piece)
        *full, line = _folded(piece, width)
        yield from full
    if line:
        yield line


def _folded(piece: Row, width: int) -> list[Row]:
    """A piece wider than the panel becomes several rows in the role of its longest part."""
    if row_width(piece) <= width:
        return [piece]
    role = max(piece, key=lambda segment: len(segment.text)).role
    return list(paragraph(row_text(piece), width, role)) or [()]


def columns(rows: Sequence[Sequence[Segment]], right: Collection[int] = ()) -> list[Row]:
    """Cells under one another, the columns in `right` flush right, the last one ragged."""
    widths = [max(cell_len(cell.text) for cell in column) for column in zip(*rows, strict=True)]
    return [_line(row, widths, right) for row in rows]


def _line(cells: Sequence[Segment], widths: Sequence[int], right: Collection[int]) -> Row:
    line: list[Segment] = []
    for place, (cell, size) in enumerate(zip(cells, widths, strict=True)):
        padding = Segment(" " * (size - cell_len(cell.text)))
        line += (padding, cell) if place in right else (cell, padding)
        line.append(Segment(" " * GAP))
    while line and not line[-1].text.strip():
        line.pop()
    return tuple(segment for segment in line if segment.text)


def widest(rows: Iterable[Row]) -> int:
    return max(map(row_width, rows), default=0)


# What the list, the preview and the explanation scroll in.
#
# A longer or shorter text is a matter of the view and its scrollbar: the library would lay
# out the whole screen anew and repaint every scrollbar on it, at each move of the cursor.


class LineView(ScrollView):
    """A scroll view whose text may change its size without a new layout."""

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), layout=False)
    """Width and height of all the text; a scrollbar that comes or goes still makes a layout."""

    def watch_virtual_size(self, size: Size) -> None:
        if self.is_attached and self.size:
            self._scroll_update(size)
        elif self.is_attached and size.height > self.app.size.height:
            self.show_vertical_scrollbar = True  # found out while laying out, it would mean to do that again


# Rows of segments on the screen: drawn line by line, each role in its own style.
#
# Whoever derives from it makes the rows for a width; they are made anew when the width
# changes or `lay_out` is called, never at a scroll. Rows are not wrapped here: what is
# wider than the view is cut.

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
