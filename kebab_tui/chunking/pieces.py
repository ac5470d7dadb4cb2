"""A section that is too large for one passage, cut into pieces and gathered again.

Pieces are paragraphs (short neighbours as one), list items where a list is long, whole code blocks and tables up to
the cap, and single lines of what is larger. Gathering goes by `ChunkLimits`: long code
stands by itself, taking along only the few words beside it that would be too small a
passage. Lines are 1-based and inclusive; no piece begins or ends with a blank line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from kebab_tui.chunking.limits import ChunkLimits, is_cut
from kebab_tui.chunking.sections import Section
from kebab_tui.domain.document import Block

_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]")

Lines = tuple[int, int]


Piece = tuple[int, int, int, int, bool]
"""Lines that stay together: first, last, the offsets of their begin and end in the section's
text, and whether they are long code."""


def cut_section(lines: Sequence[str], section: Section, limits: ChunkLimits) -> list[Lines]:
    """The spans of the passages that a section becomes, in order."""
    cutter = _Cutter(lines, section.first, section.last, limits)
    for block in section.blocks:
        cutter.add(block)
    return _gathered(lines, _headed(cutter, section.first), limits)


class _Cutter:
    __slots__ = ("_ends", "_lines", "_shift", "limits", "pieces")

    def __init__(self, lines: Sequence[str], first: int, last: int, limits: ChunkLimits) -> None:
        self._lines = lines
        self.limits = limits
        self._shift = first
        self._ends = [0, *accumulate([len(line) + 1 for line in lines[first - 1 : last]])]
        self.pieces: list[Piece] = []

    def add(self, block: Block) -> None:
        first, last = block.first, block.last
        size = self._size(first, last)
        if block.kind == "prose":
            if size <= self.limits.enough:
                self._append(first, last)
            else:
                self._add_paragraphs(first, last)
        elif size <= self.limits.cap:
            self._append(first, last, block.kind == "code" and last - first >= self.limits.long_code)
        else:
            self.add_lines(first, last)

    def add_lines(self, first: int, last: int) -> None:
        for at in range(first, last + 1):
            line = self._lines[at - 1]
            if line and not line.isspace():
                self._append(at, at)

    def _size(self, first: int, last: int) -> int:
        return self._ends[last - self._shift + 1] - self._ends[first - self._shift] - 1

    def _append(self, first: int, last: int, long_code: bool = False) -> None:
        begin, end = self._ends[first - self._shift], self._ends[last - self._shift + 1] - 1
        self.pieces.append((first, last, begin, end, long_code))

    def _add_paragraphs(self, first: int, last: int) -> None:
        begin = 0
        for at, line in enumerate(self._lines[first - 1 : last], first):
            if not line or line.isspace():
                if begin:
                    self._add_paragraph(begin, at - 1)
                begin = 0
            elif not begin:
                begin = at
        self._add_paragraph(begin, last)

    def _add_paragraph(self, first: int, last: int) -> None:
        """Add a paragraph or list whole, or cut where items begin, or what is too large still at every line."""
        if self._size(first, last) <= self.limits.whole:
            self._append(first, last)
            return
        begin = first
        for at in range(first + 1, last + 2):
            if at > last or _ITEM.match(self._lines[at - 1]):
                if self._size(begin, at - 1) <= self.limits.cap:
                    self._append(begin, at - 1)
                else:
                    self.add_lines(begin, at - 1)
                begin = at


def _headed(cutter: _Cutter, head: int) -> list[Piece]:
    """Put the headings above the text with the first piece, if there is room."""
    body = cutter.pieces
    first, last, _, end, long_code = body[0]
    if head == first:
        return body
    if end <= cutter.limits.cap:
        return [(head, last, 0, end, long_code), *body[1:]]
    cutter.pieces = []
    cutter.add_lines(head, first - 1)
    return cutter.pieces + body


def _gathered(lines: Sequence[str], pieces: list[Piece], limits: ChunkLimits) -> list[Lines]:
    done: list[Piece] = []
    whole, enough, small = limits.whole, limits.enough, limits.small
    first, last, begin, end, long_code = pieces[0]
    for piece in pieces[1:]:
        size, together = end - begin, piece[3] - begin
        if long_code or piece[4]:
            joins = not long_code and size < small and together <= limits.cap
        else:
            joins = together <= whole and (size < enough or not is_cut(lines[piece[0] - 1]))
        if joins:
            _, last, _, end, is_long = piece
            long_code = long_code or is_long
        else:
            done.append((first, last, begin, end, long_code))
            first, last, begin, end, long_code = piece
    if done and end - begin < small:
        # a few last words go with the passage before them
        before = done[-1]
        if end - before[2] <= (limits.cap if before[4] else min(whole + small, limits.cap)):
            first = done.pop()[0]
    return [*((piece[0], piece[1]) for piece in done), (first, last)]
