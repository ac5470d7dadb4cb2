"""The sections of a note: a heading with the text below it, up to the next heading.

A heading without text of its own is no section: its line goes with the section that
follows. Text before the first heading is a section of level 0 with an empty trail.
Lines are 1-based and inclusive.
"""

from __future__ import annotations

from collections.abc import Sequence

from kebab_tui.domain.checkpoint import SELDOM, Checkpoint
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
