"""Groups the blocks of a note into sections, and cuts large sections into passages.

A section is a heading with the text below it, up to the next heading. A heading without
text is not a section: its line belongs to the section that follows. Text before the first
heading is a section of level 0 with an empty trail. The heading of a function or a class has
no line of its own (its `last` is before its `first`).

A large section is cut into pieces: paragraphs (short neighbours as one), list items of a long
list, whole code blocks and tables up to the cap, and single lines of larger ones. Neighbouring
pieces are then joined up to the target; long code stays alone, except for a few words beside
it that would be too small a passage. Whether two pieces are joined depends on their content,
not on their position: an edit moves only the cuts near it, and unchanged passages keep their
ids.

Lines are 1-based and inclusive; sizes are characters, including the line feeds between lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from zlib import crc32

from kebab_tui.domain.checkpoint import OFTEN, SELDOM, Checkpoint
from kebab_tui.domain.document import HEADING_SEPARATOR, Block

Trail = tuple[str, ...]
"""The plain texts of the headings above a text, outermost first."""

Lines = tuple[int, int]

Piece = tuple[int, int, bool]
"""The first and the last of some lines that stay together, and whether they are long code."""

_ITEM = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]")
_LONGEST_NAMES = 160
_CUT_ONE_IN = 3


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    target: int = 1200
    """Pieces are joined up to this size; a section up to a quarter larger is not cut."""
    cap: int = 4000
    """The maximum size of a passage."""
    small: int = 300
    """Smaller sections are joined with their small neighbours; Hangul counts double here."""
    long_code: int = 15
    """Code with more lines is a separate passage."""

    whole: int = field(init=False)
    """The largest size that is not cut because of its size alone."""
    enough: int = field(init=False)
    """From this size on, a passage may end where `is_cut` allows."""

    def __post_init__(self) -> None:
        if not 0 < self.small <= self.target <= self.cap:
            raise ValueError(f"not 0 < small <= target <= cap: {self.small}, {self.target}, {self.cap}")
        object.__setattr__(self, "whole", min(self.target + self.target // 4, self.cap))
        object.__setattr__(self, "enough", self.target * 2 // 3)


class Section:
    """`blocks` are the blocks without headings, and `code` the code blocks among them.

    `first` is the line of the first heading of the section, `level` the highest level of its
    headings, `trail` the trail of the nearest; `beside` are the trails of its headings that are
    not above the text.
    """

    __slots__ = ("beside", "blocks", "code", "first", "last", "level", "longest_code", "trail")

    def __init__(self, level: int, trail: Trail, first: int) -> None:
        self.level = level
        self.trail = trail
        self.first = first
        self.last = first
        self.code: list[Block] = []
        self.longest_code = 0
        self.blocks: list[Block] = []
        self.beside: tuple[Trail, ...] = ()

    @property
    def is_bare(self) -> bool:
        """Without the line of a heading: code outside of all functions and classes."""
        return bool(self.level and self.blocks) and self.blocks[0].first == self.first

    @property
    def path(self) -> str:
        return HEADING_SEPARATOR.join(self.trail)

    @property
    def label(self) -> str:
        """The path, including the headings in `beside`."""
        return shared_path([self]) if self.beside else HEADING_SEPARATOR.join(self.trail)


def sections(
    blocks: Sequence[Block], trails: list[tuple[int, Trail]], checkpoint: Checkpoint
) -> tuple[list[Section], Section | None]:
    """Group blocks into sections; the second value contains headings at the end without text.

    `trails`: the headings above the blocks with their levels, on earlier pages; afterwards those above the
    end of the blocks.
    """
    found: list[Section] = []
    level, trail = trails[-1] if trails else (0, ())
    section = Section(level, trail, blocks[0].first) if blocks else None
    for place, block in enumerate(blocks):
        if not place & SELDOM:
            checkpoint()
        assert section is not None
        if level := block.level:
            while trails and trails[-1][0] >= level:
                trails.pop()
            trail = trails[-1][1] if trails else ()
            if block.text:
                trail = (*trail, block.text)
            trails.append((level, trail))
            if section.blocks:
                section = Section(level, trail, block.first)
            else:
                if section.level and trail[: len(section.trail)] != section.trail:
                    section.beside = (*section.beside, section.trail)
                section.level = min(section.level or level, level)
                section.trail = trail
        else:
            if not section.blocks:
                found.append(section)
            section.blocks.append(block)
            if block.kind == "code":
                section.code.append(block)
                section.longest_code = max(section.longest_code, block.last - block.first + 1)
        section.last = block.last
    return found, section if section and not section.blocks else None


def shared_path(group: Sequence[Section]) -> str:
    """Return a label for several sections: the headings they share, then the names below.

    `Trip > Food · Hotels` for the sections `Trip > Food` and `Trip > Hotels`; with text of `Trip`
    itself `Trip · Food · Hotels`, so that the label covers all of the text. Code that has no name adds none.
    """
    trails: list[Trail] = []
    for section in group:
        trails += section.beside
        if section.trail or not section.is_bare:
            trails.append(section.trail)
    if not trails:
        return ""
    shared = 0
    for names in zip(*trails, strict=False):
        if names.count(names[0]) < len(names):
            break
        shared += 1
    below = dict.fromkeys([trail[shared] for trail in trails if len(trail) > shared])
    if shared == min(map(len, trails)):
        if not shared:
            return ""
        shared -= 1
        below = {trails[0][shared]: None} | below
    name, *others = below
    for other in others:
        if len(name) + len(other) > _LONGEST_NAMES:
            name += " · …"
            break
        name += " · " + other
    return HEADING_SEPARATOR.join((*trails[0][:shared], name))


def text_of(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(lines[first - 1 : last])


def is_small(text: str, small: int) -> bool:
    """Return whether a text is shorter than `small`; a Hangul syllable counts as two letters."""
    size = len(text)
    if size >= small or text.isascii():
        return size < small
    return size + (len(text.encode("utf-8", "surrogatepass")) - size) // 2 < small


def count_non_blank(lines: Sequence[str], first: int, last: int) -> int:
    """Count the lines that are not blank."""
    return len(list(filter(str.strip, lines[first - 1 : last])))


class LineSizes:
    """The sizes of consecutive lines as running sums, so that the size of any span takes constant time."""

    __slots__ = ("_before", "_sums")

    def __init__(self, lines: Sequence[str], first: int, last: int) -> None:
        self._before = first - 1
        self._sums = list(accumulate(map(len, lines[first - 1 : last]), initial=0))

    def size(self, first: int, last: int) -> int:
        sums, before = self._sums, self._before
        return sums[last - before] - sums[first - 1 - before] + last - first


def is_cut(line: str) -> bool:
    """Return whether a passage of sufficient size ends before a piece that begins with `line`."""
    return crc32(line.encode("utf-8", "surrogatepass")) % _CUT_ONE_IN == 0


def cut_section(
    lines: Sequence[str], section: Section, limits: ChunkLimits, checkpoint: Checkpoint
) -> list[Lines]:
    """Return the spans of the passages of a large section, in order."""
    cutter = _Cutter(lines, section, limits, checkpoint)
    for place, block in enumerate(section.blocks):
        if not place & OFTEN:
            checkpoint()
        cutter.add(block)
    cutter.add_headings(section.first)
    return cutter.join_pieces()


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
        """Add the headings above the text to the first piece if it stays below the cap."""
        first, last, long_code = self.pieces[0]
        if head == first:
            return
        if self.size(head, last) <= self.limits.cap:
            self.pieces[0] = head, last, long_code
        else:
            self.pieces[:0] = self._single_lines(head, first - 1)

    def join_pieces(self) -> list[Lines]:
        """Join small neighbours up to the target; return the spans of the passages."""
        size, limits, done = self.size, self.limits, []
        first, last, long_code = self.pieces[0]
        current = size(first, last)
        for place, piece in enumerate(self.pieces[1:]):
            if not place & SELDOM:
                self.checkpoint()
            together = size(first, piece[1])
            if long_code or piece[2]:
                joins = not long_code and current < limits.small and together <= limits.cap
            else:
                may_end = current >= limits.enough and is_cut(self.lines[piece[0] - 1])
                joins = together <= limits.whole and not may_end
            if joins:
                last, long_code, current = piece[1], long_code or piece[2], together
            else:
                done.append((first, last, long_code))
                first, last, long_code = piece
                current = size(first, last)
        if done and current < limits.small:
            before, _, is_code = done[-1]
            limit = limits.cap if is_code else min(limits.whole + limits.small, limits.cap)
            if size(before, last) <= limit:
                first = before
                done.pop()
        return [*((begin, end) for begin, end, _ in done), (first, last)]
