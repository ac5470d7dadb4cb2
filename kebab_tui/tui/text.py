"""Text from disk on its way to the screen: made safe, and cut to cells.

`clean` is the one door: whatever was written by somebody else (paths, titles, snippets,
notices, queries) passes it before a widget sees it, and reaches the widget as `Content`
or `Strip`, never as a `str`, which Textual would read as markup. Widths are terminal
cells, not characters; a cut never takes a character apart. Refuses to know about colour.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len, chop_cells
from textual.content import Content

from kebab_tui.domain.text import visible

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
