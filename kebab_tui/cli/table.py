"""Rows of cells: aligned columns on a terminal, tabs in a pipe, where the header is left out too."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from kebab_tui.cli.output import field
from kebab_tui.cli.style import Style
from kebab_tui.cli.terminal import detect


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Every line; cells may hold anything and cannot break out of their row."""
    terminal = detect(sys.stdout, os.environ)
    cells = [[field(cell) for cell in row] for row in rows]
    if not terminal.tty:
        yield from ("\t".join(row) for row in cells)
    elif cells:
        style = Style(terminal)
        first, *others = aligned([header, *cells])
        yield style.dim(first)
        yield from others


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Cells as columns, those named in `right` flush right, the last one ragged."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (
            _padding(cell, size) + cell if place in right else cell + _padding(cell, size)
            for place, (cell, size) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(padded).rstrip()


def _padding(cell: str, size: int) -> str:
    return " " * (size - width(cell))


def width(text: str) -> int:
    """Columns on a terminal: wide characters take two, marks none."""
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
