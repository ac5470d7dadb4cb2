"""Splits a parsed note into passages, the units of search and citation.

All rules are local, so that an edit changes only the passages near it:

- A section (a heading and the text below it) is a passage, up to a quarter over the target.
- A larger section is cut into pieces (see `sections.cut_section`).
- Sections below `small` characters are joined with their small neighbours, children and
  siblings of the first, up to the target. Text before the first heading is not joined.
- A heading without text belongs to the section that follows; at the end of the note, to the
  last passage.
- The label of a passage covers all of it: its heading, or `sections.shared_path` of several.
- A passage ends with its page, if the note has pages. Its lines count from the top of the page, and the
  headings of earlier pages are above it.
- A line longer than the cap becomes several passages that cite the same line. This is the
  only overlap; all other non-blank lines of the body are cited exactly once.

A passage is `code` when more than half of its non-blank lines are code.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from kebab_tui.chunking.sections import (
    ChunkLimits,
    Section,
    Trail,
    count_non_blank,
    cut_section,
    is_cut,
    is_small,
    sections,
    shared_path,
    text_of,
)
from kebab_tui.domain.checkpoint import OFTEN, UNLIMITED, Checkpoint
from kebab_tui.domain.citation import SourceSpan
from kebab_tui.domain.document import Block, ChunkKind, ParsedNote, Passage

_DEFAULT = ChunkLimits()


def chunk(
    note: ParsedNote, limits: ChunkLimits = _DEFAULT, checkpoint: Checkpoint = UNLIMITED
) -> tuple[Passage, ...]:
    """Split a note into passages, in the order of its lines; none crosses a page."""
    trails: list[tuple[int, Trail]] = []
    if not note.pages:
        return tuple(_chunk(note.lines, note.blocks, trails, limits, checkpoint))
    passages = []
    blocks = deque(note.blocks)
    for page, (start, end) in enumerate(pairwise((*note.pages, len(note.lines) + 1)), 1):
        on_page = []
        while blocks and blocks[0].first < end:
            on_page.append(blocks.popleft())
        for passage in _chunk(note.lines, on_page, trails, limits, checkpoint):
            first, last = passage.span.first - start + 1, passage.span.last - start + 1
            passages.append(replace(passage, span=SourceSpan(first, last, page)))
    return tuple(passages)


def _chunk(
    lines: Sequence[str],
    blocks: Sequence[Block],
    trails: list[tuple[int, Trail]],
    limits: ChunkLimits,
    checkpoint: Checkpoint,
) -> list[Passage]:
    found, headings = sections(blocks, trails, checkpoint)
    passages: list[Passage] = []
    group: list[Section] = []
    for place, section in enumerate(found):
        if not place & OFTEN:
            checkpoint()
        text = text_of(lines, section.first, section.last)
        if section.level and is_small(text, limits.small):
            if group:
                together = len(text_of(lines, group[0].first, section.last))
                may_end = together - len(text) >= limits.enough and is_cut(lines[section.first - 1])
                if section.level < group[0].level or together > limits.target or may_end:
                    passages.append(_join(lines, group))
                    group = []
            group.append(section)
            continue
        if group:
            passages.append(_join(lines, group))
            group = []
        if len(text) <= limits.whole and section.longest_code <= limits.long_code:
            passages.append(_whole(lines, section, text))
        else:
            passages.extend(_cut(lines, section, limits, checkpoint))
    if group:
        passages.append(_join(lines, group))
    if headings:
        latest = group or found[-1:]
        _append_headings(passages, lines, latest, headings, blocks, limits, checkpoint)
    return passages


def _join(lines: Sequence[str], group: Sequence[Section]) -> Passage:
    first, last = group[0].first, group[-1].last
    text = text_of(lines, first, last)
    if len(group) == 1:
        return _whole(lines, group[0], text)
    code = [block for section in group for block in section.code]
    kind = _kind(lines, code, first, last)
    return Passage(kind, shared_path(group), text, SourceSpan(first, last))


def _whole(lines: Sequence[str], section: Section, text: str) -> Passage:
    first, last = section.first, section.last
    kind = _kind(lines, section.code, first, last) if section.code else "info"
    return Passage(kind, section.label, text, SourceSpan(first, last))


def _kind(lines: Sequence[str], code: Sequence[Block], first: int, last: int) -> ChunkKind:
    of_code = 0
    for block in code:
        if block.first > last:
            break
        if block.last >= first:
            of_code += count_non_blank(lines, max(first, block.first), min(last, block.last))
    if of_code * 2 > last - first + 1:
        return "code"
    return "code" if of_code and of_code * 2 > count_non_blank(lines, first, last) else "info"


def _cut(
    lines: Sequence[str], section: Section, limits: ChunkLimits, checkpoint: Checkpoint
) -> Iterator[Passage]:
    code = deque(section.code)
    for first, last in cut_section(lines, section, limits, checkpoint):
        checkpoint()
        path = section.label if first <= section.blocks[0].last else section.path
        while code and code[0].last < first:
            code.popleft()
        kind, span = _kind(lines, code, first, last), SourceSpan(first, last)
        text = text_of(lines, first, last)
        if len(text) <= limits.cap:
            yield Passage(kind, path, text, span)
        else:
            for part in _parts(text, limits.cap):
                yield Passage(kind, path, part, span)


def _parts(line: str, cap: int) -> Iterator[str]:
    """Cut a line longer than the cap, at a space near the end of each part if possible."""
    begin = 0
    while begin < len(line):
        end = begin + cap
        if end < len(line):
            space = line.rfind(" ", begin + cap * 3 // 4, end)
            end = space + 1 if space >= 0 else end
        part = line[begin:end]
        if not part.isspace():
            yield part
        begin = end


def _append_headings(
    passages: list[Passage],
    lines: Sequence[str],
    latest: Sequence[Section],
    headings: Section,
    blocks: Sequence[Block],
    limits: ChunkLimits,
    checkpoint: Checkpoint,
) -> None:
    """Add headings without text to the last passage, or as a passage of their own if it is full.

    `latest` are the sections of the last passage.
    """
    last = headings.last
    if passages:
        first = passages[-1].span.first
        text = text_of(lines, first, last)
        if len(text) <= limits.cap:
            code = [block for block in blocks if block.kind == "code" and block.last >= first]
            path = shared_path([*latest, headings])
            passages[-1] = Passage(_kind(lines, code, first, last), path, text, SourceSpan(first, last))
            return
    text = text_of(lines, headings.first, last)
    if len(text) <= limits.cap:
        passages.append(_whole(lines, headings, text))
    else:
        headings.blocks = [Block("prose", headings.first, last)]
        passages.extend(_cut(lines, headings, limits, checkpoint))
