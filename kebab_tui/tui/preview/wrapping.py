"""Soft wrap: the rows of each line.

Rows are counted exactly only where they were looked at (`measure`); every other line counts
with an average height, so that opening a note costs as much as the lines in view. A very
long line is wrapped in pieces of some thousand characters, each when it is looked at.
Rows above the view may therefore change their number: a scroll position is an `Anchor`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size, split_graphemes
from textual.cache import LRUCache

from kebab_tui.domain.text import sanitize
from kebab_tui.tui.preview.matches import BLOCK, LONG_LINE
from kebab_tui.tui.preview.source_lines import SourceLines
from kebab_tui.tui.widgets.segments import MOST_PER_CELL, border

TAB = 4
_PIECE = LONG_LINE
_NEAR_BLANK = 200
"""So many characters before the end of a piece, a blank is searched to end it."""
_PREFIX = re.compile(r"[ >]*(?:(?:[-*+•]|\d{1,3}[.)]) +(?:\[.\] +)?)?")
"""The beginning of a line under which its further rows stay blank."""
_IDEOGRAPHS = re.compile(
    "[\u2e80-\u312f\u31a0-\ua4cf\uf900-\ufaff\uff01-\uff60](?![、。，．：；！？）」』】〉》〕ー々])"
    "[\u2e80-\u312f\u31a0-\ua4cf\uf900-\ufaff\uff01-\uff60]"
)
"""Two characters between which Chinese and Japanese break; Korean breaks at blanks."""
_PARTS = 16
"""Estimates count in parts of a row."""


class Anchor(NamedTuple):
    """A character: its line counts from 1, its column from 0."""

    line: int
    column: int


class Row(NamedTuple):
    """Row `part` of a piece of a line; the pieces count from 0."""

    line: int
    piece: int
    part: int


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A line, or a piece of a very long one, as rows."""

    text: str
    """Sanitised, with its tabs expanded."""
    starts: Sequence[int]
    """Where the rows begin in `text`."""
    hang: int
    """Blank cells before the text of further rows."""
    begin: int
    """Where the piece begins in its line."""
    places: Sequence[int]
    """Where each character of the piece is in `text`."""

    def indent(self, part: int) -> int:
        return self.hang if part or self.begin else 0

    def span(self, part: int) -> tuple[int, int]:
        """[start, end) of a row in `text`; a row that was counted before the file shrank is empty."""
        start, end = (self.starts[at] if at < len(self.starts) else len(self.text) for at in (part, part + 1))
        return start, end


def wrapped(text: str, width: int, begin: int = 0, hang: int | None = None) -> Wrapped:
    """Break a text into rows of at most `width` cells, between words if possible.

    Blanks at the end of a row may go beyond its edge. A character and its marks stay together.
    """
    shown, places = expanded(text)
    if hang is None:
        hang = hanging(shown, width)
    return Wrapped(
        shown, row_starts(shown, width - (hang if begin else 0), width - hang), hang, begin, places
    )


