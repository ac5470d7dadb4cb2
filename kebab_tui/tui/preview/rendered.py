"""Rendered notes: painted and searched like the lines of a file, made in a thread.

The rows have names of styles, not colours, and know their source lines: they serve all themes,
passages and queries.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip

from kebab_tui.tui.preview.matches import Find, Marks, MatchSpan
from kebab_tui.tui.preview.painting import styled
from kebab_tui.tui.preview.source_lines import FileIdentity, WholeText

if TYPE_CHECKING:
    from kebab_tui.tui.preview.markdown_rows import RenderedRow

LONGEST = 1_000_000
"""Characters; a longer text takes many seconds."""
_AT_ONCE_S = 0.04
"""How long the screen waits for a rendering, so that a usual note never shows its source first."""
_GUTTER = 2


class Rendered:
    """The rows of a note; they can be searched and painted like the lines of a file."""

    def __init__(self, rows: Sequence[RenderedRow], width: int) -> None:
        self.width = width
        self._rows = rows
        self._firsts = [row.first for row in rows]
        self._lasts = [row.last for row in rows]
        self._marks: Marks | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def rows_of(self, first: int, last: int) -> range:
        """The rows that show these lines, from 0; empty if none does."""
        return range(bisect_left(self._lasts, first), bisect_right(self._firsts, last))

    def row_of(self, line: int) -> int:
        """The row of a line, or the next one."""
        return min(bisect_left(self._lasts, line), max(len(self._rows) - 1, 0))

    def line_of(self, row: int) -> int:
        """The source line of a row."""
        return self._firsts[row] if row < len(self._firsts) else 1

    def mark(self, find: Find) -> None:
        """Mark the matches of `find` from now on."""
        self._marks = Marks(WholeText([row.text for row in self._rows]), find)

    def search(self, place: MatchSpan, forward: bool) -> Iterator[MatchSpan | None]:
        return self._marks.search(place, forward) if self._marks else iter(())

    def number_of(self, match: MatchSpan) -> str:
        return self._marks.number_of(match) if self._marks else ""

    def paint(self, number: int, sign: str, current: MatchSpan | None, styles: Mapping[str, Style]) -> Strip:
        """Row `number`, from 1, with this sign of the citation in the gutter."""
        row = self._rows[number - 1]
        base = styles["text"] if sign == " " else styles["cited"]
        found = self._marks.of(number, row.text, 0, len(row.text)) if self._marks else ()
        marked = [(a, b, "current" if current == (number, a) else "match") for a, b in found]
        gutter = Segment(f"{sign} ", base + styles["mark"])
        return Strip([gutter, *styled(row.text, [*row.spans, *marked], base, styles)]).crop_extend(
            0, self.width, base
        )


class Renderings:
    """Renders notes one at a time in a thread, and keeps the last ones."""

    def __init__(self, arrived: Callable[[], object]) -> None:
        """`arrived` is called in the thread when a rendering that took long can be had."""
        self._arrived = arrived
        self._kept: LRUCache[tuple[FileIdentity, int], Rendered] = LRUCache(8)
        self._wanted: tuple[FileIdentity, int] | None = None
        self._lock = threading.Lock()

    def of(self, identity: FileIdentity, lines: Sequence[str], width: int) -> Rendered | None:
        """The rendering, if it is known or made in a moment; else it arrives, unless another is wanted."""
        key = identity, width
        known = self._kept.get(key)
        with self._lock:
            was_wanted, self._wanted = self._wanted == key, key if known is None else None
        if known is not None or was_wanted:
            return known
        made: list[Rendered] = []
        is_late = threading.Event()

        def run() -> None:
            found = rendered(lines, width, lambda: self._wanted != key)
            with self._lock:
                if found is None or self._wanted != key:
                    return
                self._wanted = None
                self._kept[key] = found
                made.append(found)
                if not is_late.is_set():
                    return
            self._arrived()

        thread = threading.Thread(target=run, name="markdown", daemon=True)
        thread.start()
        thread.join(_AT_ONCE_S)
        with self._lock:
            is_late.set()
        return made[0] if made else None

    def cancel(self) -> None:
        self._wanted = None


def rendered(lines: Sequence[str], width: int, cancelled: Callable[[], bool]) -> Rendered | None:
    """The note in rows of at most `width` cells, with the gutter; None if cancelled."""
    from kebab_tui.tui.preview.markdown_rows import MarkdownRows  # costs 20 ms

    made = MarkdownRows(lines, max(width - _GUTTER, 1))
    for _ in made.add_blocks():
        if cancelled():
            return None
    return Rendered(made.rows, width)
