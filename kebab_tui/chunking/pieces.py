"""A section that is too large for one passage, cut into pieces and gathered again.

Pieces are paragraphs (short neighbours as one), list items where a list is long, whole code
blocks and tables up to the cap, and single lines of what is larger. Gathering goes by
`ChunkLimits`: long code stands by itself, taking along only the few words beside it that
would be too small a passage. Lines are 1-based and inclusive; no piece begins or ends with
a blank line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kebab_tui.chunking.limits import ChunkLimits, is_cut
from kebab_tui.chunking.measure import LineSizes
from kebab_tui.chunking.sections import Section
from kebab_tui.domain.checkpoint import OFTEN, SELDOM, Checkpoint
from kebab_tui.domain.document import Block

_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]")

Lines = tuple[int, int]

Piece = tuple[int, int, bool]
"""Lines that stay together, first and last, and whether they are long code."""


def cut_section(
    lines: Sequence[str], section: Section, limits: ChunkLimits, checkpoint: Checkpoint
) -> list[Lines]:
    """The spans of the passages that a section becomes, in order."""
    cutter = _Cutter(lines, section, limits, checkpoint)
    for place, block in enumerate(section.blocks):
        if not place & OFTEN:
            checkpoint()
        cutter.add(block)
    cutter.add_headings(section.first)
    return cutter.gathered()


class _Cutter:
    __slots__ = ("checkpoint", "limits", "lines", "pieces", "size")

    def __init__(
        self, lines: Sequence[str], section: Section, limits: ChunkLimits, checkpoint: Checkpoint
    ) -> None:
        self.lines = lines
        self.checkpoint = checkpoint
        self.size = LineSizes(lines, section.first, section.last).size
        self.limits = limits
        self.pieces: list[Piece] = []

    def add(self, block: Block) -> None:
        first, last = block.first, block.last
        size = self.size(first, last)
        if block.kind == "prose":
            if size <= self.limits.enough:
                self.pieces.append((first, last, False))
            else:
                self._add_paragraphs(first, last)
        elif size <= self.limits.cap:
            self.pieces.append((first, last, block.kind == "code" and last - first >= self.limits.long_code))
        else:
            self.pieces += self._single_lines(first, last)

    def _single_lines(self, first: int, last: int) -> list[Piece]:
        spanned = enumerate(self.lines[first - 1 : last], first)
        return [(at, at, False) for at, line in spanned if line and not line.isspace()]

    def _add_paragraphs(self, first: int, last: int) -> None:
        begin = first
        for at, line in enumerate(self.lines[first - 1 : last], first):
            if not at & SELDOM:
                self.checkpoint()
            if not line or line.isspace():
                if begin < at:
                    self._add_paragraph(begin, at - 1)
                begin = at + 1
        self._add_paragraph(begin, last)

    def _add_paragraph(self, first: int, last: int) -> None:
        """Add a paragraph or list whole, or its items, or the lines of an item above the cap."""
        if self.size(first, last) <= self.limits.whole:
            self.pieces.append((first, last, False))
            return
        begin = first
        for at in range(first + 1, last + 2):
            if not at & SELDOM:
                self.checkpoint()
            if at > last or _ITEM.match(self.lines[at - 1]):
                if self.size(begin, at - 1) <= self.limits.cap:
                    self.pieces.append((begin, at - 1, False))
                else:
                    self.pieces += self._single_lines(begin, at - 1)
                begin = at

    def add_headings(self, head: int) -> None:
        """Put the headings above the text with the first piece, if there is room."""
        first, last, long_code = self.pieces[0]
        if head == first:
            return
        if self.size(head, last) <= self.limits.cap:
            self.pieces[0] = head, last, long_code
        else:
            self.pieces[:0] = self._single_lines(head, first - 1)

    def gathered(self) -> list[Lines]:
        """What the pieces are when small neighbours are put together up to the target."""
        size, done = self.size, []
        first, last, long_code = self.pieces[0]
        held = size(first, last)
        for place, piece in enumerate(self.pieces[1:]):
            if not place & SELDOM:
                self.checkpoint()
            together = size(first, piece[1])
            if self._joins(held, together, long_code, piece):
                last, long_code, held = piece[1], long_code or piece[2], together
            else:
                done.append((first, last, long_code))
                first, last, long_code = piece
                held = size(first, last)
        if done and held < self.limits.small and self._takes(done[-1], last):
            first = done.pop()[0]
        return [*((begin, end) for begin, end, _ in done), (first, last)]

    def _joins(self, held: int, together: int, long_code: bool, piece: Piece) -> bool:
        """Whether `piece` goes with what is held before it; `together` is the size of both."""
        limits = self.limits
        if long_code or piece[2]:
            return not long_code and held < limits.small and together <= limits.cap
        return together <= limits.whole and (held < limits.enough or not is_cut(self.lines[piece[0] - 1]))

    def _takes(self, before: Piece, last: int) -> bool:
        """Whether there is room for a few last words in the passage before them."""
        limits = self.limits
        room = limits.cap if before[2] else min(limits.whole + limits.small, limits.cap)
        return self.size(before[0], last) <= room
