"""A section that is too large for one passage, cut into pieces and gathered again.

Pieces are paragraphs (short neighbours as one), list items where a list is long, whole code
blocks and tables up to the cap, and single lines of what is larger. Gathering goes by
`ChunkLimits`: long code stands by itself, taking along only the few words beside it that
would be too small a passage. Lines are 1-based and inclusive; no piece begins or ends with
a blank line.
"""

from __future__ import annotations

import re

from kebab_tui.chunking.limits import ChunkLimits, is_cut
from kebab_tui.chunking.measure import NoteText
from kebab_tui.chunking.sections import Section
from kebab_tui.domain.document import Block

_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]")

Lines = tuple[int, int]


Piece = tuple[int, int, bool]
"""Lines that stay together, first and last, and whether they are long code."""


def cut_section(note: NoteText, section: Section, limits: ChunkLimits) -> list[Lines]:
    """The spans of the passages that a section becomes, in order."""
    cutter = _Cutter(note, limits)
    for block in section.blocks:
        cutter.add(block)
    return _gathered(note, _headed(cutter, section.first), limits)


class _Cutter:
    __slots__ = ("limits", "note", "pieces")

    def __init__(self, note: NoteText, limits: ChunkLimits) -> None:
        self.note = note
        self.limits = limits
        self.pieces: list[Piece] = []

    def add(self, block: Block) -> None:
        first, last = block.first, block.last
        size = self.note.size(first, last)
        if block.kind == "prose":
            if size <= self.limits.enough:
                self.pieces.append((first, last, False))
            else:
                self._add_paragraphs(first, last)
        elif size <= self.limits.cap:
            self.pieces.append((first, last, block.kind == "code" and last - first >= self.limits.long_code))
        else:
            self.add_lines(first, last)

    def add_lines(self, first: int, last: int) -> None:
        for at, line in enumerate(self.note.lines[first - 1 : last], first):
            if line and not line.isspace():
                self.pieces.append((at, at, False))

    def _add_paragraphs(self, first: int, last: int) -> None:
        begin = 0
        for at, line in enumerate(self.note.lines[first - 1 : last], first):
            if not line or line.isspace():
                if begin:
                    self._add_paragraph(begin, at - 1)
                begin = 0
            elif not begin:
                begin = at
        self._add_paragraph(begin, last)

    def _add_paragraph(self, first: int, last: int) -> None:
        """Add a paragraph or list whole, or its items, or the lines of an item above the cap."""
        if self.note.size(first, last) <= self.limits.whole:
            self.pieces.append((first, last, False))
            return
        begin = first
        for at in range(first + 1, last + 2):
            if at > last or _ITEM.match(self.note.lines[at - 1]):
                if self.note.size(begin, at - 1) <= self.limits.cap:
                    self.pieces.append((begin, at - 1, False))
                else:
                    self.add_lines(begin, at - 1)
                begin = at


def _headed(cutter: _Cutter, head: int) -> list[Piece]:
    """Put the headings above the text with the first piece, if there is room."""
    body = cutter.pieces
    first, last, long_code = body[0]
    if head == first:
        return body
    if cutter.note.size(head, last) <= cutter.limits.cap:
        return [(head, last, long_code), *body[1:]]
    cutter.pieces = []
    cutter.add_lines(head, first - 1)
    return cutter.pieces + body


def _gathered(note: NoteText, pieces: list[Piece], limits: ChunkLimits) -> list[Lines]:
    done: list[Piece] = []
    whole, enough, small, sums = limits.whole, limits.enough, limits.small, note.sums
    first, last, long_code = pieces[0]
    for piece in pieces[1:]:
        begin = sums[first - 1] + first
        together = sums[piece[1]] + piece[1] - begin
        if long_code or piece[2]:
            joins = not long_code and sums[last] + last - begin < small and together <= limits.cap
        else:
            joins = together <= whole and (
                sums[last] + last - begin < enough or not is_cut(note.lines[piece[0] - 1])
            )
        if joins:
            last, long_code = piece[1], long_code or piece[2]
        else:
            done.append((first, last, long_code))
            first, last, long_code = piece
    if done and note.size(first, last) < small:
        # a few last words go with the passage before them
        before = done[-1]
        room = limits.cap if before[2] else min(whole + small, limits.cap)
        if note.size(before[0], last) <= room:
            first = done.pop()[0]
    return [*((piece[0], piece[1]) for piece in done), (first, last)]
