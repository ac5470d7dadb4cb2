"""The sections of a note: a heading with the text below it, up to the next heading.

A heading without text of its own is no section: its line goes with the section that
follows. Text before the first heading is a section of level 0 with an empty trail.
Lines are 1-based and inclusive.
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
"""The plain texts of the headings above a text, outermost first, its own the last."""

_LONGEST_NAMES = 160


class Section:
    """`blocks` are the body's, without headings, and `code` those of them that are code.

    `first` is the line of the first heading that goes with the section, `level` the highest of
    those headings' levels, `trail` that of the nearest; `beside` are the trails of those that the
    text does not stand under.
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
    def path(self) -> str:
        return HEADING_SEPARATOR.join(self.trail)

    @property
    def label(self) -> str:
        """The path, and what stands beside it."""
        return shared_path([self]) if self.beside else HEADING_SEPARATOR.join(self.trail)


def sections(blocks: Sequence[Block], checkpoint: Checkpoint) -> tuple[list[Section], Section | None]:
    """Gather blocks into sections; the second value holds headings at the end that no text follows."""
    found: list[Section] = []
    trails: list[tuple[int, Trail]] = []
    section = Section(0, (), blocks[0].first) if blocks else None
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
    """What several sections are called together: the headings they share, then the names below.

    `Trip > Food · Hotels` for the sections `Trip > Food` and `Trip > Hotels`. Text of `Trip`
    itself makes it `Trip · Food · Hotels`, so that the label covers all of the text.
    """
    trails: list[Trail] = []
    for section in group:
        trails += section.beside
        trails.append(section.trail)
    shared = 0
    for names in zip(*trails, strict=False):  # as deep as the shortest goes
        if names.count(names[0]) < len(names):
            break
        shared += 1
    below = dict.fromkeys([trail[shared] for trail in trails if len(trail) > shared])
    if shared == min(map(len, trails)):
        if not shared:
            return ""
        shared -= 1
        below = {trails[0][shared]: None} | below
    return HEADING_SEPARATOR.join((*trails[0][:shared], *_listed(list(below))))


def _listed(names: list[str]) -> Trail:
    text = names[0]
    for name in names[1:]:
        if len(text) + len(name) > _LONGEST_NAMES:
            return (text + " · …",)
        text += " · " + name
    return (text,)


# How large lines of a note are together, and how much they say.
#
# Lines are 1-based and inclusive; sizes count the line feeds between the lines.


def text_of(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(lines[first - 1 : last])


def says_little(text: str, small: int) -> bool:
    """Whether a text holds less than `small`; a syllable of Hangul says as much as two letters."""
    size = len(text)
    if size >= small or text.isascii():
        return size < small
    return size + (len(text.encode("utf-8", "surrogatepass")) - size) // 2 < small


def written(lines: Sequence[str], first: int, last: int) -> int:
    """How many of the lines are not blank."""
    return len(list(filter(str.strip, lines[first - 1 : last])))


class LineSizes:
    """The sizes of some neighbouring lines summed up, so that no span of them is counted twice."""

    __slots__ = ("_before", "_sums")

    def __init__(self, lines: Sequence[str], first: int, last: int) -> None:
        self._before = first - 1
        self._sums = list(accumulate(map(len, lines[first - 1 : last]), initial=0))

    def size(self, first: int, last: int) -> int:
        sums, before = self._sums, self._before
        return sums[last - before] - sums[first - 1 - before] + last - first


# How large passages are, and where a run of small parts may be cut.
#
# Sizes are characters of the cited text, line ends included. A cut between small parts is
# chosen by what the parts say, not by counting from the top: so an edit moves the cuts
# beside it and leaves those further down alone, and unchanged passages keep their ids.

_CUT_ONE_IN = 3


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    target: int = 1200
    """What parts are gathered up to; a section up to a quarter larger is left whole."""
    cap: int = 4000
    """No passage is larger."""
    small: int = 300
    """Smaller sections share a passage with their small neighbours; Hangul counts double here."""
    long_code: int = 15
    """Code of more lines is a passage by itself."""

    whole: int = field(init=False)
    """The largest section or gathering that is not cut for its size alone."""
    enough: int = field(init=False)
    """From this size on a passage may end where the text allows."""

    def __post_init__(self) -> None:
        if not 0 < self.small <= self.target <= self.cap:
            raise ValueError(f"not 0 < small <= target <= cap: {self.small}, {self.target}, {self.cap}")
        object.__setattr__(self, "whole", min(self.target + self.target // 4, self.cap))
        object.__setattr__(self, "enough", self.target * 2 // 3)


def is_cut(line: str) -> bool:
    """Whether a passage that has enough ends before a part that begins with `line`."""
    return crc32(line.encode("utf-8", "surrogatepass")) % _CUT_ONE_IN == 0


# A section that is too large for one passage, cut into pieces and gathered again.
#
# Pieces are paragraphs (short neighbours as one), list items where a list is long, whole code
# blocks and tables up to the cap, and single lines of what is larger. Gathering goes by
# `ChunkLimits`: long code stands by itself, taking along only the few words beside it that
# would be too small a passage. Lines are 1-based and inclusive; no piece begins or ends with
# a blank line.

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