def hanging(text: str, width: int) -> int:
    """The indent of the further rows of a text: that of its first word, past the mark of a list item."""
    prefix = _PREFIX.match(text)
    return min(cell_len(prefix[0]), width // 3) if prefix else 0


def expanded(text: str) -> tuple[str, Sequence[int]]:
    """The sanitised text with its tabs expanded, and where each character is in it, and the end."""
    text = sanitize(text)
    if "\t" not in text:
        return text, range(len(text) + 1)
    parts: list[str] = []
    places = [0]
    cells = 0
    for character in text:
        part = " " * (TAB - cells % TAB) if character == "\t" else character
        parts.append(part)
        places.append(places[-1] + len(part))
        cells += cell_len(part)
    return "".join(parts), places


def row_starts(text: str, first: int, further: int) -> list[int]:
    """Where the rows of a text begin, if they have so many cells."""
    offsets = _offsets(text)
    starts, start, room = [0], 0, max(first, 1)
    end_of_words = len(text.rstrip(" "))
    while True:
        end = bisect_right(offsets, offsets[start] + room) - 1
        if end <= start < end_of_words:  # not even one character fits
            end = bisect_right(offsets, offsets[start + 1]) - 1
        if end >= end_of_words:
            return starts
        room = max(further, 1)
        start = _break(text, offsets, start, end, room)
        if start >= end_of_words:
            return starts
        starts.append(start)


def _break(text: str, offsets: Sequence[int], start: int, end: int, room: int) -> int:
    """Where the next row begins, after a row from `start` that has no cells for `end`."""

    def whole(place: int) -> int:
        """The place, or that of the blank before if this is a mark on it."""
        return place - (0 < place < len(text) and offsets[place + 1] == offsets[place])

    if text[end] == " ":
        return whole(len(text) - len(text[end:].lstrip(" ")))
    word = whole(text.rfind(" ", start, end) + 1)
    if word == end:
        return end
    if not text.isascii():
        for place in range(end, max(word, start), -1):
            if _IDEOGRAPHS.match(text, place - 1) and whole(place) == place:
                return place
    far = min(end + room * MOST_PER_CELL, len(text))
    stop = text.find(" ", end, far)
    is_long = offsets[stop if stop >= 0 else far] - offsets[word] > room
    if is_long:
        # A link, a path or a table without blanks: after a punctuation mark, or it begins on the next row.
        for place in range(end, max(word, start), -1):
            if not text[place - 1].isalnum() and whole(place) == place:
                return place
        is_long = offsets[word] - offsets[start] < room // 2
    return end if is_long or not text[start:word].strip() else word


def _offsets(text: str) -> Sequence[int]:
    """The cells before each character, and before the end; marks begin where their character ends."""
    if text.isascii():
        return range(len(text) + 1)
    sizes = list(map(get_character_cell_size, text))
    if 0 in sizes:
        sizes = [0] * len(text)
        for start, _, size in split_graphemes(text)[0]:
            sizes[start] = size
    return list(accumulate(sizes, initial=0))


class WrappedRows:
    """The rows of the lines of a text, counted as far as they were looked at."""

    def __init__(self, lines: SourceLines, width: int | None) -> None:
        """`width`: cells of a row; None if lines are not wrapped."""
        self._lines = lines
        self._width = width
        count = lines.count
        mean = 1.0
        if width is not None and count:
            mean = _rows("\n".join(lines.slice(1, BLOCK)), lines.characters / count, width)
        self._heights = _Heights(count, mean)
        self._exact: set[int] = set()
        self._long: dict[int, _Heights] = {}
        """The heights of the pieces of very long lines."""
        self._exact_pieces: set[tuple[int, int]] = set()
        self._wrapped: LRUCache[tuple[int, int], Wrapped] = LRUCache(256)

    @property
    def wraps(self) -> bool:
        return self._width is not None

    @property
    def count(self) -> int:
        return self._heights.top(self._heights.count)

    def measure(self, first: int, rows: int) -> bool:
        """Count the lines in so many rows exactly; whether there was one to count."""
        if self._width is None:
            return False
        is_new = False
        row, end = max(first, 0), first + rows
        while row < min(end, self.count):
            line = self._heights.at(row) + 1
            top = self._heights.top(line - 1)
            piece = self._measure(line, row - top)
            is_new |= piece is None
            if piece is not None:
                pieces = self._long.get(line)
                row = top + (pieces.top(piece + 1) if pieces else self._heights.height(line - 1))
        return is_new

    def at(self, row: int) -> Row:
        """The part of a line in this row; counts its line first."""
        if self._width is None or not self.count:
            return Row(max(row, 0) + 1, 0, 0)
        piece = None
        while piece is None:
            row = min(max(row, 0), self.count - 1)
            line = self._heights.at(row) + 1
            part = row - self._heights.top(line - 1)
            piece = self._measure(line, part)
        pieces = self._long.get(line)
        return Row(line, piece, part - (pieces.top(piece) if pieces else 0))

    def anchor(self, row: int) -> Anchor:
        """The first character in a row."""
        line, piece, part = self.at(row)
        if self._width is None:
            return Anchor(line, 0)
        shown = self.wrapped(line, piece)
        return Anchor(line, shown.begin + bisect_left(shown.places, shown.span(part)[0]))

    def row_of(self, anchor: Anchor) -> int:
        """The row of a character, whose line is counted first."""
        line = min(max(anchor.line, 1), max(self._heights.count, 1))
        top = self._heights.top(line - 1)
        if self._width is None or not self._heights.count:
            return top
        self._measure(line, 0)
        pieces = self._long.get(line)
        piece = 0
        if pieces is not None:
            piece = self._piece_of(self._text(line), anchor.column)
            self._measure_piece(line, piece)
            top += pieces.top(piece)
        shown = self.wrapped(line, piece)
        column = min(max(anchor.column - shown.begin, 0), len(shown.places) - 1)
        return top + bisect_right(shown.starts, shown.places[column]) - 1

    def wrapped(self, line: int, piece: int) -> Wrapped:
        known = self._wrapped.get((line, piece))
        if known is None:
            assert self._width is not None
            text = self._text(line)
            begin, end, hang = 0, len(text), None
            if len(text) > LONG_LINE:
                begin, end = _piece(text, piece), _piece(text, piece + 1)
                hang = hanging(expanded(text[:_NEAR_BLANK])[0], self._width)
            known = self._wrapped[line, piece] = wrapped(text[begin:end], self._width, begin, hang)
        return known

    def _measure(self, line: int, row: int) -> int | None:
        """Count a line, or the piece of it that has this row; the piece if that is counted already."""
        if line not in self._exact:
            self._exact.add(line)
            text = self._text(line)
            if len(text) > LONG_LINE:
                assert self._width is not None
                long = _Heights(-(-len(text) // _PIECE), _rows(text, _PIECE, self._width))
                self._long[line] = long
                self._heights.set(line - 1, long.top(long.count))
            else:
                self._heights.set(line - 1, len(self.wrapped(line, 0).starts))
            return None
        pieces = self._long.get(line)
        if pieces is None:
            return 0
        piece = pieces.at(row)
        return None if self._measure_piece(line, piece) else piece

    def _measure_piece(self, line: int, piece: int) -> bool:
        if (line, piece) in self._exact_pieces:
            return False
        self._exact_pieces.add((line, piece))
        pieces = self._long[line]
        pieces.set(piece, len(self.wrapped(line, piece).starts))
        self._heights.set(line - 1, pieces.top(pieces.count))
        return True

    def _piece_of(self, text: str, column: int) -> int:
        column = max(min(column, len(text) - 1), 0)
        piece = column // _PIECE
        if column < _piece(text, piece):
            return piece - 1
        return piece + (column >= _piece(text, piece + 1))

    def _text(self, line: int) -> str:
        found = self._lines.slice(line, line)
        return found[0] if found else ""


def _rows(sample: str, length: float, width: int) -> float:
    """About how many rows a text of this length has that is like the beginning of another one."""
    beginning = sample[:_PIECE]
    return length * cell_len(beginning) / max(len(beginning), 1) / width + 0.5


def _piece(text: str, piece: int) -> int:
    """Where a piece of a very long line begins: after a blank if one is near."""
    at = piece * _PIECE
    if not 0 < at < len(text):
        return min(at, len(text))
    blank = text.rfind(" ", at - _NEAR_BLANK, at)
    if blank >= 0:
        return blank + 1
    inside = border(text[: at + _NEAR_BLANK], at)
    return inside if inside < len(text) else at


class _Heights:
    """Items one above the other: `mean` rows high, at least 1, as long as they are not `set`."""

    def __init__(self, count: int, mean: float) -> None:
        self.count = count
        self._mean = max(round(mean * _PARTS), _PARTS)
        self._items: list[int] = []
        """The items that are set, in order."""
        self._sums = [0]
        """The heights of the first so many items that are set."""

    def top(self, item: int) -> int:
        """The rows above an item."""
        before = bisect_left(self._items, item)
        return (item - before) * self._mean // _PARTS + self._sums[before]

    def height(self, item: int) -> int:
        return self.top(item + 1) - self.top(item)

    def at(self, row: int) -> int:
        """The item in a row."""
        before = bisect_right(self._items, row, key=self.top)
        if before and row < self.top(item := self._items[before - 1]) + self.height(item):
            return item
        return before + ((row - self._sums[before] + 1) * _PARTS - 1) // self._mean

    def set(self, item: int, height: int) -> None:
        place = bisect_left(self._items, item)
        if place == len(self._items) or self._items[place] != item:
            insort(self._items, item)
            self._sums.insert(place + 1, self._sums[place])
            change = height
        else:
            change = height - (self._sums[place + 1] - self._sums[place])
        for following in range(place + 1, len(self._sums)):
            self._sums[following] += change
