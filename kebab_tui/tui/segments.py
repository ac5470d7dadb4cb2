"""Rows of text in roles: how a panel is laid out before it is painted.

A row is a tuple of segments, each a text and the role it plays; which colour a role has
is for the widget to say. Widths are terminal cells. Knows no widget and no engine.
Cleans only what passes `one_line`, and everything that others wrote must.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rich.cells import cell_len, chop_cells

from kebab_tui.tui.text import ASCII, UNICODE, Glyphs, clean

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
